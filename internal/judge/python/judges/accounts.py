"""The users and groups that cloud-init makes of a cloud-config, their passwords and keys.

ug_util's own normalization is called with a distribution that has a default
user, and the module set_passwords with one that only remembers what it was
asked to do. So is the module ssh, with one key in the meta-data. As in every image, the configuration that the cloud-config is added
to has the default user alone in its list of users.
"""

import base64
import inspect
import logging
from unittest import mock

from judges import sandbox

DEFAULT = "judge-default"
PUBLIC_KEY = "ssh-ed25519 AAAA judge"


class Distro:
    """What the two pieces of code ask of a distribution."""

    def __init__(self):
        self.passwords = {}
        self.expired = []

    def get_default_user(self):
        return {"name": DEFAULT}

    def chpasswd(self, pairs, hashed):
        for name, password in pairs:
            self.passwords[name] = {"password": password, "hashed": hashed}

    def expire_passwd(self, user):
        self.expired.append(user)


def judge(request, _root, workdir):
    import cloudinit.distros  # 25.1 has an import cycle that starts elsewhere
    from cloudinit import util
    from cloudinit.config import cc_set_passwords, cc_ssh
    from cloudinit.distros import ug_util

    assert cloudinit.distros
    sandbox.close(workdir)
    answers = []
    for doc in request["docs"]:
        text = base64.b64decode(doc).decode()
        distro = Distro()
        users, groups = ug_util.normalize_users_groups(
            {"users": ["default"], **util.load_yaml(text)}, distro
        )
        cloud = mock.Mock(distro=distro)
        config = {"users": ["default"], **util.load_yaml(text)}
        cloud.get_public_ssh_keys.return_value = [PUBLIC_KEY]
        with mock.patch.object(cc_set_passwords, "handle_ssh_pwauth"):
            handle(cc_set_passwords, config, cloud)
        keys = {}

        def remember(added, user, options=None):
            keys[user] = [{"key": k, "options": options or ""} for k in sorted(added)]

        config.update(ssh_deletekeys=False, ssh_genkeytypes=[])
        config.pop("ssh_keys", None)
        with mock.patch.object(cc_ssh.ssh_util, "setup_user_keys", remember):
            handle(cc_ssh, config, cloud)
        answers.append(
            {
                "users": users,
                "groups": groups,
                "passwords": distro.passwords,
                "expired": distro.expired,
                "keys": keys,
            }
        )
    return answers


def handle(module, config, cloud):
    """Run a module; 22.4 passes its logger along."""
    args = [module.__name__, config, cloud, []]
    if "log" in inspect.signature(module.handle).parameters:
        args.insert(3, logging.getLogger("judge"))
    module.handle(*args)

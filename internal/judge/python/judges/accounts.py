"""The users and groups that cloud-init makes of a cloud-config, and their passwords.

ug_util's own normalization is called with a distribution that has a default
user, and the module set_passwords with one that only remembers what it was
asked to do. As in every image, the configuration that the cloud-config is added
to has the default user alone in its list of users.
"""

import base64
import inspect
import logging
from unittest import mock

from judges import sandbox

DEFAULT = "judge-default"


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
    from cloudinit.config import cc_set_passwords
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
        args = ["set_passwords", config, cloud, []]
        if "log" in inspect.signature(cc_set_passwords.handle).parameters:
            args.insert(3, logging.getLogger("judge"))
        with mock.patch.object(cc_set_passwords, "handle_ssh_pwauth"):
            cc_set_passwords.handle(*args)
        answers.append(
            {
                "users": users,
                "groups": groups,
                "passwords": distro.passwords,
                "expired": distro.expired,
            }
        )
    return answers

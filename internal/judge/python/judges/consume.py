"""What a boot makes of user-data and vendor-data, and how it is reported."""

import base64
import importlib
import os
import stat

import yaml

from cloudinit.settings import PER_INSTANCE
from judges import tagged

# The trees whose files come from the seed; the rest is cloud-init's own state.
REPORTED = (
    "/var/lib/cloud/instance/scripts",
    "/var/lib/cloud/instance/boothooks",
    "/var/lib/cloud/instance/handlers",
    "/var/lib/cloud/scripts",
)
STATE = ("/var/lib/cloud", "/run/cloud-init", "/etc/cloud/cloud.cfg")


def consume(machine, init, modules=()):
    """Run the user-data part of the network stage, then the named modules."""
    answer = {"error": ""}
    try:
        init.update()
        init.consume_data(PER_INSTANCE)  # a first boot
    except Exception as exception:
        answer["error"] = tagged.error(exception)
        return answer
    for key, name in (
        ("config", "cloud-config.txt"),
        ("vendor", "vendor-cloud-config.txt"),
        ("vendor2", "vendor2-cloud-config.txt"),
    ):
        path = os.path.join(init.paths.instance_link, name)
        answer[key] = tagged.tag(load(path))
    answer["final"] = tagged.tag(init.cfg)
    for name in modules:
        try:
            run_module(init, name)
        except Exception as exception:
            answer["error"] = "%s: %s" % (name, tagged.error(exception))
    answer["files"] = files(machine)
    return answer


def load(path):
    try:
        with open(path, "rb") as source:
            return yaml.safe_load(source)
    except FileNotFoundError:
        return None


def run_module(init, name):
    """Run a configuration module on the final configuration."""
    from cloudinit import log

    module = importlib.import_module("cloudinit.config.cc_" + name)
    args = [name, init.cfg, init.cloudify()]
    if hasattr(log, "getLogger"):
        args.append(log.getLogger(name))  # 22.4 passes its logger along
    module.handle(*args, [])


def files(machine):
    """The guest's files that the seed brought, by the guest's own paths."""
    found, given = {}, machine.request.get("files") or {}
    for start in REPORTED + ("/",):
        # instance is a link: walk it by its own name.
        for parent, names, leaves in os.walk(machine.path(start)):
            names[:] = [
                n for n in names
                if machine.guest_name(os.path.join(parent, n)) not in STATE
            ]
            for leaf in leaves:
                path = os.path.join(parent, leaf)
                name = machine.guest_name(path)
                if name in STATE or name in given:
                    continue
                with open(path, "rb") as source:
                    content = base64.b64encode(source.read()).decode()
                found[name] = {
                    "mode": "%04o" % stat.S_IMODE(os.stat(path).st_mode),
                    "owner": machine.owners.get(name, ""),
                    "content": content,
                }
    return found

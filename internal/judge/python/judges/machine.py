"""A machine that exists only in the request, for cloud-init to boot on.

cloud-init runs unmodified; what it would ask of the kernel, of firmware and of
other programs is answered from the request. Everything it would write to the
guest's disk lands below WORKDIR/guest.
"""

import base64
import contextlib
import logging
import os
import shutil
import subprocess
import sys
import time
from unittest import mock

import yaml

# Programs with which seed images are probed and read.
PROGRAMS = ("blkid", "xorriso", "mcopy")

# Where metadata services answer, in a network that has them.
METADATA_HOSTS = ("169.254.169.254", "fd00:ec2::254")

# What the guest calls these directories, and where they are below WORKDIR/guest.
CLOUD_DIR = "/var/lib/cloud"
RUN_DIR = "/run/cloud-init"


class Machine:
    def __init__(self, request, root, workdir):
        self.request = request
        self.root = root
        self.guest = os.path.join(workdir, "guest")
        self.sys_net = os.path.join(workdir, "sys-class-net") + os.sep
        self.disks = {d["device"]: d["path"] for d in request.get("disks") or ()}
        self.nics = {n["mac"].lower(): n["name"] for n in request.get("nics") or ()}
        self.owners = {}
        self.log = []
        self._probes = {}

    def path(self, name):
        """The place of a guest's file; a path already below guest stays."""
        name = os.path.abspath(name)
        if (name + os.sep).startswith(self.guest + os.sep):
            return name
        return self.guest + name

    def prepare(self):
        """The system configuration that an image would bring."""
        config = {
            "datasource_list": self.request.get("datasources")
            or ["NoCloud", "ConfigDrive", "None"],
            "def_log_file": "",
            "system_info": {
                "distro": self.request.get("distro") or "debian",
                "default_user": {"name": "debian"},
                "paths": {
                    "cloud_dir": self.path(CLOUD_DIR),
                    "run_dir": self.path(RUN_DIR),
                    "templates_dir": os.path.join(
                        self.root, "etc/cloud/templates/"
                    ),
                },
            },
        }
        config.update(yaml.safe_load(self.request.get("system_config") or "{}"))
        self.config = self.path("/etc/cloud/cloud.cfg")
        os.makedirs(os.path.dirname(self.config))
        with open(self.config, "w", encoding="utf-8") as out:
            yaml.safe_dump(config, out)
        self.prepare_nics()
        for name, content in (self.request.get("files") or {}).items():
            name = self.path(name)
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "wb") as out:
                out.write(base64.b64decode(content))

    def prepare_nics(self):
        """What a kernel shows of plain Ethernet cards with a cable plugged in."""
        os.mkdir(self.sys_net)
        for number, (mac, name) in enumerate(self.nics.items()):
            attributes = {
                "address": mac, "addr_assign_type": "0", "carrier": "1",
                "dormant": "0", "dev_id": "0x0", "dev_port": "0",
                "ifindex": str(number + 2), "name_assign_type": "4",
                "operstate": "up", "type": "1", "uevent": "",
            }
            os.makedirs(os.path.join(self.sys_net, name, "device"))
            for attribute, value in attributes.items():
                path = os.path.join(self.sys_net, name, attribute)
                with open(path, "w", encoding="ascii") as out:
                    out.write(value + "\n")

    @contextlib.contextmanager
    def running(self):
        """Replace the edges of cloud-init for the time of one boot."""
        import cloudinit.distros  # 25.1 has an import cycle that starts elsewhere
        from cloudinit import (
            dmi, helpers, net, netinfo, stages, subp, temp_utils, util,
        )
        from cloudinit.net import ephemeral, netplan

        write_file, paths_init = util.write_file, helpers.Paths.__init__
        sleep = time.sleep

        def redirected(filename, *args, **kwargs):
            for owner in ("user", "group"):
                kwargs.pop(owner, None)
            return write_file(self.path(filename), *args, **kwargs)

        def paths(paths_self, cfgs, ds=None):
            cfgs = dict(cfgs)
            cfgs.setdefault("cloud_dir", self.path(CLOUD_DIR))
            cfgs.setdefault("run_dir", self.path(RUN_DIR))
            paths_init(paths_self, cfgs, ds)

        def chown(name, user=None, group=None):
            self.owners[self.guest_name(name)] = "%s:%s" % (user, group)

        def temporary(odir=None, needs_exe=False):
            return odir or self.path(RUN_DIR + "/tmp")

        dmi_values = self.request.get("dmi") or {}
        replaced = [
            (subp, "subp", self.subp),
            (subp, "which", lambda *_, **__: None),
            (util, "write_file", redirected),
            (util, "chownbyname", chown),
            (util, "is_container", lambda: False),
            (util, "mounts", lambda: {}),
            (util, "is_partition", lambda _: False),
            (util, "get_cmdline", lambda: self.request.get("cmdline") or ""),
            (dmi, "read_dmi_data", dmi_values.get),
            (temp_utils, "get_tmp_ancestor", temporary),
            (net, "get_sys_class_path", lambda: self.sys_net),
            (helpers.Paths, "__init__", paths),
            (stages, "CLOUD_CONFIG", self.config),
            # Waiting changes nothing here: no one else acts meanwhile.
            (time, "sleep", lambda seconds: sleep(min(seconds, 0.02))),
        ]
        renderer = property(lambda _: netplan.Renderer({}))
        for target, name, value in (
            # Not every release has these.
            (stages, "RUN_CLOUD_CONFIG", self.path(RUN_DIR + "/cloud.cfg")),
            (cloudinit.distros.Distro, "network_renderer", renderer),
        ):
            if hasattr(target, name):
                replaced.append((target, name, value))
        # There is no program to ask about the machine's interfaces.
        replaced.append((netinfo, "netdev_info", lambda *_: {}))
        for name in ("EphemeralIPNetwork", "EphemeralDHCPv4"):
            # The network for which the local stage wants a lease is there already.
            lease = getattr(ephemeral, name)
            replaced.append((lease, "__enter__", lambda self: self))
            replaced.append((lease, "__exit__", lambda *_: None))
        with contextlib.ExitStack() as stack:
            for target, name, value in replaced:
                stack.enter_context(mock.patch.object(target, name, value))
            stack.enter_context(collecting(self.log))
            stack.enter_context(forgetting_modules(self.guest))
            yield

    def guest_name(self, name):
        """The guest's name of a file below guest."""
        name = os.path.abspath(name)
        if name.startswith(self.guest + os.sep):
            return name[len(self.guest):]
        return name

    def subp(self, args, *_, **kwargs):
        """Answer for a program; one that the guest has, but not we, says nothing."""
        program = os.path.basename(args[0])
        if program == "blkid":
            return self.result("".join(d + "\n" for d in self.blkid(args[1:])))
        if program == "mount" and args[-2] in self.disks:
            self.extract(self.disks[args[-2]], args[-1])
        elif program == "umount":
            for name in os.listdir(args[-1]):
                remove(os.path.join(args[-1], name))
        return self.result("")

    @staticmethod
    def result(out):
        from cloudinit import subp

        made = getattr(subp, "SubpResult", None)
        return made(out, "") if made else (out, "")

    def blkid(self, options):
        """The devices that match -tKEY=VALUE, or that are named."""
        for option in options:
            if option.startswith("-t"):
                key, _, value = option[2:].partition("=")
                return [
                    d for d in self.disks if self.probe(d).get(key) == value
                ]
        return [d for d in self.disks if d in options]

    def probe(self, device):
        if device not in self._probes:
            out = subprocess.run(
                ["blkid", "-p", "-o", "export", self.disks[device]],
                stdout=subprocess.PIPE,
                check=False,
            ).stdout.decode()
            pairs = (line.partition("=") for line in out.splitlines())
            # blkid escapes what a shell would take apart.
            self._probes[device] = {
                key: value.replace("\\", "") for key, _, value in pairs
            }
        return self._probes[device]

    def extract(self, image, directory):
        """Mounting, done by programs that read names as Linux does."""
        from cloudinit import subp

        if self.probe_type(image) == "iso9660":
            command = ["xorriso", "-osirrox", "on", "-indev", image,
                       "-extract", "/", directory]
        else:
            command = ["mcopy", "-s", "-n", "-i", image, "::*", directory]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, check=False,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if run.returncode != 0 and not os.listdir(directory):
            raise subp.ProcessExecutionError(
                cmd=command, exit_code=run.returncode,
                stdout=run.stdout.decode("utf-8", "replace"),
            )
        # A read-only file system shows its own modes, we must still clean up.
        for parent, names, _ in os.walk(directory):
            for name in names:
                os.chmod(os.path.join(parent, name), 0o755)

    def probe_type(self, image):
        return next(
            self.probe(d).get("TYPE") for d, i in self.disks.items() if i == image
        )


@contextlib.contextmanager
def collecting(entries):
    """Collect what cloud-init logs from INFO upwards, and every exception."""

    class Collector(logging.Handler):
        def emit(self, record):
            if record.levelno < logging.INFO and not record.exc_info:
                return
            text = record.getMessage()
            if record.exc_info and record.exc_info[1] is not None:
                text += " (%s: %s)" % (
                    type(record.exc_info[1]).__name__, record.exc_info[1],
                )
            entries.append(
                {"level": record.levelname, "logger": record.name,
                 "message": text.encode("utf-8", "backslashreplace").decode()}
            )

    from cloudinit import util

    # Deprecations are logged once for a process, but we want them once a boot.
    try:
        from cloudinit import lifecycle
    except ImportError:
        lifecycle = util
    for function in ("deprecate", "_deprecate_log"):
        seen = getattr(getattr(lifecycle, function, None), "log", None)
        if isinstance(seen, set):
            seen.clear()

    collector = Collector(logging.DEBUG)
    root = logging.getLogger()
    level = root.level
    root.addHandler(collector)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(collector)
        root.setLevel(level)


@contextlib.contextmanager
def forgetting_modules(directory):
    """User-data may bring Python modules: the next boot must not know them."""
    path = list(sys.path)
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            origin = getattr(module, "__file__", None) or ""
            if origin.startswith(directory + os.sep):
                del sys.modules[name]


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.remove(path)

"""Keep judged code away from the machine it runs on.

close() forbids, for the rest of the process, every write outside the work
directory, every connection that leaves the machine (but to the hosts that are
named), and every program that is not named. It is an audit hook of the interpreter: code cannot take it off.
"""

import errno
import os
import socket
import sys

# Audit events whose arguments are paths that change.
CHANGES = {
    "os.chmod": 1, "os.chown": 1, "os.link": 2, "os.mkdir": 1,
    "os.remove": 1, "os.rename": 2, "os.rmdir": 1, "os.symlink": 2,
    "os.truncate": 1, "os.utime": 1, "os.setxattr": 1, "shutil.move": 2,
}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LOOPBACK = ("127.", "::1", "localhost")


def close(workdir, programs=(), hosts=()):
    inside = os.path.realpath(workdir) + os.sep

    def allowed(path):
        if isinstance(path, int) or path is None:
            return True
        path = os.path.realpath(os.fsdecode(path))
        return path == "/dev/null" or (path + os.sep).startswith(inside)

    def hook(event, args):
        if event == "open":
            path, _mode, flags = args
            if flags & WRITES and not allowed(path):
                deny("write to %s" % path)
        elif event in CHANGES:
            # A symbolic link changes its second path only.
            first = 1 if event == "os.symlink" else 0
            for path in args[first:CHANGES[event]]:
                if not allowed(path):
                    deny("%s of %s" % (event, path))
        elif event in ("socket.connect", "socket.sendto"):
            # A plain string names a local socket; a tuple is a network address.
            if isinstance(args[1], tuple):
                check_host(str(args[1][0]), hosts)
        elif event == "socket.getaddrinfo":
            check_host(str(args[0]), hosts)
        elif event == "subprocess.Popen":
            if os.path.basename(os.fsdecode(args[0])) not in programs:
                deny("program %s" % (args[0],))
        elif event in ("os.system", "os.exec", "os.posix_spawn", "os.fork"):
            deny(event)

    sys.addaudithook(hook)


def deny(what):
    """What the kernel says to a process without rights."""
    raise PermissionError(errno.EACCES, "judge: no " + what)


def check_host(host, hosts):
    if not host.startswith(LOOPBACK) and host not in hosts:
        raise socket.gaierror("judge: no network (%s)" % host)

"""Tells the host how the first boot of this guest goes.

It reads what cloud-init writes down and speaks through a virtio-serial port, so
it needs no network, or posts to a URL if it has one. The host answers each line;
a line without an answer is said again. It ends when the host has heard how the
first boot went.
"""

import calendar
import glob
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

URL = ""
PORT = "dev.vmseed.report"
RUN = "/run/cloud-init/"
LOG = "/var/log/cloud-init.log"
STAGES = [("init-local", "init-local"), ("init", "init-network"),
          ("modules-config", "modules-config"), ("modules-final", "modules-final")]
LINE = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d+) - (\S+?)\[(\w+)\]: (.*)$")
RUNNING = re.compile(r"Cloud-init v\. \S+ running '\S+' at .* Up (\d+(?:\.\d+)?) seconds")
PART = re.compile(r"(start|finish): (init-local|init-network|modules-config|modules-final)/"
                  r"(?:config-)?(\S+?): (?:(SUCCESS|WARN|FAIL): )?")
STAGE = re.compile(r"finish: (init-network|modules-config|modules-final): ")
# What follows in these messages quotes the user's document.
QUOTES = re.compile(r"^(Failed loading yaml blob\. .*?line \d+ column \d+|Failed loading yaml blob|"
                    r"Unhandled non-multipart \(.*?\) userdata)", re.S)
# A command that did its work and said something meanwhile, as netplan does of the
# configuration that cloud-init wrote for it.
CHATTER = re.compile(r"^Running \[.*?\] resulted in stderr output: ", re.S)
DROPPED = ("Failed loading yaml blob", "Unhandled non-multipart",
           "Failed to merge", "Failed at merging")


def text(path, limit=1 << 20):
    """The contents of a file, or nothing."""
    try:
        with open(path, errors="replace") as f:
            return f.read(limit)
    except OSError:
        return ""


def load(path):
    """The dictionary "v1" of one of cloud-init's files of this boot."""
    try:
        return json.loads(text(path)).get("v1") or {}
    except (ValueError, AttributeError):
        return {}


class Port:
    """The host's end of the line."""

    def __init__(self):
        self.path = None
        self.fd = -1
        self.seq = 0
        self.boot = text("/proc/sys/kernel/random/boot_id").strip()
        self.heard = b""
        for _ in range(60):
            self.path = self.find()
            if self.path:
                break
            time.sleep(1)

    def find(self):
        for name in glob.glob("/sys/class/virtio-ports/*/name"):
            if text(name).strip() == PORT:
                return "/dev/" + os.path.basename(os.path.dirname(name))
        return None

    def say(self, what, seconds):
        """Says something until the host answers, or for so many seconds."""
        self.seq += 1
        line = json.dumps(dict(what, boot=self.boot, seq=self.seq)).encode() + b"\n"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                if self.fd < 0:
                    self.fd = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
                # An end of line first: whatever was cut off before is over.
                if self.write(b"\n" + line, end) and self.answered(min(end, time.monotonic() + 5)):
                    return True
            except OSError:
                if self.fd >= 0:
                    os.close(self.fd)
                self.fd = -1
            time.sleep(0.5)
        return False

    def write(self, data, end):
        while data and time.monotonic() < end:
            if select.select([], [self.fd], [], 1)[1]:
                try:
                    data = data[os.write(self.fd, data):]
                except BlockingIOError:
                    time.sleep(0.2)
        return not data

    def answered(self, end):
        want = b"ack %d\n" % self.seq
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.5)[0]:
                got = os.read(self.fd, 4096)
                if not got:
                    time.sleep(0.2)
                self.heard = (self.heard + got)[-4096:]
            if want in b"\n" + self.heard:
                self.heard = b""
                return True
        return False


class Web:
    """The host's end of a URL."""

    def __init__(self):
        self.path = URL
        self.seq = 0
        self.boot = text("/proc/sys/kernel/random/boot_id").strip()
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def say(self, what, seconds):
        """Says something until the host takes it, or for so many seconds."""
        self.seq += 1
        body = self.body(what)
        if len(body) > 60000:  # the host takes 64 KiB
            body = self.body(dict(what, modules=[], result=brief(what.get("result") or {})))
        end, unknown = time.monotonic() + seconds, 0
        while time.monotonic() < end:
            try:
                request = urllib.request.Request(URL, body, {"Content-Type": "application/json"})
                self.opener.open(request, timeout=10).close()
                return True
            except urllib.error.HTTPError as e:
                # The host has heard how the first boot went, or never waits for it.
                unknown = unknown + 1 if e.code == 404 else 0
                if unknown > 2:
                    raise SystemExit(0)
            except OSError:
                pass
            time.sleep(1)
        return False

    def body(self, what):
        return json.dumps(dict(what, boot=self.boot, seq=self.seq)).encode()


def brief(out):
    """As much of a result as fits into one post."""
    short = dict(out, mounts=[])
    for kind in ("errors", "warnings", "deprecations"):
        short[kind] = [m[:150] for m in (out.get(kind) or [])[:20]]
    return short


class Log:
    """cloud-init's log of this boot."""

    def __init__(self):
        self.position = None
        self.rest = ""
        self.entries = []
        self.module = None
        self.agent = ""
        # What has ended since the host was told, and when it began.
        self.modules = []
        self.begun = {}
        self.kernel = None

    def read(self):
        try:
            with open(LOG, "rb") as f:
                if self.position is None:
                    whole = f.read()
                    self.position = max(whole.rfind(b"running 'init-local'"), 0)
                    self.position = whole.rfind(b"\n", 0, self.position) + 1
                f.seek(self.position)
                data = f.read(4 << 20)
        except OSError:
            return
        self.position += len(data)
        lines = (self.rest + data.decode(errors="replace")).split("\n")
        self.rest = lines.pop()
        for line in lines:
            self.take(line)

    def take(self, line):
        found = LINE.match(line)
        if not found:
            if self.entries and self.entries[-1] is not None and len(self.entries[-1][1]) < 1500:
                self.entries[-1][1] += "\n" + line
            return
        day, fraction, source, level, message = found.groups()
        if level in ("WARNING", "ERROR", "CRITICAL", "DEPRECATED"):
            self.entries.append([level, message])
        elif self.entries and self.entries[-1] is not None:
            self.entries.append(None)
        words = message.split()
        if words[:2] == ["Cloud-init", "v."] and len(words) > 2:
            self.agent = "cloud-init " + words[2]
        ended = STAGE.match(message)
        if ended:
            self.module = (ended.group(1), "")
        running, part = RUNNING.match(message), PART.match(message)
        if not running and not part:
            return
        try:
            now = calendar.timegm(time.strptime(day, "%Y-%m-%d %H:%M:%S")) + float("0." + fraction)
        except ValueError:  # no day of any calendar
            return
        if running:
            self.kernel = now - float(running.group(1))
        else:
            self.part(now, *part.groups())

    def part(self, now, what, stage, name, outcome):
        """Notes the beginning or the end of a part of a stage.

        The clock can be set while the guest boots, and its zone too. The line
        that begins a stage tells both times, so only a part that is interrupted
        by such a change has a wrong one."""
        if what == "start":
            if stage != "init-local":
                self.module = (stage, name)
            self.begun[stage, name] = now
            return
        start = self.begun.pop((stage, name), None)
        if start is not None and self.kernel is not None and outcome and now >= start >= self.kernel:
            self.modules.append({"stage": stage, "module": name, "start": round(start - self.kernel, 3),
                                 "seconds": round(now - start, 3), "outcome": outcome})


def judge(level, message, out):
    """Sorts a message by what it means for the user."""
    place = QUOTES.match(message)
    if place:
        message = place.group(1)
    message = message.strip()
    if level == "DEPRECATED" or "Deprecated cloud-config provided" in message or CHATTER.match(message):
        kind = "deprecations"
    elif level == "WARNING" and not message.startswith(DROPPED):
        kind = "warnings"
    else:
        kind = "errors"
    if message and message not in out[kind]:
        out[kind].append(message)


def addresses():
    found = []
    lines = text("/proc/net/fib_trie").split("\n")
    for above, line in zip(lines, lines[1:]):
        if "/32 host LOCAL" in line:
            found.append(above.split()[-1])
    for line in text("/proc/net/if_inet6").split("\n"):
        fields = line.split()
        if len(fields) == 6 and fields[3] == "00" and fields[5] != "lo":
            digits = fields[0]
            found.append(":".join(digits[i:i + 4] for i in range(0, 32, 4)))
    return sorted({a for a in found if not a.startswith("127.")})


def mounts():
    found = []
    for line in text("/proc/self/mounts").split("\n"):
        fields = line.split()
        if len(fields) > 3 and (fields[0].startswith("/dev/") or fields[2] in ("9p", "virtiofs")):
            found.append({"device": fields[0], "path": fields[1].replace("\\040", " "), "type": fields[2]})
    return found


def result(log, first):
    """Everything that the host wants to know at the end."""
    out = {"errors": [], "warnings": [], "deprecations": []}
    log.read()
    for entry in log.entries:
        if entry:
            judge(entry[0], entry[1], out)
    status, verdict = load(RUN + "status.json"), load(RUN + "result.json")
    for message in verdict.get("errors") or []:
        judge("ERROR", str(message), out)
    seconds = {}
    for name, stage in STAGES:
        entry = status.get(name) or {}
        for level, messages in (entry.get("recoverable_errors") or {}).items():
            for message in messages:
                judge(level, str(message), out)
        for message in entry.get("errors") or []:
            judge("ERROR", str(message), out)
        if entry.get("start") and entry.get("finished"):
            seconds[stage] = round(entry["finished"] - entry["start"], 2)
    out.update(
        firstBoot=first, instance=text("/var/lib/cloud/data/instance-id").strip(), agent=log.agent,
        dataSource=verdict.get("datasource") or status.get("datasource") or "",
        hostname=os.uname().nodename, addresses=addresses(), mounts=mounts(), seconds=seconds,
        hostKeys=[text(p).strip() for p in sorted(glob.glob("/etc/ssh/ssh_host_*_key.pub"))])
    return out


def broken():
    """The name of a service of cloud-init that failed, where systemd tells."""
    names = ["cloud-init-local", "cloud-init-main", "cloud-init-network", "cloud-init", "cloud-config", "cloud-final"]
    for name in names:
        try:
            if subprocess.call(["systemctl", "is-failed", "-q", name + ".service"]) == 0:
                return name
        except OSError:
            return ""
    return ""


def tell(port, log, what, seconds):
    """Says something, and what has ended since the host was told."""
    ended = log.modules[:200]
    up = text("/proc/uptime").split(" ")[0]
    if port.say(dict(what, modules=ended, uptime=float(up or 0)), seconds):
        del log.modules[:len(ended)]


def main():
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))
    first = sys.argv[1:] == ["first"]
    port = Web() if URL else Port()
    if not port.path:
        return
    log, told, next_look, failing = Log(), None, time.monotonic() + 30, 0
    log.read()
    tell(port, log, {"stage": "init-network"}, 10)
    while True:
        log.read()
        status = load(RUN + "status.json")
        if os.path.exists(RUN + "result.json") and not status.get("stage"):
            tell(port, log, {"stage": "done", "result": result(log, first)}, 20 if stopping else 600)
            return
        if stopping:
            return
        if log.module and log.module != told:
            told = log.module
            tell(port, log, {"stage": told[0], "module": told[1]}, 5)
        if time.monotonic() > next_look:
            next_look = time.monotonic() + 30
            name = broken()
            failing = failing + 1 if name else 0
            if failing > 1:
                out = result(log, first)
                tell(port, log, {"stage": "failed", "error": "the guest's service %s failed" % name, "result": out}, 600)
                return
        time.sleep(0.3 if stopping else 1)


if __name__ == "__main__":
    main()

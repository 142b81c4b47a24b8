#!/bin/sh
# Added by vmseed: tells the host this guest's host keys and name, in the way of cloud-init's phone_home. That itself would
# warn of each kind of key that the guest does not have, and there is one of it, which is the user's.
python=$(command -v python3 || command -v /usr/libexec/platform-python) || exit 0
"$python" -I - "$@" <<'END-OF-PROGRAM' >/dev/null 2>&1
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = json.loads(r'''@URL@''')
SSH = sys.argv[1] if len(sys.argv) > 1 else "/etc/ssh"
ID = sys.argv[2] if len(sys.argv) > 2 else "/var/lib/cloud/data/instance-id"


def text(path):
    try:
        with open(path) as f:
            return f.read(1 << 14)
    except OSError:
        return ""


form = {"hostname": os.uname().nodename, "instance_id": text(ID).strip()}
for kind in ("rsa", "ecdsa", "ed25519"):
    form["pub_key_" + kind] = text(SSH + "/ssh_host_%s_key.pub" % kind) or "N/A"
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for _ in range(10):
    try:
        opener.open(URL, urllib.parse.urlencode(form).encode(), timeout=5)
        break
    except urllib.error.HTTPError as e:
        if e.code == 404:
            break
        time.sleep(1)
    except OSError:
        time.sleep(1)
END-OF-PROGRAM
exit 0

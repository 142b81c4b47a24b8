"""Run one judge: a JSON request on standard input, a JSON answer on standard output.

    python3 -I -B run.py JUDGE ROOT WORKDIR

ROOT is an unpacked cloud-init package ("-" for judges that need none). WORKDIR
is the only place that may be written to. Whatever the judged code prints goes
to standard error.
"""

import importlib
import json
import os
import sys


def main():
    judge, root, workdir = sys.argv[1:4]
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    if root != "-":
        sys.path.insert(0, os.path.join(root, "usr/lib/python3/dist-packages"))
    os.chdir(workdir)

    answer_fd = os.dup(1)
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    module = importlib.import_module("judges." + judge)
    answer = module.judge(request, root, workdir)
    with os.fdopen(answer_fd, "w", encoding="utf-8") as out:
        json.dump(answer, out)


if __name__ == "__main__":
    main()

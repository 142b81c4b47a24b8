"""The command cloud-init itself, with its arguments, in the sandbox."""

import base64
import os
import sys
import traceback

from judges import sandbox


def judge(request, _root, workdir):
    sys.modules["netplan"] = None  # a guest without netplan, as for the schema judge
    import cloudinit.distros  # noqa: F401  25.1 has an import cycle otherwise
    from cloudinit.cmd import main

    sandbox.close(workdir)
    for name, content in (request["files"] or {}).items():
        with open(os.path.join(workdir, name), "wb") as out:
            out.write(base64.b64decode(content))

    capture = os.path.join(workdir, ".output")
    stderr = os.dup(2)
    sys.argv = ["cloud-init"] + request["args"]
    with open(capture, "wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            code = main.main()
        except SystemExit as exit_:
            code = exit_.code
            if isinstance(code, str):  # what the interpreter does with it
                print(code, file=sys.stderr)
                code = 1
        except Exception:
            traceback.print_exc()
            code = 1
        sys.stdout.flush()
        sys.stderr.flush()
    os.dup2(stderr, 1)
    os.dup2(stderr, 2)
    with open(capture, "rb") as output:
        text = output.read().decode("utf-8", "replace")
    return {"rc": int(code or 0), "output": text}

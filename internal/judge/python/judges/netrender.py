"""Network documents through cloud-init's renderers, many in one process."""

import base64
import os

import cloudinit.distros
from judges import machine, network, sandbox, tagged


def judge(request, root, workdir):
    sandbox.close(workdir)
    return [
        render(item, root, os.path.join(workdir, str(number)))
        for number, item in enumerate(request["items"])
    ]


def render(item, root, directory):
    guest = machine.Machine(item, root, directory)
    guest.prepare()
    answer = {"files": {}, "error": "", "missing_nics": ""}
    with guest.running():
        try:
            doc = base64.b64decode(item["doc"]).decode("utf-8")
            config = network.convert(doc, item["kind"], guest.nics)
            if guest.nics:
                distro = cloudinit.distros.fetch("debian")("debian", {}, None)
                answer["missing_nics"] = network.missing_nics(config, distro)
            answer.update(
                network.render(
                    config,
                    item["renderer"],
                    item.get("distro"),
                    guest.path("/rendered"),
                )
            )
        except Exception as exception:
            answer["error"] = tagged.error(exception)
    answer["log"] = guest.log
    return answer

"""What becomes of user-data and vendor-data, whatever data source brings them."""

import base64
import os
import shutil
from email.mime.base import MIMEBase
from email.mime.multipart import MIMEMultipart

import cloudinit.distros  # noqa: F401  25.1 has an import cycle otherwise
from cloudinit import sources, stages
from judges import consume, machine, sandbox


class Given(sources.DataSource):
    """A data source that brings what it is given."""

    dsname = "Given"

    def give(self, metadata, user, vendor):
        self.given = (metadata, user, vendor)
        self.get_data()

    def _get_data(self):
        self.metadata, self.userdata_raw, self.vendordata_raw = self.given
        return True

    def _get_subplatform(self):
        return "given"


def judge(request, root, workdir):
    sandbox.close(workdir)
    answers = []
    for number, item in enumerate(request["items"]):
        item["datasources"] = ["None"]
        directory = os.path.join(workdir, str(number))
        os.mkdir(directory)
        answers.append(process(item, root, directory))
        shutil.rmtree(directory)
    return answers


def process(item, root, directory):
    user = base64.b64decode(item.get("user_data") or "")
    if item.get("parts"):
        user = multipart(item["parts"])
    vendor = base64.b64decode(item.get("vendor_data") or "") or None
    metadata = {"instance-id": "i-judge", **(item.get("meta_data") or {})}
    guest = machine.Machine(item, root, directory)
    guest.prepare()
    with guest.running():
        init = stages.Init(ds_deps=[])
        init.read_cfg()
        init.initialize()
        given = Given(init.cfg, init.distro, init.paths)
        given.give(metadata, user, vendor)
        init.datasource = given
        init._reset()
        init.instancify()
        answer = consume.consume(guest, init, item.get("modules") or ())
    answer["log"] = guest.log
    return answer


def multipart(parts):
    """The archive that a careful sender would make of the parts."""
    message = MIMEMultipart()
    for part in parts:
        main, _, sub = (part.get("type") or "text/cloud-config").partition("/")
        body = MIMEBase(main, sub)
        content = base64.b64decode(part.get("content") or "")
        body.set_payload(base64.b64encode(content).decode())
        body["Content-Transfer-Encoding"] = "base64"
        if part.get("filename"):
            body.add_header(
                "Content-Disposition", "attachment", filename=part["filename"]
            )
        for name, value in (part.get("headers") or {}).items():
            body[name] = value
        message.attach(body)
    return message.as_bytes()

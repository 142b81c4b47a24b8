"""What PyYAML's safe_load, the parser behind cloud-init, makes of documents."""

import base64

import yaml

from judges import tagged


def judge(request, _root, _workdir):
    return [load(base64.b64decode(doc)) for doc in request["docs"]]


def load(doc):
    try:
        # cloud-init hands the parser text that it decoded as UTF-8.
        return tagged.tag(yaml.safe_load(doc.decode("utf-8")))
    except (yaml.YAMLError, ValueError, RecursionError) as exception:
        return {"t": "error", "v": tagged.error(exception)}
    except Exception as exception:  # constructors let any error through
        return {"t": "error", "v": tagged.error(exception)}

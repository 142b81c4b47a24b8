"""The verdict of "cloud-init schema --config-file" on many documents.

The command's own function is called once for each file; only the problems are
taken from the exception instead of from the printed text.
"""

import base64
import inspect
import os
import sys
from unittest import mock

from judges import sandbox, tagged


def judge(request, _root, workdir):
    # A netplan on the host would replace cloud-init's own network schema.
    sys.modules["netplan"] = None
    import cloudinit.distros  # 25.1 has an import cycle that starts elsewhere
    from cloudinit.config import schema

    assert cloudinit.distros
    sandbox.close(workdir)
    if hasattr(schema, "netplan_validate_network_schema"):
        from cloudinit.net import netplan

        mock.patch.object(netplan, "available", lambda *_: False).start()

    has_type = "schema_type" in inspect.signature(
        schema.validate_cloudconfig_file
    ).parameters
    if request["kind"] != "cloud-config" and not has_type:
        return {"unsupported": True}
    if has_type:
        # Templates are rendered with what the command reads on a guest.
        instance = os.path.join(workdir, "instance-data.json")
        with open(instance, "w", encoding="ascii") as out:
            out.write(request["instance_data"])
        kind = schema.SchemaType(request["kind"])
        extra = (schema.get_schema(kind), kind, False, instance)
    else:
        extra = (schema.get_schema(),)

    results = []
    for number, doc in enumerate(request["docs"]):
        path = os.path.join(workdir, "%d.yaml" % number)
        with open(path, "wb") as out:
            out.write(base64.b64decode(doc))
        results.append(validate(schema, path, extra))
    return {"results": results}


def validate(schema, path, extra):
    real = schema.validate_cloudconfig_schema
    deprecations = []

    def record(*args, **kwargs):
        try:
            return real(*args, **kwargs)
        except schema.SchemaValidationError as exception:
            deprecations.extend(exception.schema_deprecations or ())
            raise

    errors = []
    with mock.patch.object(schema, "validate_cloudconfig_schema", record):
        try:
            schema.validate_cloudconfig_file(path, *extra)
        except schema.SchemaValidationError as exception:
            errors = exception.schema_errors
        except (Exception, SystemExit) as exception:
            # The command itself ends with 1 after any of these.
            errors = [("", tagged.error(exception))]
    return {
        "rc": 1 if errors else 0,
        "errors": problems(errors, path),
        "deprecations": problems(deprecations, path),
    }


def problems(pairs, path):
    return [
        {"path": str(p[0]), "message": str(p[1]).replace(path, "FILE")}
        for p in sorted(set(map(tuple, pairs)))
    ]

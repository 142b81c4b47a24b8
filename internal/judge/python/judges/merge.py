"""cloud-init's own mergers on pairs of documents."""

import importlib.util  # noqa: F401  22.4's importer relies on others for it

import yaml

from judges import sandbox, tagged


def judge(request, _root, workdir):
    sandbox.close(workdir)
    return [merge(pair) for pair in request["pairs"]]


def merge(pair):
    from cloudinit import mergers

    try:
        base, over, how = (
            yaml.safe_load(pair[name]) for name in ("base", "over", "how")
        )
        if how is None:
            parsed = []
        else:
            parsed = mergers.dict_extract_mergers({"merge_how": how})
        return {"value": tagged.tag(mergers.construct(parsed).merge(base, over))}
    except Exception as exception:
        return {"error": tagged.error(exception)}

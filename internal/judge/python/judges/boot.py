"""One boot of a machine: which data source it finds and what it makes of it."""

import base64
import shutil
from unittest import mock

import cloudinit.distros  # noqa: F401  25.1 has an import cycle otherwise
from cloudinit import sources, stages
from judges import consume, machine, network, sandbox, tagged


def judge(request, root, workdir):
    hosts = machine.METADATA_HOSTS if request.get("metadata") else ()
    sandbox.close(workdir, machine.PROGRAMS, hosts)
    guest = machine.Machine(request, root, workdir)
    guest.prepare()
    with guest.running():
        answer = boot(guest)
    answer["log"] = guest.log
    return answer


def boot(guest):
    """The local stage and, where it finds nothing, the network stage."""
    local, both = [sources.DEP_FILESYSTEM], [
        sources.DEP_FILESYSTEM, sources.DEP_NETWORK,
    ]
    skip_local = guest.request.get("network_stage_only")
    failure = ""
    for stage, deps in (("local", local), ("net", both)):
        if stage == "local" and skip_local:
            continue
        init = stages.Init(ds_deps=deps)
        init.read_cfg()
        init.initialize()
        try:
            found = init.fetch(existing="trust")
        except sources.DataSourceNotFoundException as exception:
            failure = tagged.error(exception)
            continue
        answer = describe(guest, init, found, stage)
        if guest.request.get("consume") and answer["user_data_processed"]:
            answer["consumed"] = consume.consume(
                guest, init, guest.request.get("modules") or ()
            )
        if guest.request.get("reboot"):
            answer["rebooted"] = again(guest)
        return answer
    return {"data_source": "", "error": failure}


def again(guest):
    """The local stage of the next boot, with other disks or none."""
    guest.disks = {
        d["device"]: d["path"] for d in guest.request.get("next_disks") or ()
    }
    shutil.rmtree(guest.path(machine.RUN_DIR))
    init = stages.Init(ds_deps=[sources.DEP_FILESYSTEM])
    init.read_cfg()
    init.initialize()
    asked = []
    get_data = sources.DataSource.get_data
    with mock.patch.object(
        sources.DataSource,
        "get_data",
        lambda source: asked.append(type(source).__name__) or get_data(source),
    ):
        try:
            found = init.fetch(existing="check")
        except sources.DataSourceNotFoundException as exception:
            return {"error": tagged.error(exception), "asked": asked}
    init.instancify()
    return {
        "data_source": type(found).__name__,
        "instance_id": str(found.get_instance_id()),
        "new": bool(init.is_new_instance()),
        "asked": asked,
    }


def describe(guest, init, found, stage):
    init.instancify()
    hostname = found.get_hostname(metadata_only=True)
    fqdn = found.get_hostname(fqdn=True, metadata_only=True)
    answer = {
        "data_source": type(found).__name__,
        "text": str(found),
        "stage": stage,
        "mode": str(getattr(found, "dsmode", "")),
        # Each stage processes user-data only of a source that names that stage.
        # One that was found early is still there in the network stage; one that
        # was found late and asks for the local stage is left alone by both.
        "user_data_processed": found.dsmode in ("net", stage),
        "instance_id": str(found.get_instance_id()),
        "hostname": host(hostname),
        "fqdn": host(fqdn),
        "public_keys": list(found.get_public_ssh_keys()),
        "meta_data": tagged.tag(found.metadata),
        "user_data": octets(found.get_userdata_raw()),
        "vendor_data": pieces(found.get_vendordata_raw()),
        "vendor_data2": pieces(getattr(found, "vendordata2_raw", None)),
        "error": "",
    }
    answer.update(networking(guest, init))
    return answer


def host(name):
    """A bare name in 22.4's first form, a tuple with more in later ones."""
    return str(getattr(name, "hostname", name) or "")


def octets(data):
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return base64.b64encode(data or b"").decode()


def pieces(data):
    if data is None:
        return []
    if isinstance(data, (list, tuple)):
        return [octets(piece) for piece in data]
    return [octets(data)]


def networking(guest, init):
    answer = {"rendered": {}, "network_error": "", "missing_nics": ""}
    try:
        config, origin = init._find_networking_config()
    except Exception as exception:
        answer["network_error"] = tagged.error(exception)
        return answer
    answer["network_source"] = str(getattr(origin, "value", origin))
    if config is None:
        return answer
    answer["network_config"] = tagged.tag(config)
    if guest.nics:
        answer["missing_nics"] = network.missing_nics(config, init.distro)
    for renderer in guest.request.get("render") or ():
        answer["rendered"][renderer] = network.render(
            config,
            renderer,
            guest.request.get("render_distro"),
            guest.path("/rendered"),
        )
    return answer

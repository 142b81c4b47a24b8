"""Network configuration through cloud-init's parsers and renderers."""

import importlib
import json
import os
import shutil

import yaml

from judges import tagged

# Where a renderer's output belongs, if the request names no distribution.
DISTROS = {"sysconfig": "rhel", "network-manager": "rhel"}


def convert(doc, kind, nics):
    """A document of one of the kinds that cloud-init reads, as version 1 or 2."""
    from cloudinit.net import eni
    from cloudinit.sources.helpers import openstack

    if kind == "yaml":
        config = yaml.safe_load(doc)
        if isinstance(config, dict) and "network" in config:
            config = config["network"]
        return config
    if kind == "network_data.json":
        return openstack.convert_net_json(json.loads(doc), known_macs=nics or None)
    if kind == "eni":
        return eni.convert_eni_data(doc)
    raise ValueError("judge: no network document of kind %r" % kind)


def render(config, renderer, distro, target):
    """The files that one renderer writes, by their path in the guest."""
    answer = {"files": {}, "error": ""}
    try:
        write(config, renderer, distro or DISTROS.get(renderer, "debian"), target)
    except Exception as exception:
        answer["error"] = tagged.error(exception)
    for parent, _, leaves in os.walk(target):
        for leaf in leaves:
            path = os.path.join(parent, leaf)
            with open(path, encoding="utf-8", errors="replace") as source:
                answer["files"][path[len(target):]] = source.read()
    shutil.rmtree(target, ignore_errors=True)
    return answer


def write(config, renderer, distro, target):
    from cloudinit import distros
    from cloudinit.net import network_state

    os.makedirs(target)
    module = importlib.import_module(
        "cloudinit.net." + renderer.replace("-", "_")
    )
    known = distros.fetch(distro)(distro, {}, None).renderer_configs
    settings = dict(known.get(renderer) or {})
    if renderer == "netplan":
        # The path is joined to the target; there is no netplan to ask or start.
        path = settings.get("netplan_path", "etc/netplan/50-cloud-init.yaml")
        settings["netplan_path"] = path.lstrip("/")
        settings["postcmds"] = False
        settings["features"] = ["dhcp-use-domains", "ipv6-mtu"]
    made = module.Renderer(settings or None)
    state = network_state.parse_net_config_data(config, renderer=made)
    if state is None:
        raise ValueError("judge: neither version 1 nor version 2")
    made.render_network_state(state, target=target + "/")


def missing_nics(config, distro):
    """The error with which init-local ends when the guest lacks a NIC."""
    try:
        distro.networking.wait_for_physdevs(config)
    except Exception as exception:
        return tagged.error(exception)
    return ""

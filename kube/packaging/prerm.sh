#!/bin/sh
set -e

if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
	deb-systemd-invoke stop vmseed-kube-node.service >/dev/null || true
	if [ -n "$(find /var/lib/vmseed-kube -name '*.pid' -print -quit 2>/dev/null)" ]; then
		echo "vmseed-kube: VMs may still run on this host; nothing looks after them now." >&2
	fi
fi

exit 0

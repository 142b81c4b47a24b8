#!/bin/sh
set -e

if [ "$1" = remove ]; then
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper mask vmseed-kube-node.service >/dev/null || true
	fi
fi

if [ "$1" = purge ]; then
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper purge vmseed-kube-node.service >/dev/null || true
		deb-systemd-helper unmask vmseed-kube-node.service >/dev/null || true
	fi
	rm -rf /etc/vmseed-kube
	if [ -d /var/lib/vmseed-kube ] && [ -n "$(ls -A /var/lib/vmseed-kube)" ]; then
		echo "vmseed-kube: /var/lib/vmseed-kube holds disks of VMs and is left alone." >&2
	fi
fi

if [ -d /run/systemd/system ]; then
	systemctl --system daemon-reload >/dev/null || true
fi

exit 0

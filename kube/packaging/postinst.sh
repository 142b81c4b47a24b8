#!/bin/sh
set -e

unit=vmseed-kube-node.service

if [ "$1" = configure ]; then
	if command -v deb-systemd-helper >/dev/null; then
		deb-systemd-helper unmask "$unit" >/dev/null || true
		if deb-systemd-helper --quiet was-enabled "$unit"; then
			deb-systemd-helper enable "$unit" >/dev/null || true
		else
			deb-systemd-helper update-state "$unit" >/dev/null || true
		fi
	fi
	if [ -d /run/systemd/system ]; then
		systemctl --system daemon-reload >/dev/null || true
		# The node alone starts anew: VMs run on, with the program that they were started with.
		if [ -n "$2" ]; then
			deb-systemd-invoke try-restart "$unit" >/dev/null || true
		fi
	fi
fi

exit 0

#!/bin/sh
set -e

if [ "$1" = remove ]; then
	if [ -d /run/systemd/system ]; then
		deb-systemd-invoke stop vmseed-kube-node.service >/dev/null || true
	fi
	# A supervisor writes down the process of its QEMU. The number may be another process's after a restart of the host.
	running=0
	for state in /var/lib/vmseed-kube/vms/*/state.json; do
		pid=$(sed -n 's/^ *"pid": *\([0-9][0-9]*\),*$/\1/p' "$state" 2>/dev/null | head -n 1)
		if [ -n "$pid" ] && grep -qs qemu-system "/proc/$pid/cmdline"; then
			running=$((running + 1))
		fi
	done
	if [ "$running" -gt 0 ]; then
		echo "vmseed-kube: $running VMs still run on this host, and no node looks after them now." >&2
	fi
fi

exit 0

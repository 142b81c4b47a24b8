#!/bin/sh
# Run systemd-networkd on the files of a directory, within a network and a view
# of the file system that unshare(1) has made for this script alone.
#
# networkd.sh DIRECTORY "NAME=MAC..." "TEXT
# ..." PROGRAM
#
# It waits until every text stands in networkd's log or state or in the answers
# of ip(8), a minute at most.
#
# Printed are parts that begin with the character RS and a name; see
# networkdResult in networkfiles.go.
set -eu
files=$1 nics=$2 texts=$3 program=$4

mount --make-rprivate /
# A read-only /sys tells networkd that there is no udev to wait for.
mount -t sysfs -o ro sysfs /sys
mkdir -p /etc/systemd/network
mount -t tmpfs -o mode=0755 tmpfs /etc/systemd/network
install -m 0644 "$files"/* /etc/systemd/network/
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/systemd/netif/lldp
chown -R systemd-network /run/systemd/netif

ip link set lo up
n=0
for nic in $nics; do
	ip link add "${nic%%=*}" address "${nic#*=}" type veth peer name "cable$n"
	ip link set "cable$n" up
	n=$((n + 1))
done

log=/run/networkd.log
SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console "$program" >"$log" 2>&1 &
daemon=$!
# It ends with this script, the first process of its own process namespace.

# pending prints what has not come true yet.
pending() {
	{
		cat "$log"
		ip -oneline addr show
		ip -oneline link show
		ip -4 route show
		ip -6 route show
		cat /run/systemd/netif/links/*
	} >/run/seen 2>/dev/null || true
	echo "$texts" | while read -r text; do
		[ -z "$text" ] || grep -qF -e "$text" /run/seen || echo "$text"
	done
}
left=600
while [ -n "$(pending)" ] && [ "$left" -gt 0 ] && kill -0 "$daemon"; do
	sleep 0.1
	left=$((left - 1))
done

part() { printf '\036%s\n' "$*"; }
part timeout
pending
part complaints
grep -E '/etc/systemd/network/[^ ]*:|Failed to open configuration' "$log" || true
part log
cat "$log"
part addresses
ip -json addr show
part routes4
ip -json -4 route show
part routes6
ip -json -6 route show
for state in /run/systemd/netif/links/*; do
	[ -f "$state" ] || continue
	part link "$(ip -oneline link show | sed -n "s/^$(basename "$state"): \([^:@]*\).*/\1/p")"
	cat "$state"
done

#!/bin/sh
# Run systemd-networkd on the files of a directory, within a network and a view
# of the file system that unshare(1) has made for this script alone.
#
# networkd.sh DIRECTORY "NAME=MAC..." "LINK..." "LOG-TEXT
# ..." PROGRAM
#
# Printed are parts that begin with the character RS and a name; see
# networkdResult in networkfiles.go.
set -eu
files=$1 nics=$2 wait=$3 texts=$4 program=$5

mount --make-rprivate /
# A read-only /sys tells networkd that there is no udev to wait for.
mount -t sysfs -o ro sysfs /sys
mkdir -p /etc/systemd/network
mount -t tmpfs -o mode=0755 tmpfs /etc/systemd/network
cp "$files"/* /etc/systemd/network/
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
trap 'kill "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true' EXIT

# pending prints what has not happened yet.
pending() {
	for link in $wait; do
		state=/run/systemd/netif/links/$(cat "/sys/class/net/$link/ifindex" 2>/dev/null || echo none)
		grep -qs '^ADMIN_STATE=configured$' "$state" || echo "link $link"
	done
	echo "$texts" | while read -r text; do
		[ -z "$text" ] || grep -qF -e "$text" "$log" || echo "log $text"
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
grep -E '/etc/systemd/network/[^ ]*:' "$log" || true
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

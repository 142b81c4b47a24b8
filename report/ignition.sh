#!/bin/sh
# Written by vmseed run: tells the host how the first boot went, through a
# virtio-serial port, when every unit of the boot has started. In a guest of
# systemd's credentials it notes that it did, and changes nothing else. The host
# answers each line; a line without an answer is said again.
@FACTS@
# say MEMBERS TIMES: a line to the host, until it answers.
sequence=0
say() {
	sequence=$((sequence + 1)) times=$2
	while [ "$times" -gt 0 ]; do
		times=$((times - 1))
		# An end of line first: whatever was cut off before is over.
		if printf '\n{"boot":"%s","seq":%d,%s}\n' "$boot" "$sequence" "$1" | timeout 10 cat >&3 &&
			[ "$(timeout 5 head -n 1 <&3)" = "ack $sequence" ]; then
			return 0
		fi
		sleep 1
	done
	return 1
}

port() {
	for name in /sys/class/virtio-ports/*/name; do
		if [ "$(cat "$name" 2>/dev/null)" = dev.vmseed.report ]; then
			name=${name%/name}
			echo "/dev/${name##*/}"
		fi
	done
}

boot=$(cat /proc/sys/kernel/random/boot_id)
device=$(port)
times=60
until [ -c "$device" ]; do
	times=$((times - 1))
	[ "$times" -gt 0 ] || exit 0
	sleep 1
	device=$(port)
done
exec 3<>"$device"
say '"stage":"modules-final"' 3
until booted; do
	sleep 1
done
say "\"stage\":\"done\",$(result)" 60 || exit 1
! by_credentials || { mkdir -p "${note%/*}" && : >"$note"; }

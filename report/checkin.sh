#!/bin/sh
# Written by vmseed: tells the host how the first boot went, over HTTP, when every
# unit of the boot has started. It changes nothing in this guest. What the host
# does not take is said again, since the network may come up later than this.
@FACTS@

# by_bash URL: a POST of standard input with nothing but bash.
by_bash() {
	timeout 30 bash -c '
		LC_ALL=C IFS=
		read -r -d "" text
		rest=${1#http://}
		[ "$rest" != "$1" ] || exit 1
		site=${rest%%/*}
		host=$site port=80
		case $site in
		*]:* | *[!]:]:*) host=${site%:*} port=${site##*:} ;;
		esac
		host=${host#[} host=${host%]}
		exec 3<>"/dev/tcp/$host/$port" || exit 1
		printf "POST /%s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" \
			"${rest#*/}" "$site" "${#text}" "$text" >&3
		IFS=" " read -r _ status _ <&3 && echo "$status"
	' bash "$1" 2>/dev/null
}

# by_wget URL: the same with GNU or BusyBox wget, which tell little of the answer.
by_wget() {
	if words=$(timeout 30 wget -O /dev/null --header 'Content-Type: application/json' --post-data "$(cat)" "$1" 2>&1); then
		echo 204
	else
		case $words in
		*'ERROR 404'* | *'HTTP/1.'?' 404'*) echo 404 ;;
		esac
	fi
}

# post: standard input to the host; prints the status of its answer, such as 204.
post() {
	if command -v curl >/dev/null; then
		curl --silent --connect-timeout 10 --max-time 30 --output /dev/null --write-out '%{http_code}' \
			--header 'Content-Type: application/json' --data-binary @- "$url" 2>/dev/null
	elif command -v wget >/dev/null; then
		by_wget "$url"
	elif command -v bash >/dev/null; then
		by_bash "$url"
	else
		echo "there is none of curl, wget and bash to tell the host with" >&2
		exit 0
	fi
}

# say MEMBERS TIMES: something to the host, until it takes it.
sequence=0
say() {
	sequence=$((sequence + 1)) times=$2 unknown=0
	while [ "$times" -gt 0 ]; do
		times=$((times - 1))
		case $(printf '{"boot":"%s","seq":%d,%s}' "$boot" "$sequence" "$1" | post) in
		2??) return 0 ;;
		404)
			# The host has heard how the first boot went, or never waits for it.
			unknown=$((unknown + 1))
			[ "$unknown" -lt 3 ] || exit 0
			;;
		esac
		[ -z "$stopping" ] || [ "$times" -lt 3 ] || times=3
		sleep "$pause"
	done
	return 1
}

pause=${2:-3}
url=$(cat "${1:-/etc/vmseed/checkin.url}") || exit 0
boot=$(cat /proc/sys/kernel/random/boot_id)
say '"stage":"modules-final"' 3
until booted; do
	sleep 1
done
text=$(result)
# The host takes no more than 64 KiB.
[ ${#text} -lt 60000 ] || text=$(
	warnings() { echo 'there is more to warn of than a report can hold: see the journal'; }
	mounts() { printf '[]'; }
	result
)
say "\"stage\":\"done\",$text" 600

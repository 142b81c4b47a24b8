LC_ALL=C
export LC_ALL
stopping=
trap 'stopping=yes' TERM

# quote TEXT: as a JSON string.
quote() {
	rest=$1 said=
	while :; do
		case $rest in
		*[\\\"]*)
			head=${rest%%[\\\"]*}
			rest=${rest#"$head"}
			said=$said$head\\${rest%"${rest#?}"}
			rest=${rest#?}
			;;
		*) break ;;
		esac
	done
	printf '"%s"' "$said$rest"
}

# list: the lines of standard input as a JSON array.
list() {
	comma=
	printf '['
	tr -d '\001-\011\013-\037' | while IFS= read -r line; do
		[ -n "$line" ] || continue
		printf %s "$comma"
		quote "$line"
		comma=,
	done
	printf ']'
}

addresses() {
	while read -r mark what kind _; do
		case $mark:$kind:$last in
		'|--':*) last=$what ;;
		/32:LOCAL:127.*) ;;
		/32:LOCAL:*) echo "$last" ;;
		esac
	done </proc/net/fib_trie
	[ ! -e /proc/net/if_inet6 ] || while read -r digits _ _ scope _ device; do
		case $scope:$device in
		00:lo) continue ;;
		00:*) ;;
		*) continue ;;
		esac
		groups=
		while [ -n "$digits" ]; do
			groups=$groups:${digits%"${digits#????}"}
			digits=${digits#????}
		done
		echo "${groups#:}"
	done </proc/net/if_inet6
}

mounts() {
	comma=
	printf '['
	while read -r device path type _; do
		case $device:$type in
		/dev/*:* | *:9p | *:virtiofs)
			printf '%s{"device":%s,"path":%s,"type":%s}' "$comma" "$(quote "$device")" "$(quote "$path")" "$(quote "$type")"
			comma=,
			;;
		esac
	done </proc/self/mounts
	printf ']'
}

# warnings: what Ignition let pass in the config, and what did not start. Its
# other warnings may be of ways that it tried in vain before the right one.
warnings() {
	journalctl --boot --identifier=ignition --priority=warning --output=cat --no-pager 2>/dev/null |
		while IFS= read -r line; do
			case $line in
			'warning at '*) printf '%s\n' "$line" ;;
			esac
		done | sort -u
	systemctl list-units --state=failed --plain --no-legend --no-pager 2>/dev/null | while read -r unit _; do
		echo "the unit $unit failed ($(systemctl show --property=Result --value "$unit" 2>/dev/null))"
	done
	# systemd applies presets at a boot only that it takes for the first.
	[ ! -e /etc/systemd/system-preset/20-ignition.preset ] || while read -r verb unit _; do
		[ "$verb" = enable ] || continue
		systemctl --quiet is-enabled "$unit" >/dev/null 2>&1 ||
			echo "the config enables $unit, yet it is not enabled: systemd took this boot for a later one and applied no presets"
	done </etc/systemd/system-preset/20-ignition.preset
}

agent() {
	journalctl --boot --identifier=ignition --output=cat --no-pager 2>/dev/null | while read -r name rest; do
		case $name:$rest in
		Ignition:*[0-9].[0-9]*)
			echo "Ignition ${rest##* }"
			break
			;;
		esac
	done
}

# milliseconds SECONDS.MICROSECONDS: of the journal's monotonic times; fails for
# anything else.
milliseconds() {
	case ${1%%.*} in
	'' | *[!0-9]* | 0?*) return 1 ;;
	esac
	case ${1#*.} in
	[0-9][0-9][0-9][0-9][0-9][0-9]) ;;
	*) return 1 ;;
	esac
	fraction=${1#*.}
	echo $((${1%%.*} * 1000 + 1${fraction%???} - 1000))
}

# parts: when the stages of Ignition ran, as a JSON array.
parts() {
	comma= name=
	printf '['
	journalctl --boot --identifier=ignition --output=short-monotonic --no-pager 2>/dev/null | while IFS= read -r line; do
		now=${line#*[}
		now=${now%%]*}
		now=$(milliseconds "${now##* }") || continue
		case $line in
		*': Stage: fetch' | *': Stage: fetch-offline') stage=init-local ;;
		*': Stage: kargs' | *': Stage: disks' | *': Stage: mount') stage=init-network ;;
		*': Stage: files' | *': Stage: umount') stage=modules-config ;;
		*': Ignition finished successfully')
			[ -n "$name" ] && [ "$now" -ge "$begun" ] || continue
			took=$((now - begun))
			printf '%s{"stage":"%s","module":"%s","start":%d.%03d,"seconds":%d.%03d,"outcome":"SUCCESS"}' "$comma" "$stage" "$name" \
				$((begun / 1000)) $((begun % 1000)) $((took / 1000)) $((took % 1000))
			comma=, name=
			continue
			;;
		*) continue ;;
		esac
		begun=$now name=${line##* }
	done
	printf ']'
}

# uptime: for how many seconds the kernel has run.
uptime() {
	read -r up _ </proc/uptime
	echo "$up"
}

# Where systemd set the guest up by itself, from credentials, at every boot, no other
# note tells the first one from the others.
note=/var/lib/vmseed/reported
by_credentials() {
	[ -e /run/credentials/@system/tmpfiles.extra ] && [ ! -e /etc/.ignition-result.json ]
}

# result: everything that the host wants to know.
result() {
	facts=$(cat /etc/.ignition-result.json 2>/dev/null | tr -d ' \t\n')
	case $facts in
	*'"previousReport":{'*) # of an earlier run on this disk
		earlier=${facts#*'"previousReport":{'}
		facts=${facts%%'"previousReport":{'*}${earlier#*\}}
		;;
	esac
	arguments=" $(cat /proc/cmdline) "
	first=false errors=
	case $facts in
	*"\"provisioningBootID\":\"$boot\""*) first=true ;;
	'') case $arguments in *' ignition.firstboot '*) first=true ;; esac ;;
	esac
	case $facts in
	*'"userConfigProvided":false'*) errors='Ignition found no config' ;;
	esac
	platform=
	case $arguments in
	*' ignition.platform.id='*)
		platform=${arguments#*' ignition.platform.id='}
		platform="platform ${platform%% *}"
		;;
	esac
	agent=$(agent)
	if by_credentials; then
		agent=$(systemctl --version | sed -n 's/^\(systemd [0-9]*\).*/\1/p') platform=credentials
		[ -e "$note" ] || first=true
	fi
	printf '"uptime":%s,"modules":%s,' "$(uptime)" "$(parts)"
	printf '"result":{"firstBoot":%s,"agent":%s,"dataSource":%s,"hostname":%s' "$first" "$(quote "${agent:-Ignition}")" \
		"$(quote "$platform")" "$(quote "$(cat /proc/sys/kernel/hostname)")"
	printf ',"errors":%s' "$(echo "$errors" | list)"
	printf ',"warnings":%s' "$(warnings | list)"
	printf ',"addresses":%s' "$(addresses | sort -u | list)"
	printf ',"hostKeys":%s' "$(cat /etc/ssh/ssh_host_*_key.pub 2>/dev/null | list)"
	printf ',"mounts":%s}' "$(mounts)"
}

# booted: every unit of the boot has started or failed, or the guest goes down.
booted() {
	[ -z "$stopping" ] || return 0
	case $(systemctl is-system-running 2>/dev/null) in
	running | degraded | maintenance | stopping) return 0 ;;
	esac
	return 1
}

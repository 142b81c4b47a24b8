#!/bin/sh
# Show what vmseed does: a seed of plain user-data, a machine of KubeVirt's
# documentation, word for word, that boots and says what it made of its seed, and
# the pod of Virtlet's documentation as a KubeVirt machine.
#
# Needs bin/vmseed and the guest image: "make demo" makes both first. Everything
# that is made here lies in a temporary directory and is removed at the end.
# ACCEL=kvm makes it faster where KVM works; the default runs everywhere.
set -eu
cd "$(dirname "$0")/.."
PATH=$PATH:/usr/sbin:/sbin
vmseed=$PWD/bin/vmseed
image=$(./e2e/guest/build.sh)
boot=$(dirname "$image")

work=$(mktemp -d "${TMPDIR:-/tmp}/vmseed-demo.XXXXXX")
vms=$work/vms
finish() {
	trap '' HUP INT TERM
	"$vmseed" rm testvm-nocloud --state-dir "$vms" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' HUP INT TERM

# show COMMAND...: print a command as a user would type it, then run it.
show() {
	printf '\n$ vmseed'
	for word in "$@"; do
		case $word in
		*' '*) printf " '%s'" "$word" ;;
		--image | --volume | --memory | --accel | --kernel | --append | --cni-result | --state-dir | --fail-on)
			[ "$1" = run ] && printf ' \\\n    '
			printf ' %s' "$word"
			;;
		*) printf ' %s' "$word" ;;
		esac
	done
	printf '\n'
	"$vmseed" "$@"
}

say() { printf '\n== %s\n' "$*"; }

say "1. Plain user-data becomes a seed"
show render -o "$work/web.iso" --user-data examples/plain/user-data --hostname web
show show "$work/web.iso"

# The machine's disk is a container image on the internet, and its 64 MB of memory
# are too few for Debian, so that the flags say otherwise. Its seed lets nobody log
# in by key: the kernel is started with a root shell on the serial console instead.
say "2. A KubeVirt machine boots with QEMU"
show run examples/kubevirt/testvm-inline.yaml \
	--image "$image" \
	--memory 1Gi --cpus 2 \
	--accel "${ACCEL:-tcg}" \
	--kernel "$boot/vmlinuz" --initrd "$boot/initrd.img" \
	--append 'root=LABEL=root ro console=ttyS0 quiet mitigations=off no_timer_check systemd.debug_shell=ttyS0 systemd.mask=serial-getty@ttyS0.service' \
	--state-dir "$vms" \
	--detach --wait --timeout 15m

# What the guest is asked. The lines around its answer are put together by its
# shell, so that the echo of what is typed is not mistaken for them.
cat >"$work/questions" <<'END'
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb sh
stty -echo; PS1= PS2=
cat >/run/questions <<'QUESTIONS'
title() { echo; echo "$*"; }
indent() { sed 's/^/    /'; }
title "host name: $(hostname), instance $(cat /var/lib/cloud/data/instance-id), $(cloud-init status)"
title "the seed:"
{ blkid -t LABEL=cidata -o full; cat /run/cloud-init/result.json | grep datasource; } | indent
title "user-data, as it arrived:"
cat /var/lib/cloud/instance/user-data.txt | indent
title "what became of it:"
{
	getent passwd debian
	perl -e '@s = getpwnam("debian"); print crypt("atomic", $s[1]) eq $s[1] ? "the password atomic fits" : "the password atomic does not fit", "\n"'
	grep -rhi '^PasswordAuthentication' /etc/ssh/sshd_config /etc/ssh/sshd_config.d
	chage -l debian | grep -i 'password expires'
} | indent
title "network:"
{ ip -br link; ip -br address; ip route; } | indent
QUESTIONS
echo "--- the guest"" says ---"; sh /run/questions 2>&1; echo "--- end"" of it ---"
END
mkfifo "$work/typed"
printf '\n$ vmseed console testvm-nocloud --state-dir %s < questions\n' "$vms"
"$vmseed" console testvm-nocloud --state-dir "$vms" <"$work/typed" >"$work/console" &
exec 3>"$work/typed"
cat "$work/questions" >&3
tries=0
until grep -q -e '--- end of it ---' "$work/console"; do
	tries=$((tries + 1))
	[ "$tries" -lt 120 ] || { echo "the guest does not answer; its console:" >&2; tail -n 20 "$work/console" >&2; exit 1; }
	sleep 1
done
# Ctrl-] leaves the console.
printf '\035' >&3
exec 3>&-
wait
tr -d '\r' <"$work/console" | sed -n '/--- the guest says ---/,/--- end of it ---/p' | sed '1d;$d'

echo
show stop testvm-nocloud --state-dir "$vms"
show list --state-dir "$vms"
say "3. A Virtlet pod becomes a KubeVirt machine"
show convert examples/virtlet/pod.yaml examples/virtlet/objects.yaml --to kubevirt

printf '\nEverything that this made is removed again.\n'

#!/bin/sh
# Boot the pod of examples/virtlet, which is word for word the one that Virtlet's
# documentation shows, and end with what its guest says of itself.
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
	"$vmseed" rm ubuntu-vm --state-dir "$vms" 2>/dev/null || true
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

# The pod's volumes "raw" and "ceph" belong to a cluster. Disks with one partition
# stand in for them; vmseed makes the third, "extra", as the pod describes it.
for name in raw ceph; do
	truncate -s 64M "$work/$name.raw"
	echo 'start=1MiB, type=83' | sfdisk --quiet --label dos "$work/$name.raw"
	mke2fs -q -t ext4 -L "$name" -E offset=1048576 "$work/$name.raw" 63M
done

# The pod says "inactive: true" where a text is wanted. vmseed warns of it, and so
# does the guest, which by default makes a first boot a failure.
# The pod asks for users without the default one, so nobody can log in over SSH.
# The kernel is started with a root shell on the serial console instead.
show run examples/virtlet/pod.yaml examples/virtlet/objects.yaml \
	--cni-result examples/virtlet/cni-result.json \
	--image "$image" \
	--volume "raw=$work/raw.raw" \
	--volume "ceph=$work/ceph.raw" \
	--memory 1Gi --cpus 2 \
	--accel "${ACCEL:-tcg}" \
	--kernel "$boot/vmlinuz" --initrd "$boot/initrd.img" \
	--append 'root=LABEL=root ro console=ttyS0 quiet mitigations=off no_timer_check systemd.debug_shell=ttyS0 systemd.mask=serial-getty@ttyS0.service' \
	--state-dir "$vms" \
	--fail-on error \
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
title "SSH keys of root:"
sed 's/^.*" \(ssh-\)/\1/; s/\(.\{48\}\).\{12,\}\( .*\)$/\1...\2/' /root/.ssh/authorized_keys | indent
title "user cloudy:"
getent passwd cloudy | indent
title "files:"
for f in $(find /etc/foobar /etc/baz /foobar.txt -type f); do
	stat -c '%A %U:%G %s bytes  %n' "$f" | indent
	sed 's/^/        | /' "$f" | sed -e '$a\'
done
title "mounts:"
for m in /var/lib/docker /var/lib/postgresql /cephdata; do
	findmnt -n -o TARGET,SOURCE,FSTYPE,SIZE "$m"
done | indent
title "network:"
{ ip -br link; ip -br address; ip route; ip -6 route show default; resolvectl --no-pager status | grep -E 'DNS (Servers|Domain)'; } | indent
QUESTIONS
echo "--- the guest"" says ---"; sh /run/questions 2>&1; echo "--- end"" of it ---"
END
mkfifo "$work/typed"
printf '\n$ vmseed console ubuntu-vm --state-dir %s < questions\n' "$vms"
"$vmseed" console ubuntu-vm --state-dir "$vms" <"$work/typed" >"$work/console" &
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
show stop ubuntu-vm --state-dir "$vms"
show list --state-dir "$vms"
printf '\nEverything that this made is removed again.\n'

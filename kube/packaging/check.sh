#!/bin/bash
# Judges a package, as root: lintian, systemd-analyze, and an installation, an upgrade, a removal and a purge on a copy of this
# host's file system (an overlay that is thrown away).
#   check.sh [PACKAGE.deb]
# Without a package it makes one of the program as the tests compile it, which takes seconds where a release takes minutes.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -gt 0 ]; then
	package=$(realpath "$1")
	lint=()
else
	here=$(realpath "$(dirname "$0")")
	(cd "$here/.." && go build -ldflags "-s -w" -o "$work/vmseed-kube" ./cmd/vmseed-kube)
	package=$(BINARY=$work/vmseed-kube "$here/build.sh" "$work")
	lint=(--suppress-tags missing-dependency-on-libc) # a release has none
fi
if command -v lintian >/dev/null; then
	lintian --allow-root --fail-on error "${lint[@]}" "$package"
else
	echo "SKIP-MISSING: lintian"
fi
for need in unshare dpkg systemd-analyze; do
	command -v $need >/dev/null || { echo "SKIP-MISSING: $need"; exit 0; }
done
[ "$(id -u)" = 0 ] || { echo "SKIP-MISSING: the rights of root"; exit 0; }
case $(dpkg-deb --field "$package" Architecture) in
amd64) need='qemu-system-x86, ' firmware=ovmf ;;
arm64) need='qemu-system-arm, ' firmware=qemu-efi-aarch64 ;;
esac
[[ $(dpkg-deb --field "$package" Depends) == *"$need"* && $(dpkg-deb --field "$package" Recommends) == *"$firmware"* ]] ||
	{ echo "the package does not ask for this architecture's QEMU and firmware" >&2; exit 1; }
cp "$package" "$work/package.deb"
cat >"$work/inside" <<'INSIDE'
set -euo pipefail
work=$1
mount -t tmpfs tmpfs "$work/space" 2>/dev/null || true
mkdir -p "$work/space/upper" "$work/space/work" "$work/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/space/upper,workdir=$work/space/work" "$work/root"
cp "$work/package.deb" "$work/root/package.deb"
mount -t proc proc "$work/root/proc" 2>/dev/null || true
within() { chroot "$work/root" "$@"; }
say() { echo "-- $*"; }
say install
within dpkg --force-depends -i /package.deb
within test -x /usr/bin/vmseed-kube
# Everything that QEMU may be asked to open is let through.
for device in /dev/kvm /dev/net/tun /dev/vhost-net /dev/vhost-vsock /dev/vfio/vfio char-vfio 'block-\*'; do
	grep -q "^DeviceAllow=$device rw\$" "$work/root/lib/systemd/system/vmseed-kube-node.service"
done
within vmseed-kube version
test "$(stat -c %a "$work/root/etc/vmseed-kube")" = 700
within systemd-analyze verify /lib/systemd/system/vmseed-kube-node.service
if within command -v deb-systemd-helper >/dev/null 2>&1; then
	test -L "$work/root/etc/systemd/system/multi-user.target.wants/vmseed-kube-node.service"
fi
say upgrade keeps configuration
echo 'NODE_FLAGS="--accel tcg"' >"$work/root/etc/default/vmseed-kube-node"
echo token >"$work/root/etc/vmseed-kube/bootstrap.kubeconfig"
echo disk >"$work/root/var/lib/vmseed-kube/disk"
within dpkg --force-depends --force-confold -i /package.deb
grep -q tcg "$work/root/etc/default/vmseed-kube-node"
say removal tells of VMs that run, and keeps configuration and disks
mkdir -p "$work/root/var/lib/vmseed-kube/vms/ns_running" "$work/root/var/lib/vmseed-kube/vms/ns_ended"
bash -c 'exec -a qemu-system-x86_64 sleep 600' &
guest=$!
until grep -qs qemu-system "/proc/$guest/cmdline"; do sleep 0.1; done
printf '{\n  "status": "running",\n  "pid": %s,\n  "supervisor": 1\n}\n' "$guest" >"$work/root/var/lib/vmseed-kube/vms/ns_running/state.json"
printf '{\n  "status": "running",\n  "pid": %s\n}\n' "$$" >"$work/root/var/lib/vmseed-kube/vms/ns_ended/state.json"
within dpkg -r vmseed-kube 2>&1 | tee "$work/removal"
kill "$guest"
grep -q "1 VMs still run on this host" "$work/removal"
test ! -e "$work/root/usr/bin/vmseed-kube"
test -e "$work/root/etc/vmseed-kube/bootstrap.kubeconfig"
test -e "$work/root/var/lib/vmseed-kube/disk"
say purge keeps disks alone
within dpkg -P vmseed-kube
test ! -e "$work/root/etc/vmseed-kube"
test ! -e "$work/root/etc/default/vmseed-kube-node"
test -e "$work/root/var/lib/vmseed-kube/disk"
test ! -L "$work/root/etc/systemd/system/multi-user.target.wants/vmseed-kube-node.service"
say good
INSIDE
mkdir "$work/space"
unshare --mount --propagation private bash "$work/inside" "$work"

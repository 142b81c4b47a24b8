#!/bin/sh
# Build the disk image of a Debian guest that the real Ignition sets up in its
# initramfs.
#
# Standard output: the path of disk.img, a raw ext4 file system with the label
# root and no boot loader: a test boots it by its kernel, and says on the kernel's
# command line what CoreOS's boot loader would. Beside it lie vmlinuz, initrd.img
# and bootable.img, the same file system on a disk that boots by itself and runs
# Ignition at its first boot, on the platform qemu. Needs and exit status are
# those of build.sh, and the result is kept in the cache in the same way.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

root_size=1024 # MiB

cache=$(cache_dir)
image=$cache/ignition-$(recipe_hash "$here/build-ignition.sh" "$here/configure-ignition.sh" "$here/ignition-packages.txt" "$here/lib.sh")
done_already() {
	[ -f "$image/disk.img" ] || return 1
	echo "$image/disk.img"
}

done_already && exit 0

need apt-get apt awk mawk flock util-linux mmdebstrap mmdebstrap mke2fs e2fsprogs
need_boot_loaders
need_privileges
open_work "$cache" ignition
done_already && exit 0

mkdir "$work/out"
bootstrap "$here/ignition-packages.txt" "$here/configure-ignition.sh"
# Units that a config enables are entered as presets, and systemd applies those
# at a first boot, which an empty machine-id, as mmdebstrap leaves it, is not.
echo uninitialized | privileged tee "$work/root/etc/machine-id" >/dev/null
cp "$work/root/boot"/vmlinuz-* "$work/out/vmlinuz"
cp "$work/root/boot"/initrd.img-* "$work/out/initrd.img"
privileged rm "$work/root/boot"/initrd.img-*
say "making the disks"
truncate -s "${root_size}M" "$work/out/disk.img"
privileged mke2fs -q -t ext4 -L root -d "$work/root" -E lazy_itable_init=0,lazy_journal_init=0 "$work/out/disk.img" >&2
make_esp "root=LABEL=root rw console=ttyS0 quiet mitigations=off systemd.firstboot=off ignition.platform.id=qemu ignition.firstboot"
assemble "$work/out/bootable.img"
dd if="$work/out/disk.img" of="$work/out/bootable.img" bs=1M seek="$root_start" conv=notrunc,sparse status=none
mv "$work/out" "$image"
done_already

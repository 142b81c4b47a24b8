#!/bin/sh
# Build the disk image of a Debian guest that the real Ignition sets up in its
# initramfs. It has no boot loader: a test boots it by its kernel, and says on the
# kernel's command line what CoreOS's boot loader would.
#
# Standard output: the path of disk.img, a raw ext4 file system with the label
# root; beside it lie vmlinuz and initrd.img. Needs and exit status are those of
# build.sh, and the result is kept in the cache in the same way.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

cache=$(cache_dir)
image=$cache/ignition-$(recipe_hash "$here/build-ignition.sh" "$here/configure-ignition.sh" "$here/ignition-packages.txt" "$here/lib.sh")
done_already() {
	[ -f "$image/disk.img" ] || return 1
	echo "$image/disk.img"
}

done_already && exit 0

need apt-get apt awk mawk flock util-linux mmdebstrap mmdebstrap mke2fs e2fsprogs
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
say "making the disk"
truncate -s 1G "$work/out/disk.img"
privileged mke2fs -q -t ext4 -L root -d "$work/root" -E lazy_itable_init=0,lazy_journal_init=0 "$work/out/disk.img" >&2
mv "$work/out" "$image"
done_already

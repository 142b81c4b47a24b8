#!/bin/sh
# Build the disk image of a Debian guest that boots by itself, from BIOS and from
# UEFI, as a stock cloud image does. Only files are written: no loop device, no
# mount. Needs the host's apt mirror and root, or without root the subordinate
# ids of newuidmap.
#
# Standard output: the path of disk.img, a raw image; beside it lie vmlinuz and
# initrd.img, which are also inside. The result is kept in the cache under the
# hash of the files that describe it, so a second call returns at once.
# Exit status: 0 there; 3 something must be installed first; 1 it failed.
#
# The disk is laid out by assemble() of lib.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

cmdline="root=LABEL=root ro console=ttyS0 quiet mitigations=off"
root_size=2048 # MiB

cache=$(cache_dir)
image=$cache/$(recipe_hash "$here/build.sh" "$here/configure.sh" "$here/guest-packages.txt" "$here/lib.sh")
done_already() {
	[ -f "$image/disk.img" ] || return 1
	echo "$image/disk.img"
}

done_already && exit 0

need apt-get apt awk mawk flock util-linux mmdebstrap mmdebstrap mke2fs e2fsprogs
need_boot_loaders
need_privileges
open_work "$cache" disk
done_already && exit 0

mkdir "$work/out"
bootstrap "$here/guest-packages.txt" "$here/configure.sh"
cp "$work/root/boot"/vmlinuz-* "$work/out/vmlinuz"
cp "$work/root/boot"/initrd.img-* "$work/out/initrd.img"
make_esp "$cmdline"
say "assembling the disk"
assemble "$work/out/disk.img"
# Nothing is left for the guest's kernel to initialise in the background.
privileged mke2fs -q -t ext4 -L root -d "$work/root" \
	-E "offset=$((root_start << 20)),lazy_itable_init=0,lazy_journal_init=0" "$work/out/disk.img" "${root_size}M" >&2
mv "$work/out" "$image"
done_already

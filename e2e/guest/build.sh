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
# The disk: GPT; partition 15 the EFI system partition, holding the kernel and
# two boot loaders, syslinux for BIOS and systemd-boot for UEFI; partition 1 the
# root file system, last on the disk so that it can grow.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$here/lib.sh"

cmdline="root=LABEL=root ro console=ttyS0 quiet mitigations=off"
esp_start=1  # all in MiB
esp_size=127
root_start=$((esp_start + esp_size))
root_size=2048

gptmbr=/usr/lib/SYSLINUX/gptmbr.bin
efi_loader=/usr/lib/systemd/boot/efi/systemd-bootx64.efi

cache=$(cache_dir)
image=$cache/$(recipe_hash "$here/build.sh" "$here/configure.sh" "$here/guest-packages.txt" "$here/lib.sh")
done_already() {
	[ -f "$image/disk.img" ] || return 1
	echo "$image/disk.img"
}

make_esp() {
	esp=$work/esp.img
	truncate -s "${esp_size}M" "$esp"
	mkfs.fat --invariant -F 32 -s 2 -n EFI "$esp" >&2
	mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/loader ::/loader/entries
	mcopy -i "$esp" "$work/out/vmlinuz" "$work/out/initrd.img" ::/

	syslinux --install "$esp"
	mcopy -i "$esp" - ::/syslinux.cfg <<-END
		DEFAULT debian
		LABEL debian
		LINUX /vmlinuz
		INITRD /initrd.img
		APPEND $cmdline
	END

	mcopy -i "$esp" "$efi_loader" ::/EFI/BOOT/BOOTX64.EFI
	echo "timeout 0" | mcopy -i "$esp" - ::/loader/loader.conf
	mcopy -i "$esp" - ::/loader/entries/debian.conf <<-END
		title Debian
		linux /vmlinuz
		initrd /initrd.img
		options $cmdline
	END
}

assemble() {
	disk=$work/out/disk.img
	truncate -s "$((root_start + root_size + 1))M" "$disk"
	sfdisk --quiet "$disk" >&2 <<-END
		label: gpt
		disk15 : start=${esp_start}MiB, size=${esp_size}MiB, type=uefi, attrs=LegacyBIOSBootable
		disk1 : start=${root_start}MiB, size=${root_size}MiB, type=linux
	END
	dd if="$gptmbr" of="$disk" conv=notrunc status=none
	dd if="$work/esp.img" of="$disk" bs=1M seek="$esp_start" conv=notrunc,sparse status=none
	# Nothing is left for the guest's kernel to initialise in the background.
	privileged mke2fs -q -t ext4 -L root -d "$work/root" \
		-E "offset=$((root_start << 20)),lazy_itable_init=0,lazy_journal_init=0" "$disk" "${root_size}M" >&2
}

done_already && exit 0

need apt-get apt awk mawk flock util-linux mmdebstrap mmdebstrap sfdisk fdisk mke2fs e2fsprogs \
	mkfs.fat dosfstools mcopy mtools syslinux syslinux "$gptmbr" syslinux "$efi_loader" systemd-boot-efi
need_privileges
open_work "$cache" disk
done_already && exit 0

mkdir "$work/out"
bootstrap "$here/guest-packages.txt" "$here/configure.sh"
cp "$work/root/boot"/vmlinuz-* "$work/out/vmlinuz"
cp "$work/root/boot"/initrd.img-* "$work/out/initrd.img"
make_esp
say "assembling the disk"
assemble
mv "$work/out" "$image"
done_already

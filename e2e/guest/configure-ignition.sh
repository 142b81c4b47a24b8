#!/bin/sh
# Turn a fresh Debian tree into an image that Ignition sets up at its first boot,
# in the manner of Fedora CoreOS and Flatcar. Runs as a mmdebstrap customize hook.
# $1: the tree.
set -eu
root=$1

# put FILE MODE: standard input becomes a file of the tree.
put() {
	mkdir -p "$(dirname "$root$1")"
	cat >"$root$1"
	chmod "$2" "$root$1"
}

rm -f "$root"/etc/ssh/ssh_host_*_key* "$root/var/lib/dbus/machine-id"
put /etc/hostname 644 <<-FILE
	localhost
FILE
put /etc/fstab 644 <<-FILE
	LABEL=root / ext4 rw,discard,errors=remount-ro 0 1
FILE
put /etc/systemd/system/ssh.service.d/host-keys.conf 644 <<-FILE
	[Service]
	ExecStartPre=
	# One kind of key: emulation takes long for the others. It is not made twice.
	ExecStartPre=-/usr/bin/ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
	ExecStartPre=/usr/sbin/sshd -t
FILE

# Debian compiles relabelling into Ignition, although its guests have no policy.
put /etc/selinux/config 644 <<-FILE
	SELINUX=disabled
	SELINUXTYPE=none
FILE
put /usr/sbin/setfiles 755 <<-FILE
	#!/bin/sh
	cat >/dev/null
FILE

# As CoreOS has it: a user who may become root, known before the config is read,
# and the keys where this sshd looks for them.
put /usr/lib/ignition/base.d/00-core.ign 644 <<-FILE
	{"ignition": {"version": "3.0.0"},
	 "passwd": {"users": [{"name": "core", "gecos": "CoreOS Admin", "shell": "/bin/bash",
	                       "groups": ["adm", "sudo", "systemd-journal"]}]}}
FILE
put /etc/sudoers.d/image 440 <<-FILE
	%sudo ALL=(ALL) NOPASSWD: ALL
FILE
put /etc/systemd/system/ignition-files.service.d/10-keys.conf 644 <<-FILE
	[Service]
	Environment=IGNITION_WRITE_AUTHORIZED_KEYS_FRAGMENT=false
FILE

# DHCP where the config says nothing of a NIC.
put /usr/lib/systemd/network/zz-default.network 644 <<-FILE
	[Match]
	Type=ether
	[Network]
	DHCP=yes
FILE
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"
# Without a network device there is nothing to wait for.
put /etc/systemd/system/systemd-networkd-wait-online.service.d/no-device.conf 644 <<-FILE
	[Unit]
	ConditionPathExistsGlob=/sys/class/net/[!l]*
FILE

# As CoreOS has it, the boot loader asks for Ignition until a first boot is done.
put /usr/lib/systemd/system/ignition-firstboot-complete.service 644 <<-FILE
	[Unit]
	Description=Have later boots go without Ignition
	ConditionKernelCommandLine=ignition.firstboot
	ConditionPathExists=/dev/disk/by-label/EFI
	RequiresMountsFor=/run
	After=multi-user.target
	[Service]
	Type=oneshot
	ExecStart=/bin/sh -ec 'mkdir -p /run/esp; mount LABEL=EFI /run/esp; sed -i "s/ ignition\\.firstboot//" /run/esp/syslinux.cfg /run/esp/loader/entries/debian.conf; umount /run/esp'
	[Install]
	WantedBy=multi-user.target
FILE
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s /usr/lib/systemd/system/ignition-firstboot-complete.service "$root/etc/systemd/system/multi-user.target.wants/"

# vmseed.stop on the kernel's command line ends the guest where Ignition has ended.
put /usr/lib/dracut/modules.d/99vmseed-stop/module-setup.sh 755 <<-FILE
	#!/bin/bash
	check() { return 255; }
	depends() { echo ignition; }
	install() { inst_hook pre-pivot 99 "\$moddir/stop.sh"; inst_multiple sync poweroff mount; }
FILE
put /usr/lib/dracut/modules.d/99vmseed-stop/stop.sh 755 <<-FILE
	#!/bin/sh
	if getargbool 0 vmseed.stop; then
		sync
		mount -o remount,ro /sysroot
		echo "Ignition has ended, and vmseed.stop asks to stop here" >/dev/console
		poweroff -f
	fi
FILE

put /etc/dracut.conf.d/image.conf 644 <<-FILE
	hostonly="no"
	compress="cat"
	omit_dracutmodules+=" crypt dm nvdimm lunmask resume virtiofs overlay-root kernel-modules-extra terminfo ifcfg memstrack "
	add_dracutmodules+=" ignition vmseed-stop "
	drivers+=" virtio virtio_pci virtio_blk virtio_scsi virtio_net virtio_console ext4 isofs sr_mod cdrom ata_piix ata_generic qemu_fw_cfg vfat nls_cp437 nls_ascii "
	install_items+=" /etc/systemd/system/ignition-files.service.d/10-keys.conf /usr/lib/ignition/base.d/00-core.ign "
FILE
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap"

# Once, where the packages' own hooks would build it several times. dracut leaves
# a module out whose needs it does not find.
kernel=$(basename "$root"/lib/modules/*)
env -u INITRD chroot "$root" dracut --force --no-hostonly "/boot/initrd.img-$kernel" "$kernel" >"$root/run/dracut.words" 2>&1 || status=$?
chroot "$root" lsinitrd --mod "/boot/initrd.img-$kernel" >"$root/run/dracut.modules" 2>/dev/null || true
if [ -n "${status:-}" ] || ! grep -qx ignition "$root/run/dracut.modules"; then
	cat "$root/run/dracut.words" >&2
	echo "the initramfs lacks Ignition" >&2
	exit 1
fi
rm "$root/run/dracut.words" "$root/run/dracut.modules"

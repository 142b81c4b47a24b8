#!/bin/sh
# Turn a fresh Debian tree into what a cloud image is before its first boot.
# Runs as a mmdebstrap customize hook. $1: the tree.
set -eu
root=$1

# Identity belongs to the first boot: an empty machine-id is filled in by
# systemd, SSH host keys are made by cloud-init, and the host name is cloud-init's.
: >"$root/etc/machine-id"
rm -f "$root/var/lib/dbus/machine-id" "$root"/etc/ssh/ssh_host_*_key*
ln -s /etc/machine-id "$root/var/lib/dbus/machine-id"
echo localhost >"$root/etc/hostname"
cat >"$root/etc/hosts" <<END
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
ff02::1 ip6-allnodes
ff02::2 ip6-allrouters
END

# On a busy host udev may need longer than systemd waits for a device, and a first
# boot does not need the file system of the boot loaders.
cat >"$root/etc/fstab" <<END
LABEL=root / ext4 rw,discard,errors=remount-ro,x-systemd.growfs 0 1
LABEL=EFI /boot/efi vfat defaults,umask=077,nofail 0 0
END
mkdir "$root/boot/efi"
echo LANG=C.UTF-8 >"$root/etc/default/locale"

# cloud-init puts the default user into this group and makes the group if need
# be, which would then take the first ordinary id, the user's own.
chroot "$root" addgroup --quiet --system netdev

# cloud-init hands the network to netplan, which hands it to networkd; the
# service has to be part of the boot before either has written anything.
chroot "$root" systemctl -q enable systemd-networkd.service systemd-resolved.service
ln -sf ../run/systemd/resolve/stub-resolv.conf "$root/etc/resolv.conf"

# A guest without a network device has nothing to wait for; networkd would keep
# its first boot waiting for two minutes, and cloud-init waits for networkd.
mkdir "$root/etc/systemd/system/systemd-networkd-wait-online.service.d"
printf '[Unit]\nConditionPathExistsGlob=/sys/class/net/[!l]*\n' \
	>"$root/etc/systemd/system/systemd-networkd-wait-online.service.d/no-device.conf"

# The mirror settings of the building host are of no use in a guest.
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap"

# Neither can be found out in a tree that is not the running system.
printf 'FSTYPE=ext4\nRESUME=none\n' >"$root/etc/initramfs-tools/conf.d/root"

# Once, where the packages' own hooks would build it several times.
chroot "$root" update-initramfs -c -k all

# Under emulation RSA keys take longer than the rest of a first boot.
cat >"$root/etc/cloud/cloud.cfg.d/20_keys.cfg" <<END
ssh_genkeytypes: [ed25519, ecdsa]
END

// Package devices says under which names a guest finds the disks and shares of its machine.
package devices

import (
	"fmt"
	"slices"

	"github.com/vmseed/vmseed/machine"
)

// Disk returns the machine's disk of a name, and whether there is one.
func Disk(m machine.Machine, name string) (machine.Disk, bool) {
	i := slices.IndexFunc(m.Disks, func(d machine.Disk) bool { return d.Name == name })
	if i < 0 {
		return machine.Disk{}, false
	}
	return m.Disks[i], true
}

// Share returns the machine's share of a name, and whether there is one.
func Share(m machine.Machine, name string) (machine.Share, bool) {
	i := slices.IndexFunc(m.Shares, func(s machine.Share) bool { return s.Name == name })
	if i < 0 {
		return machine.Share{}, false
	}
	return m.Shares[i], true
}

// ByID is the link below /dev/disk/by-id that udev makes for a disk: it carries the serial number.
func ByID(d machine.Disk) string {
	const dir = "/dev/disk/by-id/"
	switch d.Bus {
	case "scsi":
		return dir + "scsi-0QEMU_QEMU_HARDDISK_" + d.Serial
	case "sata", "ide":
		return dir + "ata-QEMU_HARDDISK_" + d.Serial
	case "usb":
		return dir + "usb-QEMU_QEMU_HARDDISK_" + d.Serial + "-0:0"
	}
	return dir + "virtio-" + d.Serial
}

// Partition is the link of one of a disk's partitions, which count from 1, or with 0 of the whole disk. The name is that of a link of
// ByID or any other that udev makes below /dev/disk.
func Partition(link string, number int) string {
	if number == 0 {
		return link
	}
	return fmt.Sprintf("%s-part%d", link, number)
}

// ShareMount returns the type of file system and the options that mount(8) needs for a share. Options is not written to.
func ShareMount(s machine.Share, options []string) (kind string, all []string) {
	kind, all = s.Driver, slices.Clone(options)
	if kind == "" || kind == "9p" {
		kind, all = "9p", append([]string{"trans=virtio"}, all...)
	}
	if s.ReadOnly && !slices.Contains(all, "ro") {
		all = append(all, "ro")
	}
	return kind, all
}

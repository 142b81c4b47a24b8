// Package devices says under which names a guest finds the disks and shares of its machine.
package devices

import (
	"fmt"
	"slices"
	"strings"

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

// ByID is the link below /dev/disk/by-id that udev makes for a disk: it carries what the disk shows of its serial number.
func ByID(d machine.Disk) string {
	const (
		dir = "/dev/disk/by-id/"
		// virtio 1.2, section 5.2.6, and ATA's words 10 to 19 have room for 20 bytes.
		room = 20
	)
	short := d.Serial[:min(len(d.Serial), room)]
	switch d.Bus {
	case "scsi":
		return dir + "scsi-0QEMU_QEMU_HARDDISK_" + inLink(d.Serial)
	case "sata", "ide":
		return dir + "ata-QEMU_HARDDISK_" + inLink(short)
	case "usb":
		return dir + "usb-QEMU_QEMU_HARDDISK_" + inLink(d.Serial) + "-0:0"
	}
	return dir + "virtio-" + inLink(short)
}

// inLink writes a serial number as udev does in links: blanks around it go, those inside become one underscore, and so does
// every character that is not safe in one (udev(7), string_escape=replace).
func inLink(serial string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x80 && !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789#+-.:=@_", r) {
			return '_'
		}
		return r
	}, strings.Join(strings.Fields(serial), "_"))
}

// Partition is the name of one of a disk's partitions, which count from 1, or with 0 of the whole disk. The disk is named by
// a link that udev makes below /dev/disk, or by the kernel, which puts a p between two digits.
func Partition(disk string, number int) string {
	switch last := disk[max(len(disk)-1, 0):]; {
	case number == 0:
		return disk
	case strings.HasPrefix(disk, "/dev/disk/"):
		return fmt.Sprintf("%s-part%d", disk, number)
	case last >= "0" && last <= "9":
		return fmt.Sprintf("%sp%d", disk, number)
	}
	return fmt.Sprintf("%s%d", disk, number)
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

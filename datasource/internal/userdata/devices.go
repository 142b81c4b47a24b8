package userdata

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/machine"
)

// deviceName is what cloud-init's mounts module takes for a disk or one of its partitions. The links below
// /dev/disk/by-id carry the serial number; a partition is written as .N, because the module looks up -partN itself and
// drops names that it does not find as a disk (sanitize_devname in cloudinit/config/cc_mounts.py, 22.4 to 26.2).
func deviceName(d machine.Disk, partition int) string {
	name := "/dev/disk/by-id/"
	switch d.Bus {
	case "scsi":
		name += "scsi-0QEMU_QEMU_HARDDISK_" + d.Serial
	case "sata", "ide":
		name += "ata-QEMU_HARDDISK_" + d.Serial
	case "usb":
		name += "usb-QEMU_QEMU_HARDDISK_" + d.Serial + "-0:0"
	default:
		name += "virtio-" + d.Serial
	}
	if partition > 0 {
		name += fmt.Sprintf(".%d", partition)
	}
	return name
}

// sysfsDir is a shell glob of the directory in sysfs that holds one entry, the kernel's name of the disk. It needs no
// udev. A disk on another bus than virtio and scsi has none.
func sysfsDir(d machine.Disk) string {
	base := "/sys/bus/pci/devices/" + d.PCI + "/virtio*/"
	switch d.Bus {
	case "virtio":
		return base + "block/"
	case "scsi":
		return fmt.Sprintf("%shost*/target*:0:0/*:0:0:%d/block/", base, d.Unit)
	}
	return ""
}

// kernelName is shell text that expands to the path of the disk's device, without udev.
func kernelName(d machine.Disk, partition int) string {
	dir := sysfsDir(d)
	if dir == "" {
		return deviceName(d, 0)
	}
	name := "/dev/$(ls " + dir + ")"
	if partition > 0 {
		name += fmt.Sprint(partition)
	}
	return name
}

// quote makes one shell word of s. It is the only place where shell text is made of data.
func quote(s string) string {
	safe := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") == ""
	if safe {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// mountScript mounts the machine's disks and shares as the mounts module would, for guests without udev. It may run
// any number of times.
func mountScript(m machine.Machine) string {
	var b strings.Builder
	for _, mount := range m.Mounts {
		target := quote(mount.Path)
		var what string
		switch {
		case mount.Disk != "":
			d, ok := findDisk(m, mount.Disk)
			if !ok {
				continue
			}
			what = `"` + kernelName(d, mount.Partition) + `"`
			if mount.Type != "" {
				what = "-t " + quote(mount.Type) + " " + what
			}
		case mount.Share != "":
			s, ok := findShare(m, mount.Share)
			if !ok {
				continue
			}
			what = shareArguments(s)
		default:
			what = quote(mount.Device)
		}
		if len(mount.Options) > 0 && mount.Share == "" {
			what = "-o " + quote(strings.Join(mount.Options, ",")) + " " + what
		}
		fmt.Fprintf(&b, "if ! mountpoint -q %s; then mkdir -p %s && mount %s %s; fi\n", target, target, what, target)
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" + b.String()
}

func shareArguments(s machine.Share) string {
	if s.Driver == "virtiofs" {
		return "-t virtiofs " + quote(s.Tag)
	}
	return "-t 9p -o trans=virtio,version=9p2000.L " + quote(s.Tag)
}

// linkScript makes the links to the machine's disks. It may run any number of times.
func linkScript(m machine.Machine) string {
	var b strings.Builder
	for _, link := range m.DeviceLinks {
		d, ok := findDisk(m, link.Disk)
		if !ok {
			continue
		}
		dir := link.Path[:strings.LastIndexByte(link.Path, '/')+1]
		fmt.Fprintf(&b, "mkdir -p %s && ln -fsn \"%s\" %s\n", quote(dir), kernelName(d, 0), quote(link.Path))
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" + b.String()
}

func findDisk(m machine.Machine, name string) (machine.Disk, bool) {
	for _, d := range m.Disks {
		if d.Name == name {
			return d, true
		}
	}
	return machine.Disk{}, false
}

func findShare(m machine.Machine, name string) (machine.Share, bool) {
	for _, s := range m.Shares {
		if s.Name == name {
			return s, true
		}
	}
	return machine.Share{}, false
}

package userdata

import (
	"fmt"
	"slices"
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

// kernelName is shell text that expands to the path of the disk's device: without udev where the bus allows it, else the
// link that udev makes.
func kernelName(d machine.Disk, partition int) string {
	dir := sysfsDir(d)
	switch {
	case dir == "" && partition > 0:
		return fmt.Sprintf("%s-part%d", deviceName(d, 0), partition)
	case dir == "":
		return deviceName(d, 0)
	case partition > 0:
		return fmt.Sprintf("/dev/$(ls %s)%d", dir, partition)
	}
	return "/dev/$(ls " + dir + ")"
}

// quote makes one shell word of s. It is the only place where shell text is made of data.
func quote(s string) string {
	safe := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_") == ""
	if safe {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// mountable is what a mount mounts: as the mounts module names it, and as text for a shell. Kind and options are those of
// mount(8).
type mountable struct {
	device, shell, kind string
	options             []string
}

// resolve finds what a mount mounts. ok is false when the machine has no disk or share of that name.
func resolve(m machine.Machine, mount machine.Mount) (x mountable, ok bool) {
	x = mountable{device: mount.Device, shell: quote(mount.Device), kind: mount.Type, options: mount.Options}
	switch {
	case mount.Disk != "":
		d, ok := findDisk(m, mount.Disk)
		x.device, x.shell = deviceName(d, mount.Partition), `"`+kernelName(d, mount.Partition)+`"`
		return x, ok
	case mount.Share != "":
		s, ok := findShare(m, mount.Share)
		x.device, x.shell, x.kind = s.Tag, quote(s.Tag), s.Driver
		if x.kind == "" || x.kind == "9p" {
			x.kind, x.options = "9p", append([]string{"trans=virtio"}, x.options...)
		}
		if s.ReadOnly && !slices.Contains(x.options, "ro") {
			x.options = append(slices.Clone(x.options), "ro")
		}
		return x, ok
	}
	return x, true
}

// mountScript mounts the machine's disks and shares as the mounts module would, for guests without udev. It may run
// any number of times.
func mountScript(m machine.Machine) string {
	var b strings.Builder
	for _, mount := range m.Mounts {
		x, ok := resolve(m, mount)
		if !ok {
			continue
		}
		what := x.shell
		if len(x.options) > 0 {
			what = "-o " + quote(strings.Join(x.options, ",")) + " " + what
		}
		if x.kind != "" {
			what = "-t " + quote(x.kind) + " " + what
		}
		target := quote(mount.Path)
		fmt.Fprintf(&b, "if ! mountpoint -q %s; then mkdir -p %s && mount %s %s; fi\n", target, target, what, target)
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" + b.String()
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

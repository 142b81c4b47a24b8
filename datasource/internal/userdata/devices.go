package userdata

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/machine"
)

// deviceName is what cloud-init's mounts module takes for a disk or one of its partitions. The links below
// /dev/disk/by-id carry the serial number; a partition is written as .N, because the module looks up -partN itself and
// drops names that it does not find as a disk (sanitize_devname in cloudinit/config/cc_mounts.py, 22.4 to 26.2).
func deviceName(d machine.Disk, partition int) string {
	name := devices.ByID(d)
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
		return devices.Partition(devices.ByID(d), partition)
	case dir == "":
		return devices.ByID(d)
	case partition > 0:
		return fmt.Sprintf("/dev/$(ls %s)%d", dir, partition)
	}
	return "/dev/$(ls " + dir + ")"
}

// mountable is what a mount mounts: as the mounts module names it, and as text for a shell. Kind and options are those of
// mount(8).
type mountable struct {
	device, shell, kind string
	options             []string
}

// resolve finds what a mount mounts. ok is false when the machine has no disk or share of that name.
func resolve(m machine.Machine, mount machine.Mount) (x mountable, ok bool) {
	x = mountable{device: mount.Device, shell: shell.Word(mount.Device), kind: mount.Type, options: mount.Options}
	switch {
	case mount.Disk != "":
		d, ok := devices.Disk(m, mount.Disk)
		x.device, x.shell = deviceName(d, mount.Partition), `"`+kernelName(d, mount.Partition)+`"`
		return x, ok
	case mount.Share != "":
		s, ok := devices.Share(m, mount.Share)
		x.device, x.shell = s.Tag, shell.Word(s.Tag)
		x.kind, x.options = devices.ShareMount(s, x.options)
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
			what = "-o " + shell.Word(strings.Join(x.options, ",")) + " " + what
		}
		if x.kind != "" {
			what = "-t " + shell.Word(x.kind) + " " + what
		}
		target := shell.Word(mount.Path)
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
		d, ok := devices.Disk(m, link.Disk)
		if !ok {
			continue
		}
		dir := link.Path[:strings.LastIndexByte(link.Path, '/')+1]
		fmt.Fprintf(&b, "mkdir -p %s && ln -fsn \"%s\" %s\n", shell.Word(dir), kernelName(d, 0), shell.Word(link.Path))
	}
	if b.Len() == 0 {
		return ""
	}
	return "#!/bin/sh\n" + b.String()
}

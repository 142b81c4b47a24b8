package ignition

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/machine"
)

// mib is the unit of partitions.
const mib = 1 << 20

// partitionTypes are the GUIDs of the types that have names (UEFI 2.10, section 5.3.3; the Discoverable Partitions
// Specification).
var partitionTypes = map[string]string{
	"":      "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
	"linux": "0FC63DAF-8483-4772-8E79-3D69D8477DE4",
	"swap":  "0657FD6D-A4AB-43C4-84E5-0933C84B4F4F",
	"efi":   "C12A7328-F81F-11D2-BA4B-00A0C93EC93B",
}

var guid = regexp.MustCompile(`^[[:xdigit:]]{8}(-[[:xdigit:]]{4}){3}-[[:xdigit:]]{12}$`)

// device returns the path of a disk by its name, or one that is passed as it is, and of a partition of it.
func (g *generator) device(at, disk, device string, partition int) (string, bool) {
	link := device
	if disk != "" {
		d, ok := devices.Disk(g.m, disk)
		if !ok {
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's disks", "there is no disk %q", disk)
			return "", false
		}
		link = devices.ByID(d)
	}
	if !path.IsAbs(link) || path.Clean(link) != link {
		g.errorf(CodeName, at, "name a disk of the machine or a path below /dev", "%q is no path of a device", link)
		return "", false
	}
	return devices.Partition(link, partition), true
}

// storage writes partition tables and file systems.
func (g *generator) storage() {
	seen := map[string]bool{}
	twice := func(at, device string) bool {
		if seen[device] {
			g.errorf(CodeTwice, at, "join the two", "the device %s is there twice", device)
			return true
		}
		seen[device] = true
		return false
	}
	for i, d := range g.m.Storage.Disks {
		at := fmt.Sprintf("storage.disks[%d]", i)
		device, ok := g.device(at, d.Disk, d.Device, 0)
		if !ok || twice(at, device) {
			continue
		}
		if d.Table != "" && d.Table != "gpt" {
			g.warnf(CodeStorage, at, "use gpt, or partition the disk by a script", "Ignition makes a GUID partition table here, because it knows no other")
		}
		g.out.Storage.Disks = append(g.out.Storage.Disks, types.Disk{Device: device, WipeTable: stated(d.Wipe), Partitions: g.partitions(d, at)})
	}
	clear(seen)
	for i, f := range g.m.Storage.Filesystems {
		at := fmt.Sprintf("storage.filesystems[%d]", i)
		device, ok := g.device(at, f.Disk, f.Device, f.Partition)
		if !ok || twice(at, device) {
			continue
		}
		g.filesystem(f, at, device)
	}
}

// partitions converts the partitions of a disk. Ignition wants a number or a label, so the next free number is given.
func (g *generator) partitions(d machine.DiskLayout, at string) []types.Partition {
	var out []types.Partition
	taken := map[int]bool{}
	for _, p := range d.Partitions {
		taken[p.Number] = true
	}
	next := 1
	for i, p := range d.Partitions {
		at := fmt.Sprintf("%s.partitions[%d]", at, i)
		if p.Size%mib != 0 || p.Start%mib != 0 || p.Size < 0 || p.Start < 0 {
			g.errorf(CodeStorage, at, "round them to MiB", "size and start of a partition are whole MiB")
			continue
		}
		if p.Number == 0 {
			for taken[next] {
				next++
			}
			p.Number = next
			taken[next] = true
		}
		id := partitionTypes[p.Type]
		if guid.MatchString(p.Type) {
			id = strings.ToUpper(p.Type)
		}
		if id == "" {
			g.errorf(CodeStorage, at, "write linux, swap, efi or a GUID", "%q is no type of a partition", p.Type)
			continue
		}
		out = append(out, types.Partition{Number: p.Number, Label: stated(p.Label), SizeMiB: stated(int(p.Size / mib)), StartMiB: stated(int(p.Start / mib)),
			TypeGUID: &id})
	}
	return out
}

// filesystem writes a file system. It has the path at which the machine mounts it, so that Ignition mounts it there as
// well and writes files of that path onto it.
func (g *generator) filesystem(f machine.Filesystem, at, device string) {
	if !slices.Contains([]string{"ext4", "xfs", "btrfs", "vfat", "swap"}, f.Type) {
		g.errorf(CodeStorage, at, "use ext4, xfs, btrfs, vfat or swap", "Ignition makes no file system of the type %q", f.Type)
		return
	}
	out := types.Filesystem{Device: device, Format: &f.Type, Label: stated(f.Label), WipeFilesystem: stated(f.Wipe)}
	for _, o := range f.Options {
		out.Options = append(out.Options, types.FilesystemOption(o))
	}
	if mount, ok := g.mountOf(device); ok && f.Type != "swap" {
		// What is below /run is of the system that does not run yet.
		if place := g.family.whereTo(mount.Path); !below(place, "/run") {
			out.Path = &place
		}
	}
	g.out.Storage.Filesystems = append(g.out.Storage.Filesystems, out)
}

// mountOf finds the first mount of a device.
func (g *generator) mountOf(device string) (machine.Mount, bool) {
	for _, m := range g.m.Mounts {
		if x := g.what(m); x.device == device && path.IsAbs(m.Path) {
			return m, true
		}
	}
	return machine.Mount{}, false
}

// mountable is what a mount mounts, as systemd names it.
type mountable struct {
	device, kind string
	options      []string
	ok           bool
}

// tags are what mount(8) takes in the place of a device, and where udev has links of them.
var tags = map[string]string{"LABEL": "by-label", "UUID": "by-uuid", "PARTLABEL": "by-partlabel", "PARTUUID": "by-partuuid"}

// what resolves a mount. It is not ok when the machine has no disk or share of that name.
func (g *generator) what(m machine.Mount) mountable {
	x := mountable{device: m.Device, kind: m.Type, options: m.Options, ok: true}
	switch {
	case m.Disk != "":
		var d machine.Disk
		d, x.ok = devices.Disk(g.m, m.Disk)
		x.device = devices.Partition(devices.ByID(d), m.Partition)
	case m.Share != "":
		var s machine.Share
		s, x.ok = devices.Share(g.m, m.Share)
		x.device = s.Tag
		x.kind, x.options = devices.ShareMount(s, m.Options)
	default:
		if tag, value, found := strings.Cut(m.Device, "="); found && tags[tag] != "" {
			x.device = "/dev/disk/" + tags[tag] + "/" + escapeUdev(strings.Trim(value, `"`))
		}
	}
	return x
}

// mounts writes a unit for each mount, and for each swap space that is made here. A unit is what systemd itself makes of a
// line of fstab, which Ignition cannot add lines to and keep what the image has.
func (g *generator) mounts() {
	made := map[string]string{}
	for _, f := range g.out.Storage.Filesystems {
		made[f.Device] = *f.Format
	}
	swaps := map[string]bool{}
	for i, m := range g.m.Mounts {
		at := fmt.Sprintf("mounts[%d]", i)
		x := g.what(m)
		swap := x.kind == "swap" || made[x.device] == "swap"
		switch {
		case !x.ok:
			kind, name := "disk", m.Disk
			if name == "" {
				kind, name = "share", m.Share
			}
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's "+kind+"s", "there is no %s %q to mount at %s", kind, name, m.Path)
		case !oneLine(x.device, m.Path, x.kind, strings.Join(x.options, ",")) || x.device == "":
			g.errorf(CodeName, at, "write it on one line", "a mount needs a device, and texts without line breaks")
		case swap:
			swaps[x.device] = true
			g.swap(x.device, x.options)
		case !path.IsAbs(m.Path) || path.Clean(m.Path) != m.Path || m.Path == "/":
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no path to mount at", m.Path)
		default:
			m.Path = g.mountPoint(at, m.Path)
			g.mount(m, x, made[x.device])
		}
	}
	for _, f := range g.out.Storage.Filesystems {
		if *f.Format == "swap" && !swaps[f.Device] {
			g.swap(f.Device, nil)
		}
	}
}

// remote are the types of file systems that need the network.
var remote = []string{"nfs", "nfs4", "cifs", "smb3", "ceph", "glusterfs", "sshfs", "fuse.sshfs"}

// mount writes a mount unit. The boot waits for a file system that was made for this machine and fails without it, as
// Butane has it; without any other it goes on, as cloud-init has it.
func (g *generator) mount(m machine.Mount, x mountable, made string) {
	kind := x.kind
	if kind == "" {
		kind = made
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=Mount of the machine's definition at %s\n", unitText(m.Path))
	if slices.Contains([]string{"ext4", "xfs", "btrfs", "vfat"}, made) && path.IsAbs(x.device) {
		check := "systemd-fsck@" + escapePath(x.device) + ".service"
		fmt.Fprintf(&b, "Requires=%[1]s\nAfter=%[1]s\n", check)
	}
	fmt.Fprintf(&b, "\n[Mount]\nWhere=%s\nWhat=%s\n", unitText(m.Path), unitText(x.device))
	if kind != "" {
		fmt.Fprintf(&b, "Type=%s\n", unitText(kind))
	}
	if len(x.options) > 0 {
		fmt.Fprintf(&b, "Options=%s\n", unitText(strings.Join(x.options, ",")))
	}
	wanted := "WantedBy=local-fs.target"
	switch {
	case slices.Contains(remote, kind) || slices.Contains(x.options, "_netdev"):
		wanted = "WantedBy=remote-fs.target"
	case made != "" && !slices.Contains(x.options, "nofail"):
		wanted = "RequiredBy=local-fs.target"
	}
	if !slices.Contains(x.options, "noauto") {
		fmt.Fprintf(&b, "\n[Install]\n%s\n", wanted)
	}
	text := b.String()
	g.unit(types.Unit{Name: escapePath(m.Path) + ".mount", Contents: &text, Enabled: of(!slices.Contains(x.options, "noauto"))})
}

func (g *generator) swap(device string, options []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "[Unit]\nDescription=Swap space of the machine's definition\n\n[Swap]\nWhat=%s\n", unitText(device))
	if len(options) > 0 {
		fmt.Fprintf(&b, "Options=%s\n", unitText(strings.Join(options, ",")))
	}
	b.WriteString("\n[Install]\nRequiredBy=swap.target\n")
	text := b.String()
	g.unit(types.Unit{Name: escapePath(device) + ".swap", Contents: &text, Enabled: of(true)})
}

// links has systemd-tmpfiles make the links to the machine's disks at every boot: /dev is empty at the beginning of each.
func (g *generator) links() {
	var b strings.Builder
	for i, link := range g.m.DeviceLinks {
		at := fmt.Sprintf("deviceLinks[%d]", i)
		d, ok := devices.Disk(g.m, link.Disk)
		switch {
		case !ok:
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's disks", "there is no disk %q for the link %s", link.Disk, link.Path)
		case !path.IsAbs(link.Path) || path.Clean(link.Path) != link.Path:
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no path of a link", link.Path)
		default:
			fmt.Fprintf(&b, "L+ %s - - - - %s\n", unitWord(link.Path), strings.ReplaceAll(devices.ByID(d), "%", "%%"))
		}
	}
	if b.Len() > 0 {
		g.file("/etc/tmpfiles.d/vmseed-links.conf", b.String(), 0o644)
	}
}

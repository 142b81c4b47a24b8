package userdata

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/machine"
)

// Storage is made by commands of bootcmd, which cloud-init runs before it mounts anything, and not by disk_setup and
// fs_setup: disk_setup counts in percent of a size that nobody knows here, has no labels and gives no numbers, and both
// put a partition's number behind the name of its disk, which is wrong for the links below /dev/disk/by-id (cc_disk_setup.py,
// 22.4 to 26.2). sfdisk belongs to util-linux and says all that the machine does.

const mib = 1 << 20

// partitionTypes are the words of machine.Partition.Type, as GUIDs and as numbers of an MBR.
var partitionTypes = map[string][2]string{
	"linux": {"0FC63DAF-8483-4772-8E79-3D69D8477DE4", "83"},
	"swap":  {"0657FD6D-A4AB-43C4-84E5-0933C84B4F4F", "82"},
	"efi":   {"C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "ef"},
}

var guid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// oncePerInstance has cloud-init run a script until it has succeeded once on this instance.
func oncePerInstance(name, script string) []string {
	return []string{"cloud-init-per", "instance", name, "sh", "-c", script}
}

// storage returns the commands that partition disks and make file systems.
func (g *generator) storage() []any {
	var out []any
	for i, d := range g.m.Storage.Disks {
		at := fmt.Sprintf("storage.disks[%d]", i)
		if device, ok := g.blockDevice(at, d.Disk, d.Device, 0); ok {
			if table, ok := g.table(d, at); ok {
				out = append(out, oncePerInstance(fmt.Sprintf("vmseed_disk_%d", i), diskScript(device, table, d.Wipe)))
			}
		}
	}
	for i, f := range g.m.Storage.Filesystems {
		at := fmt.Sprintf("storage.filesystems[%d]", i)
		device, ok := g.blockDevice(at, f.Disk, f.Device, f.Partition)
		if !ok {
			continue
		}
		script, ok := filesystemScript(device, f)
		if !ok {
			g.list.Errorf(CodeStorage, g.place(at), "use ext4, xfs, btrfs, vfat or swap", "there is no tool for file systems of the type %q", f.Type)
			continue
		}
		out = append(out, oncePerInstance(fmt.Sprintf("vmseed_filesystem_%d", i), script))
	}
	return out
}

// blockDevice returns the name that a disk or partition has in the guest.
func (g *generator) blockDevice(at, disk, device string, partition int) (string, bool) {
	if disk != "" {
		d, ok := devices.Disk(g.m, disk)
		if !ok {
			g.list.Errorf(CodeNoSuchDisk, g.place(at), "name one of the machine's disks", "there is no disk %q", disk)
			return "", false
		}
		device = devices.ByID(d)
	}
	if !strings.HasPrefix(device, "/") {
		g.list.Errorf(CodeStorage, g.place(at), "name a disk of the machine, or a device by its path", "nothing says which device is meant")
		return "", false
	}
	return devices.Partition(device, partition), true
}

// table returns a partition table in the words of sfdisk(8).
func (g *generator) table(d machine.DiskLayout, at string) (string, bool) {
	fail := func(i int, remedy, format string, args ...any) (string, bool) {
		g.list.Errorf(CodeStorage, g.place(fmt.Sprintf("%s.partitions[%d]", at, i)), remedy, format, args...)
		return "", false
	}
	var b strings.Builder
	kind, column := "gpt", 0
	switch d.Table {
	case "", "gpt":
	case "mbr":
		kind, column = "dos", 1
	default:
		g.list.Errorf(CodeStorage, g.place(at), "use gpt or mbr", "%q is no kind of partition table", d.Table)
		return "", false
	}
	fmt.Fprintf(&b, "label: %s\n", kind)
	for i, p := range d.Partitions {
		code := partitionTypes[p.Type][column]
		switch {
		case p.Type == "":
			code = partitionTypes["linux"][column]
		case kind == "gpt" && guid.MatchString(p.Type):
			code = strings.ToUpper(p.Type)
		}
		switch {
		case code == "":
			return fail(i, "use linux, swap or efi, or the GUID of a type in a gpt", "%q is no type of a partition here", p.Type)
		case p.Size < 0 || p.Start < 0 || p.Size%mib != 0 || p.Start%mib != 0:
			return fail(i, "round them to MiB", "size and start of a partition are whole MiB")
		case p.Number < 0 || p.Number > 128 || kind == "dos" && (i > 3 || p.Number > 4):
			return fail(i, "use gpt", "the table has no room for this partition")
		case p.Label != "" && kind == "dos":
			g.lost(fmt.Sprintf("%s.partitions[%d].label", at, i), "the label of a partition in an MBR", "use gpt")
			p.Label = ""
		case strings.ContainsFunc(p.Label, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) || len(utf16.Encode([]rune(p.Label))) > 36:
			return fail(i, "choose another label", "a label has up to 36 characters without quotes and backslashes")
		}
		b.WriteString(partitionLine(p, code))
	}
	return b.String(), true
}

// partitionLine is a line of sfdisk's input. What it leaves out, sfdisk chooses: the first free place, all of it.
func partitionLine(p machine.Partition, code string) string {
	var words []string
	if p.Start > 0 {
		words = append(words, fmt.Sprintf("start=%dMiB", p.Start/mib))
	}
	if p.Size > 0 {
		words = append(words, fmt.Sprintf("size=%dMiB", p.Size/mib))
	}
	words = append(words, "type="+code)
	if p.Label != "" {
		words = append(words, `name="`+p.Label+`"`)
	}
	line := strings.Join(words, ", ") + "\n"
	if p.Number > 0 {
		line = fmt.Sprintf("%d : %s", p.Number, line)
	}
	return line
}

// settle waits for udev, which makes the links to what was just made.
const settle = "udevadm settle --timeout=60 2>/dev/null || true\n"

// signatures lists the file systems and tables that a device holds. wipefs(8) names all of them: blkid(8) is silent about a
// table when asked for a type, and about a device with the signs of two file systems; that of busybox knows neither. Where
// nobody can tell, the script ends before it writes.
func signatures(device string) string {
	return fmt.Sprintf("have=$(wipefs \"%s\") || exit 1\n", device)
}

// diskScript partitions a disk. Without wipe a disk that holds a table or a file system is left alone.
func diskScript(device, table string, wipe bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "disk=%s\n%s", shell.Word(device), settle)
	force := " --wipe always --wipe-partitions always"
	if !wipe {
		force = ""
		b.WriteString(signatures("$disk") + "if [ -n \"$have\" ]; then echo \"$disk is not blank, it is left as it is\" >&2; exit 0; fi\n")
	}
	fmt.Fprintf(&b, "sfdisk --quiet%s \"$disk\" <<'TABLE' || exit 1\n%sTABLE\n%s", force, table, settle)
	return b.String()
}

// filesystemTools are the programs with the options that give a label and overwrite what is there.
var filesystemTools = map[string]struct{ make, label, force string }{
	"ext4":  {"mkfs.ext4 -q", "-L", "-F"},
	"xfs":   {"mkfs.xfs -q", "-L", "-f"},
	"btrfs": {"mkfs.btrfs -q", "-L", "-f"},
	"vfat":  {"mkfs.vfat", "-n", "-I"},
	"swap":  {"mkswap", "-L", "-f"},
}

// filesystemScript makes a file system. Without wipe one of the type and label that is there already is kept, and
// anything else on the device is an error, as it is with Ignition.
func filesystemScript(device string, f machine.Filesystem) (script string, ok bool) {
	tool, ok := filesystemTools[f.Type]
	if !ok {
		return "", false
	}
	command := tool.make + " " + tool.force
	if f.Label != "" {
		command += " " + tool.label + " " + shell.Word(f.Label)
	}
	if len(f.Options) > 0 {
		command += " " + shell.Words(f.Options)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "device=%s\n%s", shell.Word(device), settle)
	if !f.Wipe {
		fmt.Fprintf(&b, "if [ \"$(blkid -p -o value -s TYPE \"$device\")\" = %s ]", f.Type)
		if f.Label != "" {
			fmt.Fprintf(&b, " && [ \"$(blkid -p -o value -s LABEL \"$device\")\" = %s ]", shell.Word(f.Label))
		}
		b.WriteString("; then exit 0; fi\n" + signatures("$device"))
		b.WriteString("if [ -n \"$have\" ]; then echo \"$device holds something else, it is left as it is\" >&2; exit 1; fi\n")
	}
	fmt.Fprintf(&b, "%s \"$device\"\n", command)
	return b.String(), true
}

// swaps returns rows for mounts that use the swap spaces which are made here and that no other row uses.
func (g *generator) swaps() []any {
	var out []any
	for _, f := range g.m.Storage.Filesystems {
		if f.Type != "swap" || g.mounted(f) {
			continue
		}
		device := f.Device
		if d, ok := devices.Disk(g.m, f.Disk); ok && f.Disk != "" {
			out = append(out, []any{deviceName(d, f.Partition), "none", "swap", "sw"})
		} else if f.Disk == "" && device != "" {
			out = append(out, []any{devices.Partition(device, f.Partition), "none", "swap", "sw"})
		}
	}
	return out
}

// mounted reports whether a mount names the device of a file system.
func (g *generator) mounted(f machine.Filesystem) bool {
	for _, m := range g.m.Mounts {
		if m.Share == "" && m.Disk == f.Disk && (m.Disk != "" && m.Partition == f.Partition || m.Disk == "" && m.Device == devices.Partition(f.Device, f.Partition)) {
			return true
		}
	}
	return false
}

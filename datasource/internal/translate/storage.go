package translate

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/machine"
)

// storageKeys are the handlers of keys about disks.
func (r *reader) storageKeys() keys {
	return keys{"mounts": r.mounts, "disk_setup": r.diskSetup, "fs_setup": r.fsSetup,
		"mount_default_fields": func(v value) { r.lost(v, "write the fields into each row of mounts") }}
}

func (r *reader) deviceAliases(v value) {
	if v.kind() != cloudconfig.Map {
		r.wrong(v, "a mapping")
		return
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		name := v.node.Content[i].Value
		if to, ok := r.text(value{v.node.Content[i+1], v.path + "." + name}); ok {
			r.aliases[name] = to
		}
	}
}

// kernelDevice is what cc_mounts.py completes with /dev/.
var kernelDevice = regexp.MustCompile(`^(x?[shv]d[a-z][0-9]*|sr[0-9]+)$`)

// cloudDevice are names that only the metadata of some clouds resolve.
var cloudDevice = regexp.MustCompile(`^(ami|root|swap|ephemeral[0-9]*|ebs[0-9]*)$`)

// device resolves aliases and short names. A number behind a dot is a partition, whose name cloud-init looks up.
func (r *reader) device(v value, name string) (device string, partition int, ok bool) {
	device = name
	if i := strings.LastIndexByte(name, '.'); i > 0 && strings.HasPrefix(name, "/dev/") || i > 0 && !strings.Contains(name, "/") && !strings.Contains(name, "=") {
		if n, err := strconv.Atoi(name[i+1:]); err == nil && n > 0 {
			device, partition = name[:i], n
		}
	}
	if to, found := r.aliases[device]; found {
		device = to
	}
	if cloudDevice.MatchString(device) {
		r.lost(v, "name the device by its path")
		return "", 0, false
	}
	if kernelDevice.MatchString(device) {
		device = "/dev/" + device
	}
	return device, partition, true
}

// mounts reads rows of fstab(5). A row without options has cloud-init's own, of which nofail is the one that counts.
func (r *reader) mounts(v value) {
	for _, row := range r.items(v) {
		if row.kind() != cloudconfig.List {
			r.wrong(row, "a list such as [vdb, /data]")
			continue
		}
		cells := r.items(row)
		cell := func(i int) string {
			if i >= len(cells) || cells[i].kind() == cloudconfig.Null {
				return ""
			}
			s, _ := r.text(cells[i])
			return s
		}
		m := machine.Mount{Path: cell(1), Type: cell(2)}
		device, partition, ok := r.device(row, cell(0))
		switch {
		case !ok:
			continue
		case device == "" || m.Path == "":
			r.say(CodeValue, diag.Warning, row, "give the row a device and a mount point", "a row without a mount point only takes another one back, so it is left out")
			continue
		}
		m.Device = devices.Partition(device, partition)
		for option := range strings.SplitSeq(cell(3), ",") {
			if option != "" {
				m.Options = append(m.Options, option)
			}
		}
		if len(m.Options) == 0 {
			m.Options = []string{"nofail"}
		}
		if (cell(4) != "" && cell(4) != "0") || (cell(5) != "" && cell(5) != "0" && cell(5) != "2") {
			r.apart(row, "the fields for dump and fsck are left to the guest")
		}
		r.m.Mounts = append(r.m.Mounts, m)
		r.member("mounts", row)
	}
}

// diskSetup reads layouts whose partitions can be told without the size of the disk.
func (r *reader) diskSetup(v value) {
	if v.kind() != cloudconfig.Map {
		r.wrong(v, "a mapping")
		return
	}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		name := v.node.Content[i].Value
		item := value{v.node.Content[i+1], v.path + "." + name}
		device, partition, ok := r.device(value{v.node.Content[i], item.path}, name)
		if !ok {
			continue
		}
		d := machine.DiskLayout{Device: devices.Partition(device, partition), Table: "mbr"} // cloud-init's default
		wanted := false
		r.mapping(item, keys{
			"table_type": r.setText("", &d.Table),
			"overwrite":  r.setTrue("", &d.Wipe),
			"layout":     func(v value) { d.Partitions, wanted = r.layout(v) },
		}, "")
		if wanted {
			r.m.Storage.Disks = append(r.m.Storage.Disks, d)
			r.member("storage.disks", value{v.node.Content[i], item.path})
		}
	}
}

// layout reads the partitions of a disk: true for one that fills it, or a list of percentages with types.
func (r *reader) layout(v value) (partitions []machine.Partition, wanted bool) {
	if b, ok := cloudconfig.Truth(v.node); ok {
		return []machine.Partition{{Number: 1}}, b
	}
	if v.kind() != cloudconfig.List {
		if v.kind() != cloudconfig.Null {
			r.lost(v, "wipe the disk with runcmd")
		}
		return nil, false
	}
	items := r.items(v)
	if len(items) != 1 {
		r.lost(v, "give partitions with sizes in the definition's storage")
		return nil, false
	}
	p := machine.Partition{Number: 1}
	size := items[0]
	if size.kind() == cloudconfig.List {
		pair := r.items(size)
		if len(pair) != 2 {
			r.wrong(size, "a pair such as [100, 83]")
			return nil, false
		}
		kind, _ := r.text(pair[1])
		if p.Type = partitionType(kind); p.Type == "" {
			r.lost(pair[1], "use the type of Linux, swap or EFI, or a GUID")
		}
		size = pair[0]
	}
	if n, ok := r.integer(size); !ok || n != 100 {
		if ok {
			r.lost(v, "give partitions with sizes in the definition's storage")
		}
		return nil, false
	}
	return []machine.Partition{p}, true
}

// partitionType translates the numbers of sfdisk and sgdisk. A GUID stands for itself. Empty
// means that a machine knows no such type.
func partitionType(s string) string {
	switch strings.ToLower(s) {
	case "", "83", "8300":
		return "linux"
	case "82", "8200":
		return "swap"
	case "ef", "ef00":
		return "efi"
	}
	if guid.MatchString(s) {
		return s
	}
	return ""
}

var guid = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

func (r *reader) fsSetup(v value) {
	for _, item := range r.items(v) {
		r.filesystem(item)
	}
}

// filesystem reads an item of fs_setup (cc_disk_setup.py).
func (r *reader) filesystem(v value) {
	f := machine.Filesystem{}
	var name, partition string
	own := false
	r.mapping(v, keys{
		"device":     r.setText("", &name),
		"filesystem": r.setText("", &f.Type),
		"label":      r.setText("", &f.Label),
		"partition":  r.setText("", &partition),
		"overwrite":  r.setTrue("", &f.Wipe),
		"extra_opts": func(v value) {
			for _, s := range r.texts(v) {
				f.Options = append(f.Options, strings.Fields(s)...)
			}
		},
		"replace_fs": func(v value) { r.lost(v, "use overwrite") },
		"cmd": func(v value) {
			own = true
			r.lost(v, "make the file system with runcmd")
		},
	}, "")
	if v.kind() != cloudconfig.Map || own {
		return
	}
	device, number, ok := r.device(v, name)
	if !ok {
		return
	}
	switch {
	case name == "" || f.Type == "":
		r.say(CodeValue, diag.Warning, v, "name device and filesystem", "a file system without a device or a type is left out")
		return
	case partition == "auto" || partition == "any":
		// cloud-init looks for a partition that has the file system already, and else takes the first.
		number = max(number, 1)
		r.apart(v, "the file system is made on partition %d, whatever others hold", number)
	case partition != "" && partition != "none":
		n, err := strconv.Atoi(partition)
		if err != nil || n < 0 {
			r.say(CodeValue, diag.Warning, v, "use a number, auto, any or none", "the partition is left out, and the file system with it")
			return
		}
		number = n
	}
	f.Device = devices.Partition(device, number)
	if slices.Contains([]string{"vfat", "fat", "fat32", "msdos"}, f.Type) {
		f.Type = "vfat"
	}
	r.m.Storage.Filesystems = append(r.m.Storage.Filesystems, f)
	r.member("storage.filesystems", v)
}

package ignconfig

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/config/util"
	old "github.com/coreos/ignition/config/v2_4/types"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// preparation brings a config of version 2.4.0 into the shape that the official converter takes: it refuses networkd units,
// deprecated members, file systems without a path, and entries that stand twice.
type preparation struct {
	source
	cfg *old.Config
	// mounted is where each file system of the config is mounted in the guest. Empty means nowhere while Ignition runs.
	mounted map[string]string
}

func (p *preparation) prepare(v version) {
	p.users()
	p.disks()
	p.filesystems()
	p.modes()
	p.networkd()
	p.unique()
	for i, r := range p.cfg.Ignition.Config.Append {
		if !strings.HasPrefix(r.Source, "data:") {
			p.fetched(dataPath{"ignition", "config", "append", i})
		}
	}
	if r := p.cfg.Ignition.Config.Replace; r != nil && !strings.HasPrefix(r.Source, "data:") {
		p.fetched(dataPath{"ignition", "config", "replace"})
	}
	if v.minor == 0 {
		p.owners()
	}
}

func (p *preparation) fetched(where dataPath) {
	p.warnf(CodeOldSpecification, where, "see that a config of specification 3 is served there", "the config that is fetched from here has to be of specification 3 now")
}

// users moves what stands in the deprecated create to the user itself, where it means the same.
func (p *preparation) users() {
	for i := range p.cfg.Passwd.Users {
		u := &p.cfg.Passwd.Users[i]
		c := u.Create
		if c == nil {
			continue
		}
		u.UID, u.Gecos, u.HomeDir, u.NoCreateHome = c.UID, c.Gecos, c.HomeDir, c.NoCreateHome
		u.PrimaryGroup, u.NoUserGroup, u.System, u.NoLogInit, u.Shell = c.PrimaryGroup, c.NoUserGroup, c.System, c.NoLogInit, c.Shell
		for _, g := range c.Groups {
			u.Groups = append(u.Groups, old.Group(g))
		}
		u.Create = nil
	}
}

// sectorsPerMiB is for sectors of 512 bytes, the only ones that the disks of that time showed.
const sectorsPerMiB = 2048

// disks turns sizes in sectors into MiB.
func (p *preparation) disks() {
	for i, d := range p.cfg.Storage.Disks {
		for j := range d.Partitions {
			part := &p.cfg.Storage.Disks[i].Partitions[j]
			if part.Label != nil && *part.Label == "" {
				part.Label = nil // before version 2.3.0, this was how no label looked
			}
			for _, size := range []struct {
				key      string
				sectors  **int
				mebibyte **int
			}{{"size", &part.Size, &part.SizeMiB}, {"start", &part.Start, &part.StartMiB}} {
				if *size.sectors == nil {
					continue
				}
				if n := **size.sectors; n%sectorsPerMiB != 0 {
					p.errorf(CodeNotTranslated, dataPath{"storage", "disks", i, "partitions", j, size.key}, "round it to a multiple of 2048 sectors",
						"specification 3 counts in MiB, and this is not a whole number of them")
				} else if n != 0 {
					*size.mebibyte = util.IntToPtr(n / sectorsPerMiB)
				}
				*size.sectors = nil
			}
		}
	}
}

// filesystems finds out where each file system is mounted. Files on one that specification 2 knows by name alone have no
// place in specification 3.
func (p *preparation) filesystems() {
	var kept []old.Filesystem
	for i, fs := range p.cfg.Storage.Filesystems {
		where := dataPath{"storage", "filesystems", i}
		if fs.Mount == nil {
			p.existing(fs, where)
			continue
		}
		if c := fs.Mount.Create; c != nil {
			fs.Mount.WipeFilesystem = c.Force
			for _, o := range c.Options {
				fs.Mount.Options = append(fs.Mount.Options, old.MountOption(o))
			}
			fs.Mount.Create = nil
		}
		if fs.Name == "root" {
			// The converter drops a file system of this name, although it may be one that is made anew.
			fs.Name = "the root file system"
			p.mounted[fs.Name] = "/"
		} else if _, known := p.mounted[fs.Name]; known && fs.Name != "" {
			p.errorf(CodeNotTranslated, where, "rename one of them", "two file systems have the same name")
		} else {
			p.mounted[fs.Name] = ""
			p.unmounted(fs.Name)
		}
		kept = append(kept, fs)
	}
	p.cfg.Storage.Filesystems = kept
}

// existing is a file system that is there already, named by where the initramfs has it.
func (p *preparation) existing(fs old.Filesystem, where dataPath) {
	if fs.Path == nil || fs.Name == "root" {
		return
	}
	inside, ok := strings.CutPrefix(path.Clean(*fs.Path), "/sysroot")
	if !ok || inside != "" && inside[0] != '/' {
		p.errorf(CodeNotTranslated, where, "write to the root file system", "the file system is mounted outside of the guest's root, where specification 3 cannot write")
		return
	}
	p.mounted[fs.Name] = path.Join("/", inside)
}

// unmounted refuses what is written to a file system of which only the name is known.
func (p *preparation) unmounted(name string) {
	refuse := func(list string, i int, n old.Node) {
		if n.Filesystem == name {
			p.errorf(CodeNotTranslated, dataPath{"storage", list, i, "filesystem"}, `give the file system a "path" and this entry one below it, both by specification 3`,
				"specification 3 needs the place where the file system %q is mounted, which specification 2 does not tell", name)
		}
	}
	for i, f := range p.cfg.Storage.Files {
		refuse("files", i, f.Node)
	}
	for i, d := range p.cfg.Storage.Directories {
		refuse("directories", i, d.Node)
	}
	for i, l := range p.cfg.Storage.Links {
		refuse("links", i, l.Node)
	}
}

// modes keeps the default of specification 2, which is 0000; that of specification 3 would open the file to everybody.
func (p *preparation) modes() {
	for i := range p.cfg.Storage.Files {
		if f := &p.cfg.Storage.Files[i]; !f.Append {
			f.Mode = p.mode2(f.Mode, dataPath{"storage", "files", i})
		}
	}
	for i := range p.cfg.Storage.Directories {
		d := &p.cfg.Storage.Directories[i]
		d.Mode = p.mode2(d.Mode, dataPath{"storage", "directories", i})
	}
}

func (p *preparation) mode2(mode *int, where dataPath) *int {
	if p.value(where.child("mode")...) != nil {
		return mode
	}
	summary, remedy := said("permissions unset, defaulting to 0000")
	p.warnf(CodeDoubtful, where, remedy, "%s", summary)
	return util.IntToPtr(0)
}

// networkd makes files of the units of the section that specification 3 does not have.
func (p *preparation) networkd() {
	const dir = "/etc/systemd/network"
	if n := p.value("networkd"); n != nil {
		switch count := len(p.cfg.Networkd.Units); count {
		case 0:
			p.notef(CodeOldSpecification, dataPath{"networkd"}, "remove it", "specification 3 has no networkd section; this one is empty, so nothing is lost")
		default:
			p.notef(CodeOldSpecification, dataPath{"networkd"}, "", "specification 3 has no networkd section; its units (%d) become files below %s", count, dir)
		}
	}
	write := func(name, contents string) {
		if contents == "" {
			return
		}
		f := old.File{Node: old.Node{Filesystem: "root", Path: path.Join(dir, name), Overwrite: util.BoolToPtr(true)}}
		f.Mode = util.IntToPtr(0o644)
		f.Contents.Source = encodeData([]byte(contents))
		p.cfg.Storage.Files = append(p.cfg.Storage.Files, f)
	}
	for _, u := range p.cfg.Networkd.Units {
		write(u.Name, u.Contents)
		for _, d := range u.Dropins {
			write(u.Name+".d/"+d.Name, d.Contents)
		}
	}
	p.cfg.Networkd.Units = nil
}

// owners takes back the owner that the library gives every file of version 2.0.0.
func (p *preparation) owners() {
	for i := range p.cfg.Storage.Files {
		f := &p.cfg.Storage.Files[i]
		if p.value("storage", "files", i, "user", "id") == nil {
			f.User = nil
		}
		if p.value("storage", "files", i, "group", "id") == nil {
			f.Group = nil
		}
	}
}

// entry is something that specification 3 wants only once.
type entry struct {
	key   string
	where dataPath
}

// unique refuses entries that stand twice, and paths that lead through a link of the config.
func (p *preparation) unique() {
	var nodes, links, users, groups, units []entry
	add := func(list string, i int, n old.Node) entry {
		e := entry{path.Join("/", p.mounted[n.Filesystem], n.Path), dataPath{"storage", list, i}}
		nodes = append(nodes, e)
		return e
	}
	for i, f := range p.cfg.Storage.Files {
		add("files", i, f.Node)
	}
	for i, d := range p.cfg.Storage.Directories {
		add("directories", i, d.Node)
	}
	for i, l := range p.cfg.Storage.Links {
		links = append(links, add("links", i, l.Node))
	}
	for i, u := range p.cfg.Passwd.Users {
		users = append(users, entry{u.Name, dataPath{"passwd", "users", i}})
	}
	for i, g := range p.cfg.Passwd.Groups {
		groups = append(groups, entry{g.Name, dataPath{"passwd", "groups", i}})
	}
	for i, u := range p.cfg.Systemd.Units {
		units = append(units, entry{u.Name, dataPath{"systemd", "units", i}})
		var dropins []entry
		for j, d := range u.Dropins {
			dropins = append(dropins, entry{d.Name, dataPath{"systemd", "units", i, "dropins", j}})
		}
		p.twice(dropins)
	}
	for _, list := range [][]entry{nodes, users, groups, units} {
		p.twice(list)
	}
	for _, n := range nodes {
		i := slices.IndexFunc(links, func(l entry) bool { return strings.HasPrefix(n.key, l.key) && n.key != l.key })
		if i >= 0 {
			p.refuse(n, links[i], "the path leads through a link of this config, which specification 3 forbids", remedyLink, "the link is here")
		}
	}
}

func (p *preparation) twice(list []entry) {
	first := map[string]entry{}
	for _, e := range list {
		if before, ok := first[e.key]; ok {
			p.refuse(e, before, fmt.Sprintf("%q stands here for the second time, which specification 3 forbids", e.key), "keep one of the two", "the first one is here")
			continue
		}
		first[e.key] = e
	}
}

func (p *preparation) refuse(e, other entry, summary, remedy, related string) {
	var n, o *yaml.Node
	n, _ = p.find(e.where)
	o, _ = p.find(other.where)
	d := diag.Diagnostic{Code: CodeNotTranslated, Severity: diag.Error, Range: at(n), Field: e.where.String(), Summary: summary, Remedy: remedy}
	p.list.Add(d.With(at(o), related))
}

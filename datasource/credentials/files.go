package credentials

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource/internal/devices"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// line keeps a line of tmpfiles.d(5) for a path. There can be one for each.
func (g *generator) line(at, path, text string) {
	if have, taken := g.lines[path]; taken && have != text {
		g.errorf(CodeTwice, at, "choose another path, or remove one of the two", "%s is asked for twice", path)
		return
	}
	g.lines[path] = text
}

// write has a file written at every boot. Without a mode and an owner it is 0644 and root's.
func (g *generator) write(at, path, mode, user, group string, content []byte) {
	g.line(at, path, fmt.Sprintf("f+~ %s %s %s %s - %s", ignition.Word(path), mode, user, group, base64.StdEncoding.EncodeToString(content)))
}

// files writes the machine's files. A later file of one path replaces an earlier one; what is to be added to a file of the
// image is added once, at the first boot.
func (g *generator) files() {
	type node struct {
		at      string
		file    machine.File
		content []byte
	}
	var order []string
	nodes := map[string]*node{}
	for i, f := range g.m.Files {
		at := fmt.Sprintf("files[%d]", i)
		if !ignition.AbsolutePath(f.Path) || strings.ContainsAny(f.Path, "\r\n\x00") {
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no absolute path", f.Path)
			continue
		}
		if f.Defer {
			g.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Note, Range: g.place(at), Field: at,
				Summary: "systemd writes all files when the users are there, and installs no packages, so there is nothing to defer to"})
		}
		have := nodes[f.Path]
		content := []byte(f.Content.Reveal())
		switch {
		case f.Append && have == nil && !g.commands:
			attributes := ""
			if f.Mode != 0 {
				attributes += ", with its mode"
			}
			if f.Owner != "" {
				attributes += ", with its owner"
			}
			g.list.Warnf(CodeNoWords, g.place(at), "write the whole file", "%s is left as it is%s: to add to a file takes a command, and this guest gets none", f.Path, attributes)
			continue
		case f.Append && have == nil:
			g.add(f)
			continue
		case f.Append:
			have.content = append(have.content, content...)
			continue
		case have != nil:
			g.list.Warnf(CodeTwice, g.place(at), "remove one of the two", "the file %s is there twice; the later one counts", f.Path)
		default:
			order = append(order, f.Path)
		}
		nodes[f.Path] = &node{at, f, content}
	}
	for _, p := range order {
		n := nodes[p]
		mode := "-"
		if n.file.Mode != 0 {
			mode = fmt.Sprintf("%04o", n.file.Mode.Bits())
		}
		user, group := g.owner(n.at, n.file.Owner)
		g.write(n.at, p, mode, user, group, n.content)
		g.above(p, user, group)
	}
}

// owner splits user:group. An absent part is root's.
func (g *generator) owner(at, owner string) (user, group string) {
	user, group, _ = strings.Cut(owner, ":")
	for _, s := range []*string{&user, &group} {
		switch {
		case *s == "":
			*s = "-"
		case strings.ContainsAny(*s, " \t\r\n\"'\\%:\x00"):
			g.errorf(CodeName, at+".owner", "write user, or user:group", "%q is no owner of a file", owner)
		}
	}
	return user, group
}

// add has the first boot add to a file of the image.
func (g *generator) add(f machine.File) {
	name := shell.Word(f.Path)
	g.setup = append(g.setup, "mkdir -p "+shell.Word(path.Dir(f.Path)),
		ignition.AddTo(f.Path, []byte(f.Content.Reveal())))
	if f.Mode != 0 {
		g.setup = append(g.setup, fmt.Sprintf("chmod %04o %s", f.Mode.Bits(), name))
	}
	if f.Owner != "" {
		g.setup = append(g.setup, "chown "+shell.Words([]string{f.Owner, f.Path}))
	}
}

// above gives the directories between a home and a user's file in it to that user. Otherwise they would be root's.
func (g *generator) above(file, user, group string) {
	home := g.homes[user]
	if home == "" || !strings.HasPrefix(file, home+"/") {
		return
	}
	for dir := path.Dir(file); dir != home; dir = path.Dir(dir) {
		if _, taken := g.lines[dir]; taken {
			continue
		}
		mode := ":0755"
		if path.Base(dir) == ".ssh" {
			mode = "0700"
		}
		g.lines[dir] = fmt.Sprintf("d %s %s %s %s", ignition.Word(dir), mode, user, group)
	}
}

// links makes the machine's links to its disks. /dev is empty at the beginning of each boot.
func (g *generator) links() {
	for i, link := range g.m.DeviceLinks {
		at := fmt.Sprintf("deviceLinks[%d]", i)
		d, ok := devices.Disk(g.m, link.Disk)
		switch {
		case !ok:
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's disks", "there is no disk %q for the link %s", link.Disk, link.Path)
		case !ignition.AbsolutePath(link.Path):
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no path of a link", link.Path)
		default:
			g.link(at, link.Path, devices.ByID(d))
		}
	}
}

// link makes a symbolic link, in place of what is there.
func (g *generator) link(at, path, target string) {
	g.line(at, path, fmt.Sprintf("L+ %s - - - - %s", ignition.Word(path), strings.ReplaceAll(target, "%", "%%")))
}

// mounts writes lines of fstab(5). As cloud-init has it, a boot goes on without a file system that is not there.
func (g *generator) mounts() {
	var b strings.Builder
	for i, m := range g.m.Mounts {
		at := fmt.Sprintf("mounts[%d]", i)
		device, kind, options, ok := g.mounted(at, m)
		if !ok {
			continue
		}
		place := m.Path
		switch {
		case kind == "swap":
			place = "none"
		case !ignition.AbsolutePath(m.Path):
			g.errorf(CodeName, at, "give the whole path, without . and ..", "%q is no path to mount at", m.Path)
			continue
		}
		if !slices.Contains(options, "nofail") {
			options = append(slices.Clone(options), "nofail")
		}
		if kind == "" {
			kind = "auto"
		}
		fmt.Fprintf(&b, "%s %s %s %s 0 0\n", inTable(device), inTable(place), inTable(kind), inTable(strings.Join(options, ",")))
	}
	if b.Len() > 0 {
		g.out["fstab.extra"] = b.String()
	}
}

// mounted resolves what a mount mounts.
func (g *generator) mounted(at string, m machine.Mount) (device, kind string, options []string, ok bool) {
	device, kind, options = m.Device, m.Type, m.Options
	switch {
	case m.Disk != "":
		d, ok := devices.Disk(g.m, m.Disk)
		if !ok {
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's disks", "there is no disk %q to mount at %s", m.Disk, m.Path)
			return "", "", nil, false
		}
		device = devices.Partition(devices.ByID(d), m.Partition)
	case m.Share != "":
		s, ok := devices.Share(g.m, m.Share)
		if !ok {
			g.errorf(CodeNoSuchDisk, at, "name one of the machine's shares", "there is no share %q to mount at %s", m.Share, m.Path)
			return "", "", nil, false
		}
		device = s.Tag
		kind, options = devices.ShareMount(s, m.Options)
	}
	if device == "" || strings.ContainsAny(device+m.Path+kind+strings.Join(options, ","), "\r\n\x00") {
		g.errorf(CodeName, at, "write it on one line", "a mount needs a device, and texts without line breaks")
		return "", "", nil, false
	}
	return device, kind, options, true
}

// inTable writes a field of fstab(5), in which blanks, tabs and backslashes are octal numbers. A number sign at its beginning
// would make a comment of the line.
func inTable(s string) string {
	s = strings.NewReplacer(`\`, `\134`, " ", `\040`, "\t", `\011`).Replace(s)
	if strings.HasPrefix(s, "#") {
		s = `\043` + s[1:]
	}
	return s
}

func (g *generator) place(path string) diag.Range { return g.m.Places.Find(path) }

func (g *generator) errorf(code diag.Code, path, remedy, format string, args ...any) {
	g.list.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: g.place(path), Field: path, Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

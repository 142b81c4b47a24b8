package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/shell"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// This file is for guests in which systemd runs and no Ignition does: what a machine comes to as files, links and units is
// the same there, and only the way by which they get into the guest is another.

// Parts are files, links and units of a guest.
type Parts struct {
	Files []PartFile
	Links []PartLink
	Units []PartUnit
}

// PartFile is a file of the guest.
type PartFile struct {
	Path string
	// Mode is the permission bits.
	Mode uint32
	// Content replaces what the image has.
	Content []byte
}

// PartLink is a symbolic link of the guest.
type PartLink struct{ Path, Target string }

// PartUnit is a unit of the guest.
type PartUnit struct {
	Name string
	// Content is empty for a unit of the image.
	Content string
	// Enabled is nil for a unit that stays as it is.
	Enabled *bool
	Mask    bool
	// DropIns are the texts of its drop-ins in the order of their names.
	DropIns []string
}

// Translate puts the user-data of a machine into its fields, as far as a guest without cloud-init and without Ignition can
// be told of it: by cloud-configs and scripts. Fields that the user-data sets and that are not in expresses are warned of.
func Translate(m machine.Machine, o datasource.Options, expresses machine.FieldSet) (machine.Machine, diag.List) {
	c := composer{m: m, o: o, reader: reader{guest: "a systemd", seed: "a credential", remedy: "give a cloud-config or a script", expresses: expresses}}
	for _, x := range kept(m.UserData.Layers) {
		if Recognise(x) {
			c.list.Errorf(CodeKind, x.Origin.Whole, "use the data source ignition", "systemd reads no Ignition config")
			continue
		}
		if len(c.layer(x)) > 0 {
			c.list.Errorf(CodeKind, x.Origin.Whole, "use the data source ignition", "systemd reads no Ignition config, and a part of this is one")
		}
	}
	if n := len(m.Scripts); len(c.m.Scripts) > n && !expresses.Has("scripts") {
		c.list.Warnf(CodeNoWords, m.Places.Find("userData"), "do it in the image", "the guest runs none of the %d scripts of the user-data", len(c.m.Scripts)-n)
		c.m.Scripts = c.m.Scripts[:n]
	}
	c.m.UserData = machine.UserData{}
	return c.m, c.list
}

// Settings makes the parts of a machine's host name, locale, keyboard, time, certificates, environment, SSH server, device
// links, units, commands and scripts. What its other fields say is the caller's, and so is setup: commands of the shell for
// the first boot, before anyone can log in. state is the directory in which the guest notes what it has run once, and
// guest the release that reads the parts, or "".
func Settings(m machine.Machine, guest, state string, setup []string) (Parts, diag.List) {
	var l diag.List
	g := newGenerator(m, plainFamily(guest), &l)
	g.state = state
	g.setup = slices.Clone(setup)
	g.system()
	g.ssh()
	err := g.addOnce()
	g.units()
	g.commands()
	if err != nil {
		l.Errorf(CodeConflict, m.Places.Find(""), "", "%v", err)
		return Parts{}, l
	}
	p, err := partsOf(ignconfig.Config{}, g)
	if err != nil {
		l.Errorf(CodeConflict, m.Places.Find(""), "", "%v", err)
	}
	return p, l
}

// addOnce has the first boot add what files of the image get at their ends: what is written at every boot cannot be added to.
func (g *generator) addOnce() error {
	var kept []types.File
	for _, f := range g.out.Storage.Files {
		if len(f.Append) == 0 {
			kept = append(kept, f)
			continue
		}
		for _, r := range f.Append {
			more, err := data(*r.Source, r.Compression)
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			g.setup = append(g.setup, AddTo(f.Path, more))
		}
	}
	g.out.Storage.Files = kept
	return nil
}

// AddTo is a command of the shell that adds to a file.
func AddTo(path string, content []byte) string {
	return "base64 -d >>" + shell.Word(path) + " <<'END'\n" + base64.StdEncoding.EncodeToString(content) + "\nEND"
}

// plainFamily is that of a distribution whose image Ignition does not set up.
func plainFamily(release string) family {
	f := family{networkd: true, start: true, chrony: true, certDir: "/etc/pki/ca-trust/source/anchors", certExt: ".crt"}
	if strings.HasPrefix(release, "debian") || strings.HasPrefix(release, "ubuntu") || release == "" {
		f = family{networkd: true, start: true, debian: true, certDir: "/usr/local/share/ca-certificates", certExt: ".crt"}
	}
	return f
}

// Layer reads a layer that is an Ignition config of a few files and units, such as the reporter's.
func Layer(x machine.Layer) (Parts, error) {
	c, l := ignconfig.Read(x.Origin, []byte(x.Data.Reveal()))
	if err := l.Err(); err != nil {
		return Parts{}, err
	}
	return partsOf(c, nil)
}

// partsOf takes the parts out of a config, or of what a generator made.
func partsOf(c ignconfig.Config, g *generator) (Parts, error) {
	config := c.Types()
	if g != nil {
		config = g.out
	}
	var p Parts
	for _, f := range config.Storage.Files {
		out := PartFile{Path: f.Path, Mode: 0o644}
		if f.Mode != nil {
			out.Mode = uint32(*f.Mode)
		}
		var err error
		if f.Contents.Source != nil {
			if out.Content, err = data(*f.Contents.Source, f.Contents.Compression); err != nil {
				return p, fmt.Errorf("%s: %w", f.Path, err)
			}
		}
		p.Files = append(p.Files, out)
	}
	for _, x := range config.Storage.Links {
		p.Links = append(p.Links, PartLink{x.Path, *x.Target})
	}
	for _, u := range config.Systemd.Units {
		out := PartUnit{Name: u.Name, Enabled: u.Enabled, Mask: u.Mask != nil && *u.Mask}
		if u.Contents != nil {
			out.Content = *u.Contents
		}
		slices.SortStableFunc(u.Dropins, func(a, b types.Dropin) int { return strings.Compare(a.Name, b.Name) })
		for _, d := range u.Dropins {
			if d.Contents != nil {
				out.DropIns = append(out.DropIns, *d.Contents)
			}
		}
		p.Units = append(p.Units, out)
	}
	return p, nil
}

// data decodes a data: URL as resource writes it.
func data(source string, compression *string) ([]byte, error) {
	kind, text, ok := strings.Cut(source, ",")
	if !ok || !strings.HasPrefix(kind, "data:") {
		return nil, fmt.Errorf("%.20q is no data: URL", source)
	}
	plain, err := url.PathUnescape(text)
	out := []byte(plain)
	if err == nil && strings.HasSuffix(kind, ";base64") {
		out, err = base64.StdEncoding.DecodeString(plain)
	}
	if err != nil || compression == nil || *compression == "" {
		return out, err
	}
	z, err := gzip.NewReader(bytes.NewReader(out))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// Word writes one word of a list of words for systemd's own parsers (systemd.syntax(7)): of units, of tmpfiles.d(5) and of
// sysusers.d(5).
func Word(s string) string { return unitWord(s) }

// Escape makes a part of a file's name or a unit's of any text.
func Escape(s string) string { return escapeName(s) }

// AbsolutePath reports whether a path is absolute and clean, and not the root directory.
func AbsolutePath(p string) bool { return path.IsAbs(p) && path.Clean(p) == p && p != "/" }

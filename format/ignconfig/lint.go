package ignconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Lint says what a guest would reject, ignore or stop its boot at although the config is valid; configs that travel inside
// the config are looked at as well. It says nothing about a config that Read refuses, and repeats nothing that Read says.
func Lint(origin diag.Origin, data []byte, guest Guest) diag.List {
	c, l := Read(diag.Origin{}, data)
	if l.HasErrors() {
		return nil
	}
	root := rootOf(data)
	if root == nil {
		return nil
	}
	var found diag.List
	check := lint{source: source{root: root, list: &found, snake: IsButane(data), budget: newBudget()}, guest: guest, config: c}
	check.all(0)
	return origin.Carry(found.Sorted())
}

// rootOf parses a document of either form, which is known to be valid.
func rootOf(data []byte) *yaml.Node {
	if IsButane(data) {
		if docs, _ := bounded.YAML("", data, limits()); len(docs) == 1 {
			return docs[0].Content[0]
		}
		return nil
	}
	s, _ := readJSON(data)
	return s.root
}

type lint struct {
	source
	guest  Guest
	config Config
}

func (s lint) all(depth int) {
	s.ceiling()
	c := s.config.types
	for i, r := range c.Ignition.Config.Merge {
		s.inside(r, dataPath{"ignition", "config", s.mergeKey(), i}, depth)
	}
	s.inside(c.Ignition.Config.Replace, dataPath{"ignition", "config", "replace"}, depth)
	if s.guest.debian {
		s.debian(c)
	}
}

// inside looks at a config that travels inside this one.
func (s lint) inside(r types.Resource, p dataPath, depth int) {
	var ignored diag.List
	quiet := s.source
	quiet.list = &ignored
	data, ok := quiet.content(r, p)
	if !ok || depth >= maxDepth {
		return
	}
	c, l := parse(data, reading{quiet: true, budget: s.budget})
	root := rootOf(data)
	if l.HasErrors() || root == nil {
		return
	}
	var found diag.List
	lint{source: source{root: root, list: &found, budget: s.budget}, guest: s.guest, config: c}.all(depth + 1)
	n, _ := s.find(p.child("source"))
	*s.list = append(*s.list, diag.Origin{Whole: at(n), What: "in the config at " + s.text(p)}.Carry(found)...)
}

// ceiling compares the config's version with the newest one that the guest accepts.
func (s lint) ceiling() {
	have, _ := strconv.Atoi(strings.Split(s.config.version, ".")[1])
	limit := s.guest.accepts()
	if have <= limit {
		return
	}
	where := dataPath{"ignition", "version"}
	remedy := "take a guest with a newer Ignition, or do without what needs it"
	if lowest, l := Build(s.config.types); !l.HasErrors() {
		needs, _ := strconv.Atoi(strings.Split(lowest.version, ".")[1])
		if needs <= limit {
			remedy = fmt.Sprintf("nothing in it needs more than %s: write that", lowest.version)
			if s.snake {
				remedy = fmt.Sprintf("nothing in it needs more than %s: write %s", lowest.version, s.olderVariant(limit))
			}
		} else {
			remedy = fmt.Sprintf("it uses what exists since %s; %s", lowest.version, remedy)
		}
	}
	if s.snake {
		where = dataPath{"version"}
	}
	s.errorf(CodeGuestVersion, where, remedy, "%s accepts versions up to %s, and this is %s: it stops the boot with \"unsupported config version\"",
		s.guest, spec(limit), s.config.version)
}

// olderVariant returns the highest version of the document's variant that gives a config of at most version 3.limit.0.
func (s lint) olderVariant(limit int) string {
	name, _, _ := strings.Cut(s.config.stated, " ")
	for _, v := range variants {
		if v.name != name {
			continue
		}
		for i := len(v.versions) - 1; i >= 0; i-- {
			if v.minor[i] <= limit {
				return fmt.Sprintf("version: %s of variant %s", v.versions[i], name)
			}
		}
	}
	return "an older variant"
}

// debian checks what Debian's package and base system cannot do.
func (s lint) debian(c types.Config) {
	if len(c.KernelArguments.ShouldExist)+len(c.KernelArguments.ShouldNotExist) > 0 {
		s.errorf(CodeGuestLacks, dataPath{"kernelArguments"}, "put them on the kernel's command line yourself",
			"%s cannot change kernel arguments, and stops the boot", s.guest)
	}
	groups := debianGroups()
	for _, g := range c.Passwd.Groups {
		groups = append(groups, g.Name)
	}
	for _, u := range c.Passwd.Users {
		groups = append(groups, u.Name) // each user has a group of its own
	}
	for i, u := range c.Passwd.Users {
		here := dataPath{"passwd", "users", i}
		for j, g := range u.Groups {
			s.group(string(g), here.child("groups").child(j), groups)
		}
		if u.PrimaryGroup != nil {
			s.group(*u.PrimaryGroup, here.child("primaryGroup"), groups)
		}
	}
	for i, f := range c.Storage.Files {
		if f.Path == "/etc/hostname" && f.Contents.Source != nil && (f.Overwrite == nil || !*f.Overwrite) {
			s.warnf(CodeGuestLacks, dataPath{"storage", "files", i}, `add "overwrite": true`, "images of %s have %s already, and stop the boot here", s.guest, f.Path)
		}
	}
}

func (s lint) group(name string, p dataPath, known []string) {
	if _, err := strconv.Atoi(name); err == nil || name == "" || slices.Contains(known, name) {
		return
	}
	remedy := "make it in passwd.groups"
	if name == "wheel" {
		remedy = "Debian's group for sudo is called sudo"
	}
	s.warnf(CodeGuestLacks, p, remedy, "the base system of %s has no group of this name; unless the image adds it, useradd fails and the boot stops", s.guest)
}

// debianGroups are those of Debian's base-passwd, and those that its systemd and udev packages add.
func debianGroups() []string {
	return strings.Fields(`root daemon bin sys adm tty disk lp mail news uucp man proxy kmem dialout fax voice cdrom floppy tape
		sudo audio dip www-data backup operator list irc src shadow utmp video sasl plugdev staff games users nogroup
		systemd-journal systemd-network systemd-resolve systemd-timesync crontab input sgx kvm render netdev messagebus _ssh`)
}

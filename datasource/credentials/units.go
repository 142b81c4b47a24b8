package credentials

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
)

// stateDir is below what the guest notes of what has run, by instances: another revision of one runs everything again.
const stateDir = "/var/lib/vmseed/"

// settings adds what a guest of Ignition's would get as files and units, and what makes the guest report.
func (g *generator) settings(guest Guest, o datasource.Options) {
	m := g.m
	m.DeviceLinks = nil
	parts, l := ignition.Settings(m, release(m, o), stateDir+ignition.Escape(m.Identity.Instance()), g.setup)
	g.list = append(g.list, l...)
	all := []ignition.Parts{parts}
	for _, x := range o.Extra {
		if ignition.Recognise(x) {
			more, err := ignition.Layer(x)
			if err != nil {
				g.errorf(CodeNoWords, "", "", "%s: %v", x.Name, err)
				continue
			}
			// What a link would start is started by a drop-in.
			more.Links = nil
			all = append(all, more)
		}
	}
	for _, p := range all {
		if guest.reads() < withUnits {
			// Scripts are there for units to run them.
			p.Units = nil
			p.Files = slices.DeleteFunc(p.Files, func(f ignition.PartFile) bool { return strings.HasPrefix(f.Path, "/etc/vmseed/") })
		}
		g.parts(p)
	}
}

func release(m machine.Machine, o datasource.Options) string {
	if o.Guest != "" && !strings.HasPrefix(o.Guest, "systemd=") {
		return o.Guest
	}
	return m.Guest.Release
}

// parts turns files, links and units into credentials. The machine's own files come first.
func (g *generator) parts(p ignition.Parts) {
	for _, f := range p.Files {
		if _, taken := g.lines[f.Path]; taken {
			g.list.Warnf(CodeTwice, g.place("files"), "choose another path", "the machine's own file %s takes the place of a generated one", f.Path)
			continue
		}
		g.write("", f.Path, fmt.Sprintf("%04o", f.Mode), "root", "root", f.Content)
	}
	for _, x := range p.Links {
		g.link("", x.Path, x.Target)
	}
	var off []string
	for _, u := range p.Units {
		if g.unit(u) {
			off = append(off, u.Name)
		}
	}
	if len(off) > 0 {
		g.own("vmseed-disable.service", "Units that the machine's definition switches off", "",
			"systemctl --no-block disable --now "+strings.Join(off, " "), "multi-user.target")
	}
}

// own adds a unit that runs a command of systemd's at every boot.
func (g *generator) own(name, what, order, command, wanted string) {
	g.extra(name, fmt.Sprintf("[Unit]\nDescription=%s\n%s\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=%s\n", what, order, command))
	g.wants(wanted, "Wants", name)
}

// extra adds a unit of the generator's. An initrd with systemd gets the same units, and must not start them; what they run is
// there when the files are.
func (g *generator) extra(name, text string) {
	g.out["systemd.extra-unit."+name] = strings.Replace(text, "[Unit]\n",
		"[Unit]\nConditionPathExists=!/etc/initrd-release\nAfter=systemd-tmpfiles-setup.service\n", 1)
}

// wants has a unit pulled in by another, as an enabled one is by the links that systemctl makes.
func (g *generator) wants(by, how, name string) {
	if g.pulled[by] == nil {
		g.pulled[by] = map[string][]string{}
	}
	g.pulled[by][how] = append(g.pulled[by][how], name)
}

// targets are what an enabled unit of the image belongs to, by its suffix. What its own section Install says is not known here.
var targets = map[string]string{".socket": "sockets.target", ".timer": "timers.target", ".path": "paths.target",
	".mount": "local-fs.target", ".automount": "local-fs.target", ".swap": "swap.target"}

// unit turns a unit into credentials. It reports whether the guest has to be told to switch it off.
func (g *generator) unit(u ignition.PartUnit) (off bool) {
	if len(u.DropIns) > 0 {
		g.dropIns[u.Name] = append(g.dropIns[u.Name], u.DropIns...)
	}
	switch {
	case u.Mask:
		// An empty unit would do, says systemd-debug-generator(8), but 257 ends it with a line break, which makes a bad unit of it.
		g.dropIns[u.Name] = append(g.dropIns[u.Name], "[Unit]\nConditionPathExists=!/\n")
		return false
	case u.Content != "" && strings.HasPrefix(u.Name, "vmseed-"):
		g.extra(u.Name, u.Content)
	case u.Content != "":
		g.out["systemd.extra-unit."+u.Name] = u.Content
	}
	switch {
	case u.Enabled == nil:
	case !*u.Enabled:
		return u.Content == ""
	case u.Content == "":
		target := targets[path.Ext(u.Name)]
		if target == "" {
			target = "multi-user.target"
		}
		g.wants(target, "Wants", u.Name)
	default:
		g.install(u)
	}
	return false
}

// install does what systemctl would make of the section Install of a unit (systemd.unit(5)).
func (g *generator) install(u ignition.PartUnit) {
	section, done := "", false
	for line := range strings.Lines(strings.ReplaceAll(u.Content, "\\\n", " ")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if section != "[Install]" || !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		how := map[string]string{"WantedBy": "Wants", "RequiredBy": "Requires", "UpheldBy": "Upholds"}[strings.TrimSpace(key)]
		if how == "" {
			g.list.Warnf(CodeNoWords, g.place("units"), "name the target that wants it", "%s of the unit %s means nothing to a credential", strings.TrimSpace(key), u.Name)
			continue
		}
		for _, by := range strings.Fields(value) {
			g.wants(by, how, u.Name)
			done = true
		}
	}
	if !done {
		g.list.Warnf(CodeNoWords, g.place("units"), "write WantedBy=multi-user.target into its section Install", "nothing starts the unit %s, although it is enabled", u.Name)
	}
}

// environment has systemd read its settings again once the file with the variables is there.
func (g *generator) environment() {
	if len(g.m.Environment) > 0 {
		g.own("vmseed-environment.service", "Environment of the machine's definition",
			"DefaultDependencies=no\nConflicts=shutdown.target\nBefore=sysinit.target shutdown.target\n",
			"systemctl daemon-reload", "sysinit.target")
	}
}

// networked reports whether a machine says anything of its guest's network.
func networked(m machine.Machine) bool {
	_, own, _ := network.Document(m)
	_, ok, _ := network.Whole(m)
	return own || ok
}

// network writes the files of systemd-networkd, and has that run.
func (g *generator) network() {
	doc, own, l := network.Document(g.m)
	g.list = append(g.list, l...)
	var config netconfig.Config
	if own {
		var problems diag.List
		config, _, problems = netconfig.Parse("", []byte(doc.Data.Reveal()))
		g.list = append(g.list, doc.Origin.Carry(problems)...)
	} else {
		var ok bool
		config, ok, l = network.Whole(g.m)
		g.list = append(g.list, l...)
		if !ok {
			return
		}
	}
	if g.list.HasErrors() {
		return
	}
	if config.Disabled {
		g.out["network.network.00-vmseed-disabled"] = "[Match]\nName=*\n\n[Link]\nUnmanaged=yes\n"
		return
	}
	files, problems := netconfig.EncodeNetworkd(config)
	if own {
		problems = doc.Origin.Carry(problems)
	}
	g.list = append(g.list, problems...)
	for _, f := range files {
		name, kind := path.Base(f.Path), strings.TrimPrefix(path.Ext(f.Path), ".")
		g.out["network."+kind+"."+strings.TrimSuffix(name, "."+kind)] = string(f.Content)
	}
	if len(files) > 0 {
		g.wants("sysinit.target", "Wants", "systemd-network-generator.service")
		g.wants("multi-user.target", "Wants", "systemd-networkd.service")
	}
}

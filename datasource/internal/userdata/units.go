package userdata

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vmseed/vmseed/machine"
)

// unitsDir is where systemd looks for the administrator's own units.
const unitsDir = "/etc/systemd/system/"

// Names of units and of drop-ins (systemd.unit(5)). A drop-in whose name does not end in .conf is ignored.
var (
	unitName   = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)$`)
	dropInName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+\.conf$`)
)

// unitFiles returns the units and drop-ins as files, with the path of each in the machine.
func (g *generator) unitFiles() (files []machine.File, places []string) {
	add := func(place, path string, f machine.File) {
		f.Path, f.Mode = path, 0o644
		files, places = append(files, f), append(places, place)
	}
	for i, u := range g.m.Units {
		at := fmt.Sprintf("units[%d]", i)
		if !unitName.MatchString(u.Name) {
			g.list.Errorf(CodeUnit, g.place(at), "write a name such as web.service", "%q is no name of a unit", u.Name)
			continue
		}
		switch {
		case u.Content.IsZero():
		case u.Mask:
			g.lost(at, "the text of a unit that is masked", "remove one of the two")
		default:
			add(at, unitsDir+u.Name, machine.File{Content: u.Content})
		}
		for j, d := range u.DropIns {
			at := fmt.Sprintf("%s.dropIns[%d]", at, j)
			if !dropInName.MatchString(d.Name) {
				g.list.Errorf(CodeUnit, g.place(at), "write a name such as 10-memory.conf", "%q is no name of a drop-in", d.Name)
				continue
			}
			add(at, unitsDir+u.Name+".d/"+d.Name, machine.File{Content: d.Content})
		}
	}
	return files, places
}

// unitCommands makes systemd act on the units. Jobs are queued and not waited for: these commands run in
// cloud-final.service, and waiting for a unit that is ordered behind it would never end.
func (g *generator) unitCommands() []any {
	var reload, out []any
	for _, u := range g.m.Units {
		if !unitName.MatchString(u.Name) {
			continue
		}
		if !u.Content.IsZero() || len(u.DropIns) > 0 {
			reload = []any{[]string{"systemctl", "daemon-reload"}}
		}
		switch {
		case u.Mask:
			out = append(out, []string{"systemctl", "mask", "--now", "--no-block", u.Name})
		case u.Enabled != nil && !*u.Enabled:
			out = append(out, []string{"systemctl", "disable", "--now", "--no-block", u.Name})
		case u.Enabled != nil:
			out = append(out, []string{"systemctl", "enable", u.Name})
			if strings.Contains(u.Name, "@.") {
				continue // a template starts nothing by itself
			}
			// A unit of the image may run already, and knows nothing of its drop-ins.
			out = append(out, []string{"systemctl", "restart", "--no-block", u.Name})
		case strings.Contains(u.Name, "@."):
		default:
			out = append(out, []string{"systemctl", "try-restart", "--no-block", u.Name})
		}
	}
	return append(reload, out...)
}

package credentials

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// Oldest is the release of systemd that is the first to read credentials which set up a system.
const Oldest = 252

// The releases that read more.
const (
	// withMounts reads fstab.extra.
	withMounts = 254
	// withUnits reads units, drop-ins and the network.
	withUnits = 256
)

// Guest is the systemd that reads the credentials. The zero value is one of which nothing is known.
type Guest struct {
	name    string
	release int
}

// distributions are releases by the names of guests, with the systemd that their current images carry (2026).
var distributions = []Guest{
	{"debian-11", 247}, {"debian-12", 252}, {"debian-13", 257}, {"rhel-9", 252}, {"rhel-10", 257},
	{"ubuntu-22.04", 249}, {"ubuntu-24.04", 255},
}

// Guests returns the names that ParseGuest knows. The last one is a pattern.
func Guests() []string {
	var names []string
	for _, d := range distributions {
		names = append(names, d.name)
	}
	return append(names, "systemd=VERSION")
}

// ErrGuest is wrapped by errors about guests that ParseGuest does not know.
var ErrGuest = errors.New("unknown guest")

var versionForm = regexp.MustCompile(`^systemd=([1-9][0-9]{2})(?:[.~-]\S*)?$`)

// ParseGuest returns the guest of a name such as debian-12 or systemd=257.
func ParseGuest(name string) (Guest, error) {
	if i := slices.IndexFunc(distributions, func(d Guest) bool { return d.name == name }); i >= 0 {
		return distributions[i], nil
	}
	if match := versionForm.FindStringSubmatch(name); match != nil {
		release, err := strconv.Atoi(match[1])
		return Guest{name, release}, err
	}
	return Guest{}, fmt.Errorf("%w %q; known are %s", ErrGuest, name, strings.Join(Guests(), ", "))
}

// systemdOf is the systemd of a machine's guest: that which the user names, else that of the release.
func systemdOf(m machine.Machine, o datasource.Options) Guest {
	g, err := ParseGuest(cmp.Or(o.Guest, m.Guest.Release))
	if err != nil {
		return Guest{}
	}
	return g
}

// String names the guest for messages, such as "debian-12 (systemd 252)".
func (g Guest) String() string {
	if name := fmt.Sprintf("systemd %d", g.release); strings.HasPrefix(g.name, "systemd=") {
		return name
	}
	return fmt.Sprintf("%s (systemd %d)", g.name, g.release)
}

// reads is the release whose rules hold.
func (g Guest) reads() int { return cmp.Or(g.release, withUnits) }

// check refuses a guest that reads nothing.
func (g Guest) check(m machine.Machine) (l diag.List) {
	if g.reads() < Oldest {
		l.Errorf(CodeTooOld, m.Places.Find("guest.release"), "choose another data source, such as nocloud",
			"%s sets up nothing by credentials", g)
	}
	return l
}

// unknown notes what a guest of which nothing is known has to have. Whatever the user-data states is in translated.
func (g Guest) unknown(m, translated machine.Machine) (l diag.List) {
	if g.release != 0 {
		return nil
	}
	for _, least := range []int{withUnits, withMounts} {
		for _, use := range machine.Used(translated) {
			if since(least).Has(use.Field) && told(translated, use.Field) {
				l.Notef(CodeRelease, m.Places.Find(use.Path), "state guest.release, or use --guest, such as debian-13 or systemd=257",
					"%s reaches guests with systemd %d and later; which one this guest has is not known", use.Path, least)
				return l
			}
		}
	}
	return nil
}

// told leaves out what every placed machine has.
func told(m machine.Machine, f machine.Field) bool {
	return !machine.NewFieldSet("network").Has(f) || networked(m)
}

package ignconfig

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Guest is the Ignition that will read a config, and the distribution around it. The zero value accepts every version that
// this package knows.
type Guest struct {
	name string
	// minor is the highest version 3.minor.0 that it accepts.
	minor int
	// program is the release of Ignition, where it is known.
	program string
	debian  bool
}

// distributions are the guests that have a name, with what their current images accept (2026): Debian by its package,
// Flatcar and Fedora CoreOS by the Ignition that they ship, OpenShift by the versions that Butane targets, since its
// MachineConfig operator refuses more than its Ignition.
func distributions() []Guest {
	out := []Guest{
		{name: "debian-12", minor: 3, program: "2.14", debian: true},
		{name: "debian-13", minor: 3, program: "2.14", debian: true},
		{name: "flatcar", minor: 5, program: "2.24"},
		{name: "fcos", minor: 6, program: "2.26"},
		{name: "rhcos", minor: 5},
	}
	for release := 8; release <= 22; release++ {
		minor := 2
		switch {
		case release >= 19:
			minor = 5
		case release >= 14:
			minor = 4
		}
		out = append(out, Guest{name: fmt.Sprintf("ocp-4.%d", release), minor: minor})
	}
	return out
}

// releases are the releases of Ignition that brought a version of specification 3, by its minor number.
func releases() []int { return []int{0, 3, 7, 11, 15, 20, 26} }

// Guests returns the names that ParseGuest knows. The last two are patterns.
func Guests() []string {
	var names []string
	for _, g := range distributions() {
		if !strings.HasPrefix(g.name, "ocp-") {
			names = append(names, g.name)
		}
	}
	return append(names, "ocp-4.8 to ocp-4.22", "ignition=SPECIFICATION", "ignition=RELEASE")
}

// ErrGuest is wrapped by errors about guests that ParseGuest does not know.
var ErrGuest = errors.New("unknown Ignition guest")

var guestForm = regexp.MustCompile(`^ignition=([0-9]+)\.([0-9]+)(?:\.[0-9]+)*$`)

// ParseGuest returns the guest of a name: a distribution such as debian-12, flatcar or ocp-4.18, a version of the
// specification such as ignition=3.3, or a release of Ignition such as ignition=2.14. The two cannot be confused: releases
// of Ignition that read specification 3 are called 2.x.
func ParseGuest(name string) (Guest, error) {
	for _, g := range distributions() {
		if g.name == name {
			return g, nil
		}
	}
	m := guestForm.FindStringSubmatch(name)
	if m == nil {
		return Guest{}, fmt.Errorf("%w %q; known are %s", ErrGuest, name, strings.Join(Guests(), ", "))
	}
	major, _ := strconv.Atoi(m[1])
	minor, err := strconv.Atoi(m[2])
	switch {
	case err != nil || major != 2 && major != 3:
		return Guest{}, fmt.Errorf("%w %q; specification 3 is read by Ignition 2.0 and later", ErrGuest, name)
	case major == 3 && minor > newest:
		return Guest{}, fmt.Errorf("%w %q; the newest known specification is %s", ErrGuest, name, spec(newest))
	case major == 3:
		return Guest{name: name, minor: minor}, nil
	}
	g := Guest{name: name, program: fmt.Sprintf("2.%d", minor)}
	for accepts, since := range releases() {
		if minor >= since {
			g.minor = accepts
		}
	}
	return g, nil
}

// accepts returns the highest minor version of specification 3 that the guest reads.
func (g Guest) accepts() int {
	if g.name == "" {
		return newest
	}
	return g.minor
}

// String names the guest for messages, such as "debian-12 (Ignition 2.14)".
func (g Guest) String() string {
	switch {
	case g.name == "":
		return "Ignition"
	case strings.HasPrefix(g.name, "ignition=2."):
		return "Ignition " + g.program
	case strings.HasPrefix(g.name, "ignition="):
		return "an Ignition of specification " + spec(g.minor)
	case g.program != "":
		return fmt.Sprintf("%s (Ignition %s)", g.name, g.program)
	}
	return g.name
}

package lint

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// version is a release of cloud-init: year and number.
type version struct{ year, number int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.year, v.number) }

func (v version) before(w version) bool {
	return cmp.Or(cmp.Compare(v.year, w.year), cmp.Compare(v.number, w.number)) < 0
}

var (
	oldest = version{22, 4}
	newest = version{26, 2}
)

// Guest is the cloud-init that will read a document. The zero value is the newest release this package knows.
type Guest struct {
	name string
	v    version
}

// distributions are the releases that guests run, with the cloud-init that their current images carry (2026).
var distributions = []struct {
	name string
	v    version
}{
	{"debian-12", version{22, 4}},
	{"debian-13", version{25, 1}},
	{"rhel-9", version{23, 4}},
	{"ubuntu-22.04", version{25, 2}},
	{"ubuntu-24.04", version{26, 1}},
}

// Guests returns the names that ParseGuest knows. The last one is a pattern.
func Guests() []string {
	var names []string
	for _, d := range distributions {
		names = append(names, d.name)
	}
	return append(names, "cloud-init=VERSION")
}

// ErrGuest is wrapped by errors about guests that ParseGuest does not know.
var ErrGuest = errors.New("unknown guest")

var versionForm = regexp.MustCompile(`^cloud-init=([0-9]{2})\.([1-9])(?:\.[0-9]+)*(?:-\S*)?$`)

// ParseGuest returns the guest of a name such as debian-12 or cloud-init=24.1. Releases from 22.4 are known; one newer
// than the newest known counts as that one.
func ParseGuest(name string) (Guest, error) {
	for _, d := range distributions {
		if d.name == name {
			return Guest{name, d.v}, nil
		}
	}
	m := versionForm.FindStringSubmatch(name)
	if m == nil {
		return Guest{}, fmt.Errorf("%w %q; known are %s", ErrGuest, name, strings.Join(Guests(), ", "))
	}
	year, _ := strconv.Atoi(m[1])
	number, _ := strconv.Atoi(m[2])
	v := version{year, number}
	if v.before(oldest) {
		return Guest{}, fmt.Errorf("%w %q; the oldest known release of cloud-init is %s", ErrGuest, name, oldest)
	}
	return Guest{name, v}, nil
}

// version returns the release whose rules hold.
func (g Guest) version() version {
	if g.v == (version{}) || newest.before(g.v) {
		return newest
	}
	return g.v
}

// Before reports whether the guest's cloud-init is older than a release, such as 24.3.
func (g Guest) Before(year, number int) bool { return g.version().before(version{year, number}) }

// String names the guest for messages, such as "debian-12 (cloud-init 22.4)".
func (g Guest) String() string {
	if g.name == "" || strings.HasPrefix(g.name, "cloud-init=") {
		return "cloud-init " + g.version().String()
	}
	return fmt.Sprintf("%s (cloud-init %s)", g.name, g.version())
}

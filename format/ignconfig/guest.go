package ignconfig

import (
	"errors"
	"fmt"
)

// Guest is the Ignition that will read a config. The zero value accepts every specification that this package knows.
type Guest struct {
	name string
}

// ErrGuest is wrapped by errors about guests that ParseGuest does not know.
var ErrGuest = errors.New("unknown Ignition guest")

// ParseGuest returns the guest of a name, such as debian-12, flatcar, ocp-4.18, ignition=3.3 (a specification) or
// ignition=2.14 (a release of Ignition).
func ParseGuest(name string) (Guest, error) {
	return Guest{}, fmt.Errorf("%w %q", ErrGuest, name)
}

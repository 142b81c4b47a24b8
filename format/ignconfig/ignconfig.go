// Package ignconfig reads, checks, merges, builds and encodes the configs of Ignition, the first boot program of CoreOS
// and its kin, and of Butane, the YAML that people write them in. The official libraries decide what a config means;
// this package says with a place and in plain words what they would refuse, ignore or let pass to fail in the guest.
//
// Configs of every published specification are read: 2.0 to 2.4, which no current Ignition accepts, are translated to
// specification 3; 3.0 to 3.6 reach the guest byte for byte.
package ignconfig

import (
	"bytes"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/diag"
)

// Config is a valid Ignition config. The zero value holds none.
type Config struct {
	// text is what a guest gets.
	text []byte
	// stated is the version that the author wrote, version that of text.
	stated, version string
	types           types.Config
}

// IsZero reports whether there is no config.
func (c Config) IsZero() bool { return c.text == nil }

// Version returns the specification version of Text, such as 3.3.0.
func (c Config) Version() string { return c.version }

// Stated returns the version that the author wrote: that of Text, a version 2 that was translated, or the variant and
// version of a Butane document, such as "fcos 1.5.0".
func (c Config) Stated() string { return c.stated }

// Translated reports whether Text is written by this package or by Butane's library, and not by the author.
func (c Config) Translated() bool { return c.stated != c.version }

// Text returns the JSON that a guest gets: the author's own bytes for a config of specification 3 that nothing was merged
// into. It may hold secrets.
func (c Config) Text() []byte { return bytes.Clone(c.text) }

// Types returns the config as the newest types. Its stated version is always that of the newest specification.
func (c Config) Types() types.Config { return c.types }

// Read reads a config of either form, as Recognise tells them apart.
func Read(origin diag.Origin, data []byte) (Config, diag.List) {
	if IsButane(data) {
		return ParseButane(origin, data)
	}
	return Parse(origin, data)
}

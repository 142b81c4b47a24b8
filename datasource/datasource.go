// Package datasource is the room of the data sources: they render a machine into the seed that one kind of guest agent
// reads. Whoever wants to add one copies the smallest sibling below this directory and adds a line to datasource/all.
//
// Data sources are pure: no clock, no disk, no network, no dice. The same machine and options give the same bytes.
package datasource

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// DataSource renders machines for one kind of reader.
type DataSource interface {
	// Name is the data source's name, as users type it: nocloud, configdrive.
	Name() string
	// Expresses lists the fields of a machine that reach the guest. The engine warns about every other field that a
	// machine uses, so nothing is lost in silence.
	Expresses() machine.FieldSet
	// Render makes the seed of a placed machine. With errors in the list the seed is worthless.
	Render(m machine.Machine, o Options) (seed.Seed, diag.List)
}

// FormWriter is the optional power of a data source whose product is a form in which people write definitions, such as
// a cloud-config.
type FormWriter interface {
	// Form is the name of the form, as users type it.
	Form() string
	// Carries lists the fields that the form has words for. The engine warns about the others.
	Carries() machine.FieldSet
	// WriteForm writes a placed machine in the form.
	WriteForm(m machine.Machine, o Options) ([]byte, diag.List)
}

// Options are the user's wishes that change what is rendered.
type Options struct {
	// NoMultipart keeps user-data in one part, for guests that cannot read MIME multipart.
	NoMultipart bool
	// IgnitionPlatform is how an Ignition guest is addressed.
	IgnitionPlatform string
	// HTTP asks for a tree that the guest fetches, from a data source whose guests read the same from a volume or from
	// the firmware: nocloud and ignition. Others pay no heed to it.
	HTTP bool
	// Guest names the release that reads the seed, for the lint; empty means any.
	Guest string
	// Extra are further documents that the hypervisor's reporter needs. They come behind the user's: those for cloud-init as
	// vendor-data, Ignition configs as children of the guest's config. Those that the guest does not read are left out.
	Extra []machine.Layer
}

package ignition

import (
	"github.com/vmseed/vmseed/datasource"
	config "github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
)

// Form returns "butane".
func (Ignition) Form() string { return "butane" }

// Carries lists what stands in an Ignition config.
func (Ignition) Carries() machine.FieldSet { return config.Expresses() }

// WriteForm writes the config of the machine as a Butane document: of the variant flatcar for its guests, else of fcos.
func (Ignition) WriteForm(m machine.Machine, o datasource.Options) ([]byte, diag.List) {
	text, l := config.Compose(m, o)
	if l.HasErrors() {
		return nil, l
	}
	c, problems := ignconfig.Parse(diag.Origin{}, []byte(text.Reveal()))
	if problems.HasErrors() {
		return nil, append(l, problems...)
	}
	variant := "fcos"
	if p, _, _ := platformOf(m, o); p.name == "flatcar" {
		variant = "flatcar"
	}
	out, problems := c.Butane(variant)
	return out, append(l, problems...)
}

var _ datasource.FormWriter = Ignition{}

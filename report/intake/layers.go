package intake

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Layers returns the parts of a seed that make a guest report to a URL: the server's base and a Path. They are for
// datasource.Options.Extra; each data source takes the one that its guests understand: a cloud-config for cloud-init, a
// config of spec 3.0.0 for Ignition.
func Layers(url secret.Text) []machine.Layer {
	return nil
}

// Lost says which of the guest's reports the author's own user-data keeps from coming.
func Lost(m machine.Machine) diag.List {
	return nil
}

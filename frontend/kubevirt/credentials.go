package kubevirt

import "github.com/vmseed/vmseed/format/tree"

// accessCredentials reads spec.accessCredentials.
func (r *reader) accessCredentials(spec tree.Value) {}

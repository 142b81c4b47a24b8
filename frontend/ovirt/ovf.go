package ovirt

import "github.com/vmseed/vmseed/format/tree"

// envelope reads a machine out of the envelope of an OVF, the outermost element of such a document. It returns false when
// there is none in it.
func (r *reader) envelope(v tree.Value) bool { v.Consume(); return false }

// configuration reads initialization/configuration: the text of an OVF to import a vm from.
func (r *reader) configuration(v tree.Value) { v.Consume() }

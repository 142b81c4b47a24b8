package ovirt

import "github.com/vmseed/vmseed/format/tree"

// payloads reads the media that a vm gets beside its disks. The kind of first boot is known when it is called.
func (r *reader) payloads(v tree.Value) { v.Consume() }

package parts_test

import (
	"fmt"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/parts"
)

// An archive holds parts of several kinds.
func ExampleUnpack() {
	found, _ := parts.Unpack(diag.File("user-data"), []byte(`#cloud-config-archive
- "#!/bin/sh"
- type: text/cloud-config
  content: |
    hostname: web
`))
	for _, p := range found {
		fmt.Printf("%s at %s\n", p.Kind.Describe(), p.Origin.At(1, 1))
	}
	// Output:
	// a script at user-data:2:4
	// a cloud-config at user-data:5:5
}

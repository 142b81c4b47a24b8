package mimepart_test

import (
	"fmt"
	"log"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/mimepart"
)

// A cloud-config and a script make one user-data.
func Example() {
	data, err := mimepart.Build([]mimepart.Part{
		{ContentType: "text/cloud-config", MergeType: "list(append)+dict(recurse_array)+str()", Data: []byte("packages: [vim]\n")},
		{ContentType: "text/x-shellscript", Filename: "hello.sh", Data: []byte("#!/bin/sh\necho grüß dich\n")},
	})
	if err != nil {
		log.Fatal(err)
	}
	parts, _ := mimepart.Parse(diag.File("user-data"), data)
	for _, p := range parts {
		fmt.Printf("%s %q %q\n", p.ContentType, p.Filename, p.Data)
	}
	// Output:
	// text/cloud-config "" "packages: [vim]\n"
	// text/x-shellscript "hello.sh" "#!/bin/sh\necho grüß dich\n"
}

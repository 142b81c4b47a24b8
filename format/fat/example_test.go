package fat_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log"

	"github.com/vmseed/vmseed/format/fat"
)

// A seed for a guest without a driver for ISO 9660, and what the guest finds on it.
func Example() {
	im, err := fat.New([]fat.File{
		{Path: "meta-data", Data: []byte("instance-id: web-1\n")},
		{Path: "user-data", Data: []byte("#cloud-config\nhostname: web\n")},
	}, fat.Options{Label: "cidata"})
	if err != nil {
		log.Fatal(err)
	}
	var volume bytes.Buffer
	if _, err := im.WriteTo(&volume); err != nil {
		log.Fatal(err)
	}

	r, err := fat.NewReader(bytes.NewReader(volume.Bytes()), int64(volume.Len()))
	if err != nil {
		log.Fatal(err)
	}
	names, err := fs.Glob(r, "*")
	fmt.Println(r.Label(), r.Bits(), volume.Len(), names, err)
	// Output: CIDATA 12 24576 [meta-data user-data] <nil>
}

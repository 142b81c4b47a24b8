package iso9660_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/vmseed/vmseed/format/iso9660"
)

// A seed for cloud-init's NoCloud data source, written to a file.
func ExampleImage_WriteTo() {
	im, err := iso9660.New([]iso9660.File{
		{Path: "meta-data", Data: []byte("instance-id: web-1\n")},
		{Path: "user-data", Data: []byte("#cloud-config\nhostname: web\n"), Mode: 0o400},
	}, iso9660.Options{Label: "cidata"})
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := os.Create(filepath.Join(dir, "seed.iso"))
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	n, err := im.WriteTo(f)
	fmt.Println(n, err)
	// Output: 57344 <nil>
}

// The content of any fs.FS, such as an os.DirFS or an embed.FS.
func ExampleFiles() {
	tree := fstest.MapFS{
		"openstack/latest/meta_data.json": {Data: []byte(`{"uuid": "83679162"}`), Mode: 0o444},
		"openstack/latest/user_data":      {Data: []byte("#!/bin/sh\n"), Mode: 0o555},
	}
	files, err := iso9660.Files(tree)
	if err != nil {
		log.Fatal(err)
	}
	im, err := iso9660.New(files, iso9660.Options{Label: "config-2"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(im.Size())
	// Output: 65536
}

// What a guest finds on a volume, and what one without Rock Ridge and Joliet finds.
func ExampleNewReader() {
	var volume bytes.Buffer
	im, err := iso9660.New([]iso9660.File{
		{Path: "meta-data", Data: []byte("instance-id: web-1\n")},
		{Path: "Notes for Admins.txt", Data: []byte("none\n")},
	}, iso9660.Options{Label: "cidata"})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := im.WriteTo(&volume); err != nil {
		log.Fatal(err)
	}

	r, err := iso9660.NewReader(bytes.NewReader(volume.Bytes()), int64(volume.Len()))
	if err != nil {
		log.Fatal(err)
	}
	plain, err := r.Through(iso9660.Plain)
	if err != nil {
		log.Fatal(err)
	}
	for _, view := range []*iso9660.Reader{r, plain} {
		names, err := fs.Glob(view, "*")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, %v names: %s\n", view.Label(), view.Names(), strings.Join(names, ", "))
	}
	// Output:
	// cidata, Rock Ridge names: Notes for Admins.txt, meta-data
	// cidata, plain names: meta-data, notes_for_admins.txt
}

// A name that could lead out of the directory it is copied to is refused, with its place.
func ExamplePathError() {
	_, err := iso9660.New([]iso9660.File{{Path: "../etc/passwd"}}, iso9660.Options{})
	fmt.Println(err)
	// Output: iso9660: "../etc/passwd": bad name: path component ".."
}

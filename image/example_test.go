package image_test

import (
	"context"
	"fmt"

	"github.com/vmseed/vmseed/image"
)

func ExampleParse() {
	for _, text := range []string{"./web.qcow2", "debian:13", "docker://debian:13", "kubevirt/fedora-cloud-container-disk-demo", "oci:build:web"} {
		ref, err := image.Parse(text)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%-8s  %s\n", ref.Kind, ref)
	}
	// Output:
	// file      web.qcow2
	// name      debian:13
	// registry  docker.io/library/debian:13
	// registry  docker.io/kubevirt/fedora-cloud-container-disk-demo:latest
	// oci       oci:build:web
}

func ExampleStore_Resolve() {
	store := image.Store{Dir: "/nowhere"}
	ref, err := image.Parse("https://example.org/web.qcow2")
	if err != nil {
		fmt.Println(err)
		return
	}
	i, err := store.Resolve(context.Background(), ref, image.Options{Arch: "arm64", Policy: image.Missing})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The image stays in the store until it is closed and no overlay is on it any more.
	defer i.Close()
	fmt.Println(i.Path, i.Format)
	// Output:
	// https://example.org/web.qcow2: the URL has no checksum; add #sha256=HEX, #sha512=HEX or #checksum=SHA256SUMS, the list that is published beside the image
}

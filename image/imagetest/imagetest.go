// Package imagetest makes container images that hold disks, for the tests of whoever fetches them.
package imagetest

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Disk returns a container image for Linux on an architecture, as GOARCH names it, with a file and nothing else.
func Disk(t testing.TB, arch, path string, disk []byte) v1.Image {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := w.WriteHeader(&tar.Header{Name: path, Size: int64(len(disk)), Mode: 0o444}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(disk); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return Container(t, arch, Layer(t, archive.Bytes()))
}

// Layer returns a layer with what a tar archive holds.
func Layer(t testing.TB, archive []byte) v1.Layer {
	t.Helper()
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Container returns a container image of layers for Linux on an architecture.
func Container(t testing.TB, arch string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = arch, "linux"
	if img, err = mutate.ConfigFile(img, config); err != nil {
		t.Fatal(err)
	}
	return img
}

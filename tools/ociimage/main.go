// Command ociimage writes the controller's container image without a container runtime: one layer with one program, as
// an OCI image layout or as an archive that `docker load` and `ctr image import` take. The same program gives the same image.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

func main() {
	var o options
	flag.StringVar(&o.program, "program", "", "the program, linked statically")
	flag.StringVar(&o.arch, "arch", "amd64", "the architecture of the program")
	flag.StringVar(&o.tag, "tag", "vmseed-kube:latest", "name of the image in an archive")
	flag.StringVar(&o.out, "out", "", "directory for an image layout, or file with the ending .tar for an archive")
	flag.Parse()
	if err := o.write(); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage:", err)
		os.Exit(1)
	}
}

type options struct{ program, arch, tag, out string }

// user is the numeric user of the program, which nobody else has ("nonroot" of distroless images).
const user = "65532:65532"

func (o options) write() error {
	image, err := o.image()
	if err != nil {
		return err
	}
	if strings.HasSuffix(o.out, ".tar") {
		tag, err := name.NewTag(o.tag)
		if err != nil {
			return err
		}
		return tarball.WriteToFile(o.out, tag, image)
	}
	path, err := layout.Write(o.out, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendImage(image, layout.WithPlatform(v1.Platform{OS: "linux", Architecture: o.arch}),
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": o.tag}))
}

// image makes the image. Times in it are zero.
func (o options) image() (v1.Image, error) {
	program, err := os.ReadFile(o.program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"etc/passwd", 0o644, []byte("nonroot:x:65532:65532::/:/sbin/nologin\n")},
		{"vmseed-kube", 0o755, program},
	} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", o.arch
	config.Config = v1.Config{Entrypoint: []string{"/vmseed-kube"}, User: user,
		Labels: map[string]string{"org.opencontainers.image.source": "https://github.com/vmseed/vmseed"}}
	return mutate.ConfigFile(image, config)
}

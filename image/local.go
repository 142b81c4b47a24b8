package image

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/vmseed/vmseed/internal/bounded"
)

// tree is the files of an image layout or an archive.
type tree interface {
	open(name string) (io.ReadCloser, int64, error)
	Close() error
}

// openLocal finds a container image in a directory or an archive.
func openLocal(ref Reference, arch string) (c container, err error) {
	var t tree
	switch ref.Kind {
	case Layout:
		t, err = openDirectory(ref.Path)
	default:
		t, err = openArchive(ref.Path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return c, &Error{Fault: BadReference, What: "there is no such file or directory"}
	}
	if err != nil {
		return c, err
	}
	if ref.Kind == DockerArchive {
		c, err = dockerImage(t)
	} else {
		c, err = layoutImage(t, ref.Name, arch)
	}
	if err != nil {
		return c, errors.Join(err, t.Close())
	}
	c.close = t.Close
	return c, nil
}

// directory is a layout that lies on the disk. Links out of it are not followed.
type directory struct{ root *os.Root }

func openDirectory(path string) (tree, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return directory{root}, nil
}

func (d directory) open(name string) (io.ReadCloser, int64, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = badImage(name+" is no file", "")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Close closes the directory.
func (d directory) Close() error { return d.root.Close() }

// archive is a tar archive whose files are read where they lie in it.
type archive struct {
	f     *os.File
	files map[string]place
	links map[string]string
}

type place struct{ offset, size int64 }

func openArchive(name string) (_ tree, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	a := &archive{f: f, files: map[string]place{}, links: map[string]string{}}
	for t, n := tar.NewReader(f), 0; ; n++ {
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF):
			return a, nil
		case err != nil && ofHost(err):
			return nil, err
		case err != nil:
			return nil, &Error{Fault: BadImage, What: "the file is no tar archive", Err: err, Remedy: "unpack it first if it is compressed"}
		case n > maxEntries:
			return nil, badImage(fmt.Sprintf("the archive has more than %d files", maxEntries), "")
		}
		p := path.Clean(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			// The reader of package tar reads no further than the header, so the contents begin here.
			offset, err := f.Seek(0, io.SeekCurrent)
			if err != nil {
				return nil, err
			}
			a.files[p] = place{offset, h.Size}
		case tar.TypeSymlink:
			// docker save writes a layer that it has written already as a link.
			a.links[p] = path.Join(path.Dir(p), h.Linkname)
		case tar.TypeLink:
			a.links[p] = path.Clean(h.Linkname)
		}
	}
}

func (a *archive) open(name string) (io.ReadCloser, int64, error) {
	at, ok := a.files[name]
	if !ok {
		at, ok = a.files[a.links[name]]
	}
	if !ok {
		return nil, 0, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return io.NopCloser(io.NewSectionReader(a.f, at.offset, at.size)), at.size, nil
}

// Close closes the archive.
func (a *archive) Close() error { return a.f.Close() }

// readJSON reads a small JSON file of a tree.
func readJSON(t tree, name string, want v1.Hash, into any) ([]byte, error) {
	in, _, err := t.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, badImage("there is no "+name+" in it", "is it what its prefix says: oci:, oci-archive: or docker-archive:?")
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := bounded.ReadAll(in, manifestLimit)
	if errors.Is(err, bounded.ErrTooLarge) {
		return nil, badImage(fmt.Sprintf("%s is larger than %d bytes", name, manifestLimit), "")
	}
	if err != nil {
		return nil, err
	}
	if want.Hex != "" {
		got, _, err := v1.SHA256(bytes.NewReader(text))
		if err != nil || got != want {
			return nil, damaged(want, "its hash is "+got.Hex)
		}
	}
	if err := json.Unmarshal(text, into); err != nil {
		return nil, badImage(name+" is no JSON that describes a container image", "")
	}
	return text, nil
}

// blobName is where a layout keeps a blob (OCI Image Layout Specification, "Blobs").
func blobName(h v1.Hash) (string, error) {
	if raw, err := hex.DecodeString(h.Hex); h.Algorithm != "sha256" || err != nil || len(raw) != 32 {
		return "", badImage("the container image uses hashes other than SHA-256", "")
	}
	return "blobs/" + h.Algorithm + "/" + h.Hex, nil
}

// refName is the annotation with the tag of an image in a layout (OCI Image Spec, "Annotations").
const refName = "org.opencontainers.image.ref.name"

// layoutImage finds an image in a layout by its tag and architecture.
func layoutImage(t tree, tag, arch string) (c container, err error) {
	var index v1.IndexManifest
	if _, err := readJSON(t, "index.json", v1.Hash{}, &index); err != nil {
		return c, err
	}
	entries := index.Manifests
	var tags []string
	for _, d := range entries {
		if name := d.Annotations[refName]; name != "" && !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
	}
	switch {
	case tag != "":
		if entries = slices.DeleteFunc(slices.Clone(entries), func(d v1.Descriptor) bool { return d.Annotations[refName] != tag }); len(entries) == 0 {
			return c, badImage(fmt.Sprintf("there is no image %q in it", tag), "there are: "+strings.Join(tags, ", "))
		}
	case len(tags) > 1:
		return c, badImage("there are several images in it: "+strings.Join(tags, ", "), "name one by :TAG behind the path")
	}
	for range maxNesting {
		chosen, err := choose(entries, arch)
		if len(entries) == 1 && (entries[0].MediaType.IsImage() || entries[0].MediaType.IsIndex()) {
			// The only one is meant, whatever it says of its platform.
			chosen, err = entries[0], nil
		}
		if err != nil {
			return c, err
		}
		name, err := blobName(chosen.Digest)
		if err != nil {
			return c, err
		}
		if chosen.MediaType.IsImage() {
			return manifestImage(t, name, chosen.Digest)
		}
		index = v1.IndexManifest{}
		if _, err := readJSON(t, name, chosen.Digest, &index); err != nil {
			return c, err
		}
		entries = index.Manifests
	}
	return c, badImage("the container image is an index of indexes of indexes", "")
}

func manifestImage(t tree, name string, digest v1.Hash) (c container, err error) {
	var m v1.Manifest
	if _, err := readJSON(t, name, digest, &m); err != nil {
		return c, err
	}
	if err := checkManifest(&m); err != nil {
		return c, err
	}
	c.digest = digest.String()
	for _, d := range m.Layers {
		name, err := blobName(d.Digest)
		if err != nil {
			return c, err
		}
		c.layers = append(c.layers, layer{digest: d.Digest, size: d.Size, open: func() (io.ReadCloser, error) {
			in, _, err := t.open(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil, badImage("the layer "+short(d.Digest)+" is missing", "copy the image again, with all its layers")
			}
			return in, err
		}})
	}
	return c, nil
}

// dockerImage finds the image in an archive that docker save wrote.
func dockerImage(t tree) (c container, err error) {
	var images []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if _, err := readJSON(t, "manifest.json", v1.Hash{}, &images); err != nil {
		return c, err
	}
	if len(images) != 1 {
		var tags []string
		for _, i := range images {
			tags = append(tags, i.RepoTags...)
		}
		return c, badImage(fmt.Sprintf("the archive has %d images: %s", len(images), strings.Join(tags, ", ")), "save the one alone")
	}
	var config v1.ConfigFile
	text, err := readJSON(t, path.Clean(images[0].Config), v1.Hash{}, &config)
	if err != nil {
		return c, err
	}
	if len(config.RootFS.DiffIDs) != len(images[0].Layers) || len(images[0].Layers) == 0 || len(images[0].Layers) > maxLayers {
		return c, badImage("the archive does not have the layers that its image consists of", "save it again")
	}
	digest, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		return c, err
	}
	c.digest = digest.String()
	for i, name := range images[0].Layers {
		in, size, err := t.open(path.Clean(name))
		if err != nil {
			return c, badImage("the layer "+name+" is missing in the archive", "save it again")
		}
		_ = in.Close()
		c.layers = append(c.layers, layer{digest: config.RootFS.DiffIDs[i], unpacked: true, size: size, open: func() (io.ReadCloser, error) {
			in, _, err := t.open(path.Clean(name))
			return in, err
		}})
	}
	return c, nil
}

package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
)

// defaultDirectory is where a containerDisk has its disk (KubeVirt, "containerDisk Workflow Example").
const defaultDirectory = "disk"

// Marks in layers (OCI Image Layer Filesystem Changeset, "Whiteouts").
const (
	whiteout = ".wh."
	opaque   = ".wh..wh..opq"
)

// maxEntries is the number of files that the layers of an image may have together.
const maxEntries = 1 << 20

// finder looks for the disk in the layers of a container image, from the last to the first, as they hide each other.
type finder struct {
	out *stage
	// dir is the directory that is looked at, and only the file in it, "" for any; both without the leading slash.
	dir, only string
	// hidden are paths that upper layers remove or replace with what is below; opaque are directories whose contents in
	// lower layers are gone.
	hidden, opaque map[string]bool
	found          []string
	// instead says what stands in the way of the directory.
	instead string
	entries int
	budget  int64
}

func newFinder(inside string, out *stage) *finder {
	f := &finder{out: out, dir: defaultDirectory, hidden: map[string]bool{}, opaque: map[string]bool{}, budget: 2 * out.limit}
	if inside != "" {
		f.only = strings.TrimPrefix(path.Clean(inside), "/")
		f.dir = path.Dir(f.only)
	}
	return f
}

// extract writes the disk of a container image, given its layers from the first to the last.
func extract(ctx context.Context, layers []layer, inside string, out *stage, m *meter) error {
	f := newFinder(inside, out)
	for _, l := range slices.Backward(layers) {
		in, err := l.tar(m)
		if err != nil {
			return err
		}
		err = f.layer(&spending{ctx: ctx, in: in, left: &f.budget, limit: 2 * out.limit})
		if err == nil {
			err = in.check()
		}
		if err = errors.Join(err, in.Close()); err != nil {
			return layerError(err)
		}
	}
	return f.result()
}

// layerError sorts the errors of reading a layer.
func layerError(err error) error {
	var e *Error
	if errors.As(err, &e) || ofHost(err) {
		return err
	}
	return &Error{Fault: BadImage, What: "a layer of the container image is damaged", Err: err, Remedy: "build and push it again"}
}

// result is the verdict when all layers have been read.
func (f *finder) result() error {
	switch {
	case len(f.found) == 1:
		return nil
	case len(f.found) > 1:
		slices.Sort(f.found)
		return badImage("the container image has several files in /"+f.dir+": "+strings.Join(f.found, ", "), "choose one with #path=/"+f.dir+"/NAME")
	case f.instead != "":
		return badImage(f.instead, "the disk must be a file in a directory")
	case f.only != "":
		return badImage("the container image has no file /"+f.only, "name the disk's path, or leave it out if the disk is the only file in /"+defaultDirectory)
	}
	return badImage("the container image has no disk: no file in /"+f.dir, "is it a containerDisk? Its disk may be elsewhere: #path=/WHERE")
}

// layer reads a layer to its end.
func (f *finder) layer(in io.Reader) error {
	// What a layer removes is gone from those below, not from itself.
	hidden, opaqued := map[string]bool{}, map[string]bool{}
	names := map[string]bool{}
	t := tar.NewReader(in)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if f.entries++; f.entries > maxEntries {
			return badImage(fmt.Sprintf("the container image has more than %d files", maxEntries), "")
		}
		if slices.Contains(strings.Split(h.Name, "/"), "..") {
			return badImage("a path in a layer of the container image has the element ..", "build it with another tool")
		}
		p := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		dir, base := path.Dir(p), path.Base(p)
		switch {
		case base == opaque:
			opaqued[dir] = true
		case strings.HasPrefix(base, whiteout):
			hidden[path.Join(dir, strings.TrimPrefix(base, whiteout))] = true
		case f.hides(p):
		case p == f.dir || strings.HasPrefix(f.dir, p+"/"):
			if h.Typeflag != tar.TypeDir {
				hidden[p] = true
				f.instead = "/" + p + " in the container image is " + typeName(h.Typeflag) + ", not a directory"
			}
		case dir == f.dir && (f.only == "" || f.only == p):
			if err := f.entry(h, p, t, names); err != nil {
				return err
			}
			hidden[p] = true
		case f.dir == "." || strings.HasPrefix(dir, f.dir+"/"):
			// A file further below makes a directory of what lower layers may have as a file.
			name, _, _ := strings.Cut(strings.TrimPrefix(dir, f.dir+"/"), "/")
			hidden[path.Join(f.dir, name)] = true
		}
	}
	for p := range hidden {
		f.hidden[p] = true
	}
	for p := range opaqued {
		f.opaque[p] = true
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// hides reports whether an upper layer hides a path of this one.
func (f *finder) hides(p string) bool {
	for q := p; ; q = path.Dir(q) {
		if f.hidden[q] || q != p && f.opaque[q] {
			return true
		}
		if q == "." || q == "/" {
			return false
		}
	}
}

// entry takes a file of the directory. The first one is written; if others follow there is none, and the error names them.
func (f *finder) entry(h *tar.Header, p string, in io.Reader, names map[string]bool) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
	case tar.TypeDir:
		if p == f.only {
			f.instead = "/" + p + " in the container image is a directory"
		}
		return nil
	default:
		return badImage("/"+p+" in the container image is "+typeName(h.Typeflag), "the disk must be a file of its own")
	}
	if h.Size > f.out.limit {
		return tooLarge(f.out.limit)
	}
	switch {
	case names[p] && len(f.found) == 1:
		// The later of two entries of one name counts.
		if err := f.out.reset(); err != nil {
			return err
		}
	case !names[p]:
		names[p] = true
		if f.found = append(f.found, path.Base(p)); len(f.found) > 1 {
			return nil
		}
	default:
		return nil
	}
	_, err := io.Copy(f.out, in)
	return err
}

func typeName(flag byte) string {
	switch flag {
	case tar.TypeSymlink:
		return "a symbolic link"
	case tar.TypeLink:
		return "a hard link"
	case tar.TypeReg:
		return "a file"
	}
	return "no file"
}

// spending reads at the cost of a budget that several readers share.
type spending struct {
	ctx   context.Context
	in    io.Reader
	left  *int64
	limit int64
}

func (s *spending) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.in.Read(p)
	if *s.left -= int64(n); *s.left < 0 {
		return 0, badImage(fmt.Sprintf("the layers of the container image are larger than %d bytes", s.limit), "allow more with vmseed image pull --max-size, if they are meant to be so large")
	}
	return n, err
}

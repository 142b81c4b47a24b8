package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// entries are what FuzzLayers builds layers of.
var entries = []file{
	{name: "disk/", kind: tar.TypeDir}, {name: "disk/a"}, {name: "disk/b"}, {name: "./disk/a"}, {name: "disk/a/", kind: tar.TypeDir}, {name: "disk/a/c"}, {name: "etc/x"},
	{name: "disk/.wh.a"}, {name: "disk/.wh.b"}, {name: "disk/.wh..wh..opq"}, {name: ".wh.disk"}, {name: ".wh..wh..opq"}, {name: "disk"},
	{name: "disk/a", kind: tar.TypeSymlink, link: "b"}, {name: "disk", kind: tar.TypeSymlink, link: "etc"}, {name: "disk/.wh.none"},
}

// FuzzLayers compares the search for the disk, which goes from the last layer to the first, with unpacking the layers one
// over the other from the first to the last, as a container runtime does.
func FuzzLayers(f *testing.F) {
	for _, seed := range []string{"\x01", "\x01\xff\x07", "\x01\xff\x09\x02", "\x01\xff\x0a\xff\x02", "\x01\x02", "\x01\xff\x0c", "\x01\xff\x0c\xff\x02", "\x01\xff\x04", "\x01\xff\x0d",
		"\x01\xff\x0e", "\x04\x05\xff\x01", "\x01\xff\x0b\x06", "\x01\xff\x07\x01"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		var layers [][]file
		for _, part := range bytes.Split(program[:min(len(program), 40)], []byte{0xff}) {
			var l []file
			for n, b := range part {
				e := entries[int(b)%len(entries)]
				if e.kind == 0 {
					e.data = append(disk(uint64(b), 200), byte(len(layers)), byte(n))
				}
				l = append(l, e)
			}
			layers = append(layers, l)
		}
		want, odd := unpack(layers)
		var all []layer
		for _, files := range layers {
			text := archiveOf(t, files...)
			sum, _, err := v1.SHA256(bytes.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, layer{digest: sum, size: int64(len(text)), open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
		}
		out, err := newStage(t.TempDir(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		defer out.discard()
		err = extract(context.Background(), all, "", out, &meter{report: func(Progress) {}})
		if odd {
			// What is a link or changes its kind within a layer may be refused, but nothing else may happen to it.
			if err != nil && FaultOf(err) != BadImage {
				t.Fatal(err)
			}
			return
		}
		if (len(want) == 1) != (err == nil) {
			t.Fatalf("%v: %v; unpacked there are %v", names(layers), err, slices.Collect(maps.Keys(want)))
		}
		if err != nil {
			if FaultOf(err) != BadImage {
				t.Fatal(err)
			}
			return
		}
		if err := errors.Join(out.flush(out.pending), out.f.Truncate(out.size)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(out.f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range want {
			if !bytes.Equal(got, data) {
				t.Fatalf("%v: the disk is not %s", names(layers), name)
			}
		}
	})
}

func names(layers [][]file) [][]string {
	var out [][]string
	for _, l := range layers {
		var n []string
		for _, e := range l {
			n = append(n, e.name)
		}
		out = append(out, n)
	}
	return out
}

// unpack returns the files that are directly in /disk when all layers are unpacked. odd means that a link is among them, or
// that a layer has one path as things of several kinds.
func unpack(layers [][]file) (files map[string][]byte, odd bool) {
	tree := map[string]*file{}
	drop := func(p string, itself bool) {
		for q := range tree {
			if itself && q == p || strings.HasPrefix(q, p+"/") || p == "." && !itself {
				delete(tree, q)
			}
		}
	}
	for _, l := range layers {
		kinds := map[string]byte{}
		for _, e := range l {
			p := path.Clean(e.name)
			switch base := path.Base(p); {
			case base == opaque:
				drop(path.Dir(p), false)
			case strings.HasPrefix(base, whiteout):
				drop(path.Join(path.Dir(p), base[len(whiteout):]), true)
			}
		}
		for _, e := range l {
			p := path.Clean(e.name)
			if strings.HasPrefix(path.Base(p), whiteout) {
				continue
			}
			for q := p; q != "."; q = path.Dir(q) {
				kind := e.kind
				if q != p {
					kind = tar.TypeDir
				}
				if before, ok := kinds[q]; ok && before != kind {
					odd = true
				}
				kinds[q] = kind
				if old := tree[q]; old != nil && (old.kind != tar.TypeDir || kind != tar.TypeDir) {
					drop(q, true)
				}
				if q != p && tree[q] == nil {
					tree[q] = &file{name: q, kind: tar.TypeDir}
				}
			}
			tree[p] = &e
		}
	}
	files = map[string][]byte{}
	for p, e := range tree {
		switch {
		case e.kind == tar.TypeSymlink:
			odd = true
		case path.Dir(p) == "disk" && e.kind == 0:
			files[p] = e.data
		}
	}
	return files, odd
}

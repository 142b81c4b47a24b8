package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/vmseed/vmseed/image/imagetest"
)

// disk returns the bytes of a qcow2 image of version 3 for a disk of 1 GiB: a header and noise.
func disk(seed uint64, size int) []byte {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(b)
	clear(b[:104])
	copy(b, "QFI\xfb")
	binary.BigEndian.PutUint32(b[4:], 3)
	binary.BigEndian.PutUint64(b[24:], 1<<30)
	return b
}

// file is an entry of a layer.
type file struct {
	name string
	data []byte
	kind byte
	link string
}

func archiveOf(t testing.TB, files ...file) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Size: int64(len(f.data)), Mode: 0o440, Uid: 107, Typeflag: f.kind, Linkname: f.link}
		if f.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(f.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func layerOf(t testing.TB, files ...file) v1.Layer {
	t.Helper()
	return imagetest.Layer(t, archiveOf(t, files...))
}

// containerDisk is the image that KubeVirt's documentation has people build.
func containerDisk(t testing.TB, data []byte) v1.Image {
	return imagetest.Container(t, "amd64", layerOf(t, file{name: "disk/", kind: tar.TypeDir}, file{name: "disk/web.qcow2", data: data}))
}

// hub is a registry on this host that counts what is asked of it.
type hub struct {
	*httptest.Server
	host string
	// inner is the registry itself.
	inner http.Handler
	mu    sync.Mutex
	gets  []string
	// spoil may change or answer a request.
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func newHub(t testing.TB) *hub {
	t.Helper()
	h := &hub{}
	h.inner = registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.gets = append(h.gets, r.Method+" "+r.URL.Path)
		spoil := h.spoil
		h.mu.Unlock()
		if spoil != nil && spoil(w, r) {
			return
		}
		h.inner.ServeHTTP(w, r)
	}))
	t.Cleanup(h.Close)
	h.host = strings.TrimPrefix(h.URL, "http://")
	return h
}

func (h *hub) spoils(f func(w http.ResponseWriter, r *http.Request) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spoil = f
}

// blobs returns how many blobs have been fetched, and forgets them.
func (h *hub) blobs() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, line := range h.gets {
		if strings.HasPrefix(line, "GET ") && strings.Contains(line, "/blobs/") {
			n++
		}
	}
	h.gets = nil
	return n
}

// push puts an image or an index into the registry, and returns its reference.
func (h *hub) push(t testing.TB, repository string, what any) Reference {
	t.Helper()
	at, err := name.ParseReference(h.host + "/" + repository)
	if err != nil {
		t.Fatal(err)
	}
	switch x := what.(type) {
	case v1.Image:
		err = remote.Write(at, x)
	case v1.ImageIndex:
		err = remote.WriteIndex(at, x)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.blobs()
	return parse(t, h.host+"/"+repository)
}

func parse(t testing.TB, text string) Reference {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newStore(t testing.TB) *Store {
	t.Helper()
	// The credentials of whoever runs the tests are none of their business.
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	return &Store{Dir: filepath.Join(t.TempDir(), "store")}
}

var amd64 = Options{Arch: "amd64"}

// holds demands that an image has the contents.
func holds(t testing.TB, i *Image, want []byte) {
	t.Helper()
	got, err := os.ReadFile(i.Path)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s: %d bytes, %v; want %d others", i.Path, len(got), err, len(want))
	}
}

func resolve(t testing.TB, s *Store, ref Reference, o Options) *Image {
	t.Helper()
	i, err := s.Resolve(context.Background(), ref, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = i.Close() })
	return i
}

// refused demands an error of a fault whose text has the words.
func refused(t testing.TB, i *Image, err error, fault Fault, words ...string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Fault != fault || i != nil {
		t.Fatalf("got %+v, %v (fault %v), want fault %v", i, err, FaultOf(err), fault)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// assertClean demands that nothing of a failed fetch is left in a store.
func assertClean(t testing.TB, s *Store, images int) {
	t.Helper()
	var left []string
	if _, err := os.Stat(s.Dir); errors.Is(err, os.ErrNotExist) && images == 0 {
		return
	}
	err := filepath.WalkDir(s.Dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(p, lockSuffix) {
			left = append(left, d.Name())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, n := range left {
		if isHash(n) {
			got++
		}
		if strings.HasPrefix(n, ".") {
			t.Errorf("%s is left", n)
		}
	}
	if got != images {
		t.Errorf("%d images, want %d: %v", got, images, left)
	}
}

func TestContainerDisk(t *testing.T) {
	h, s := newHub(t), newStore(t)
	data := disk(1, 300_000)
	ref := h.push(t, "team/web:1", containerDisk(t, data))
	var last Progress
	o := amd64
	o.Progress = func(p Progress) { last = p }
	i := resolve(t, s, ref, o)
	holds(t, i, data)
	if !i.Fetched || i.Format != QCOW2 || i.VirtualSize != 1<<30 || i.Size != int64(len(data)) || !strings.HasPrefix(i.Digest, "sha256:") {
		t.Errorf("got %+v", i)
	}
	if last.Total == 0 || last.Done != last.Total {
		t.Errorf("the last report is %+v", last)
	}
	info, err := os.Stat(i.Path)
	if err != nil || info.Mode().Perm() != 0o400 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if n := h.blobs(); n != 1 {
		t.Errorf("%d blobs were fetched, want the layer alone", n)
	}
	// The registry is not asked again.
	h.Close()
	if again := resolve(t, s, ref, amd64); again.Fetched || again.Path != i.Path || again.Digest != i.Digest {
		t.Errorf("got %+v", again)
	}
	assertClean(t, s, 1)
}

func TestPolicies(t *testing.T) {
	h, s := newHub(t), newStore(t)
	old, young := disk(1, 5000), disk(2, 5000)
	ref := h.push(t, "web:latest", containerDisk(t, old))
	never, always := amd64, amd64
	never.Policy, always.Policy = Never, Always
	i, err := s.Resolve(context.Background(), ref, never)
	refused(t, i, err, Unavailable, "not in the store", "vmseed image pull")
	holds(t, resolve(t, s, ref, amd64), old)
	h.push(t, "web:latest", containerDisk(t, young))
	holds(t, resolve(t, s, ref, amd64), old)
	holds(t, resolve(t, s, ref, never), old)
	if h.blobs() != 0 {
		t.Error("missing and never asked for a blob")
	}
	holds(t, resolve(t, s, ref, always), young)
	holds(t, resolve(t, s, ref, never), young)
	h.blobs()
	if i := resolve(t, s, ref, always); i.Fetched || h.blobs() != 0 {
		t.Error("what had not changed was fetched again")
	}
	// The same image under another name is the same file.
	other := h.push(t, "elsewhere:2", containerDisk(t, young))
	if i := resolve(t, s, other, amd64); i.Fetched || h.blobs() != 0 {
		t.Error("another name of an image was fetched")
	}
	assertClean(t, s, 2)
}

func TestArchitectures(t *testing.T) {
	h, s := newHub(t), newStore(t)
	amd, arm := disk(1, 5000), disk(2, 5000)
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: containerDisk(t, disk(3, 99_000)), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "unknown", Architecture: "unknown"}}},
		mutate.IndexAddendum{Add: containerDisk(t, arm), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64", Variant: "v8"}}},
		mutate.IndexAddendum{Add: containerDisk(t, amd), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	ref := h.push(t, "web:1", index)
	nested := h.push(t, "web:2", mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index, Descriptor: v1.Descriptor{}}))
	for _, r := range []Reference{ref, nested} {
		holds(t, resolve(t, s, r, amd64), amd)
		holds(t, resolve(t, s, r, Options{Arch: "arm64"}), arm)
		i, err := s.Resolve(context.Background(), r, Options{Arch: "s390x"})
		refused(t, i, err, BadImage, "not for linux/s390x, but for linux/arm64, linux/amd64", r.String())
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	pinned := parse(t, h.host+"/web@"+digest.String())
	holds(t, resolve(t, s, pinned, Options{Arch: "arm64", Policy: Always}), arm)
	h.Close()
	// A digest means the same for ever, so nobody needs to be asked.
	holds(t, resolve(t, s, pinned, Options{Arch: "arm64", Policy: Always}), arm)
}

func TestFindsTheDisk(t *testing.T) {
	a, b := disk(1, 70_000), disk(2, 80_000)
	raw := append(make([]byte, 3*block+17), 'x')
	tests := []struct {
		name   string
		layers [][]file
		inside string
		want   []byte
	}{
		{"raw with holes", [][]file{{{name: "disk/d.img", data: raw}}}, "", raw},
		{"dot slash", [][]file{{{name: "./disk/d", data: a}}}, "", a},
		{"absolute", [][]file{{{name: "/disk/d", data: a}}}, "", a},
		{"later layer wins", [][]file{{{name: "disk/d", data: a}}, {{name: "disk/d", data: b}}}, "", b},
		{"below other layers", [][]file{{{name: "disk/d", data: a}}, {{name: "etc/passwd", data: []byte("x")}}}, "", a},
		{"whiteout", [][]file{{{name: "disk/old", data: a}}, {{name: "disk/.wh.old"}, {name: "disk/new", data: b}}}, "", b},
		{"whiteout behind", [][]file{{{name: "disk/old", data: a}}, {{name: "disk/new", data: b}, {name: "disk/.wh.old"}}}, "", b},
		{"whiteout of its own layer", [][]file{{{name: "disk/d", data: a}}, {{name: "disk/.wh.d"}, {name: "disk/d", data: b}}}, "", b},
		{"whiteout of the directory", [][]file{{{name: "disk/old", data: a}}, {{name: ".wh.disk"}, {name: "disk/new", data: b}}}, "", b},
		{"opaque directory", [][]file{{{name: "disk/old", data: a}}, {{name: "disk/new", data: b}, {name: "disk/.wh..wh..opq"}}}, "", b},
		{"opaque root", [][]file{{{name: "disk/old", data: a}}, {{name: ".wh..wh..opq"}, {name: "disk/new", data: b}}}, "", b},
		{"removed and made again", [][]file{{{name: "disk/d", data: a}}, {{name: "disk/.wh.d"}}, {{name: "disk/e", data: b}}}, "", b},
		{"directory in the directory", [][]file{{{name: "disk/lost+found/", kind: tar.TypeDir}, {name: "disk/lost+found/x", data: b}, {name: "disk/d", data: a}}}, "", a},
		{"twice in a layer", [][]file{{{name: "disk/d", data: b}, {name: "disk/d", data: a}}}, "", a},
		{"link elsewhere", [][]file{{{name: "bin", kind: tar.TypeSymlink, link: "usr/bin"}, {name: "disk/d", data: a}}}, "", a},
		{"path", [][]file{{{name: "disk/a", data: a}, {name: "disk/b", data: b}}}, "/disk/b", b},
		{"path elsewhere", [][]file{{{name: "var/lib/images/d.img", data: a}, {name: "disk/b", data: b}}}, "/var/lib/images/d.img", a},
		{"directory over a file", [][]file{{{name: "disk/old", data: a}}, {{name: "disk/old/x"}, {name: "disk/new", data: b}}}, "", b},
		{"path at the root", [][]file{{{name: "d.img", data: a}, {name: "e.img", data: b}}}, "/d.img", a},
	}
	h, s := newHub(t), newStore(t)
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i, err := s.Resolve(context.Background(), withInside(h.push(t, "t:"+string(rune('a'+n)), layered(t, tt.layers)), tt.inside), amd64)
			if err != nil {
				t.Fatal(err)
			}
			defer i.Close()
			holds(t, i, tt.want)
		})
	}
}

func withInside(r Reference, inside string) Reference {
	r.Inside = inside
	return r
}

func layered(t *testing.T, layers [][]file) v1.Image {
	t.Helper()
	var all []v1.Layer
	for _, l := range layers {
		all = append(all, layerOf(t, l...))
	}
	return imagetest.Container(t, "amd64", all...)
}

func TestRefusesContainers(t *testing.T) {
	a := disk(1, 5000)
	backed := slices.Clone(a)
	binary.BigEndian.PutUint64(backed[8:], 512)
	external := slices.Clone(a)
	binary.BigEndian.PutUint64(external[72:], 1<<2)
	tests := []struct {
		name   string
		layers [][]file
		inside string
		say    string
	}{
		{"no disk", [][]file{{{name: "etc/passwd", data: a}}}, "", "no file in /disk"},
		{"empty directory", [][]file{{{name: "disk/", kind: tar.TypeDir}}}, "", "no file in /disk"},
		{"removed", [][]file{{{name: "disk/d", data: a}}, {{name: "disk/.wh.d"}}}, "", "no file in /disk"},
		{"directory removed", [][]file{{{name: "disk/d", data: a}}, {{name: ".wh.disk"}}}, "", "no file in /disk"},
		{"several", [][]file{{{name: "disk/b", data: a}}, {{name: "disk/a", data: a}}}, "", "several files in /disk: a, b"},
		{"symbolic link", [][]file{{{name: "disk/d", kind: tar.TypeSymlink, link: "/etc/shadow"}}}, "", "/disk/d in the container image is a symbolic link"},
		{"hard link", [][]file{{{name: "x", data: a}, {name: "disk/d", kind: tar.TypeLink, link: "x"}}}, "", "a hard link"},
		{"device", [][]file{{{name: "disk/d", kind: tar.TypeBlock}}}, "", "no file"},
		{"directory is a link", [][]file{{{name: "disk/d", data: a}}, {{name: "disk", kind: tar.TypeSymlink, link: "/etc"}}}, "", "/disk in the container image is a symbolic link"},
		{"directory is a file", [][]file{{{name: "disk", data: a}}}, "", "/disk in the container image is a file"},
		{"parent is a link", [][]file{{{name: "a/b/d", data: a}}, {{name: "a", kind: tar.TypeSymlink, link: "/etc"}}}, "/a/b/d", "/a in the container image is a symbolic link"},
		{"out of the archive", [][]file{{{name: "../disk/d", data: a}}}, "", "the element .."},
		{"in the middle", [][]file{{{name: "disk/x/../d", data: a}}}, "", "the element .."},
		{"directory over the root's file", [][]file{{{name: "d.img", data: a}}, {{name: "d.img/x"}}}, "/d.img", "no file /d.img"},
		{"other path", [][]file{{{name: "disk/d", data: a}}}, "/disk/e", "no file /disk/e"},
		{"path is a directory", [][]file{{{name: "disk/d/", kind: tar.TypeDir}}}, "/disk/d", "is a directory"},
		{"backing file", [][]file{{{name: "disk/d", data: backed}}}, "", "names another file"},
		{"data file", [][]file{{{name: "disk/d", data: external}}}, "", "names another file"},
		{"empty file", [][]file{{{name: "disk/d"}}}, "", "is empty"},
		{"VMDK", [][]file{{{name: "disk/d", data: []byte("KDMV...")}}}, "", "VMDK"},
		{"xz", [][]file{{{name: "disk/d", data: []byte("\xfd7zXZ\x00...")}}}, "", "xz -d"},
		{"short header", [][]file{{{name: "disk/d", data: a[:60]}}}, "", "within its header"},
		{"larger than allowed", [][]file{{{name: "disk/d", data: make([]byte, 2<<20)}}}, "", "larger than 1048576 bytes"},
		{"other files larger than allowed", [][]file{{{name: "bin/x", data: make([]byte, 3<<20)}, {name: "disk/d", data: a}}}, "", "larger than"},
	}
	h, s := newHub(t), newStore(t)
	s.MaxBytes = 1 << 20
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ref := withInside(h.push(t, "t:"+string(rune('a'+n)), layered(t, tt.layers)), tt.inside)
			i, err := s.Resolve(context.Background(), ref, amd64)
			refused(t, i, err, BadImage, tt.say, ref.String())
			assertClean(t, s, 0)
		})
	}
}

package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestNeverServesWhatIsBroken changes an image in the store in ways that a look at it finds, and in one that only its
// hash finds.
func TestNeverServesWhatIsBroken(t *testing.T) {
	data := disk(1, 300_000)
	never := Options{Arch: "amd64", Policy: Never}
	verify := Options{Arch: "amd64", Policy: Never, Verify: true}
	for _, tt := range []struct {
		name string
		harm func(t *testing.T, path string)
		o    Options
	}{
		{"changed", func(t *testing.T, path string) { overwrite(t, path, 1000, []byte("x")) }, never},
		{"changed and dated back", func(t *testing.T, path string) {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, 1000, []byte("x"))
			if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, verify},
		{"cut", func(t *testing.T, path string) {
			if err := errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 100_000)); err != nil {
				t.Fatal(err)
			}
		}, never},
		{"empty", func(t *testing.T, path string) {
			if err := errors.Join(os.Chmod(path, 0o600), os.Truncate(path, 0)); err != nil {
				t.Fatal(err)
			}
		}, never},
		{"gone", func(t *testing.T, path string) { remove(t, path) }, never},
		{"a link to another", func(t *testing.T, path string) {
			remove(t, path)
			if err := os.Symlink("/etc/passwd", path); err != nil {
				t.Fatal(err)
			}
		}, never},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h, s := newHub(t), newStore(t)
			ref := h.push(t, "web:1", containerDisk(t, data))
			i := resolve(t, s, ref, amd64)
			tt.harm(t, i.Path)
			got, err := s.Resolve(context.Background(), ref, tt.o)
			refused(t, got, err, Unavailable, "not in the store")
			entries, err := s.List(context.Background(), tt.o.Verify)
			if err != nil || len(entries) > 1 || len(entries) == 1 && !entries[0].Broken {
				t.Errorf("listed as %+v, %v", entries, err)
			}
			again := amd64
			again.Verify = tt.o.Verify
			if i := resolve(t, s, ref, again); !i.Fetched {
				t.Error("it was not fetched again")
			} else {
				holds(t, i, data)
			}
		})
	}
}

func overwrite(t *testing.T, path string, at int64, with []byte) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(with, at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(path, later, later); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

// TestStoreSurvives has a store whose image was copied from a backup, or whose records are damaged: the image is proved
// by its hash, not fetched.
func TestStoreSurvives(t *testing.T) {
	data := disk(1, 300_000)
	h, s := newHub(t), newStore(t)
	ref := h.push(t, "web:1", containerDisk(t, data))
	i := resolve(t, s, ref, amd64)
	pointer := s.pointerFile(ref.key("amd64"))
	for name, harm := range map[string]func() error{
		"another time":    func() error { return os.Chtimes(i.Path, time.Unix(1, 0), time.Unix(1, 0)) },
		"no record":       func() error { return os.Remove(i.Path + recordSuffix) },
		"damaged record":  func() error { return os.WriteFile(i.Path+recordSuffix, []byte("{"), 0o600) },
		"another version": func() error { return os.WriteFile(i.Path+recordSuffix, []byte(`{"version":2}`), 0o600) },
		"large record":    func() error { return os.WriteFile(i.Path+recordSuffix, make([]byte, 2<<20), 0o600) },
	} {
		if err := harm(); err != nil {
			t.Fatal(err)
		}
		again, err := s.Resolve(context.Background(), ref, Options{Arch: "amd64", Policy: Never})
		if err != nil || again.Fetched || again.Format != QCOW2 {
			t.Fatalf("%s: %+v, %v", name, again, err)
		}
		holds(t, again, data)
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	h.blobs()
	for _, text := range []string{"", "{", `{"version":1,"sha256":"../../../etc/passwd"}`, `{"version":1,"sha256":"` + strings.Repeat("0", 64) + `"}`} {
		if err := os.WriteFile(pointer, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		holds(t, resolve(t, s, ref, amd64), data)
	}
}

// TestPullsAtATime has goroutines, each with a store of its own as processes have them, pull one image.
func TestPullsAtATime(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no locks between processes")
	}
	data := disk(1, 500_000)
	h, s := newHub(t), newStore(t)
	ref := h.push(t, "web:1", containerDisk(t, data))
	pull := func(dir func(n int) string) int {
		var group sync.WaitGroup
		for n := range 8 {
			group.Go(func() {
				own := Store{Dir: dir(n)}
				i, err := own.Resolve(context.Background(), ref, amd64)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := os.ReadFile(i.Path)
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		return h.blobs()
	}
	if n := pull(func(int) string { return s.Dir }); n != 1 {
		t.Errorf("the layer was fetched %d times", n)
	}
	assertClean(t, s, 1)
	// The control: where nothing is shared, each fetches.
	apart := t.TempDir()
	if n := pull(func(n int) string { return filepath.Join(apart, strconv.Itoa(n)) }); n != 8 {
		t.Errorf("apart, the layer was fetched %d times", n)
	}
}

// TestInterrupted cancels a pull in its middle.
func TestInterrupted(t *testing.T) {
	h, s := newHub(t), newStore(t)
	ref := h.push(t, "web:1", containerDisk(t, disk(1, 500_000)))
	ctx, cancel := context.WithCancel(context.Background())
	h.spoils(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		whole := &bytes.Buffer{}
		h.inner.ServeHTTP(&recorder{ResponseWriter: w, body: whole}, r)
		_, _ = w.Write(whole.Bytes()[:1000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
		return true
	})
	i, err := s.Resolve(ctx, ref, amd64)
	refused(t, i, err, Unavailable)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	assertClean(t, s, 0)
}

// TestInterruptedHere cancels the reading of a container image on this host before it begins.
func TestInterruptedHere(t *testing.T) {
	s := newStore(t)
	ref := parse(t, "oci:"+writeLayout(t, map[string]mutate.Appendable{"": containerDisk(t, disk(1, 5000))}))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	i, err := s.Resolve(ctx, ref, amd64)
	refused(t, i, err, Unavailable, "context canceled")
	assertClean(t, s, 0)
}

const (
	childStore = "VMSEED_TEST_STORE"
	childRef   = "VMSEED_TEST_REFERENCE"
)

// TestChild is the process that TestKilled kills.
func TestChild(t *testing.T) {
	if os.Getenv(childStore) == "" {
		t.Skip("it is run by TestKilled")
	}
	s := Store{Dir: os.Getenv(childStore)}
	if _, err := s.Resolve(context.Background(), parse(t, os.Getenv(childRef)), amd64); err != nil {
		t.Fatal(err)
	}
}

// TestKilled kills a process in the middle of a pull. Its lock is free then, and what it left is swept by the next one.
func TestKilled(t *testing.T) {
	data := disk(1, 4<<20)
	h, s := newHub(t), newStore(t)
	ref := h.push(t, "web:1", containerDisk(t, data))
	reached := make(chan struct{})
	var once sync.Once
	h.spoils(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.Contains(r.URL.Path, "/blobs/") {
			return false
		}
		whole := &bytes.Buffer{}
		h.inner.ServeHTTP(&recorder{ResponseWriter: w, body: whole}, r)
		_, _ = w.Write(whole.Bytes()[:whole.Len()/2])
		w.(http.Flusher).Flush()
		once.Do(func() { close(reached) })
		<-r.Context().Done()
		return true
	})
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childStore+"="+s.Dir, childRef+"="+ref.String())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-reached
	temporary := func() []string {
		names, err := filepath.Glob(filepath.Join(s.Dir, imagesDir, ".vmseed-tmp-*"))
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
	for len(temporary()) == 0 {
		runtime.Gosched()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	// The control: the process did leave something.
	if len(temporary()) != 1 {
		t.Fatalf("the killed process left %v", temporary())
	}
	h.spoils(nil)
	holds(t, resolve(t, s, ref, amd64), data)
	if left := temporary(); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	assertClean(t, s, 1)
}

// recorder keeps the body of an answer back.
type recorder struct {
	http.ResponseWriter
	body *bytes.Buffer
}

func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func TestPrune(t *testing.T) {
	ctx := context.Background()
	h, s := newHub(t), newStore(t)
	images := map[string]*Image{}
	for n, name := range []string{"old", "young", "used", "held", "dangling", "broken"} {
		i, err := s.Resolve(ctx, h.push(t, name+":1", containerDisk(t, disk(uint64(n), 5000))), amd64)
		if err != nil {
			t.Fatal(err)
		}
		images[name] = i
		if name != "held" {
			if err := i.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	long := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"old", "used", "held"} {
		if err := os.Chtimes(images[name].Path+recordSuffix, long, long); err != nil {
			t.Fatal(err)
		}
	}
	// The tag moves on to another image.
	moved, err := s.Pull(ctx, h.push(t, "dangling:1", containerDisk(t, disk(77, 5000))), amd64)
	if err != nil {
		t.Fatal(err)
	}
	images["moved"] = moved
	if err := moved.Close(); err != nil {
		t.Fatal(err)
	}
	overwrite(t, images["broken"].Path, 600, []byte("x"))
	used := func(path string) bool { return path == images["used"].Path }
	for _, tt := range []struct {
		o    PruneOptions
		gone []string
	}{
		{PruneOptions{InUse: used}, []string{"broken", "dangling"}},
		{PruneOptions{InUse: used}, nil},
		{PruneOptions{InUse: used, Unused: 24 * time.Hour}, []string{"old"}},
		{PruneOptions{InUse: used, All: true}, []string{"moved", "young"}},
		{PruneOptions{All: true}, []string{"used"}},
	} {
		gone, err := s.Prune(ctx, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, e := range gone {
			left[e.Path] = true
		}
		if len(gone) != len(tt.gone) {
			t.Errorf("%+v: %d removed, want %v", tt.o, len(gone), tt.gone)
		}
		for _, name := range tt.gone {
			if _, err := os.Stat(images[name].Path); !left[images[name].Path] || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%+v: %s is there", tt.o, name)
			}
		}
	}
	if err := images["held"].Close(); err != nil {
		t.Fatal(err)
	}
	if gone, err := s.Prune(ctx, PruneOptions{All: true}); err != nil || len(gone) != 1 {
		t.Errorf("%v, %v: what is held no more should go", gone, err)
	}
	assertClean(t, s, 0)
	if all, err := s.pointers(); err != nil || len(all) != 0 {
		t.Errorf("%v, %v: pointers to nothing", all, err)
	}
	for _, dir := range []string{imagesDir, pointersDir} {
		if files, err := os.ReadDir(filepath.Join(s.Dir, dir)); err != nil || len(files) != 0 {
			t.Errorf("%v, %v is left", files, err)
		}
	}
}

// TestFullDisk has the disk run full while an image is written, and when its store is made.
func TestFullDisk(t *testing.T) {
	s := newStore(t)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	i, err := s.keep(context.Background(), func(w *stage) error {
		_, err := w.Write(disk(1, 300_000))
		return errors.Join(err, &fs.PathError{Op: "write", Path: w.f.Name(), Err: syscall.ENOSPC})
	})
	refused(t, i, err, Unavailable, "cannot be kept in "+s.Dir, "no space left", "vmseed image prune")
	if strings.Contains(err.Error(), ".vmseed-tmp") || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
	assertClean(t, s, 0)
	s.Dir = "/dev/null/store"
	i, err = s.Resolve(context.Background(), parse(t, "team/web"), amd64)
	refused(t, i, err, Unavailable, "/dev/null")
}

func TestListAndLookup(t *testing.T) {
	ctx := context.Background()
	h, s := newHub(t), newStore(t)
	if entries, err := s.List(ctx, false); err != nil || len(entries) != 0 {
		t.Errorf("%v, %v", entries, err)
	}
	ref := h.push(t, "web:1", containerDisk(t, disk(1, 5000)))
	if i, err := s.Lookup(ref, "amd64"); err != nil || i != nil {
		t.Errorf("%v, %v", i, err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error("looking makes a store")
	}
	i := resolve(t, s, ref, amd64)
	h.Close()
	found, err := s.Lookup(ref, "amd64")
	if err != nil || found.Path != i.Path {
		t.Errorf("%+v, %v", found, err)
	}
	if other, err := s.Lookup(ref, "arm64"); err != nil || other != nil {
		t.Errorf("%+v, %v", other, err)
	}
	if _, err := s.Lookup(parse(t, "https://example.org/x.img"), ""); FaultOf(err) != BadReference {
		t.Errorf("got %v", err)
	}
	entries, err := s.List(ctx, true)
	if err != nil || len(entries) != 1 || entries[0].Names[0].Reference != ref.String() || entries[0].Names[0].Arch != "amd64" || entries[0].Broken {
		t.Errorf("%+v, %v", entries, err)
	}
	text, err := json.Marshal(entries)
	if err != nil || !strings.Contains(string(text), `"digest":"sha256:`) {
		t.Errorf("%s, %v", text, err)
	}
	if err := errors.Join(found.Close(), s.AddUser("."), s.AddUser(filepath.Join(s.Dir, "gone")), s.AddUser(".")); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if users, err := s.Users(); err != nil || len(users) != 1 || users[0] != here {
		t.Errorf("%v, %v", users, err)
	}
}

func TestFiles(t *testing.T) {
	s := newStore(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "debian:13")
	if err := os.WriteFile(path, []byte("anything"), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := s.Resolve(context.Background(), FileReference(path), Options{})
	if err != nil || i.Path != path || i.Close() != nil {
		t.Errorf("%+v, %v", i, err)
	}
	i, err = s.Resolve(context.Background(), FileReference(dir), Options{})
	refused(t, i, err, BadReference, "is a directory")
	i, err = s.Resolve(context.Background(), FileReference(path+".img"), Options{})
	refused(t, i, err, BadReference, "no such file")
	i, err = s.Resolve(context.Background(), FileReference(path), Options{Policy: "sometimes"})
	if err != nil || i == nil {
		t.Errorf("a file has no policy: %v", err)
	}
	i, err = s.Resolve(context.Background(), parse(t, "team/web"), Options{Policy: "sometimes"})
	refused(t, i, err, BadReference, `no policy "sometimes"`)
	assertClean(t, s, 0)
}

func TestBacking(t *testing.T) {
	dir := t.TempDir()
	overlay := disk(1, 5000)
	name := "/images/base"
	overlay[8+6], overlay[16+3] = 0x02, byte(len(name)) // at byte 512
	copy(overlay[512:], name)
	for file, tt := range map[string]struct {
		data []byte
		want string
	}{"overlay": {overlay, name}, "alone": {disk(1, 5000), ""}, "raw": {make([]byte, 5000), ""}, "short": {[]byte("QFI"), ""}} {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, tt.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Backing(path); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v", file, got, err)
		}
	}
}

// BenchmarkExtract takes a disk of 64 MiB, half of it zeros, out of a layer.
func BenchmarkExtract(b *testing.B) {
	data := append(disk(1, 32<<20), make([]byte, 32<<20)...)
	h, s := newHub(b), newStore(b)
	ref := h.push(b, "web:1", containerDisk(b, data))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		i, err := s.Resolve(context.Background(), ref, amd64)
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.RemoveAll(s.Dir); err != nil {
			b.Fatal(err)
		}
	}
}

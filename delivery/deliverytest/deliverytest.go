// Package deliverytest is the conformance suite of the deliveries. A delivery's test says how to make one; Run then holds
// it to what every delivery promises: the guest reads what the seed holds, nobody else on the host does, and nothing is
// left behind by an error, by a full disk or after Remove.
package deliverytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/seed"
)

// Config is what a delivery brings to the suite.
type Config struct {
	Delivery delivery.Delivery
	// Streams means that a seed of one part can also be delivered to a Writer.
	Streams bool
	// Carries is the part of a seed that the delivery brings to the guest.
	Carries Part
}

// Part is a part of a seed.
type Part string

// The parts of a seed that a suite can be run for.
const (
	Volumes Part = ""
	// Items are files of the firmware configuration device, Ignition is an Ignition config alone.
	Items    Part = "items"
	Ignition Part = "ignition"
	Trees    Part = "trees"
)

// Run runs the suite.
func Run(t *testing.T, c Config) {
	t.Run("reads back", c.readsBack)
	t.Run("again", c.again)
	t.Run("deterministic", c.deterministic)
	t.Run("modes", c.modes)
	t.Run("remove", c.remove)
	t.Run("cancelled", c.cancelled)
	t.Run("error", c.failed)
	t.Run("full disk", c.fullDisk)
	t.Run("hostile names", c.hostileNames)
	t.Run("links", c.links)
	t.Run("writer", c.writer)
	t.Run("not a seed", c.notASeed)
	t.Run("other parts", c.otherParts)
	t.Run("kernel arguments", c.kernelArgs)
}

func target(path string) delivery.Target { return delivery.Target{Path: path} }

func (c Config) deliver(t *testing.T, s seed.Seed, path string) delivery.Receipt {
	t.Helper()
	r, err := c.Delivery.Deliver(t.Context(), s, target(path))
	if err != nil {
		t.Fatal(err)
	}
	if r.Delivery != c.Delivery.Name() {
		t.Errorf("the receipt is of %q, not of %q", r.Delivery, c.Delivery.Name())
	}
	return r
}

// open reads what is at a path back.
func (c Config) open(t *testing.T, path string) seed.Seed {
	t.Helper()
	in, ok := c.Delivery.(delivery.Inspector)
	if !ok {
		t.Skip("the delivery has no Inspector: what it delivers cannot be read back here")
	}
	s, err := in.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := parts(s); n != 1 {
		t.Fatalf("%s has %d parts", path, n)
	}
	return s
}

// further finds what was delivered beside path.
func further(t *testing.T, path string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), "ns_vm.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the further part is not beside %s: %v %v", path, found, err)
	}
	return found[0]
}

func (c Config) readsBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "out")
	s := c.full()
	r := c.deliver(t, s, path)
	c.sameSeed(t, path, s)
	for _, a := range r.Attachments {
		if a.Path == "" {
			continue
		}
		if _, err := os.Stat(a.Path); err != nil || !filepath.IsAbs(a.Path) {
			t.Errorf("the hypervisor cannot attach %q: %v", a.Path, err)
		}
	}

	// Into a directory, by the machine's name.
	dir := t.TempDir()
	if _, err := c.Delivery.Deliver(t.Context(), s, delivery.Target{Path: dir, Dir: true}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range entries(t, dir) {
		if !strings.Contains(p, string(filepath.Separator)) {
			names = append(names, strings.SplitN(p, ".", 2)[0])
		}
	}
	if len(names) != c.parts() || slices.ContainsFunc(names, func(n string) bool { return n != "ns_vm" }) {
		t.Errorf("the directory got %v", entries(t, dir))
	}
}

// again delivers a second seed over a first.
func (c Config) again(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out")
	c.deliver(t, c.small("i-1"), path)
	c.deliver(t, c.small("i-2"), path)
	c.sameSeed(t, path, c.small("i-2"))
	for _, p := range entries(t, filepath.Dir(path)) {
		if strings.HasPrefix(filepath.Base(p), ".") {
			t.Errorf("%s is left over", p)
		}
	}
}

func (c Config) deterministic(t *testing.T) {
	var first map[string]string
	for range 3 {
		dir := t.TempDir()
		c.deliver(t, c.full(), filepath.Join(dir, "out"))
		tree := contents(t, dir)
		if first == nil {
			first = tree
		}
		for name, content := range tree {
			if first[name] != content || len(first) != len(tree) {
				t.Fatalf("%s differs between two deliveries of one seed", name)
			}
		}
	}
}

// remove takes back what was delivered, with the receipt as a store would keep it, and no more than that.
func (c Config) remove(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept, err := json.Marshal(c.deliver(t, c.full(), filepath.Join(dir, "out")))
	if err != nil {
		t.Fatal(err)
	}
	var r delivery.Receipt
	if err := json.Unmarshal(kept, &r); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Delivery.Remove(t.Context(), r); err != nil {
			t.Error(err)
		}
		if left := entries(t, dir); !slices.Equal(left, []string{"mine"}) {
			t.Errorf("left over: %v", left)
		}
	}
	// What was there before the delivery stays.
	path := filepath.Join(dir, "out")
	c.deliver(t, c.small("i-1"), path)
	r = c.deliver(t, c.small("i-2"), path)
	if err := c.Delivery.Remove(t.Context(), r); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("removing the second delivery took the first: %v", err)
	}
}

func (c Config) cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	_, err := c.Delivery.Deliver(ctx, c.full(), target(filepath.Join(dir, "out")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// failed delivers a seed whose last part cannot be written: what was written before must go as well.
func (c Config) failed(t *testing.T) {
	dir := t.TempDir()
	_, err := c.Delivery.Deliver(t.Context(), c.broken(), target(filepath.Join(dir, "out")))
	if err == nil {
		t.Error("no error")
	}
	if left := entries(t, dir); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	// The target cannot be made at all.
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Delivery.Deliver(t.Context(), c.small("i"), target(filepath.Join(blocked, "out"))); err == nil {
		t.Error("a file is taken for a directory")
	}
	if left := entries(t, dir); !slices.Equal(left, []string{"file"}) {
		t.Errorf("left over: %v", left)
	}
}

// links that someone put in the way are not followed.
func (c Config) links(t *testing.T) {
	victims := t.TempDir()
	victim := filepath.Join(victims, "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	plant := func(target, link string) {
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Skip("this system does not let the test make symbolic links: ", err)
		}
	}
	deliver := func(dir string) {
		_, _ = c.Delivery.Deliver(t.Context(), c.full(), target(filepath.Join(dir, "out")))
		if tree := contents(t, victims); len(tree) != 1 || tree["victim"] != "precious" {
			t.Errorf("written through a link: %v", entries(t, victims))
		}
	}
	dir := t.TempDir()
	plant(victim, filepath.Join(dir, "out"))
	deliver(dir)
	dir = t.TempDir()
	plant(victim, filepath.Join(dir, "out", "meta-data"))
	deliver(dir)
	dir = t.TempDir()
	plant(victims, filepath.Join(dir, "out", "a"))
	deliver(dir)
	dir = t.TempDir()
	plant(filepath.Join(victims, "made"), filepath.Join(dir, "out", "a", "b"))
	deliver(dir)
}

func (c Config) writer(t *testing.T) {
	var b bytes.Buffer
	_, err := c.Delivery.Deliver(t.Context(), c.small("i-1"), delivery.Target{Writer: &b})
	if !c.Streams {
		if !errors.Is(err, delivery.ErrNeedsFile) || b.Len() > 0 {
			t.Errorf("got %v and %d bytes", err, b.Len())
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "out")
	c.deliver(t, c.small("i-1"), path)
	if want, err := os.ReadFile(path); err != nil || !bytes.Equal(b.Bytes(), want) {
		t.Errorf("the stream differs from the file: %d bytes, want %d, %v", b.Len(), len(want), err)
	}
	if b.Reset(); c.parts() == 1 {
		return
	}
	if _, err := c.Delivery.Deliver(t.Context(), c.full(), delivery.Target{Writer: &b}); !errors.Is(err, delivery.ErrNeedsFile) || b.Len() > 0 {
		t.Errorf("a seed of two parts in one stream: %v, %d bytes", err, b.Len())
	}
}

func (c Config) notASeed(t *testing.T) {
	in, ok := c.Delivery.(delivery.Inspector)
	if !ok {
		t.Skip("the delivery has no Inspector")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "directory", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"empty": nil, "text": []byte("text"), "zeroes": make([]byte, 1<<20),
		"directory/file": []byte("x")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"empty", "text", "zeroes", "directory", "directory/below"} {
		if _, err := in.Open(filepath.Join(dir, name)); !errors.Is(err, delivery.ErrNotSeed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := in.Open(filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that does not exist: got %v", err)
	}
}

// entries lists everything below dir in order.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		if p != dir && err == nil {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// contents reads every regular file below dir.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range entries(t, dir) {
		p := filepath.Join(dir, name)
		if info, err := os.Lstat(p); err != nil || !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(data)
	}
	return out
}

package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/secret"
)

func testKey() secret.Text { return secret.New(strings.Repeat("k", store.KeySize)) }

func open(t *testing.T, dir string) *store.Store {
	t.Helper()
	s, err := store.Open(dir, testKey(), store.Options{Events: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func apply(t *testing.T, s *store.Store, changes ...store.Change) []uint64 {
	t.Helper()
	n, err := s.Apply(nil, changes...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// records returns those of a kind as id=value.
func records(t *testing.T, s *store.Store, kind store.Kind) string {
	t.Helper()
	var out []string
	if err := s.Each(kind, func(id string, value []byte) error {
		out = append(out, id+"="+string(value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func events(t *testing.T, s *store.Store) string {
	t.Helper()
	var out []string
	if err := s.EachEvent(func(n uint64, value []byte) error {
		out = append(out, fmt.Sprintf("%d=%s", n, value))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(out, " ")
}

func TestRecords(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, store.Change{Kind: store.VM, ID: "b", Value: []byte("2")}, store.Change{Kind: store.VM, ID: "a", Value: []byte("1")},
		store.Change{Kind: store.Disk, ID: "d", Value: []byte("3")})
	apply(t, s, store.Change{Kind: store.VM, ID: "b"}, store.Change{Kind: store.VM, ID: "c", Value: []byte{}})
	check := func(s *store.Store) {
		t.Helper()
		if got := records(t, s, store.VM) + "|" + records(t, s, store.Disk); got != "a=1 c=|d=3" {
			t.Errorf("records: %s", got)
		}
		if v, err := s.Get(store.VM, "a"); err != nil || string(v) != "1" {
			t.Errorf("Get(a) = %q, %v", v, err)
		}
		if v, err := s.Get(store.VM, "b"); err != nil || v != nil {
			t.Errorf("Get(b) = %q, %v", v, err)
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check(open(t, dir))
	if _, err := s.Apply(nil, store.Change{Kind: store.VM, ID: "x", Value: []byte("y")}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := s.Get(store.VM, "a"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Get after Close: %v", err)
	}
}

func TestBadChanges(t *testing.T) {
	s := open(t, t.TempDir())
	for _, c := range []store.Change{
		{Kind: "nothing", ID: "a", Value: []byte("1")}, {Kind: store.VM, Value: []byte("1")}, {Kind: store.Event},
		{Kind: store.VM, ID: strings.Repeat("x", 4000), Value: []byte("1")},
	} {
		if _, err := s.Apply(nil, store.Change{Kind: store.VM, ID: "good", Value: []byte("1")}, c); err == nil {
			t.Errorf("%s %.9s: no error", c.Kind, c.ID)
		}
	}
	if got := records(t, s, store.VM); got != "" {
		t.Errorf("half of the changes were made: %s", got)
	}
}

func TestEventsAreNumberedAndBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 8 {
		if n := apply(t, s, store.Change{Kind: store.Event, Value: fmt.Append(nil, "e", i)}); len(n) != 1 || n[0] != uint64(i+1) {
			t.Fatalf("event %d got the numbers %v", i, n)
		}
	}
	const want = "4=e3 5=e4 6=e5 7=e6 8=e7"
	if got := events(t, s); got != want {
		t.Errorf("kept: %s", got)
	}
	_ = s.Close()
	s = open(t, dir)
	if got := events(t, s); got != want {
		t.Errorf("kept after reopening: %s", got)
	}
	if n := apply(t, s, store.Change{Kind: store.Event, Value: []byte("x")}); n[0] != 9 {
		t.Errorf("numbers begin again: %v", n)
	}
}

// Subscribers hang on the order in which written is called.
func TestWrittenIsCalledInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	var seen []uint64 // needs no lock: there is one writer
	var all sync.WaitGroup
	for range 300 {
		all.Go(func() {
			n, err := s.Apply(func(n []uint64) { seen = append(seen, n...) }, store.Change{Kind: store.Event, Value: []byte("e")},
				store.Change{Kind: store.Event, Value: []byte("f")})
			if err != nil || len(n) != 2 {
				t.Errorf("%v, %v", n, err)
			}
		})
	}
	all.Wait()
	for i, n := range seen {
		if n != uint64(i+1) {
			t.Fatalf("call %d came with number %d", i, n)
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d calls", len(seen))
	}
}

func TestOnlyOneProcess(t *testing.T) {
	dir := t.TempDir()
	open(t, dir)
	_, err := store.Open(dir, testKey(), store.Options{})
	if !errors.Is(err, store.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("another vmseed serve runs (pid %d)", os.Getpid())) {
		t.Errorf("second Open: %v", err)
	}
}

func TestKey(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir).Close()
	if _, err := store.Open(dir, secret.New(strings.Repeat("x", store.KeySize)), store.Options{}); !errors.Is(err, store.ErrKey) {
		t.Errorf("another key: %v", err)
	}
	if _, err := store.Open(dir, secret.New("short"), store.Options{}); err == nil || strings.Contains(err.Error(), "short") {
		t.Errorf("short key: %v", err)
	}
	open(t, dir) // nothing was spoiled, and the file is not held
}

func TestModeAndSecrecy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const canary = "canary-in-clear"
	apply(t, s, store.Change{Kind: store.VM, ID: "a", Value: []byte(canary)}, store.Change{Kind: store.Event, Value: []byte(canary)})
	_ = s.Close()
	path := filepath.Join(dir, "store.db")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte(canary)) {
		t.Errorf("the file shows the values: %v", err)
	}
}

// raw changes the file behind the store's back.
func raw(t *testing.T, dir string, change func(*bbolt.Tx) error) {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "store.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Update(change), db.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	_ = open(t, dir).Close()
	raw(t, dir, func(tx *bbolt.Tx) error { return tx.Bucket([]byte("vmseed")).Put([]byte("version"), []byte{2}) })
	if _, err := store.Open(dir, testKey(), store.Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open: %v", err)
	}
}

func TestValuesKeepTheirPlace(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, store.Change{Kind: store.VM, ID: "a", Value: []byte("1")}, store.Change{Kind: store.VM, ID: "b", Value: []byte("2")})
	_ = s.Close()
	raw(t, dir, func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("vm"))
		return b.Put([]byte("a"), bytes.Clone(b.Get([]byte("b"))))
	})
	if _, err := store.Open(dir, testKey(), store.Options{}); !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), `vm "a"`) {
		t.Errorf("Open: %v", err)
	}
}

// A damaged file is an error that says so, whatever the damage; it is neither a crash nor an empty store.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 200 {
		apply(t, s, store.Change{Kind: store.VM, ID: fmt.Sprintf("%04d", i), Value: bytes.Repeat([]byte("v"), 900)})
	}
	_ = s.Close()
	whole, err := os.ReadFile(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func([]byte) []byte{
		"text":    func([]byte) []byte { return []byte("this is no store") },
		"empty":   func([]byte) []byte { return nil },
		"no meta": func(b []byte) []byte { return append(make([]byte, 8192), b[8192:]...) },
	}
	for _, part := range []int{2, 3, 5, 9, 17} {
		damage[fmt.Sprintf("cut to 1/%d", part)] = func(b []byte) []byte { return b[:len(b)/part] }
	}
	for _, page := range []int{0xff, 0x00} {
		damage[fmt.Sprintf("every page beyond the first ones %x", page)] = func(b []byte) []byte {
			for i := 8192; i < len(b); i++ {
				b[i] = byte(page)
			}
			return b
		}
	}
	damage["one bit in a value"] = func(b []byte) []byte {
		for at := 0; ; at++ { // the old copies of a page have it too
			next := bytes.Index(b[at:], []byte("0150"))
			if next < 0 {
				return b
			}
			at += next
			b[min(at+500, len(b)-1)] ^= 1
		}
	}
	for name, f := range damage {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "store.db"), f(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := store.Open(dir, testKey(), store.Options{})
			if err == nil {
				n := strings.Count(records(t, s, store.VM), "=")
				_ = s.Close()
				t.Fatalf("it opens, with %d of 200 records", n)
			}
			if !errors.Is(err, store.ErrDamaged) || !strings.Contains(err.Error(), "store.db") {
				t.Errorf("error: %v", err)
			}
		})
	}
}

// What a crash leaves of a store that was being made is no store.
func TestUnfinishedNewStore(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "store.db.new"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	apply(t, s, store.Change{Kind: store.VM, ID: "a", Value: []byte("1")})
	if left, _ := filepath.Glob(filepath.Join(dir, "*.new")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func BenchmarkApply(b *testing.B) {
	s, err := store.Open(b.TempDir(), testKey(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	value, _ := json.Marshal(strings.Repeat("x", 2000))
	b.SetParallelism(100)
	b.RunParallel(func(p *testing.PB) {
		for i := 0; p.Next(); i++ {
			if _, err := s.Apply(nil, store.Change{Kind: store.VM, ID: fmt.Sprint(i), Value: value}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// sealed returns the bytes in which a record lies in the file. The store is closed.
func sealed(t *testing.T, dir string, kind store.Kind, id string) []byte {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(dir, "store.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var out []byte
	if err := db.View(func(tx *bbolt.Tx) error {
		out = bytes.Clone(tx.Bucket([]byte(kind)).Get([]byte(id)))
		return nil
	}); err != nil || out == nil {
		t.Fatalf("there is no %s %s: %v", kind, id, err)
	}
	return out
}

// TestScrub removes what is in free pages, and keeps everything else, the numbers of events among it.
func TestScrub(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	apply(t, s, store.Change{Kind: store.VM, ID: "kept", Value: []byte("one")}, store.Change{Kind: store.VM, ID: "gone", Value: []byte("password")},
		store.Change{Kind: store.Event, Value: []byte("first")})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	secret := sealed(t, dir, store.VM, "gone")
	holds := func() bool {
		t.Helper()
		file, err := os.ReadFile(filepath.Join(dir, "store.db"))
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Contains(file, secret)
	}
	s = open(t, dir)
	apply(t, s, store.Change{Kind: store.VM, ID: "gone"})
	if !holds() {
		t.Fatal("the library erases by itself, so this test shows nothing")
	}
	if err := s.Scrub(); err != nil {
		t.Fatal(err)
	}
	if holds() {
		t.Error("what was removed is still in the file")
	}
	if _, err := store.Open(dir, testKey(), store.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second process: %v", err)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 20 {
				if _, err := s.Apply(nil, store.Change{Kind: store.Disk, ID: fmt.Sprint(i, "-", n), Value: []byte("x")}); err != nil {
					t.Error(err)
				}
				if v, err := s.Get(store.VM, "kept"); err != nil || string(v) != "one" {
					t.Errorf("%q, %v", v, err)
				}
			}
		})
	}
	for range 5 {
		if err := s.Scrub(); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
	if n := apply(t, s, store.Change{Kind: store.Event, Value: []byte("second")}); len(n) != 1 || n[0] != 2 {
		t.Errorf("the next event has the number %v", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "store.db.new"), []byte("left by a crash"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Scrub(); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	s = open(t, dir)
	if got := records(t, s, store.VM) + ", " + events(t, s) + fmt.Sprint(", ", len(strings.Fields(records(t, s, store.Disk)))); got != "kept=one, 1=first 2=second, 80" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(dir, "store.db.new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what a crash left: %v", err)
	}
}

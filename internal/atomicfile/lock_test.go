package atomicfile_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// TestHold: one has the lock at a time, and it is free when its file is closed. Readers share it.
func TestHold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no flock on this system")
	}
	path := filepath.Join(t.TempDir(), "lock")
	first, held, err := atomicfile.Hold(path)
	if err != nil || held {
		t.Fatalf("the first: held %v, %v", held, err)
	}
	if info, err := first.Stat(); err != nil || info.Mode().Perm() != atomicfile.FileMode {
		t.Errorf("the file has the mode %v, %v", info.Mode(), err)
	}
	if f, held, err := atomicfile.Hold(path); f != nil || !held || err != nil {
		t.Fatalf("the second: %v, held %v, %v", f, held, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, shared := range []bool{true, false} {
		one, two := open(t, path), open(t, path)
		if ok, err := atomicfile.TryLock(one, shared); !ok || err != nil {
			t.Errorf("shared %v, the first: %v, %v", shared, ok, err)
		}
		if ok, err := atomicfile.TryLock(two, shared); ok != shared || err != nil {
			t.Errorf("shared %v, the second: %v, %v", shared, ok, err)
		}
		one.Close()
		if err := atomicfile.Lock(two); err != nil {
			t.Errorf("shared %v: %v", shared, err)
		}
		two.Close()
	}
	if _, _, err := atomicfile.Hold(filepath.Join(t.TempDir(), "nowhere", "lock")); err == nil {
		t.Error("a lock in a directory that there is not")
	}
}

func open(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

//go:build unix

package atomicfile

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWriteIsPrivateAndReplaces(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	path := filepath.Join(t.TempDir(), "new", "dir", "file")
	for _, content := range []string{"first", "second"} {
		if err := WriteBytes(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	for p, want := range map[string]os.FileMode{path: FileMode, filepath.Dir(path): DirMode | os.ModeDir} {
		info, err := os.Stat(p)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, want %v (%v)", p, info.Mode(), want, err)
		}
	}
}

func TestFailureKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := WriteBytes(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
		return boom
	})
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v should wrap the cause and name the file", err)
	}
	assertOnly(t, dir, "file", "old")
}

func TestFullDisk(t *testing.T) {
	err := Write("/dev/full/x", nil)
	if err == nil {
		t.Fatal("wrote below a device")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer f.Close()
	dir := t.TempDir()
	err = Write(filepath.Join(dir, "x"), func(io.Writer) error {
		_, err := f.Write([]byte("data"))
		return err
	})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(dir, "x")) {
		t.Errorf("got %v", err)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("left %v behind", names)
	}
}

func TestLinkAtPathIsReplacedNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "file")); err != nil {
		t.Fatal(err)
	}
	if err := WriteBytes(filepath.Join(dir, "file"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "untouched" {
		t.Errorf("wrote through the link: %q", got)
	}
	assertOnly(t, dir, "file", "new")
}

// TestKillLeavesNothingTorn kills writers in the middle. The control writes in place and must tear, else the harness
// proves nothing.
func TestKillLeavesNothingTorn(t *testing.T) {
	if os.Getenv("ATOMICFILE_CHILD") != "" {
		child()
	}
	for _, kind := range []string{"atomic", "control"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "file")
		torn := 0
		for range 40 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestKillLeavesNothingTorn$")
			cmd.Env = append(os.Environ(), "ATOMICFILE_CHILD="+kind, "ATOMICFILE_PATH="+path)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// The child says a line in the middle of each write.
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			got, err := os.ReadFile(path)
			if err == nil && !whole(got) {
				torn++
			}
		}
		if err := Sweep(dir); err != nil {
			t.Fatal(err)
		}
		names, _ := os.ReadDir(dir)
		for _, n := range names {
			if n.Name() != "file" {
				t.Errorf("%s: %s left after the sweep", kind, n.Name())
			}
		}
		switch {
		case kind == "atomic" && torn > 0:
			t.Errorf("%d of 40 files torn", torn)
		case kind == "control" && torn < 8:
			t.Errorf("the control tore %d of 40 files only, so this test proves nothing", torn)
		}
	}
}

const blob = 1 << 20

func whole(b []byte) bool {
	return len(b) == blob && bytes.Count(b, b[:1]) == blob
}

func child() {
	path := os.Getenv("ATOMICFILE_PATH")
	for i := byte('a'); ; i++ {
		fill := func(w io.Writer) error {
			_, _ = w.Write(bytes.Repeat([]byte{i}, blob/2))
			os.Stdout.WriteString("half\n")
			_, err := w.Write(bytes.Repeat([]byte{i}, blob/2))
			return err
		}
		if os.Getenv("ATOMICFILE_CHILD") == "atomic" {
			_ = Write(path, fill)
			continue
		}
		f, _ := os.Create(path)
		_ = fill(f)
		_ = f.Close()
	}
}

func assertOnly(t *testing.T, dir, name, content string) {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 || names[0].Name() != name {
		t.Errorf("directory holds %v, %v", names, err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != content {
		t.Errorf("content %q, want %q", got, content)
	}
}

package hostpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestGives spells addresses as documents and administrators do.
func TestGives(t *testing.T) {
	a := Allowed{Devices: []string{"65:00.A", "0001:65:00.1"}}
	for pci, want := range map[string]bool{"65:00.a": true, "0000:65:00.a": true, "0000:65:00.A": true, "0001:65:00.a": false, "65:00.1": false,
		"0001:65:00.1": true, "": false, "65:00": false} {
		if a.Gives(pci) != want {
			t.Errorf("%q: %v", pci, !want)
		}
	}
	if (Allowed{Devices: []string{""}}).Gives("") {
		t.Error("no device is given")
	}
}

// TestBelow tells what is in a directory by the name alone.
func TestBelow(t *testing.T) {
	for _, c := range []struct {
		path, dir string
		want      bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/a", "/", true}, {"/ab", "/a", false}, {"/", "/a", false}, {"/a/..b", "/a", true}, {"a", "/a", false}} {
		if Below(c.path, c.dir) != c.want {
			t.Errorf("%s below %s: %v", c.path, c.dir, !c.want)
		}
	}
}

// TestWithin follows links out of a directory, and to it.
func TestWithin(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, outside, link := filepath.Join(root, "dir"), filepath.Join(root, "outside"), filepath.Join(root, "link")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(outside, nil, 0o600), os.WriteFile(filepath.Join(dir, "in"), nil, 0o600),
		os.Symlink(dir, link), os.Symlink("../outside", filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{dir: true, dir + "/in": true, link + "/in": true, dir + "/out": false, outside: false} {
		for _, of := range []string{dir, link} {
			resolved, ok, err := Within(path, of)
			if err != nil || ok != want || want && !Below(resolved, dir) {
				t.Errorf("%s in %s: %s, %v, %v", path, of, resolved, ok, err)
			}
		}
	}
	for _, c := range [][2]string{{dir + "/none", dir}, {outside, root + "/none"}} {
		if _, ok, err := Within(c[0], c[1]); ok || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s in %s: %v, %v", c[0], c[1], ok, err)
		}
	}
}

// TestAbsolute leaves the caller's lists alone.
func TestAbsolute(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if dir, _ = os.Getwd(); dir == "" {
		t.Fatal("no directory")
	}
	a := Allowed{Paths: []string{"x"}, Shares: []string{"/y"}, Devices: []string{"z"}}
	b, err := a.Absolute()
	if err != nil || b.Paths[0] != filepath.Join(dir, "x") || b.Shares[0] != "/y" || b.Devices[0] != "z" || a.Paths[0] != "x" {
		t.Errorf("%+v of %+v, %v", b, a, err)
	}
}

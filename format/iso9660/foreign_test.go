package iso9660

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// foreignImage returns a volume of testdata, which other people's programs have made.
func foreignImage(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".iso.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	image, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

var (
	foreignTime = time.Date(2020, 2, 29, 12, 34, 56, 0, time.UTC)
	foreignLong = strings.Repeat("long-name.", 20) + "end"
	foreignSelf = "self-" + strings.Repeat("x", 200)
)

// foreignFiles is the tree of testdata/make.sh, without its links.
func foreignFiles() []File {
	files := []File{
		{Path: "meta-data", Data: []byte("instance-id: foreign\n")},
		{Path: "user-data", Data: []byte("#cloud-config\n{}\n")},
		{Path: "openstack/latest/user_data", Mode: 0o755, Data: []byte("#!/bin/sh\n")},
		{Path: "empty"},
		{Path: "Mixed Case/CamelCase.Name.txt", Data: []byte("mixed")},
		{Path: "1/2/3/4/5/6/7/8/9/10/deep", Data: []byte("deep")},
		{Path: foreignLong, Data: []byte("long")},
		{Path: "ünïcode-名前.txt", Data: []byte("ünïcode")},
		{Path: "5000-bytes", Data: bytes.Repeat([]byte("x"), 5000)},
	}
	for i := 100; i < 200; i++ {
		files = append(files, File{Path: fmt.Sprintf("many/file-number-%d.conf", i), Data: fmt.Append(nil, i)})
	}
	for i := range files {
		files[i].ModTime = foreignTime
		if files[i].Mode == 0 {
			files[i].Mode = 0o644
		}
	}
	for _, dir := range []string{"openstack", "openstack/latest", "Mixed Case", "many", "1/2/3/4/5/6/7/8/9/10"} {
		for i, c := range dir + "/" {
			if c == '/' {
				files = append(files, File{Path: dir[:i], Mode: fs.ModeDir | 0o755, ModTime: foreignTime})
			}
		}
	}
	return files
}

// foreignLinks are the symbolic links of the tree.
func foreignLinks() map[string]string {
	return map[string]string{
		"openstack/latest/link": "../../meta-data",
		"absolute":              "/openstack/latest",
		foreignSelf:             ".",
		"long-link":             strings.Repeat("./", 8*16) + "meta-data",
	}
}

func TestForeignRockRidge(t *testing.T) {
	for name, label := range map[string]string{
		"genisoimage-rock-joliet": "cidata",
		"genisoimage-rock":        "cidata",
		"xorrisofs-rock-joliet":   "config-2",
		"xorrisofs-rock":          "config-2",
		"xorriso-rrip-1.12":       "config-2",
		"xorriso-relocated":       "config-2",
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, foreignImage(t, name))
			if r.Label() != label || r.Names() != RockRidge {
				t.Errorf("label %q, %v names", r.Label(), r.Names())
			}
			got := snapshot(t, r, true)
			for path, target := range foreignLinks() {
				if found, err := r.ReadLink(path); err != nil || found != target {
					t.Errorf("%s leads to %q, %v; want %q", path, found, err, target)
				}
				delete(got, path)
			}
			// Where genisoimage keeps what it moved; Linux shows it as well.
			delete(got, "rr_moved")
			diff(t, got, want(foreignFiles(), true))
			through := foreignSelf + "/" + foreignSelf + "/absolute/link"
			for _, path := range []string{"openstack/latest/link", "long-link", through} {
				if data, err := r.ReadFile(path); err != nil || string(data) != "instance-id: foreign\n" {
					t.Errorf("%s: %q, %v", path, data, err)
				}
			}
			if err := fstest.TestFS(r, "meta-data", "openstack/latest/link"); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestForeignJoliet(t *testing.T) {
	for _, name := range []string{
		"genisoimage-rock-joliet", "genisoimage-joliet", "xorrisofs-rock-joliet", "xorrisofs-joliet",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := open(t, foreignImage(t, name)).Through(Joliet)
			if err != nil {
				t.Fatal(err)
			}
			expected := want(foreignFiles(), false)
			got := snapshot(t, r, false)
			for path := range got {
				if strings.HasPrefix(path, "long-name.") { // each program has its own way to shorten it
					expected[path] = expected[foreignLong]
				}
			}
			delete(expected, foreignLong)
			// genisoimage puts something in the place of links and of what it moved.
			for _, path := range []string{"rr_moved", "absolute", "long-link", foreignSelf[:64], "openstack/latest/link"} {
				delete(got, path)
			}
			diff(t, got, expected)
		})
	}
}

func TestForeignPlain(t *testing.T) {
	for name, paths := range map[string]map[string]string{
		"genisoimage-plain": {
			"meta_dat":                  "instance-id: foreign\n",
			"openstac/latest/user_dat":  "#!/bin/sh\n",
			"mixed_ca/camelcas.txt":     "mixed",
			"1/2/3/4/5/6/7/8/9/10/deep": "deep",
		},
		"genisoimage-level4": {"latest/user_data": "#!/bin/sh\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, foreignImage(t, name))
			if r.Names() != Plain || r.JolietLabel() != "" {
				t.Errorf("%v names, Joliet label %q", r.Names(), r.JolietLabel())
			}
			for path, content := range paths {
				if data, err := r.ReadFile(path); err != nil || string(data) != content {
					t.Errorf("%s: %q, %v", path, data, err)
				}
			}
			for _, names := range []Names{RockRidge, Joliet, -1, 4} {
				if _, err := r.Through(names); !errors.Is(err, ErrNames) {
					t.Errorf("%v names: %v, want ErrNames", names, err)
				}
			}
		})
	}
}

// TestForeignRewrite writes again what was read and compares the two.
func TestForeignRewrite(t *testing.T) {
	r, err := open(t, foreignImage(t, "xorrisofs-rock-joliet")).Through(Joliet)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Files(r)
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		info, err := r.Stat(files[i].Path)
		if err != nil {
			t.Fatal(err)
		}
		files[i].ModTime = info.ModTime()
	}
	diff(t, snapshot(t, open(t, write(t, files, Options{})), true), snapshot(t, r, true))
}

package fat

import (
	"bytes"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"
)

// FuzzReader checks that no volume makes the reader panic or cost more than its size allows, and that whatever it
// opens can be written again and read back equal.
func FuzzReader(f *testing.F) {
	f.Add(foreignImage(f, "mkfs-small"))
	f.Add(write(f, []File{{Path: "a/b", Data: []byte("b")}, {Path: "long name"}}, Options{Label: "CIDATA"}))
	f.Fuzz(func(t *testing.T, image []byte) {
		r, err := NewReader(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Errorf("neither ErrFormat nor ErrLimit: %v", err)
			}
			return
		}
		var files []File
		var total int64
		entries := 0
		err = fs.WalkDir(r, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == "." {
				return err
			}
			if entries++; entries > len(image)/entrySize {
				t.Fatalf("more than %d entries in %d bytes", entries, len(image))
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			file := File{Path: path, Mode: info.Mode().Type(), ModTime: info.ModTime()}
			if !d.IsDir() {
				if file.Data, err = r.ReadFile(path); err != nil {
					return err
				}
			}
			total += int64(len(file.Data))
			files = append(files, file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if total > int64(len(image)) {
			t.Fatalf("%d bytes of content in %d", total, len(image))
		}
		im, err := New(files, Options{})
		if err != nil {
			if !knownRefusal(err) {
				t.Errorf("refused for no stated reason: %v", err)
			}
			return // a foreign volume may hold names and times that this package does not write
		}
		var buf bytes.Buffer
		if _, err := im.WriteTo(&buf); err != nil {
			t.Fatal(err)
		}
		diff(t, snapshot(t, open(t, buf.Bytes())), want(files))
	})
}

// knownRefusal reports whether err is one of the documented reasons not to write entries.
func knownRefusal(err error) bool {
	for _, known := range []error{ErrName, ErrDuplicate, ErrLimit, ErrMode, ErrLabel} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// plainPath matches paths that must never be refused.
var plainPath = regexp.MustCompile(`^[a-z0-9_-]{1,30}(/[a-z0-9_-]{1,30}){0,5}$`)

// FuzzWriteRead checks that entries are refused for a stated reason or read back equal. Each line of paths is an
// entry; one that ends in a slash is a directory.
func FuzzWriteRead(f *testing.F) {
	f.Add("meta-data\nuser-data\nnetwork-config", "cidata", []byte("content"), int64(0), uint16(0))
	f.Add("openstack/latest/meta_data.json\nempty/\nA+b\na-B", "config-2", []byte{}, int64(1)<<31, uint16(300))
	f.Add(strings.Repeat("long", 60)+"\nünï/😀\n.x.y.z", "", bytes.Repeat([]byte("x"), 5000), int64(-1), uint16(2100))
	f.Add("a\nA\n../b\n\x00\nCON\nx/y\nx", "label\xff", []byte("x"), int64(1)<<40, uint16(5))
	f.Fuzz(func(t *testing.T, paths, label string, data []byte, seconds int64, pages uint16) {
		var files []File
		sound := pages == 0 && len(label) <= MaxLabel && regexp.MustCompile(`^[a-z0-9-]*$`).MatchString(label)
		for i, path := range strings.Split(paths, "\n") {
			sound = sound && plainPath.MatchString(path)
			file := File{Path: path, Data: data[min(i, len(data)):]}
			if dir, ok := strings.CutSuffix(path, "/"); ok {
				file = File{Path: dir, Mode: fs.ModeDir}
			}
			file.ModTime = time.Unix(seconds&^1, 0).UTC() // steps of two seconds
			sound = sound && yearFits(file.ModTime)
			files = append(files, file)
		}
		opts := Options{Label: label, Size: int64(pages) * Alignment}
		if _, err := New(files, opts); err != nil {
			if !knownRefusal(err) || sound && !errors.Is(err, ErrDuplicate) {
				t.Fatalf("%q refused: %v", paths, err)
			}
			return
		}
		r := open(t, write(t, files, opts))
		if r.Label() != strings.ToUpper(label) {
			t.Errorf("label %q is read as %q", label, r.Label())
		}
		diff(t, snapshot(t, r), want(files))
	})
}

package iso9660

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
	const unused = systemSectors * SectorSize // left out of the corpus, as nothing reads it
	for _, name := range []string{"genisoimage-small", "xorrisofs-small", "genisoimage-level4"} {
		f.Add(foreignImage(f, name)[unused:])
	}
	f.Add(write(f, []File{{Path: "a/b", Data: []byte("b")}, {Path: strings.Repeat("long", 50)}}, Options{})[unused:])
	f.Fuzz(func(t *testing.T, used []byte) {
		image := append(make([]byte, unused), used...)
		r, err := NewReader(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			if !errors.Is(err, ErrFormat) && !errors.Is(err, ErrLimit) {
				t.Errorf("neither ErrFormat nor ErrLimit: %v", err)
			}
			return
		}
		for _, names := range []Names{RockRidge, Joliet, Plain} {
			view, err := r.Through(names)
			if err != nil {
				continue
			}
			rewrite(t, view, len(image))
		}
	})
}

// rewrite writes the regular files and directories of r and compares what is read back.
func rewrite(t *testing.T, r *Reader, size int) {
	var files []File
	var entries int
	var total int64
	err := fs.WalkDir(r, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if entries++; entries > 1+size/(recordHead+1) {
			t.Fatalf("more than %d entries in %d bytes", entries, size)
		}
		if info.Size() > int64(size) {
			t.Fatalf("%q has %d bytes in a volume of %d", path, info.Size(), size)
		}
		if total += info.Size(); total > 8<<20 {
			return fs.SkipAll // files may share content, and this many bytes prove no more
		}
		if path != "." && (d.IsDir() || d.Type().IsRegular()) {
			file := File{Path: path, Mode: info.Mode(), ModTime: info.ModTime()}
			if !d.IsDir() {
				if file.Data, err = r.ReadFile(path); err != nil {
					return err
				}
			}
			files = append(files, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	im, err := New(files, Options{})
	if err != nil {
		if !knownRefusal(err) {
			t.Errorf("refused for no stated reason: %v", err)
		}
		return // a foreign volume may hold names that this package does not write
	}
	var buf bytes.Buffer
	if _, err := im.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	diff(t, snapshot(t, open(t, buf.Bytes()), true), want(files, true))
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

// FuzzWriteRead checks that entries are refused for a stated reason or read back equal by all three kinds of names.
// Each line of paths is an entry; one that ends in a slash is a directory.
func FuzzWriteRead(f *testing.F) {
	f.Add("meta-data\nuser-data\nnetwork-config", "cidata", []byte("content"), uint32(0o644), int64(0))
	f.Add("openstack/latest/meta_data.json\nempty/\nA+b\na-B", "config-2", []byte{}, uint32(0), int64(1)<<31)
	f.Add(strings.Repeat("long", 60)+"\nünï/😀\n.x.y.z", "", bytes.Repeat([]byte("x"), 5000), uint32(0o7777), int64(-1))
	f.Add("a\nA\n../b\n\x00\nCON\nx/y\nx", "label\xff", []byte("x"), uint32(1), int64(1)<<40)
	f.Fuzz(func(t *testing.T, paths, label string, data []byte, mode uint32, seconds int64) {
		var files []File
		sound := len(label) <= 16 && plainPath.MatchString(label)
		seen := make(map[string]bool)
		for i, path := range strings.Split(paths, "\n") {
			if !plainPath.MatchString(path) || seen[path] {
				sound = false
			}
			for at, c := range path + "/" {
				if c == '/' {
					sound = sound && !(seen[path[:at]] && at == len(path))
					seen[path[:at]] = true
				}
			}
			file := File{Path: path, Mode: fileMode(mode&0o7777 | unixRegular), Data: data[min(i, len(data)):]}
			if dir, ok := strings.CutSuffix(path, "/"); ok {
				file = File{Path: dir, Mode: fileMode(mode&0o7777 | unixDir)}
			}
			if file.ModTime = time.Unix(seconds, 0); !yearFits(file.ModTime.UTC()) {
				sound = false
			}
			files = append(files, file)
		}
		im, err := New(files, Options{Label: label})
		if err != nil {
			if !knownRefusal(err) || sound && !errors.Is(err, ErrDuplicate) {
				t.Fatalf("%q refused: %v", paths, err)
			}
			return
		}
		image := write(t, files, Options{Label: label})
		r := open(t, image)
		if r.Label() != label {
			t.Errorf("label %q is read as %q", label, r.Label())
		}
		diff(t, snapshot(t, r, true), want(files, true))
		checkViews(t, r, files, len(im.Shortened()))
	})
}

// checkViews checks that the other kinds of names reach the same files.
func checkViews(t *testing.T, r *Reader, files []File, shortened int) {
	expected := want(files, false)
	for _, names := range []Names{Joliet, Plain} {
		view, err := r.Through(names)
		if err != nil {
			t.Fatal(err)
		}
		got := snapshot(t, view, false)
		if names == Joliet && shortened == 0 {
			diff(t, got, expected)
			continue
		}
		counts := make(map[string]int)
		for _, d := range expected {
			counts[d]++
		}
		for _, d := range got {
			counts[d]--
		}
		for d, n := range counts {
			if n != 0 {
				t.Errorf("%v names: %+d of %s", names, -n, d)
			}
		}
	}
}

package fat

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

// foreignImage returns a volume of testdata, which other people's programs have made.
func foreignImage(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".img.gz"))
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

// foreignFiles is the tree of testdata/make.sh.
func foreignFiles() []File {
	files := []File{
		{Path: "meta-data", Data: []byte("instance-id: foreign\n")},
		{Path: "user-data", Data: []byte("#cloud-config\n{}\n")},
		{Path: "openstack", Mode: fs.ModeDir},
		{Path: "openstack/latest", Mode: fs.ModeDir},
		{Path: "openstack/latest/user_data", Data: []byte("#!/bin/sh\n")},
		{Path: "empty"},
		{Path: "short.txt", Data: []byte("short")},
		{Path: "UPPER.TXT", Data: []byte("upper")},
		{Path: "CamelCase.Name.txt", Data: []byte("mixed")},
		{Path: "ünïcode-名前.txt", Data: []byte("ünïcode")},
		{Path: "5000-bytes", Data: bytes.Repeat([]byte("x"), 5000)},
		{Path: "many", Mode: fs.ModeDir},
	}
	for i := 100; i < 200; i++ {
		files = append(files, File{Path: fmt.Sprintf("many/file-number-%d.conf", i), Data: fmt.Append(nil, i)})
	}
	for i := range files {
		files[i].ModTime = time.Date(2020, 2, 29, 12, 34, 56, 0, time.UTC)
	}
	return files
}

func TestForeign(t *testing.T) {
	for _, tc := range []struct {
		name, label    string
		bits           int
		fragmentsOf5kB int
	}{
		{"mkfs-fat12", "CIDATA", 12, 2},
		{"mkfs-fat12-lower", "cidata", 12, 2},
		{"mkfs-fat16", "CONFIG-2", 16, 2},
		{"mkfs-fat32", "CONFIG-2", 32, 1},
		{"mkfs-sector-4096", "CIDATA", 12, 1},
		{"mkfs-no-label", "", 12, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := open(t, foreignImage(t, tc.name))
			if r.Label() != tc.label || r.Bits() != tc.bits || r.Serial() == 0 {
				t.Errorf("label %q, FAT%d, serial %x; want %q, FAT%d", r.Label(), r.Bits(), r.Serial(), tc.label, tc.bits)
			}
			diff(t, snapshot(t, r), want(foreignFiles()))
			if n := len(r.root.kid("5000-bytes").extents); n != tc.fragmentsOf5kB {
				t.Errorf("5000-bytes has %d extents, want %d", n, tc.fragmentsOf5kB)
			}
			if err := fstest.TestFS(r, "meta-data", "many/file-number-150.conf"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForeignSerial checks a serial number that was asked for, in the order of bytes that blkid shows.
func TestForeignSerial(t *testing.T) {
	if got := open(t, foreignImage(t, "mkfs-fat12")).Serial(); got != 0x12345678 {
		t.Errorf("serial %x, want 12345678", got)
	}
}

func TestForeignShortNames(t *testing.T) {
	r := open(t, foreignImage(t, "mkfs-small"))
	for path, content := range map[string]string{"UPPER.TXT": "upper", "DIR/SHORT.TXT": "short"} {
		if data, err := r.ReadFile(path); err != nil || string(data) != content {
			t.Errorf("%s: %q, %v", path, data, err)
		}
	}
}

package fat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// seedFiles is a typical NoCloud seed: 200 B of meta-data, 4 KB of user-data, 500 B of network-config.
func seedFiles() []File {
	return []File{
		{Path: "meta-data", Data: bytes.Repeat([]byte("instance-"), 23)[:200]},
		{Path: "user-data", Data: bytes.Repeat([]byte("#cloud-config\n"), 300)[:4096]},
		{Path: "network-config", Data: bytes.Repeat([]byte("version: 2\n"), 50)[:500]},
		{Path: "vendor-data", Data: []byte("#cloud-config\n{}\n")},
	}
}

// treeFiles has what makes names and directories hard: depth, empty files and directories, times, names with and
// without an 8.3 form, aliases that meet, other scripts, many entries in one directory.
func treeFiles() []File {
	long := strings.Repeat("long-name.", 24) + "long-nam.yaml" // as long as it may be
	files := []File{
		{Path: "openstack/latest/meta_data.json", Data: []byte("{}\n")},
		{Path: "openstack/latest/user_data", Data: []byte("#!/bin/sh\n")},
		{Path: "openstack/content/0000", Data: bytes.Repeat([]byte{1, 2, 3}, 5000)},
		{Path: "empty"},
		{Path: "empty-dir", Mode: fs.ModeDir, ModTime: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)},
		{Path: "UPPER.TXT", Data: []byte("needs no long name")},
		{Path: "lower.txt", Data: []byte("lower")},
		{Path: "LOWER-~1.TXT", Data: []byte("looks like an alias")},
		{Path: "lower-and-long.txt", Data: []byte("wants that alias")},
		{Path: "CamelCase.With.Dots", Data: []byte("camel")},
		{Path: ".hidden", Data: []byte("hidden")},
		{Path: "thirteen-char", Data: []byte("fills a long entry")},
		{Path: long, Data: []byte("long")},
		{Path: "ünïcode-名前-😀.txt", Data: []byte("unicode")},
		{Path: "a+b", Data: []byte("plus")},
		{Path: "a=b", Data: []byte("equals")},
		{Path: "a_b", Data: []byte("underscore")},
		{Path: "spaces and, commas $(not run)'.txt", Data: []byte("s")},
		{Path: strings.Repeat("d/", 20) + "deep", Data: []byte("deep")},
		{Path: "exactly-2048", Data: bytes.Repeat([]byte("x"), 2048)},
		{Path: "dated", Data: []byte("d"), ModTime: time.Date(2026, 12, 31, 23, 59, 58, 0, time.FixedZone("", 7200))},
	}
	for i := range 300 {
		files = append(files, File{Path: fmt.Sprintf("many/file-with-number-%04d.conf", i), Data: fmt.Append(nil, i)})
	}
	return files
}

// write returns the volume of files.
func write(t testing.TB, files []File, opts Options) []byte {
	t.Helper()
	im, err := New(files, opts)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	buf.Grow(int(im.Size()))
	n, err := im.WriteTo(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if n != im.Size() || int64(buf.Len()) != im.Size() {
		t.Fatalf("wrote %d bytes, returned %d, Size is %d", buf.Len(), n, im.Size())
	}
	if n%Alignment != 0 {
		t.Fatalf("size %d is no multiple of %d", n, Alignment)
	}
	return buf.Bytes()
}

// open reads an image.
func open(t testing.TB, image []byte) *Reader {
	t.Helper()
	r, err := NewReader(bytes.NewReader(image), int64(len(image)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// snapshot describes every entry of a file system: type, time and content.
func snapshot(t testing.TB, fsys fs.FS) map[string]string {
	t.Helper()
	got := make(map[string]string)
	err := fs.WalkDir(fsys, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if !d.IsDir() {
			if data, err = fs.ReadFile(fsys, path); err != nil {
				return err
			}
		}
		got[path] = describe(d.Type(), info.ModTime(), data)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func describe(mode fs.FileMode, modTime time.Time, data []byte) string {
	if modTime.IsZero() {
		modTime = DefaultTime
	}
	return fmt.Sprintf("%s %s %x", mode.Type(), modTime.UTC().Format(time.RFC3339), sha256.Sum256(data))
}

// want describes the entries of files as snapshot does.
func want(files []File) map[string]string {
	want := make(map[string]string)
	for _, f := range files {
		for i, c := range f.Path {
			if dir := f.Path[:i]; c == '/' && want[dir] == "" {
				want[dir] = describe(fs.ModeDir, time.Time{}, nil)
			}
		}
	}
	for _, f := range files {
		want[f.Path] = describe(f.Mode, f.ModTime, f.Data)
	}
	return want
}

// diff reports where two snapshots differ.
func diff(t testing.TB, got, want map[string]string) {
	t.Helper()
	for path, w := range want {
		if g, ok := got[path]; !ok {
			t.Errorf("%q is missing", path)
		} else if g != w {
			t.Errorf("%q is %s, want %s", path, g, w)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%q is there and should not be", path)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files []File
		size  int64
		bits  int
	}{
		{"seed", seedFiles(), 0, 12},
		{"tree", treeFiles(), 0, 12},
		{"none", nil, 0, 12},
		{"floppy", seedFiles(), 1440 << 10, 12},
		{"FAT16", treeFiles(), 16 << 20, 16},
		{"large clusters", seedFiles(), 132 << 20, 16},
		{"small clusters", treeFiles(), 400 << 10, 12},
		{"next to the limit of FAT12", seedFiles(), 4085 * 2048, 12},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := write(t, tc.files, Options{Label: "cidata", Size: tc.size / Alignment * Alignment})
			r := open(t, image)
			if r.Label() != "CIDATA" || r.Bits() != tc.bits || r.Serial() == 0 {
				t.Errorf("label %q, FAT%d, serial %x; want CIDATA, FAT%d", r.Label(), r.Bits(), r.Serial(), tc.bits)
			}
			diff(t, snapshot(t, r), want(tc.files))
		})
	}
}

// TestEverySize checks that the geometry is sound for any amount of content, across the limits between FAT12, FAT16
// and the sizes of clusters.
func TestEverySize(t *testing.T) {
	sizes := []int64{0, 1, 2048, 2049}
	for _, clusters := range []int64{4060, 4067, 4068, 4069, 4084, 4085, 4086, 4100, 4101, 4102, 65500, 65508, 65509, 65524, 65525} {
		sizes = append(sizes, clusters*2048-1, clusters*2048, clusters*4096, clusters*32768)
	}
	for _, size := range sizes {
		im, err := New([]File{{Path: "f", Size: size, Open: func() (io.ReadCloser, error) { return nil, io.EOF }}}, Options{})
		if size > maxClusters*32768 {
			if !errors.Is(err, ErrLimit) {
				t.Errorf("%d bytes: %v, want ErrLimit", size, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		head := make([]byte, im.contentStart())
		im.encode(head)
		vol := &volume{r: bytes.NewReader(head), size: im.Size()}
		if err := vol.open(); err != nil {
			t.Errorf("%d bytes: %v", size, err)
			continue
		}
		if vol.clusters != im.clusters || vol.bits == 16 != im.wide {
			t.Errorf("%d bytes: reader sees %d clusters of FAT%d, writer made %d", size, vol.clusters, vol.bits, im.clusters)
		}
		if n := vol.clusters; n >= fat16Start-safety && n < fat16Start+safety || n > maxClusters {
			t.Errorf("%d bytes: %d clusters are too near to a limit", size, n)
		}
		if slack := int64(im.clusters-im.used) * im.clusterSize(); slack > 1<<20 {
			t.Errorf("%d bytes: %d bytes are left over", size, slack)
		}
	}
}

func TestSizeErrors(t *testing.T) {
	for _, size := range []int64{-4096, 1, 4095, 4097, 4096, 16 << 10, 1 << 31, 1 << 40} {
		if _, err := New(seedFiles(), Options{Size: size}); !errors.Is(err, ErrLimit) {
			t.Errorf("size %d: %v, want ErrLimit", size, err)
		}
	}
	big := make([]File, 40000)
	for i := range big {
		big[i].Path = fmt.Sprintf("a-long-name-%d", i)
	}
	if _, err := New(big, Options{}); !errors.Is(err, ErrLimit) {
		t.Errorf("a full root directory: %v, want ErrLimit", err)
	}
	for i := range big {
		big[i].Path = "dir/" + big[i].Path
	}
	var pathErr *PathError
	if _, err := New(big, Options{}); !errors.Is(err, ErrLimit) || !errors.As(err, &pathErr) || pathErr.Path != "dir" {
		t.Errorf("a full directory: %v, want ErrLimit of dir", err)
	}
}

func TestReaderIsFS(t *testing.T) {
	r := open(t, write(t, treeFiles(), Options{}))
	if err := fstest.TestFS(r, "openstack/latest/meta_data.json", "empty", "empty-dir"); err != nil {
		t.Error(err)
	}
	if data, err := r.ReadFile("OpenStack/LATEST/Meta_Data.json"); err != nil || string(data) != "{}\n" {
		t.Errorf("a name in another case: %q, %v", data, err)
	}
}

// TestReproducible pins the bytes: they may only change on purpose, as users compare seeds by their hash.
func TestReproducible(t *testing.T) {
	for name, tc := range map[string]struct {
		files []File
		sum   string
	}{
		"seed": {seedFiles(), "f4f828628d17d6051e316bb1fef2533a4be13225debf24ecf4bae1386c117dfd"},
		"tree": {treeFiles(), "a981e75f7e57d6bedb71a32f3f049bbeaeb089ab504d9a07d9f3ed9c70eb8d95"},
	} {
		t.Run(name, func(t *testing.T) {
			image := write(t, tc.files, Options{Label: "CIDATA"})
			backwards := make([]File, len(tc.files))
			for i, f := range tc.files {
				backwards[len(backwards)-1-i] = f
			}
			if !bytes.Equal(write(t, backwards, Options{Label: "CIDATA"}), image) {
				t.Error("the order of the entries matters")
			}
			sum := sha256.Sum256(image)
			if got := hex.EncodeToString(sum[:]); got != tc.sum {
				t.Errorf("SHA-256 is %s, want %s", got, tc.sum)
			}
		})
	}
}

func TestSmallSeed(t *testing.T) {
	if n := len(write(t, seedFiles(), Options{Label: "cidata"})); n > 64<<10 {
		t.Errorf("a typical seed has %d bytes, more than 64 KiB", n)
	}
}

func TestSerial(t *testing.T) {
	serial := func(files []File, opts Options) uint32 { return open(t, write(t, files, opts)).Serial() }
	base := serial(seedFiles(), Options{Label: "CIDATA"})
	if base == serial(seedFiles(), Options{Label: "CONFIG-2"}) || base == serial(treeFiles(), Options{Label: "CIDATA"}) {
		t.Error("different volumes have the same serial number")
	}
	if got := serial(seedFiles(), Options{Serial: 0x1234abcd}); got != 0x1234abcd {
		t.Errorf("serial number %x, want 1234abcd", got)
	}
}

func TestFiles(t *testing.T) {
	tree := fstest.MapFS{
		"a/b.txt": {Data: []byte("b"), Mode: 0o640, ModTime: time.Unix(1e9, 0)},
		"a/empty": {Mode: fs.ModeDir | 0o750},
		"c":       {Data: bytes.Repeat([]byte("c"), 300<<10), Mode: 0o444},
	}
	files, err := Files(tree)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, snapshot(t, open(t, write(t, files, Options{}))), want([]File{
		{Path: "a/b.txt", Data: []byte("b")},
		{Path: "a/empty", Mode: fs.ModeDir},
		{Path: "c", Data: tree["c"].Data},
	}))
	tree["link"] = &fstest.MapFile{Data: []byte("c"), Mode: fs.ModeSymlink | 0o777}
	var pathErr *PathError
	if _, err := Files(tree); !errors.Is(err, ErrMode) || !errors.As(err, &pathErr) || pathErr.Path != "link" {
		t.Errorf("a symbolic link gives %v", err)
	}
}

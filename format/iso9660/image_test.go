package iso9660

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

// treeFiles has what makes names and directories hard: depth, empty files and directories, modes, times, names that
// need shortening, other scripts, many entries in one directory.
func treeFiles() []File {
	long := strings.Repeat("long-name.", 24) + "long-nam.yaml" // as long as it may be
	files := []File{
		{Path: "openstack/latest/meta_data.json", Data: []byte("{}\n"), Mode: 0o600},
		{Path: "openstack/latest/user_data", Data: []byte("#!/bin/sh\n"), Mode: 0o755},
		{Path: "openstack/content/0000", Data: bytes.Repeat([]byte{1, 2, 3}, 5000)},
		{Path: "empty"},
		{Path: "empty-dir", Mode: fs.ModeDir | 0o700, ModTime: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)},
		{Path: "sticky", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		{Path: "setuid", Mode: fs.ModeSetuid | 0o755, Data: []byte("x")},
		{Path: "CamelCase.With.Dots", Data: []byte("camel")},
		{Path: ".hidden", Data: []byte("hidden")},
		{Path: long, Data: []byte("long")},
		{Path: long[:len(long)-6] + "2.yaml", Data: []byte("twin in its first 64 units")},
		{Path: "ünïcode-名前-😀.txt", Data: []byte("unicode")},
		{Path: "a+b", Data: []byte("plus")},
		{Path: "a=b", Data: []byte("equals")},
		{Path: "a_b", Data: []byte("underscore")},
		{Path: "spaces and, commas $(not run)'.txt", Data: []byte("s")},
		{Path: strings.Repeat("d/", 20) + "deep", Data: []byte("deep")},
		{Path: "exactly-2048", Data: bytes.Repeat([]byte("x"), SectorSize)},
		{Path: "dated", Data: []byte("d"), ModTime: time.Date(2026, 12, 31, 23, 59, 59, 5, time.FixedZone("", 7200))},
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

// snapshot describes every entry of a file system: type, permissions if modes is set, size, time and content.
func snapshot(t testing.TB, fsys fs.FS, modes bool) map[string]string {
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
		mode := info.Mode()
		if !modes {
			mode = mode.Type()
		}
		sum := ""
		if mode.IsRegular() {
			data, err := fs.ReadFile(fsys, path)
			if err != nil {
				return err
			}
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		got[path] = fmt.Sprint(mode, " ", info.ModTime().UTC().Format(time.RFC3339), " ", sum)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// want describes the entries of files as snapshot does.
func want(files []File, modes bool) map[string]string {
	want := make(map[string]string)
	describe := func(path string, mode fs.FileMode, modTime time.Time, data []byte) {
		if modTime.IsZero() {
			modTime = DefaultTime
		}
		mode, sum := defaultMode(mode), ""
		if !mode.IsDir() {
			sum = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		if !modes {
			mode = mode.Type()
		}
		want[path] = fmt.Sprint(mode, " ", modTime.UTC().Format(time.RFC3339), " ", sum)
	}
	for _, f := range files {
		for i, c := range f.Path {
			if dir := f.Path[:i]; c == '/' && want[dir] == "" {
				describe(dir, fs.ModeDir, time.Time{}, nil)
			}
		}
	}
	for _, f := range files {
		describe(f.Path, f.Mode, f.ModTime, f.Data)
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

func TestRoundTripRockRidge(t *testing.T) {
	for name, files := range map[string][]File{"seed": seedFiles(), "tree": treeFiles(), "none": nil} {
		t.Run(name, func(t *testing.T) {
			r := open(t, write(t, files, Options{Label: "cidata"}))
			if r.Names() != RockRidge || r.Label() != "cidata" || r.JolietLabel() != "cidata" {
				t.Errorf("names %v, labels %q %q", r.Names(), r.Label(), r.JolietLabel())
			}
			if !r.ModTime().Equal(DefaultTime) {
				t.Errorf("time of the volume is %v", r.ModTime())
			}
			diff(t, snapshot(t, r, true), want(files, true))
		})
	}
}

func TestRoundTripJoliet(t *testing.T) {
	files := treeFiles()
	im, err := New(files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	shortened := im.Shortened()
	if len(shortened) != 2 {
		t.Fatalf("%d shortened names, want 2: %q", len(shortened), shortened)
	}
	j, err := open(t, write(t, files, Options{})).Through(Joliet)
	if err != nil {
		t.Fatal(err)
	}
	expected := want(files, false)
	long := strings.Repeat("long-name.", 6)[:57]
	for i, path := range shortened {
		short := fmt.Sprintf("%s~%d.yaml", long, i+1)
		if utf16Len(short) != 64 {
			t.Fatalf("%q has %d units", short, utf16Len(short))
		}
		expected[short] = expected[path]
		delete(expected, path)
	}
	diff(t, snapshot(t, j, false), expected)
}

func TestPlainNames(t *testing.T) {
	p, err := open(t, write(t, treeFiles(), Options{})).Through(Plain)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		"openstack/latest/meta_data.json": "{}\n",
		"openstack/latest/user_data":      "#!/bin/sh\n",
		"camelcase_with.dots":             "camel",
		".hidden":                         "hidden",
		"a_b":                             "underscore",
		"a_b_1":                           "plus",
		"a_b_2":                           "equals",
		"long-name_long-name_long-n.yaml": "twin in its first 64 units",
		"long-name_long-name_long_1.yaml": "long",
	} {
		if got, err := p.ReadFile(path); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v; want %q", path, got, err, content)
		}
	}
	seed, err := open(t, write(t, seedFiles(), Options{})).Through(Plain)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, snapshot(t, seed, false), want(seedFiles(), false))
}

func TestReaderIsFS(t *testing.T) {
	r := open(t, write(t, treeFiles(), Options{}))
	for _, names := range []Names{RockRidge, Joliet, Plain} {
		view, err := r.Through(names)
		if err != nil {
			t.Fatal(err)
		}
		if err := fstest.TestFS(view, "openstack/latest/meta_data.json", "empty", "empty-dir"); err != nil {
			t.Errorf("%v: %v", names, err)
		}
	}
}

// TestReproducible pins the bytes: they may only change on purpose, as users compare seeds by their hash.
func TestReproducible(t *testing.T) {
	for name, tc := range map[string]struct {
		files []File
		sum   string
	}{
		"seed": {seedFiles(), "ca9afd6323e55cdb670c39d40e8e62d2650a96389d1051cd33698683d6b6faa9"},
		"tree": {treeFiles(), "a17070fc99ef77a11d7db43d010593ba091b9764b6e7cce5268bde9d3982ba86"},
	} {
		t.Run(name, func(t *testing.T) {
			image := write(t, tc.files, Options{Label: "cidata"})
			backwards := make([]File, len(tc.files))
			for i, f := range tc.files {
				backwards[len(backwards)-1-i] = f
			}
			if !bytes.Equal(write(t, backwards, Options{Label: "cidata"}), image) {
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
	r := open(t, write(t, files, Options{}))
	diff(t, snapshot(t, r, true), want([]File{
		{Path: "a", Mode: fs.ModeDir | 0o555},
		{Path: "a/b.txt", Data: []byte("b"), Mode: 0o640},
		{Path: "a/empty", Mode: fs.ModeDir | 0o750},
		{Path: "c", Data: tree["c"].Data},
	}, true))

	tree["link"] = &fstest.MapFile{Data: []byte("c"), Mode: fs.ModeSymlink | 0o777}
	var pathErr *PathError
	if _, err := Files(tree); !errors.Is(err, ErrMode) || !errors.As(err, &pathErr) || pathErr.Path != "link" {
		t.Errorf("a symbolic link gives %v", err)
	}
}

// source gives data and then, if it is set, an error.
type source struct {
	io.Reader
	closed *int
}

func (s source) Close() error { *s.closed++; return nil }

func TestSourceErrors(t *testing.T) {
	broken := errors.New("broken")
	closed := 0
	opener := func(r io.Reader) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) { return source{r, &closed}, nil }
	}
	for name, tc := range map[string]struct {
		file File
		want error
	}{
		"short":         {File{Size: 4, Open: opener(strings.NewReader("abc"))}, ErrSize},
		"long":          {File{Size: 2, Open: opener(strings.NewReader("abc"))}, ErrSize},
		"read error":    {File{Size: 4, Open: opener(io.MultiReader(strings.NewReader("a"), errorReader{broken}))}, broken},
		"error at end":  {File{Size: 1, Open: opener(io.MultiReader(strings.NewReader("a"), errorReader{broken}))}, broken},
		"does not open": {File{Size: 4, Open: func() (io.ReadCloser, error) { return nil, broken }}, broken},
	} {
		t.Run(name, func(t *testing.T) {
			tc.file.Path = "dir/file"
			closed = 0
			im, err := New([]File{tc.file}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = im.WriteTo(io.Discard)
			var pathErr *PathError
			if !errors.Is(err, tc.want) || !errors.As(err, &pathErr) || pathErr.Path != "dir/file" {
				t.Errorf("got %v, want %v of dir/file", err, tc.want)
			}
			if name != "does not open" && closed != 1 {
				t.Errorf("the source was closed %d times", closed)
			}
		})
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// failAfter accepts n bytes.
type failAfter struct{ n int }

var errFull = errors.New("full")

func (w *failAfter) Write(p []byte) (int, error) {
	if len(p) > w.n {
		n := w.n
		w.n = 0
		return n, errFull
	}
	w.n -= len(p)
	return len(p), nil
}

func TestWriterErrors(t *testing.T) {
	files := append(treeFiles(), File{Path: "big", Data: make([]byte, 1<<20)},
		File{Path: "opened", Size: 1 << 20, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(make([]byte, 1<<20))), nil
		}})
	im, err := New(files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for room := 0; int64(room) < im.Size(); room += 100_000 {
		n, err := im.WriteTo(&failAfter{room})
		if !errors.Is(err, errFull) || n != int64(room) {
			t.Errorf("with room for %d bytes: %d, %v", room, n, err)
		}
	}
	if n, err := im.WriteTo(&failAfter{int(im.Size())}); err != nil || n != im.Size() {
		t.Errorf("with enough room: %d, %v", n, err)
	}
}

package iso9660

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"
)

func TestRefused(t *testing.T) {
	deep := strings.Repeat("d/", MaxDepth) + "f"
	for _, tc := range []struct {
		name string
		path string
		want error
	}{
		{"empty path", "", ErrName},
		{"only a slash", "/", ErrName},
		{"absolute", "/etc/passwd", ErrName},
		{"trailing slash", "dir/", ErrName},
		{"double slash", "a//b", ErrName},
		{"dot", ".", ErrName},
		{"dot component", "a/./b", ErrName},
		{"dot-dot", "..", ErrName},
		{"leads out", "../etc/passwd", ErrName},
		{"leads out and back", "a/../../b", ErrName},
		{"leads back", "a/..", ErrName},
		{"backslash", `a\b`, ErrName},
		{"Windows way out", `..\..\b`, ErrName},
		{"drive", "C:", ErrName},
		{"stream", "file:stream", ErrName},
		{"NUL", "a\x00b", ErrName},
		{"newline", "a\nb", ErrName},
		{"carriage return", "a\r", ErrName},
		{"tab", "a\tb", ErrName},
		{"escape", "\x1b[31mred", ErrName},
		{"delete", "a\x7f", ErrName},
		{"star", "a*", ErrName},
		{"question mark", "a?", ErrName},
		{"quote", `a"b`, ErrName},
		{"less than", "a<b", ErrName},
		{"pipe", "a|b", ErrName},
		{"version", "file;1", ErrName},
		{"trailing dot", "file.", ErrName},
		{"trailing dots of a directory", "dir.../file", ErrName},
		{"trailing space", "file ", ErrName},
		{"only spaces", "   ", ErrName},
		{"three dots", "...", ErrName},
		{"254 bytes", strings.Repeat("n", 254), ErrName},
		{"254 bytes of directory", strings.Repeat("n", 254) + "/f", ErrName},
		{"254 bytes of 127 characters", strings.Repeat("ü", 127), ErrName},
		{"bad UTF-8", "a\xff", ErrName},
		{"surrogate in UTF-8", "a\xed\xa0\x80", ErrName},
		{"overlong slash", "a\xc0\xafb", ErrName},
		{"too deep", deep, ErrLimit},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, f := range []File{{Path: tc.path}, {Path: tc.path, Mode: fs.ModeDir}} {
				_, err := New([]File{{Path: "sound"}, f}, Options{})
				var pathErr *PathError
				if !errors.Is(err, tc.want) || !errors.As(err, &pathErr) || pathErr.Path != tc.path {
					t.Fatalf("%q: %v, want %v with the path", tc.path, err, tc.want)
				}
				if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }) {
					t.Errorf("the message is not printable: %q", err)
				}
			}
		})
	}
}

func TestTwins(t *testing.T) {
	for _, tc := range []struct{ first, second, reported string }{
		{"a", "a", "a"},
		{"a", "A", "a"},
		{"dir/file", "dir/FILE", "dir/file"},
		{"dir/file", "DIR/other", "dir"},
		{"file", "file/below", "file"},
		{"straße", "STRAßE", "straße"},
		{"k", "\u212a", "\u212a"}, // the Kelvin sign
		{"σ", "ς", "σ"},
	} {
		for _, files := range [][]File{{{Path: tc.first}, {Path: tc.second}}, {{Path: tc.second}, {Path: tc.first}}} {
			_, err := New(files, Options{})
			var pathErr *PathError
			if !errors.Is(err, ErrDuplicate) || !errors.As(err, &pathErr) || pathErr.Path != tc.reported {
				t.Errorf("%q beside %q: %v, want ErrDuplicate of %q", tc.first, tc.second, err, tc.reported)
			}
		}
	}
	dir := File{Path: "dir", Mode: fs.ModeDir}
	if _, err := New([]File{dir, dir}, Options{}); !errors.Is(err, ErrDuplicate) {
		t.Errorf("a directory stated twice: %v", err)
	}
	if _, err := New([]File{{Path: "dir/f"}, dir, {Path: "dir/g"}}, Options{}); err != nil {
		t.Errorf("a directory stated once and implied twice: %v", err)
	}
}

// TestTaken checks names that look odd and are fine: they reach the guest as given.
func TestTaken(t *testing.T) {
	var files []File
	for _, path := range []string{
		strings.Repeat("n", 253), strings.Repeat("ü", 126), strings.Repeat("d/", MaxDepth-1) + "f",
		"$(reboot)", "`id`", "a,b=c", "it's", "-rf", "~", "#x", "%00", "&", "{}", "[a]", "!", "@", "^", "+",
		"con", "aux.conf", "\u202egpj.exe", "é", "e\u0301", "\ufeffbom", "a b", " leading", ".x", "..x", "x..y",
	} {
		files = append(files, File{Path: path, Data: []byte(path)})
	}
	r := open(t, write(t, files, Options{}))
	diff(t, snapshot(t, r, true), want(files, true))
}

func TestRefusedEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		file File
		want error
	}{
		"symbolic link": {File{Mode: fs.ModeSymlink | 0o777}, ErrMode},
		"device":        {File{Mode: fs.ModeDevice}, ErrMode},
		"irregular":     {File{Mode: fs.ModeIrregular}, ErrMode},
		"negative size": {File{Size: -1, Open: func() (io.ReadCloser, error) { return nil, io.EOF }}, ErrLimit},
		"4 GiB":         {File{Size: 1 << 32, Open: func() (io.ReadCloser, error) { return nil, io.EOF }}, ErrLimit},
		"year 1899":     {File{ModTime: time.Date(1899, 12, 31, 0, 0, 0, 0, time.UTC)}, ErrLimit},
		"year 2156":     {File{ModTime: time.Date(2156, 1, 1, 0, 0, 0, 0, time.UTC)}, ErrLimit},
	} {
		tc.file.Path = "dir/entry"
		_, err := New([]File{tc.file}, Options{})
		var pathErr *PathError
		if !errors.Is(err, tc.want) || !errors.As(err, &pathErr) || pathErr.Path != "dir/entry" {
			t.Errorf("%s: %v, want %v", name, err, tc.want)
		}
	}
}

func TestLabels(t *testing.T) {
	for _, label := range []string{"", "cidata", "config-2", "CIDATA", "With Space", strings.Repeat("x", 32)} {
		r := open(t, write(t, nil, Options{Label: label}))
		if r.Label() != label || r.JolietLabel() != label[:min(len(label), 16)] {
			t.Errorf("%q is read as %q and %q", label, r.Label(), r.JolietLabel())
		}
	}
	for _, label := range []string{strings.Repeat("x", 33), "ü", "a\nb", "\x00", " a", "a ", "\x7f"} {
		if _, err := New(nil, Options{Label: label}); !errors.Is(err, ErrLabel) {
			t.Errorf("%q: %v, want ErrLabel", label, err)
		}
	}
	if _, err := New(nil, Options{ModTime: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)}); !errors.Is(err, ErrLimit) {
		t.Errorf("a volume of the year 2200: %v, want ErrLimit", err)
	}
}

// TestManyCollisions writes a directory whose plain and Joliet names all collide.
func TestManyCollisions(t *testing.T) {
	const n = 3000
	files := make([]File, n)
	for i := range files {
		files[i] = File{Path: fmt.Sprintf("%s %04d", strings.Repeat("näme", 20), i), Data: fmt.Append(nil, i)}
	}
	r := open(t, write(t, files, Options{}))
	for _, names := range []Names{RockRidge, Joliet, Plain} {
		view, err := r.Through(names)
		if err != nil {
			t.Fatal(err)
		}
		contents := make(map[string]bool)
		for path := range snapshot(t, view, false) {
			data, err := view.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			contents[string(data)] = true
			if names == Joliet && utf16Len(path) > jolietMax {
				t.Fatalf("Joliet name of %d units: %q", utf16Len(path), path)
			}
			if names == Plain && len(path) > plainMax+1 {
				t.Fatalf("plain name of %d characters: %q", len(path), path)
			}
		}
		if len(contents) != n {
			t.Errorf("%v names reach %d of %d files", names, len(contents), n)
		}
	}
}

// TestManyDirectories goes to the limit of the path table, whose parent numbers have 16 bits: ECMA-119 9.4.4.
func TestManyDirectories(t *testing.T) {
	dirs := make([]File, 1<<16-2) // and the root
	for i := range dirs {
		dirs[i] = File{Path: fmt.Sprint(i), Mode: fs.ModeDir}
	}
	if _, err := New(dirs, Options{}); err != nil {
		t.Errorf("65535 directories: %v", err)
	}
	if _, err := New(append(dirs, File{Path: "more", Mode: fs.ModeDir}), Options{}); !errors.Is(err, ErrLimit) {
		t.Errorf("65536 directories: %v, want ErrLimit", err)
	}
}

// TestOrder checks the order of the records, which some readers search by bisection: ECMA-119 9.3.
func TestOrder(t *testing.T) {
	image := write(t, []File{{Path: "a"}, {Path: "a-b"}, {Path: "a.b"}, {Path: "a.b-c"}, {Path: "ab"}, {Path: "b"}}, Options{})
	last := -1
	for _, id := range []string{"A.;1", "A.B;1", "A.B-C;1", "A-B.;1", "AB.;1", "B.;1"} {
		at := bytes.Index(image, append([]byte{byte(len(id))}, id...))
		if at <= last {
			t.Errorf("%s stands at %d, not behind %d", id, at, last)
		}
		last = at
	}
}

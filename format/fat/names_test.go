package fat

import (
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
	diff(t, snapshot(t, open(t, write(t, files, Options{}))), want(files))
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
		"2 GiB":         {File{Size: 1 << 31, Open: func() (io.ReadCloser, error) { return nil, io.EOF }}, ErrLimit},
		"year 1979":     {File{ModTime: time.Date(1979, 12, 31, 0, 0, 0, 0, time.UTC)}, ErrLimit},
		"year 2108":     {File{ModTime: time.Date(2108, 1, 1, 0, 0, 0, 0, time.UTC)}, ErrLimit},
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
	for label, stored := range map[string]string{
		"": "", "cidata": "CIDATA", "config-2": "CONFIG-2", "With Space": "WITH SPACE", "ELEVENCHARS": "ELEVENCHARS",
	} {
		if r := open(t, write(t, nil, Options{Label: label})); r.Label() != stored || r.vol.bootLabel != stored {
			t.Errorf("%q is read as %q, and %q from the boot sector", label, r.Label(), r.vol.bootLabel)
		}
	}
	for _, label := range []string{"TWELVE-CHARS", "ü", "a\nb", "\x00", " a", "a ", "a.b", "a/b", "a*", "\x7f"} {
		if _, err := New(nil, Options{Label: label}); !errors.Is(err, ErrLabel) {
			t.Errorf("%q: %v, want ErrLabel", label, err)
		}
	}
	if _, err := New(nil, Options{ModTime: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)}); !errors.Is(err, ErrLimit) {
		t.Errorf("a volume of the year 1970: %v, want ErrLimit", err)
	}
}

// TestAliases checks the 8.3 names, which old systems show, and that none occurs twice.
func TestAliases(t *testing.T) {
	kids := []*node{}
	for _, name := range []string{
		"meta-data", "user.txt", "README.TXT", "a.b.c", ".profile", "+++", "longname.html", "longname.htm", "longna~1.htm",
		"sp ace", "name", "NAME2.toolong", "ü",
	} {
		kids = append(kids, &node{name: name})
	}
	assignAliases(kids)
	want := map[string]string{
		"meta-data": "META-D~1   ", "user.txt": "USER    TXT", "README.TXT": "README  TXT", "a.b.c": "AB~1    C  ",
		".profile": "PROFIL~1   ", "+++": "___~1      ", "longname.html": "LONGNA~2HTM", "longname.htm": "LONGNAMEHTM",
		"longna~1.htm": "LONGNA~1HTM", "sp ace": "SPACE~1    ", "name": "NAME       ", "NAME2.toolong": "NAME2~1 TOO",
		"ü": "_~1        ",
	}
	for _, k := range kids {
		if string(k.alias[:]) != want[k.name] {
			t.Errorf("%q has the alias %q, want %q", k.name, k.alias[:], want[k.name])
		}
		if k.long == (k.name == "README.TXT") {
			t.Errorf("%q: long entries %v", k.name, k.long)
		}
	}

	many := make([]*node, 20000)
	seen := make(map[alias]bool)
	for i := range many {
		many[i] = &node{name: fmt.Sprintf("a long name %d", i)}
	}
	assignAliases(many)
	for _, k := range many {
		if seen[k.alias] {
			t.Fatalf("alias %q occurs twice", k.alias[:])
		}
		seen[k.alias] = true
	}
}

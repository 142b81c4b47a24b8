package netconfig

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// FuzzParse holds reader and encoders to each other: a document that is read without an error, and written in its own
// form without a word of loss, is the same network when it is read again, and the same bytes when written again.
func FuzzParse(f *testing.F) {
	for _, c := range lintCases() {
		f.Add([]byte(c.doc))
	}
	files, err := filepath.Glob("testdata/encode/*/*")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		data, _, _ = bytes.Cut(data, []byte("## "))
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, form, list := Parse("f", data)
		lint := Lint("f", data, Release{})
		for _, d := range append(slices.Clone(list), lint...) {
			if d.Severity == 0 || d.Code == 0 || d.Summary == "" {
				t.Fatalf("half a diagnostic: %+v", d)
			}
		}
		if out, list := ConvertForOpenStack("f", data); out == nil && !list.HasErrors() {
			t.Fatal("not converted, and no reason given")
		}
		if list.HasErrors() {
			return
		}
		if form != Detect(data) {
			t.Fatalf("read as %q, detected as %q", form, Detect(data))
		}
		if form == Disabled {
			form = V1
		}
		for _, other := range Formats() {
			fixedPoint(t, c, other, other == form)
		}
		for _, files := range []func(Config) ([]File, diag.List){EncodeKeyfiles, EncodeNetworkd} {
			written, _ := files(c)
			for _, f := range written {
				wellFormed(t, f)
			}
		}
	})
}

// wellFormed holds a file to lines that are sections or keys with a value, and its path to one directory below /etc.
func wellFormed(t *testing.T, f File) {
	if path.Clean(f.Path) != f.Path || strings.Count(f.Path, "/") != 4 {
		t.Fatalf("path %q", f.Path)
	}
	for line := range strings.Lines(string(f.Content)) {
		line = strings.TrimSuffix(line, "\n")
		key, value, pair := strings.Cut(line, "=")
		section := strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]")
		if line != "" && !section && (!pair || key == "" || value == "" || strings.ContainsAny(key, " [#;")) {
			t.Fatalf("%s has the line %q", f.Path, line)
		}
	}
}

// fixedPoint writes a network in a form and reads it back. own says that the network came from that form, which then
// must keep all of it unless it says otherwise.
func fixedPoint(t *testing.T, c Config, form Format, own bool) {
	first, list := Encode(form, c)
	if list.HasErrors() || form == ENI {
		return
	}
	again, _, reread := Parse("f", first)
	if reread.HasErrors() {
		t.Fatalf("what was written as %s cannot be read: %v\n%s", form, reread, first)
	}
	lost := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == CodeInexpressible })
	if own && !lost {
		if diff := cmp.Diff(canonical(c), canonical(again), compareConfigs); diff != "" {
			t.Fatalf("not the same network in %s (-read +reread):\n%s\n%s", form, diff, first)
		}
	}
	second, list := Encode(form, again)
	if list.HasErrors() {
		t.Fatalf("what was read from %s cannot be written again: %v\n%s", form, list, first)
	}
	if own && !lost && !bytes.Equal(first, second) {
		t.Fatalf("not the same bytes in %s:\n%s\n%s", form, first, second)
	}
}

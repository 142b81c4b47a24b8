// Package frontendtest is the conformance suite of the front ends. A front end's test says how to make one and gives a
// few documents; Run then holds it to what every front end promises: no value of a document is lost in silence, bad
// values are reported where they stand, secrets are never printed, and the same input gives the same machine.
package frontendtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// Config says what is tested.
type Config struct {
	// New makes a front end.
	New func() frontend.Frontend
	// Samples are inputs that the front end reads without errors. Together they should use whatever it knows.
	Samples []Sample
}

// Sample is one input.
type Sample struct {
	Name string
	// Files are the documents, each a file of its own.
	Files []File
	// Objects is a YAML stream of the Secrets, ConfigMaps and claims that the documents refer to.
	Objects string
	Options frontend.Options
	// Match is what Sniff must say of each definition; the zero value stands for frontend.Strong.
	Match frontend.Match
}

// File is one document. Only definitions are changed by the suite; files of other roles are given as they are.
type File struct {
	Name string
	Role frontend.Role
	Text string
}

// Run runs the suite. Samples are read side by side, and on when Run has returned, until the test ends.
func Run(t *testing.T, c Config) {
	t.Helper()
	if len(c.Samples) == 0 {
		t.Fatal("there are no samples")
	}
	t.Run("Sniff", func(t *testing.T) { sniff(t, c) })
	for _, s := range c.Samples {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			x := newSubject(t, c, s)
			t.Run("Read", x.testRead)
			t.Run("Deterministic", x.testDeterministic)
			if x.structured() {
				t.Run("Unknown", x.testUnknown)
				t.Run("EveryValueCounts", x.testEveryValueCounts)
				t.Run("WrongType", x.testWrongType)
				t.Run("Garbage", x.testGarbage)
			}
		})
	}
}

// result is what a front end makes of an input.
type result struct {
	machines []machine.Machine
	list     diag.List
	// dump is the machines as text, without what they were read from.
	dump string
}

// subject is a sample with what it gives.
type subject struct {
	frontend frontend.Frontend
	sample   Sample
	clean    result
	canaries []string
}

func newSubject(t *testing.T, c Config, s Sample) *subject {
	t.Helper()
	x := &subject{frontend: c.New(), sample: s}
	x.clean = x.read(t, s.Files)
	for _, m := range x.clean.machines {
		for _, secret := range machinetest.Secrets(m) {
			for line := range strings.Lines(secret) {
				// Shorter texts may well stand in a message by chance.
				if line = strings.TrimSpace(line); len(line) >= 8 {
					x.canaries = append(x.canaries, line)
				}
			}
		}
	}
	return x
}

// structured reports whether the sample has a definition whose values can be changed. Scripts have none.
func (x *subject) structured() bool {
	return slices.ContainsFunc(x.sample.Files, func(f File) bool {
		trees, _ := tree.Parse(f.Name, []byte(f.Text), bounded.Limits{})
		return f.Role == frontend.Definition && len(trees) == 1 && trees[0].Kind() == tree.Map
	})
}

// read reads files and checks what must hold for every reading.
func (x *subject) read(t *testing.T, files []File) result {
	t.Helper()
	src := frontend.Source{Resolver: objects(t, x.sample.Objects), Options: x.sample.Options}
	var kept [][]byte
	for _, f := range files {
		doc := frontend.Document{File: f.Name, Role: f.Role, Data: []byte(f.Text)}
		if f.Role == frontend.Definition {
			if trees, l := element.Documents(f.Name, doc.Data, bounded.Limits{}); len(trees) == 1 && !l.HasErrors() {
				doc.Tree = trees[0]
			}
		}
		src.Documents = append(src.Documents, doc)
		kept = append(kept, bytes.Clone(doc.Data))
	}
	var r result
	r.machines, r.list = x.frontend.Read(t.Context(), src)
	for i, doc := range src.Documents {
		if !bytes.Equal(doc.Data, kept[i]) {
			t.Errorf("%s: reading changed the data", doc.File)
		}
	}
	for i, m := range r.machines {
		r.dump += fmt.Sprintf("machine %d\n%s", i, machinetest.Dump(m))
	}
	x.checkPlaces(t, files, r)
	x.checkCanaries(t, r.list)
	return r
}

// objects makes a resolver of manifests.
func objects(t *testing.T, text string) *kubeobject.Manifest {
	t.Helper()
	trees, l := tree.Parse("objects.yaml", []byte(text), bounded.Limits{})
	found, _, more := kubeobject.Read(trees)
	m, last := kubeobject.NewManifest(found)
	if l = append(append(l, more...), last...); len(l) > 0 {
		t.Fatalf("the sample's objects: %v", l)
	}
	return m
}

// checkPlaces demands that places lie in the files of the input.
func (x *subject) checkPlaces(t *testing.T, files []File, r result) {
	t.Helper()
	lines := map[string][]string{"objects.yaml": strings.Split(x.sample.Objects, "\n")}
	for _, f := range files {
		lines[f.Name] = strings.Split(f.Text, "\n")
	}
	check := func(what string, p diag.Range) {
		text, known := lines[p.File]
		switch {
		case p.IsZero():
		case !known:
			t.Errorf("%s: there is no file %q", what, p.File)
		case p.Start.Line < 1 || p.Start.Line > len(text):
			t.Errorf("%s: %s is outside of the file, which has %d lines", what, p, len(text))
		case p.Start.Column < 1 || p.Start.Column > len([]rune(text[p.Start.Line-1]))+1:
			t.Errorf("%s: %s is outside of its line", what, p)
		case p.End.Line > len(text):
			t.Errorf("%s: %s ends in line %d of a file that has %d", what, p, p.End.Line, len(text))
		}
	}
	for _, d := range r.list {
		check(d.Error(), d.Range)
		for _, related := range d.Related {
			check(d.Error()+": "+related.Message, related.Range)
		}
		if d.Severity < diag.Note || d.Severity > diag.Error || d.Summary == "" || d.Code == 0 {
			t.Errorf("incomplete diagnostic: %+v", d)
		}
	}
	for _, m := range r.machines {
		for path, p := range m.Places {
			check("place of "+path, p)
		}
	}
}

// checkCanaries demands that no diagnostic shows a secret of the sample.
func (x *subject) checkCanaries(t *testing.T, l diag.List) {
	t.Helper()
	if len(l) == 0 {
		return
	}
	text := fmt.Sprintf("%s %+v %s", l.Error(), l, must(json.Marshal(l)))
	for _, c := range x.canaries {
		if strings.Contains(text, c) {
			t.Errorf("a diagnostic shows a secret: %v", l)
			return
		}
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

func (x *subject) testRead(t *testing.T) {
	if x.clean.list.HasErrors() {
		t.Errorf("the sample has errors: %v", x.clean.list)
	}
	if len(x.clean.machines) == 0 {
		t.Error("the sample gives no machine")
	}
	for i, m := range x.clean.machines {
		if m.Name == "" {
			t.Errorf("machine %d has no name", i)
		}
		if m.Document.Form != x.frontend.Name() || m.Document.Text.IsZero() {
			t.Errorf("machine %d does not carry its document: form %q, %d bytes", i, m.Document.Form, m.Document.Text.Len())
		}
		for _, u := range machine.Used(m) {
			if m.Places.Find(u.Path).IsZero() {
				t.Errorf("machine %d: %s has no place", i, u.Path)
			}
		}
	}
}

func (x *subject) testDeterministic(t *testing.T) {
	for range 3 {
		again := x.read(t, x.sample.Files)
		if again.dump != x.clean.dump {
			t.Fatalf("two readings differ:\n%s\n%s", x.clean.dump, again.dump)
		}
		if a, b := fmt.Sprint(x.clean.list), fmt.Sprint(again.list); a != b {
			t.Fatalf("the diagnostics of two readings differ:\n%s\n%s", a, b)
		}
	}
	if x.frontend.Name() == "" || strings.ContainsAny(x.frontend.Name(), " \t\n/") {
		t.Errorf("bad name %q", x.frontend.Name())
	}
}

// sniff demands that every definition is recognised, and that no input makes Sniff fail or slow.
func sniff(t *testing.T, c Config) {
	f := c.New()
	var heads [][]byte
	for _, s := range c.Samples {
		want := s.Match
		if want == frontend.No {
			want = frontend.Strong
		}
		for _, file := range s.Files {
			if file.Role == frontend.Definition {
				if got := f.Sniff([]byte(file.Text)); got != want {
					t.Errorf("%s, %s: got match %d, want %d", s.Name, file.Name, got, want)
				}
			}
			heads = append(heads, []byte(file.Text))
		}
	}
	for _, other := range []string{"", "\x00", "---\n", "hello: world\n", "%PDF-1.7", "\x7fELF", "{", "[[[[", "<html>", "apiVersion", "kind:"} {
		if got := f.Sniff([]byte(other)); got == frontend.Strong {
			t.Errorf("%q is taken for a document of the form", other)
		}
	}
	for _, head := range heads {
		step := max(1, len(head)/300)
		for cut := 0; cut < len(head); cut += step {
			f.Sniff(head[:cut])
			f.Sniff(append(slices.Clone(head[cut:]), 0xff, 0xfe))
		}
	}
	hostile := [][]byte{bytes.Repeat([]byte("apiVersion: "), 90_000), bytes.Repeat([]byte("{\"a\":"), 200_000),
		bytes.Repeat([]byte("\n"), 1<<20), bytes.Repeat([]byte{0xff}, 1<<20), bytes.Repeat([]byte("a: &a [*a]\n"), 90_000)}
	start := time.Now()
	for _, h := range hostile {
		f.Sniff(h)
	}
	// Linear work takes milliseconds here, quadratic work minutes.
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("sniffing 5 MiB took %v", d)
	}
}

// testGarbage demands that whatever is broken in a whole file is an error and no panic.
func (x *subject) testGarbage(t *testing.T) {
	for _, text := range []string{"", "\x00", "null", "[]", "[1, 2]", "text", "{", "a: b: c", "- x\n- y\n", "---\n---\n"} {
		files := slices.Clone(x.sample.Files)
		for i := range files {
			if files[i].Role == frontend.Definition {
				files[i].Text = text
			}
		}
		if r := x.read(t, files); len(r.machines) > 0 && !r.list.HasErrors() {
			t.Errorf("%q gives a machine and no error", text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// A reading that is cancelled may end early, but it ends.
	x.frontend.Read(ctx, frontend.Source{Resolver: objects(t, x.sample.Objects)})
}

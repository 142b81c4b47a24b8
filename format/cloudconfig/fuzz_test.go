package cloudconfig

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
)

// seeds are documents of all styles for the fuzzers.
var seeds = []string{
	"#cloud-config\nusers:\n  - default\n  - name: a # note\n    sudo: [ALL]\n",
	"#cloud-config\na: |\n  b\n   c\n\nd: >-\n  e\n  f\n", "#cloud-config\n? long\n: b\n", "#cloud-config\nx: &a [1, *b]\n",
	"#cloud-config\nx: &a {b: 1}\ny: {<<: *a, c: 2}\nz: [*a, *a]\n", "#cloud-config\n# head\n\n# more\na: # line\n  - b # c\n  # foot\n\n# end\n",
	"a: !!binary aGk=\nb: !!str 0644\nc: !!set {d, e}\n", "a: 'it''s'\nb: \"\\x41\\u2028\\\"\"\n", "{a: {b: [c, {d: e}]}, f: }\n",
	"- - - a\n", "a:\n- b\n-\n  - c\n  -\n    d: e\n", "#cloud-config\n\ta: b\n", "a: \u0085b\nc: \ufeff\n", "---\na: 1\n...\n", "a: 1\n---\nb: 2\n",
	"## template: jinja\n#cloud-config\na: {{ b }}\n", "#cloud-config-archive\n- a\n- {content: b}\n", "merge_how: list(append)+dict()\na: [1]\n",
	"a: {b: {c: null}}\n", "yes: 1\non: 2\n", "a: 12:30:45\nb: 2024-01-01 10:00:00\nc: .5\n", "a: \"\"\nb: ''\nc: ~\n", "\"a\\nb\": c\n? |\n  x\n: y\n",
	"a: # c\n  # d\n  b: # e\n    c\n", "a: [b, # c\n  d]\n", "k: 'a\n\n  b'\nl: \"a\\\n  b\"\nm: a\n  b\n", "a: |+\n  b\n\n\nc: d\n",
	"a:\n  # x\n  - # y\n    b: c # z\n", "a: *b\n", "0: a\n0.0: b\n", "a: !foo b\n", "a: {{ .Values.b }}\n",
}

// FuzzParse reads anything. What is read is changed, written and read again, and must have the same values; what was
// not changed must be written as it was. Every diagnostic has a place.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		d, l := Parse(diag.File("f"), data)
		if took := time.Since(start); len(data) < 1<<16 && took > 20*time.Second {
			t.Fatalf("%d bytes took %s", len(data), took)
		}
		if (d == nil) != l.HasErrors() {
			t.Fatalf("document %v with %v", d, l)
		}
		for _, x := range l {
			if x.Range.Start.Line < 1 || x.Summary == "" {
				t.Fatalf("a diagnostic without place or words: %s", x.Error())
			}
		}
		if d == nil {
			return
		}
		if same, err := d.Encode(); err != nil || d.HasHeader() && !bytes.Equal(same, data) {
			t.Fatalf("%q was written as %q, %v", data, same, err)
		}
		changed, err := d.With("added by the test", mustValue(t, "x: y"))
		if err != nil {
			t.Fatal(err)
		}
		once, err := changed.Encode()
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		again, l := Parse(diag.File("g"), once)
		if again == nil {
			t.Fatalf("%q became %q: %v", data, once, l)
		}
		if form(t, again.Root()) != form(t, changed.Root()) {
			t.Fatalf("%q became %q:\n%s\n%s", data, once, form(t, changed.Root()), form(t, again.Root()))
		}
		twice, err := EncodeNode(again.Root())
		if err != nil {
			t.Fatal(err)
		}
		if last, l := Parse(diag.File("h"), append([]byte(Header+"\n"), twice...)); last == nil || form(t, last.Root()) != form(t, again.Root()) {
			t.Fatalf("%q became %q and then %q: %v", data, once, twice, l)
		}
	})
}

// FuzzMerge merges any two documents in any way: it must end, give the same twice, leave its inputs alone, and give a
// tree that can be written.
func FuzzMerge(f *testing.F) {
	for i, s := range seeds {
		f.Add(s, seeds[(i+1)%len(seeds)], "list(append)+dict(recurse_array)+str(append)")
	}
	for _, c := range mergeCases {
		f.Add(c.base, c.over, c.how)
	}
	f.Fuzz(func(t *testing.T, base, over, how string) {
		b, _ := Parse(diag.File("b"), []byte(base))
		o, _ := Parse(diag.File("o"), []byte(over))
		if b == nil || o == nil {
			return
		}
		before := form(t, b.Root()) + form(t, o.Root())
		if h, err := ParseHow(how); err == nil {
			first, err1 := Merge(b.Root(), o.Root(), h)
			second, err2 := Merge(b.Root(), o.Root(), h)
			if fmt.Sprint(err1) != fmt.Sprint(err2) {
				t.Fatalf("first %v, then %v", err1, err2)
			}
			if err1 == nil {
				x, errX := EncodeNode(first)
				y, errY := EncodeNode(second)
				if errX != nil || errY != nil || !bytes.Equal(x, y) {
					t.Fatalf("first %q, %v, then %q, %v", x, errX, y, errY)
				}
			}
		}
		merged, l := MergeVirtlet(b, o)
		if l.HasErrors() {
			t.Fatal(l)
		}
		if _, err := merged.Encode(); err != nil {
			t.Fatal(err)
		}
		if _, l := MergeParts(Part{b, ""}, Part{o, how}); len(l) > 2 {
			t.Fatal(l)
		}
		if after := form(t, b.Root()) + form(t, o.Root()); after != before {
			t.Fatalf("the inputs changed from %s to %s", before, after)
		}
	})
}

// FuzzRecognise tells the kind of anything. White space before it and the case of its first line make no difference.
func FuzzRecognise(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	for _, p := range prefixes {
		f.Add([]byte(p.text + "\nrest\n"))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		kind := Recognise(data)
		if kind.String() == "" || kind.Describe() == "" {
			t.Fatalf("kind %d has no name", kind)
		}
		if JinjaKind(data) > Base64 {
			t.Fatal("no such kind")
		}
		if kind == Gzip || kind == MIME {
			return
		}
		text := RecogniseText(data)
		if more := RecogniseText(append([]byte(" \n\t"), data...)); more != text {
			t.Fatalf("%s became %s behind white space", text, more)
		}
		if lower := RecogniseText(bytes.ToLower(data)); text < Ignition && text > Empty && lower != text {
			t.Fatalf("%s became %s in lower case", text, lower)
		}
	})
}

// FuzzValue writes any string as a key and as a value and reads it back.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"", " ", "yes", "0644", "a: b", "a\nb\n", "\n", "=", "<<", "\u0085", "\x00", "- a", "12:30:45", "a #b", "'", "\"\\", "? ", "\t", "é", "\ufeff", "a\n\n", "|", "1e3", "a\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := Value(Mapping{{s, s}, {"list" + s, []any{s, Mapping{{s, []string{s}}}}}})
		if err != nil {
			if strings.ToValidUTF8(s, "") == s {
				t.Fatal(err)
			}
			return
		}
		data, err := EncodeNode(v)
		if err != nil {
			t.Fatal(err)
		}
		d, l := Parse(diag.File("f"), append([]byte(Header+"\n"), data...))
		if d == nil {
			t.Fatalf("%q: %v", data, l)
		}
		if form(t, d.Root()) != form(t, v) {
			t.Fatalf("%q became %q", s, data)
		}
	})
}

// large is a document of 10 KB such as real machines have.
func large() []byte {
	var b strings.Builder
	b.WriteString("#cloud-config\nusers:\n  - default\nruncmd:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - [sh, -c, 'echo %d > /tmp/x']\n", i)
	}
	b.WriteString("write_files:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  - path: /etc/file%d\n    permissions: '0644'\n    content: |\n      line one\n      line two\n", i)
	}
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	data := large()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if d, l := Parse(diag.File("f"), data); d == nil {
			b.Fatal(l)
		}
	}
}

func BenchmarkMergeAndEncode(b *testing.B) {
	data := large()
	base, over := parseText(b, string(data)), parseText(b, string(data))
	how := AppendHow()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		n, err := Merge(base.Root(), over.Root(), how)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := FromNode(n).Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

//go:build conformance

package cloudconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/internal/judge"
)

// same compares two values of Python with their types and their order.
func same(a, b judge.Value) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// load encodes trees and returns what PyYAML reads.
func load(t *testing.T, trees []*yaml.Node) []judge.Value {
	t.Helper()
	docs := make([][]byte, len(trees))
	for i, n := range trees {
		data, err := EncodeNode(n)
		if err != nil {
			t.Fatal(err)
		}
		docs[i] = data
	}
	return judge.PyYAML(t, docs)
}

// hostile makes texts that YAML readers take for something else, or choke on.
func hostile(r *rand.Rand) string {
	words := []string{"yes", "No", "on", "y", "~", "null", "=", "<<", "0x_", "0b", "1_0", "0o7", "08", "1e3", "1.", ".5", "-.inf", ".NaN",
		"12:30:45", "190:20:30", "2024-01-02", "2001-1-1 1:1:1", "- a", "? a", ": a", "a: b", "a #b", "#", "!x", "&a", "*a", "@", "`", "%",
		"{", "}", "[", "]", ",", "|", ">", "'", "\"", "\\", "---", "...", "--- a", " ", "\t", "\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029",
		"\ufeff", "\ufffe", "\u00a0", "\x00", "\x07", "\x1b", "\x7f", "\u009f", "\U0001f600", "é", "a", "B", "0", "1", "-", "+", ".", ":",
		"_", "/", "\ud7ff", "\ue000", "\U0010ffff", "key", "ssh-rsa AAAA", "#!/bin/sh\n", "#cloud-config\n", "{{ x }}", "${x}", "True", "0777"}
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(words[r.IntN(len(words))])
		if r.IntN(4) == 0 {
			b.WriteRune(rune(r.IntN(0x250)))
		}
	}
	return b.String()
}

// TestStringsReachPyYAML writes strings as values, keys and items, in all contexts that the encoder has.
func TestStringsReachPyYAML(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const docs, perDoc = 60, 400
	var trees []*yaml.Node
	var want [][]string
	for d := range docs {
		list := &yaml.Node{Kind: yaml.SequenceNode}
		var texts []string
		for range perDoc {
			s := hostile(r)
			texts = append(texts, s)
			n := mustValue(t, s)
			if d%4 == 3 { // a style that suits some of the texts only
				n.Style = []yaml.Style{yaml.LiteralStyle, yaml.FoldedStyle, yaml.SingleQuotedStyle, yaml.DoubleQuotedStyle}[r.IntN(4)]
			}
			switch d % 3 {
			case 0:
			case 1:
				n = &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{n, mustValue(t, 1)}}
			case 2:
				n = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{mustValue(t, "k"), n}}
			}
			list.Content = append(list.Content, n)
		}
		trees, want = append(trees, list), append(want, texts)
	}
	checked := 0
	for d, v := range load(t, trees) {
		if v.Tag != "list" || len(v.Items) != perDoc {
			t.Fatalf("document %d: PyYAML reads %s %s", d, v.Tag, v.Text)
		}
		for i, item := range v.Items {
			if item.Tag == "map" {
				item = item.Items[(d%3)-1]
			}
			if item.Tag != "str" || item.Text != want[d][i] {
				t.Errorf("%q: PyYAML reads %s %q", want[d][i], item.Tag, item.Text)
			}
			checked++
		}
	}
	if checked < 20_000 {
		t.Errorf("only %d strings were checked", checked)
	}
	t.Logf("%d strings agree", checked)
}

// TestPlainScalarsAsPyYAML compares the types and values of unquoted scalars.
func TestPlainScalarsAsPyYAML(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	alphabet := []string{"0", "1", "5", "7", "9", "00", "12", "60", "_", ".", ":", "-", "+", "e", "E", "x", "b", "o", "0x", "0b", "inf", "nan", "T",
		"Z", " ", "2024-02-31", "2024-01-02", "1:30", "yes", "a", "f", "12:30:45", "1999-1-1"}
	var docs [][]byte
	var texts []string
	for len(texts) < 21_000 {
		var b strings.Builder
		for range 1 + r.IntN(5) {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		s := strings.TrimSpace(b.String())
		if !plainFits(s, false) {
			continue
		}
		texts = append(texts, s)
		docs = append(docs, []byte("k: "+s+"\n"))
	}
	names := map[Type]string{Null: "null", Bool: "bool", Int: "int", Float: "float", String: "str"}
	counts := map[Type]int{}
	for i, v := range judge.PyYAML(t, docs) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Value: texts[i]}
		mine := TypeOf(n)
		counts[mine]++
		got := v.Get("k")
		switch {
		case v.IsError() || mine == Invalid:
			if v.IsError() != (mine == Invalid) {
				t.Errorf("%q: PyYAML says %s %s, we say %s", texts[i], v.Tag, v.Text, mine)
			}
		case mine == Time:
			if got.Tag != "date" && got.Tag != "datetime" {
				t.Errorf("%q: PyYAML says %s, we say %s", texts[i], got.Tag, mine)
			}
		case got.Tag != names[mine]:
			t.Errorf("%q: PyYAML says %s, we say %s", texts[i], got.Tag, mine)
		case mine == Int:
			if x, ok := Integer(n); !ok || x.String() != got.Text {
				t.Errorf("%q: PyYAML says %s, we say %s", texts[i], got.Text, x)
			}
		case mine == Float:
			x, err := parseFloat(texts[i])
			var y float64
			if _, scan := fmt.Sscan(strings.Replace(got.Text, "inf", "Inf", 1), &y); err != nil || scan != nil || x != y && (x == x || y == y) {
				t.Errorf("%q: PyYAML says %s, we say %g", texts[i], got.Text, x)
			}
		}
	}
	t.Logf("%d scalars agree: %v", len(texts), counts)
}

// TestChangedDocumentsKeepTheirValues adds a key to documents in every style of YAML and to cloud-init's own
// examples, and demands that PyYAML reads all else as before.
func TestChangedDocumentsKeepTheirValues(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var before, after [][]byte
	add := func(data []byte) bool {
		d, _ := Parse(diag.File("f"), data)
		if d == nil || d.IsEmpty() {
			return false
		}
		changed, err := d.With("added-by-the-test", mustValue(t, 1))
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		encoded, err := changed.Encode()
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		before, after = append(before, data), append(after, encoded)
		return true
	}
	generated := 0
	for range 3000 {
		if add(randomYAML(r)) {
			generated++
		}
	}
	if generated < 1500 {
		t.Errorf("only %d of the generated documents parse", generated)
	}
	for _, release := range judge.Releases(t) {
		dir, _ := release.ExampleDocs()
		files, _ := filepath.Glob(filepath.Join(dir, "cloud-config*"))
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err == nil && strings.HasSuffix(name, ".gz") {
				data, err = bounded.Gunzip(data, 1<<20)
			}
			if err != nil {
				t.Fatal(err)
			}
			if Recognise(data) == CloudConfig {
				add(data)
			}
		}
	}
	old, changed := judge.PyYAML(t, before), judge.PyYAML(t, after)
	for i, v := range old {
		w := changed[i]
		if w.Tag == "map" && len(w.Items) >= 2 {
			w.Items = w.Items[:len(w.Items)-2]
		}
		if !same(v, w) {
			a, _ := json.Marshal(v)
			b, _ := json.Marshal(w)
			t.Errorf("before:\n%s\nafter:\n%s\nPyYAML: %s\nand now %s", before[i], after[i], a, b)
		}
	}
	t.Logf("%d documents keep their values", len(before))
}

// TestParseAcceptsWhatPyYAMLAccepts compares the verdicts on documents that may be broken.
func TestParseAcceptsWhatPyYAMLAccepts(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	var docs [][]byte
	for range 3000 {
		data := randomYAML(r)
		if r.IntN(3) == 0 { // break it, perhaps
			at := len(Header) + 1 + r.IntN(len(data)-len(Header)-1)
			junk := []string{"\t", ":", "]", "{", "'", "\"", "\n---\n", "*x", "!foo ", "\x7f", " ", "-", "\n", "%", "=", "&", "?"}[r.IntN(17)]
			data = append(data[:at:at], append([]byte(junk), data[at:]...)...)
		}
		docs = append(docs, data)
	}
	refused := 0
	for i, v := range judge.PyYAML(t, docs) {
		_, l := Parse(diag.File("f"), docs[i])
		theirs := v.Tag == "map" || v.Tag == "null"
		// We refuse what PyYAML swallows: equal keys, a collection inside itself, an anchor that ends before a colon.
		stricter := len(l) > 0 && (l[0].Code == bounded.CodeDuplicateKey || l[0].Code == CodeSameKey ||
			strings.Contains(l[0].Summary, "inside its own anchor") || strings.Contains(l[0].Summary, "name of an anchor"))
		if l.HasErrors() {
			refused++
		}
		if theirs == l.HasErrors() && !stricter {
			t.Errorf("PyYAML: %s %s; we: %v\n%s", v.Tag, v.Text, l, docs[i])
		}
	}
	t.Logf("%d documents, %d of them refused", len(docs), refused)
}

// randomYAML writes a mapping in YAML's many styles, sometimes in ways that no reader accepts.
func randomYAML(r *rand.Rand) []byte {
	w := &writer{Rand: r}
	w.WriteString("#cloud-config\n")
	if r.IntN(8) == 0 {
		w.WriteString("---\n")
	}
	w.mapping(0, 0)
	return w.Bytes()
}

type writer struct {
	*rand.Rand
	bytes.Buffer
	keys    int
	anchors int
}

func (w *writer) pick(words ...string) string { return words[w.IntN(len(words))] }

func (w *writer) comment(indent int) {
	if w.IntN(5) == 0 {
		fmt.Fprintf(w, "%*s# %s\n", indent, "", w.pick("note", "a: b", "- x", "it's \"so\"", "|"))
		if w.IntN(3) == 0 {
			w.WriteString("\n")
		}
	}
}

func (w *writer) mapping(indent, depth int) {
	for range 1 + w.IntN(4) {
		w.comment(indent)
		w.keys++
		key := w.pick("k", `"k `, "'k:", "k k", "5", "on")
		key += fmt.Sprint(w.keys)
		switch key[0] {
		case '"', '\'':
			key += key[:1]
		}
		fmt.Fprintf(w, "%*s%s:", indent, "", key)
		w.value(indent, depth)
	}
}

// value writes what follows a colon or a dash, to the end of the line and below.
func (w *writer) value(indent, depth int) {
	inner := indent + 1 + w.IntN(3)
	if w.IntN(10) == 0 {
		w.anchors++
		fmt.Fprintf(w, " &a%d", w.anchors)
	}
	kind := w.IntN(10)
	if depth > 3 {
		kind = w.IntN(6)
	}
	switch kind {
	case 0:
		w.WriteString(" " + w.pick("|", ">", "|-", ">-", "|+", ">+") + w.pick("", "", " # c") + "\n")
		for range 1 + w.IntN(3) {
			fmt.Fprintf(w, "%*s%s\n", inner, "", w.pick("text", "# no comment", "a: b", "  more", "tab\tbed", "", "trailing  "))
		}
		fmt.Fprintf(w, "%*send\n%s", inner, "", w.pick("", "", "\n", "\n\n"))
	case 1:
		w.WriteString(" " + w.flow(0) + w.pick("", " # c") + "\n")
	case 2:
		if w.anchors > 0 && !bytes.HasSuffix(w.Bytes(), []byte(fmt.Sprint(w.anchors))) {
			fmt.Fprintf(w, " *a%d\n", 1+w.IntN(w.anchors))
			return
		}
		w.WriteString(" x\n")
	case 3, 4, 5:
		w.WriteString(" " + w.scalar() + w.pick("", "", " # c") + "\n")
	case 6, 7:
		w.WriteString(w.pick("", "", " # c") + "\n")
		w.mapping(inner, depth+1)
	default:
		w.WriteString("\n")
		for range 1 + w.IntN(3) {
			w.comment(inner)
			fmt.Fprintf(w, "%*s-", inner, "")
			w.value(inner, depth+1)
		}
	}
}

func (w *writer) scalar() string {
	return w.pick("text", "0644", "yes", "'it''s'", `"a\tb\x41\u00e9"`, "~", "", "12:30:45", "1_000", "two words", "'#x'", `"two
    lines"`, "plain\n     folded", "2024-01-02", "!!str 5", "!!binary aGVsbG8=", "3.10", ".5", "http://x/y?z=1", "a:b", "-x", "é", "\u2028x",
		"!!int '7'", `""`, "''", "'yes'", "0x1F", "-.inf", "!!set {a, b}", "!!float 1", "|x", "- a", "\"x\u2028y\"", "'x\u0085y'")
}

func (w *writer) flow(depth int) string {
	item := func() string {
		if depth < 2 && w.IntN(3) == 0 {
			return w.flow(depth + 1)
		}
		return w.pick("a", "'b c'", `"d,e"`, "5", "yes", "http://x", "~", "-l", "a b", `"{"`)
	}
	if w.IntN(2) == 0 {
		return "[" + item() + w.pick("", ", "+item(), ",") + "]"
	}
	return "{" + w.pick("x", "'y z'", "5") + ": " + item() + w.pick("", ", other: "+item(), ", empty: ") + "}"
}

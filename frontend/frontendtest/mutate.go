package frontendtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
)

// probe is a text that no sample holds.
const probe = "zqprobezq"

// mutate changes every node of every definition in turn and calls verify with the files and a function that says which
// lines, counted from 1, the changed value takes up. It parses the file, and most changes show in the machine already.
func (x *subject) mutate(t *testing.T, apply func(n *yaml.Node) bool, verify func(t *testing.T, path string, files []File, changed func() span)) {
	t.Helper()
	count := 0
	for at, f := range x.sample.Files {
		if f.Role != frontend.Definition {
			continue
		}
		root := parse(t, f.Text)
		for i, place := range walk(root.Content[0], "", nil) {
			before := *place.node
			before.Content = slices.Clone(before.Content)
			if !apply(place.node) {
				continue
			}
			text, err := yaml.Dump(root)
			if err != nil {
				t.Fatalf("%s: the changed document cannot be written: %v", place.path, err)
			}
			*place.node = before
			files := slices.Clone(x.sample.Files)
			files[at].Text = string(text)
			count++
			verify(t, place.path, files, func() span { return find(t, f.Name, string(text), i) })
		}
	}
	if count == 0 {
		t.Error("nothing of the sample could be changed")
	}
}

// located is a value of a document with its data path.
type located struct {
	path string
	node *yaml.Node
}

// walk lists a value and those below it, keys left out.
func walk(n *yaml.Node, path string, out []located) []located {
	out = append(out, located{path, n})
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			out = walk(n.Content[i+1], strings.TrimPrefix(path+"."+n.Content[i].Value, "."), out)
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			out = walk(c, path+"["+strconv.Itoa(i)+"]", out)
		}
	}
	return out
}

func parse(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var root yaml.Node
	if err := yaml.Load([]byte(text), &root); err != nil || len(root.Content) != 1 {
		t.Fatalf("the document cannot be changed: %v", err)
	}
	return &root
}

// span is where a value stands: from the line of its key or dash to its last line.
type span struct {
	file        string
	first, last int
}

// holds says whether a diagnostic's range begins in the span, or is a stretch that covers all of it without being the
// whole document, which says nothing about a place.
func (s span) holds(r diag.Range) bool {
	begins := r.Start.Line >= s.first && r.Start.Line <= s.last
	covers := r.Start.Line > 1 && r.Start.Line <= s.first && r.End.Line >= s.last
	return r.File == s.file && (begins || covers)
}

// find returns the lines of the value with index i. Values before it in the order of walk are the same as before the
// change.
func find(t *testing.T, file, text string, i int) span {
	t.Helper()
	n := walk(parse(t, text).Content[0], "", nil)[i].node
	s := span{file, n.Line, n.Line}
	for _, below := range walk(n, "", nil) {
		s.last = max(s.last, below.node.Line+strings.Count(below.node.Value, "\n"))
	}
	if n.Kind != yaml.ScalarNode && s.first > 1 {
		// A collection begins in the line behind its key.
		s.first--
	}
	return s
}

// reported says whether a diagnostic or a further place of one stands in the lines of a span.
func reported(l diag.List, s span) bool {
	return slices.ContainsFunc(l, func(d diag.Diagnostic) bool {
		return s.holds(d.Range) || slices.ContainsFunc(d.Related, func(r diag.Related) bool { return s.holds(r.Range) })
	})
}

// testUnknown adds a field to every mapping and an item to every list. It must show in the machine, or be reported
// where it stands.
func (x *subject) testUnknown(t *testing.T) {
	add := func(n *yaml.Node) bool {
		value := &yaml.Node{Kind: yaml.ScalarNode, Value: probe}
		switch n.Kind {
		case yaml.MappingNode:
			n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: probe}, value)
		case yaml.SequenceNode:
			n.Content = append(n.Content, value)
		default:
			return false
		}
		n.Style &^= yaml.FlowStyle
		return true
	}
	x.mutate(t, add, func(t *testing.T, path string, files []File, changed func() span) {
		r := x.read(t, files)
		if !strings.Contains(r.dump, probe) && !reported(r.list, probeLines(files, changed())) {
			t.Errorf("what is added to %q is lost in silence; diagnostics: %v", path, r.list)
		}
	})
}

// probeLines narrows a span to the lines that hold the probe.
func probeLines(files []File, s span) span {
	for _, f := range files {
		if f.Name != s.file {
			continue
		}
		lines := strings.Split(f.Text, "\n")
		for i := s.first - 1; i < len(lines) && i >= 0; i++ {
			if strings.Contains(lines[i], probe) {
				return span{s.file, i + 1, i + 1}
			}
		}
	}
	return s
}

// testEveryValueCounts changes every single value. The machine must change with it, or a diagnostic must stand there.
func (x *subject) testEveryValueCounts(t *testing.T) {
	change := func(n *yaml.Node) bool {
		if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
			return false
		}
		switch n.ShortTag() {
		case "!!bool":
			n.Value = strconv.FormatBool(!strings.EqualFold(n.Value, "true"))
		case "!!int":
			n.Value += "1"
		default:
			n.Value = another(n.Value)
		}
		return true
	}
	x.mutate(t, change, func(t *testing.T, path string, files []File, changed func() span) {
		r := x.read(t, files)
		if r.dump == x.clean.dump && !reported(r.list, changed()) {
			t.Errorf("the value of %q does not count: another one gives the same machine and no diagnostic there", path)
		}
	})
}

// another returns a text of the same kind that differs.
func another(s string) string {
	if i := strings.LastIndexFunc(s, func(r rune) bool { return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' }); i >= 0 {
		next := s[i] + 1
		switch s[i] {
		case '9':
			next = '1'
		case 'z':
			next = 'b'
		case 'f':
			next = 'a' // stays a hexadecimal digit
		}
		return s[:i] + string(next) + s[i+1:]
	}
	return s + "x"
}

// testWrongType puts a value of each other type in the place of every value. Whatever the front end does not pass on
// must be reported where it stands.
func (x *subject) testWrongType(t *testing.T) {
	wrong := map[string]func() yaml.Node{
		"a text":        func() yaml.Node { return yaml.Node{Kind: yaml.ScalarNode, Value: probe} },
		"a long number": func() yaml.Node { return yaml.Node{Kind: yaml.ScalarNode, Value: "987654321987654321987"} },
		"a list": func() yaml.Node {
			return yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: probe}}}
		},
		"a mapping": func() yaml.Node {
			return yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{{Kind: yaml.ScalarNode, Value: probe}, {Kind: yaml.ScalarNode, Value: probe}}}
		},
	}
	for _, name := range []string{"a text", "a long number", "a list", "a mapping"} {
		replace := func(n *yaml.Node) bool {
			w := wrong[name]()
			if w.Kind == n.Kind && n.Kind != yaml.ScalarNode || name == "a long number" && n.Kind != yaml.ScalarNode {
				return false
			}
			*n = w
			return true
		}
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			x.mutate(t, replace, func(t *testing.T, path string, files []File, changed func() span) {
				r := x.read(t, files)
				carried := strings.Contains(r.dump, probe) || strings.Contains(r.dump, "987654321987654321987")
				// A value that sniffing rests on may turn the file into one of no form, which is an error of the whole.
				if !carried && !reported(r.list, changed()) && len(r.machines) > 0 {
					t.Errorf("%s in the place of %q is lost in silence; diagnostics: %v", name, path, fmt.Sprint(r.list))
				}
				if len(r.machines) == 0 && len(r.list) == 0 {
					t.Errorf("%s in the place of %q makes the machine vanish", name, path)
				}
			})
		})
	}
}

// Package tree reads YAML and JSON documents as trees of values that know their place, and that notice which of them
// nobody has read. A front end walks a document through it and asks at the end what it left out, so that nothing a
// user wrote is lost in silence.
package tree

import (
	"bytes"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Value is a handle on a value of a document. The zero Value is absent: it has no fields and no items, and reading it
// gives zero values without complaint. Handles are cheap to copy.
type Value struct {
	node *yaml.Node
	doc  *document
	path string
	// parent is the mapping that lacks an absent value.
	parent *yaml.Node
}

// document is what the values of one document share.
type document struct {
	file  string
	lines [][]byte
	read  map[*yaml.Node]bool
	// starts are where the lines of texts begin, for documents of another format.
	starts map[*yaml.Node][]diag.Pos
}

// Kind is the shape of a value.
type Kind int

// The kinds of values. Absent is the kind of the zero Value.
const (
	Absent Kind = iota
	Null
	Scalar
	List
	Map
)

// String returns the kind as messages call it.
func (k Kind) String() string {
	return [...]string{"nothing", "null", "a single value", "a list", "a mapping"}[k]
}

// Parse reads the documents of a YAML stream, or one JSON value when the first character is a brace or bracket.
func Parse(file string, data []byte, limits bounded.Limits) ([]Value, diag.List) {
	if !IsJSON(data) {
		return ParseYAML(file, data, limits)
	}
	doc, l := bounded.JSON(file, data, limits)
	if doc == nil {
		return nil, l
	}
	return values(file, data, doc), l
}

// ParseYAML reads the documents of a YAML stream. A text that begins with a brace or bracket is YAML's flow style.
func ParseYAML(file string, data []byte, limits bounded.Limits) ([]Value, diag.List) {
	nodes, l := bounded.YAML(file, data, limits)
	return values(file, data, nodes...), l
}

func values(file string, data []byte, nodes ...*yaml.Node) []Value {
	lines := bytes.Split(data, []byte("\n"))
	var out []Value
	for _, n := range nodes {
		out = append(out, Value{node: n.Content[0], doc: &document{file: file, lines: lines, read: map[*yaml.Node]bool{}}})
	}
	return out
}

// IsJSON reports whether data begins as a JSON object or array does.
func IsJSON(data []byte) bool {
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	if len(trimmed) == 0 || bytes.HasPrefix(trimmed, []byte("{{")) || bytes.HasPrefix(trimmed, []byte("{%")) {
		return false
	}
	return trimmed[0] == '{' || trimmed[0] == '['
}

// target follows aliases.
func (v Value) target() *yaml.Node { return resolve(v.node) }

func resolve(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Exists reports whether the value stands in the document. A null does.
func (v Value) Exists() bool { return v.node != nil }

// Kind returns the value's shape.
func (v Value) Kind() Kind {
	n := v.target()
	switch {
	case n == nil:
		return Absent
	case n.Kind == yaml.MappingNode:
		return Map
	case n.Kind == yaml.SequenceNode:
		return List
	case n.ShortTag() == "!!null":
		return Null
	}
	return Scalar
}

// Path returns the value's data path, such as spec.volumes[1].name; that of a document is empty.
func (v Value) Path() string { return v.path }

// Node returns the value as a YAML node, for those who carry it on whole. It counts as read.
func (v Value) Node() *yaml.Node {
	v.Consume()
	return v.target()
}

// Range returns where the value begins. The range of an absent value is that of the mapping that lacks it.
func (v Value) Range() diag.Range {
	switch {
	case v.node != nil:
		return diag.At(v.doc.file, v.node.Line, v.node.Column)
	case v.parent != nil:
		return diag.At(v.doc.file, v.parent.Line, v.parent.Column)
	}
	return diag.Range{}
}

// Span returns where the value stands, from its first character to its end. The end is exact for values that end in a
// text on one line, else it is the end of a line.
func (v Value) Span() diag.Range {
	r := v.Range()
	if v.node != nil {
		r.End = v.end(v.node)
	}
	return r
}

func (v Value) end(n *yaml.Node) diag.Pos {
	if len(n.Content) > 0 {
		return v.end(n.Content[len(n.Content)-1])
	}
	line := n.Line
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		line += strings.Count(strings.TrimSuffix(n.Value, "\n"), "\n") + 1
	case n.Kind == yaml.ScalarNode && v.standsAt(n.Line, n.Column, n.Value):
		return diag.Pos{Line: line, Column: n.Column + len([]rune(n.Value))}
	}
	if line < 1 || line > len(v.doc.lines) {
		return diag.Pos{}
	}
	return diag.Pos{Line: line, Column: len([]rune(string(v.doc.lines[line-1]))) + 1}
}

// File returns the name of the file that the value stands in.
func (v Value) File() string {
	if v.doc == nil {
		return ""
	}
	return v.doc.file
}

func (v Value) mark() {
	if v.node != nil {
		v.doc.read[v.node] = true
		v.doc.read[v.target()] = true
	}
}

// Entry is a field of a mapping.
type Entry struct {
	Key   string
	Place diag.Range // of the key
	Value Value
}

// Span returns where the field stands, from its key to the end of its value.
func (e Entry) Span() diag.Range {
	r := e.Place
	r.End = e.Value.Span().End
	return r
}

// Entries returns the fields of a mapping in the order they stand there; those that come by a merge key follow.
func (v Value) Entries() []Entry {
	n := v.target()
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	v.mark()
	return v.entries(n, map[string]bool{})
}

func (v Value) entries(n *yaml.Node, seen map[string]bool) []Entry {
	var out []Entry
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, c := n.Content[i], n.Content[i+1]
		if isMerge(k) {
			merges = append(merges, c)
			continue
		}
		if key := resolve(k).Value; !seen[key] {
			seen[key] = true
			out = append(out, Entry{key, diag.At(v.doc.file, k.Line, k.Column), v.child(c, key)})
		}
	}
	for _, m := range merges {
		out = append(out, v.merged(m, seen)...)
	}
	return out
}

// merged returns the fields that come by the value of a merge key, which is a mapping or a list of mappings. What is
// neither stays unread.
func (v Value) merged(m *yaml.Node, seen map[string]bool) []Entry {
	from := resolve(m)
	parts := []*yaml.Node{m}
	if from.Kind == yaml.SequenceNode {
		v.doc.read[m], v.doc.read[from] = true, true
		parts = from.Content
	}
	var out []Entry
	for _, p := range parts {
		if target := resolve(p); target.Kind == yaml.MappingNode {
			v.doc.read[p], v.doc.read[target] = true, true
			out = append(out, v.entries(target, seen)...)
		}
	}
	return out
}

func isMerge(key *yaml.Node) bool { return key.Kind == yaml.ScalarNode && key.Tag == "!!merge" }

func (v Value) child(n *yaml.Node, key string) Value {
	path := key
	if v.path != "" {
		path = v.path + "." + key
	}
	c := Value{node: n, doc: v.doc, path: path}
	if n == nil {
		c.parent = v.node
		if v.node == nil {
			c.parent = v.parent
		}
	}
	return c
}

// Get returns the field of a mapping, or an absent value whose path names it.
func (v Value) Get(key string) Value {
	n := v.target()
	if n == nil || n.Kind != yaml.MappingNode {
		return v.child(nil, key)
	}
	v.mark()
	merges := false
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch k := n.Content[i]; {
		case isMerge(k):
			merges = true
		case resolve(k).Value == key:
			return v.child(n.Content[i+1], key)
		}
	}
	if merges {
		for _, e := range v.Entries() {
			if e.Key == key {
				return e.Value
			}
		}
	}
	return v.child(nil, key)
}

// At follows field names from mapping to mapping.
func (v Value) At(keys ...string) Value {
	for _, k := range keys {
		v = v.Get(k)
	}
	return v
}

// Items returns the items of a list.
func (v Value) Items() []Value {
	n := v.target()
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	v.mark()
	out := make([]Value, len(n.Content))
	for i, c := range n.Content {
		out[i] = v.item(c, i)
	}
	return out
}

func (v Value) item(n *yaml.Node, i int) Value {
	return Value{node: n, doc: v.doc, path: v.path + "[" + strconv.Itoa(i) + "]"}
}

// Consume marks the value and all below it as read.
func (v Value) Consume() {
	if v.node == nil {
		return
	}
	v.consume(v.node)
}

func (v Value) consume(n *yaml.Node) {
	if v.doc.read[n] && n.Kind == yaml.AliasNode {
		return
	}
	v.doc.read[n] = true
	if n.Kind == yaml.AliasNode {
		v.consume(n.Alias)
	}
	for _, c := range n.Content {
		v.consume(c)
	}
}

// Unread returns the parts of the value that nobody has read: the highest values below which nothing was.
func (v Value) Unread() []Entry {
	var out []Entry
	for _, e := range v.children() {
		switch {
		case e.Value.untouched():
			out = append(out, e)
		default:
			out = append(out, e.Value.Unread()...)
		}
	}
	return out
}

// children lists what is below a value without marking it. The value of a merge key is among them, so that what a
// reader passed over in it is noticed; what stands behind an alias is looked at where its anchor is.
func (v Value) children() []Entry {
	n := v.target()
	if n == nil || v.node.Kind == yaml.AliasNode {
		return nil
	}
	var out []Entry
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			key := resolve(k).Value
			out = append(out, Entry{key, diag.At(v.doc.file, k.Line, k.Column), v.child(n.Content[i+1], key)})
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			item := v.item(c, i)
			out = append(out, Entry{"", item.Range(), item})
		}
	}
	return out
}

func (v Value) untouched() bool {
	if v.doc.read[v.node] {
		return false
	}
	for _, e := range v.children() {
		if !e.Value.untouched() {
			return false
		}
	}
	return true
}

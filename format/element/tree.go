package element

import (
	"bytes"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// IsXML reports whether data begins as an XML document does.
func IsXML(data []byte) bool {
	data = bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), xmlSpace)
	return len(data) > 0 && data[0] == '<'
}

// Documents reads a file of definitions: one XML document when the first character is an angle bracket, else what tree.Parse
// makes of YAML and JSON. The value of an XML document is a mapping with one field, the outermost element.
func Documents(file string, data []byte, limits bounded.Limits) ([]tree.Value, diag.List) {
	if !IsXML(data) {
		return tree.Parse(file, data, limits)
	}
	e, l := ParseXML(file, data, limits)
	if l.HasErrors() {
		return nil, l
	}
	return []tree.Value{e.Document(file)}, l
}

// Tree returns the element's contents in the shape that front ends walk: a mapping of attributes and children, siblings of
// one name as a list, a text as a text, an empty element as null. Values stand where the element says.
func (e Element) Tree(file string) tree.Value {
	b := treeBuilder{lines: map[*yaml.Node][]diag.Pos{}}
	return tree.Build(file, b.node(e), b.lines)
}

// Document returns the element as a document: a mapping with one field, the element.
func (e Element) Document(file string) tree.Value {
	b := treeBuilder{lines: map[*yaml.Node][]diag.Pos{}}
	return tree.Build(file, b.mapping(e.Place.Start, []member{{name: e.Name, values: []Element{e}}}), b.lines)
}

type treeBuilder struct{ lines map[*yaml.Node][]diag.Pos }

// node makes the value of an element.
func (b treeBuilder) node(e Element) *yaml.Node {
	if len(e.Children)+len(e.Attrs) > 0 {
		return b.mapping(e.Place.Start, e.membersOf())
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: e.Place.Start.Line, Column: e.Place.Start.Column, Value: e.Text}
	switch {
	case e.Text == "":
		n.Tag = "!!null"
		return n
	case e.Kind == Boolean:
		n.Tag = "!!bool"
	case e.Kind == Number:
		n.Tag = "!!int"
	default:
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	if e.text.Start.Line > 0 {
		n.Line, n.Column = e.text.Start.Line, e.text.Start.Column
	}
	b.lines[n] = e.lines
	return n
}

// mapping makes a mapping. A key stands where its first value's element does.
func (b treeBuilder) mapping(at diag.Pos, members []member) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: at.Line, Column: at.Column}
	for _, m := range members {
		place := m.values[0].Place.Start
		key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: m.name, Line: place.Line, Column: place.Column, Style: yaml.DoubleQuotedStyle}
		value := b.node(m.values[0])
		if len(m.values) > 1 {
			value = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: place.Line, Column: place.Column}
			for _, v := range m.values {
				value.Content = append(value.Content, b.node(v))
			}
		}
		out.Content = append(out.Content, key, value)
	}
	return out
}

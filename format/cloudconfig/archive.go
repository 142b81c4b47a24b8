package cloudconfig

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Item is one part of a cloud-config-archive.
type Item struct {
	// ContentType is the type that the item states, or the one its content has by its first line, or
	// text/cloud-config.
	ContentType string
	// Filename is empty when the item states none.
	Filename string
	// Content is the text of the part.
	Content []byte
	// Header holds the further keys of the item, which cloud-init takes for headers of the part.
	Header map[string]string
	// Origin is the place of Content in the file.
	Origin diag.Origin
}

// ParseArchive reads a cloud-config-archive. Items that a guest ignores yield a warning, an archive that a guest
// drops whole yields an error.
func ParseArchive(origin diag.Origin, data []byte) ([]Item, diag.List) {
	var l diag.List
	nodes, found := bounded.YAML("", data, bounded.Limits{})
	if found.HasErrors() {
		return nil, origin.Carry(found)
	}
	if len(nodes) == 0 {
		return nil, nil
	}
	root := resolveAlias(nodes[0].Content[0])
	if len(nodes) > 1 || secondDocument(data) > 0 || root.Kind != yaml.SequenceNode {
		l.Errorf(CodeArchive, origin.At(root.Line, root.Column), "write a list of parts, each behind a dash",
			"cloud-init reads a cloud-config-archive as one YAML list, and this is none")
		return nil, l
	}
	c := checker{list: &l, data: data}
	if c.node(root); !l.HasErrors() {
		checkLayout(&l, root, data)
	}
	if l.HasErrors() {
		return nil, origin.Carry(l)
	}
	var items []Item
	for _, n := range root.Content {
		n = resolveAlias(n)
		content := n
		it := Item{}
		switch TypeOf(n) {
		case String:
		case Map:
			content = resolveAlias(lookup(n, "content"))
			it.fields(n)
		default:
			l.Warnf(CodeArchive, origin.At(n.Line, n.Column), "make it a text or a mapping with content",
				"cloud-init ignores this item, which is a %s", TypeOf(n))
			continue
		}
		if content == nil {
			content = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Line: n.Line, Column: n.Column}
		}
		if TypeOf(content) != String {
			l.Errorf(CodeArchive, origin.At(content.Line, content.Column), "make the content a text",
				"the content of this item is a %s; cloud-init fails on it", TypeOf(content))
			continue
		}
		it.Content = []byte(content.Value)
		it.Origin = Embedded(origin, data, content)
		if it.ContentType == "" {
			it.ContentType = CloudConfig.ContentType()
			switch kind := RecogniseText(it.Content); kind {
			case Unknown, Empty, Ignition, Base64:
			default:
				it.ContentType = kind.ContentType()
			}
		}
		items = append(items, it)
	}
	return items, origin.Carry(l)
}

// fields takes what an item says besides its content.
func (it *Item) fields(n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i].Value, resolveAlias(n.Content[i+1])
		switch strings.ToLower(k) {
		case "content", "content-disposition", "content-type", "number-attachments":
		case "type":
			it.ContentType = v.Value
		case "filename":
			it.Filename = v.Value
		default:
			if it.Header == nil {
				it.Header = map[string]string{}
			}
			if strings.EqualFold(k, "launch-index") {
				k = "Launch-Index"
			}
			it.Header[k] = v.Value
		}
	}
}

// Embedded returns the origin of the text that a scalar node of data holds, so that places in the text become places
// of the file: line by line for a literal block, and for a scalar on one line as far as it has no escapes.
func Embedded(origin diag.Origin, data []byte, n *yaml.Node) diag.Origin {
	n = resolveAlias(n)
	whole := diag.Origin{Whole: origin.At(n.Line, n.Column), What: origin.What}
	lines := bytes.Split(data, []byte("\n"))
	if n.Line < 1 || n.Line > len(lines) || origin.Lines == nil {
		return whole
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		return literalOrigin(whole, origin, lines[n.Line:], n)
	case n.Style&yaml.FoldedStyle != 0 || strings.ContainsAny(n.Value, "\n\\\"'"):
		return whole
	}
	column := n.Column
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		column++
	}
	whole.Lines = []diag.Pos{origin.At(n.Line, column).Start}
	return whole
}

// literalOrigin finds the indentation of a literal block by its first line that is not blank.
func literalOrigin(whole, origin diag.Origin, below [][]byte, n *yaml.Node) diag.Origin {
	indent := -1
	for i, text := range strings.Split(n.Value, "\n") {
		if text != "" && i < len(below) {
			indent = len(strings.TrimRight(string(below[i]), "\r")) - len(text)
			break
		}
	}
	if indent < 0 {
		return whole
	}
	for i := range strings.Count(n.Value, "\n") + 1 {
		whole.Lines = append(whole.Lines, origin.At(n.Line+1+i, indent+1).Start)
	}
	return whole
}

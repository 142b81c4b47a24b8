package element

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// ParseJSON reads one JSON document as the element root, since oVirt's JSON does not name its outermost one: objects are
// elements, the items of a list are elements with the name of the list, and null is nothing at all. When there are errors
// the element is not to be used.
func ParseJSON(file string, data []byte, root string, limits bounded.Limits) (Element, diag.List) {
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	doc, l := bounded.JSON(file, data, limits)
	if l.HasErrors() {
		return Element{}, l
	}
	p := jsonReader{file: file, list: l}
	n := doc.Content[0]
	if n.Kind != yaml.MappingNode {
		p.shape(n, "an object should stand here")
	}
	e := p.element(root, n)
	if p.list.HasErrors() {
		return Element{}, p.list
	}
	return e, p.list
}

type jsonReader struct {
	file string
	list diag.List
}

func (p *jsonReader) shape(n *yaml.Node, summary string) {
	p.list.Errorf(CodeShape, diag.At(p.file, n.Line, n.Column), "", "%s", summary)
}

// element reads an object or a single value.
func (p *jsonReader) element(name string, n *yaml.Node) Element {
	e := Element{Name: name, Place: diag.At(p.file, n.Line, n.Column)}
	switch {
	case n.Kind == yaml.MappingNode:
		e.Kind = Object
		p.members(&e, n)
	case n.Kind == yaml.SequenceNode:
		p.shape(n, "a list should not stand here")
	default:
		e.Text, e.text = n.Value, e.Place
		e.Kind = map[string]Kind{"!!bool": Boolean, "!!int": Number, "!!float": Number}[n.Tag]
	}
	return e
}

func (p *jsonReader) members(e *Element, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Value == "":
			p.shape(k, "a member should have a name")
		case v.Kind == yaml.SequenceNode:
			e.Collection = e.Collection || len(n.Content) == 2
			for _, item := range v.Content {
				if item.Tag == "!!null" {
					p.shape(item, "null should not stand in a list")
					continue
				}
				c := p.element(k.Value, item)
				c.Many = true
				e.Children = append(e.Children, c)
			}
		case k.Value == textMember && v.Kind == yaml.ScalarNode:
			e.Text = v.Value
		case v.Tag != "!!null":
			e.Children = append(e.Children, p.element(k.Value, v))
		}
	}
}

// JSON writes the element's contents as an object, without the element's own name. Attributes are members before the
// children. Siblings of one name are a list; so are the children of a Collection and elements that are Many. A text that is
// not UTF-8 is an error that names the element.
func (e Element) JSON() ([]byte, error) {
	var b bytes.Buffer
	if err := e.object(&b, ""); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// object writes the members of an element, or its text if that is all it has.
func (e Element) value(b *bytes.Buffer, indent string) error {
	if len(e.Children)+len(e.Attrs) > 0 || e.Collection || e.Kind == Object && e.Text == "" {
		return e.object(b, indent)
	}
	switch {
	case e.Kind == Boolean && (e.Text == "true" || e.Text == "false"),
		e.Kind == Number && json.Valid([]byte(e.Text)) && (e.Text[0] == '-' || e.Text[0] >= '0' && e.Text[0] <= '9'):
		b.WriteString(e.Text)
		return nil
	}
	return quote(b, e.Name, e.Text)
}

// quote writes a text without the escapes for HTML that encoding/json adds.
func quote(b *bytes.Buffer, name, text string) error {
	if !utf8.ValidString(text) {
		return fmt.Errorf("element <%s>: the text is not UTF-8", name)
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return fmt.Errorf("element <%s>: the text cannot be written as JSON", name)
	}
	b.Truncate(b.Len() - 1) // the encoder's line break
	return nil
}

// member is a name with all its values.
type member struct {
	name   string
	values []Element
	list   bool
}

func (e Element) membersOf() []member {
	var out []member
	at := map[string]int{}
	add := func(v Element, list bool) {
		i, ok := at[v.Name]
		if !ok {
			i = len(out)
			at[v.Name], out = i, append(out, member{name: v.Name})
		}
		out[i].list = out[i].list || ok || list
		out[i].values = append(out[i].values, v)
	}
	if e.Text != "" {
		add(Element{Name: textMember, Text: e.Text, Place: e.Place, text: e.text, lines: e.lines}, false)
	}
	for _, a := range e.Attrs {
		add(Element{Name: a.Name, Text: a.Value, Place: a.Place}, false)
	}
	for _, c := range e.Children {
		add(c, e.Collection || c.Many)
	}
	return out
}

func (e Element) object(b *bytes.Buffer, indent string) error {
	members := e.membersOf()
	if len(members) == 0 {
		b.WriteString("{}")
		return nil
	}
	inner := indent + "  "
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + inner)
		if err := quote(b, e.Name, m.name); err != nil {
			return err
		}
		b.WriteString(": ")
		if err := m.write(b, inner); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "}")
	return nil
}

func (m member) write(b *bytes.Buffer, indent string) error {
	if !m.list {
		return m.values[0].value(b, indent)
	}
	inner := indent + "  "
	b.WriteByte('[')
	for i, v := range m.values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + inner)
		if err := v.value(b, inner); err != nil {
			return err
		}
	}
	b.WriteString("\n" + indent + "]")
	return nil
}

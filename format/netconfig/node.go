package netconfig

import (
	"bytes"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// object builds a YAML mapping in the order of its calls. Texts are always quoted: PyYAML reads bare MAC addresses as
// numbers and bare "no" as false, and quoting all of them needs no list of such cases.
type object struct{ node *yaml.Node }

func newObject() object { return object{&yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (o object) add(key string, value *yaml.Node) object {
	o.node.Content = append(o.node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
	return o
}

func textNode(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: s}
}

func numberNode(n int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(n)}
}

func flagNode(b bool) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

func sequence(items ...*yaml.Node) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
	if len(items) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

func texts(list []string) *yaml.Node {
	nodes := make([]*yaml.Node, len(list))
	for i, s := range list {
		nodes[i] = textNode(s)
	}
	return sequence(nodes...)
}

// word adds a bare word that no YAML reader takes for anything else, such as physical.
func (o object) word(key, value string) object {
	return o.add(key, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
}

func (o object) text(key, value string) object {
	if value == "" {
		return o
	}
	return o.add(key, textNode(value))
}

func (o object) number(key string, value int) object {
	if value == 0 {
		return o
	}
	return o.add(key, numberNode(value))
}

func (o object) toggle(key string, s Switch) object {
	if s == Default {
		return o
	}
	return o.add(key, flagNode(s == On))
}

func (o object) texts(key string, list []string) object {
	if len(list) == 0 {
		return o
	}
	return o.add(key, texts(list))
}

func (o object) list(key string, items []*yaml.Node) object {
	if len(items) == 0 {
		return o
	}
	return o.add(key, sequence(items...))
}

// object adds a mapping unless it is empty.
func (o object) object(key string, value object) object {
	if len(value.node.Content) == 0 {
		return o
	}
	return o.add(key, value.node)
}

// always adds a mapping even when it is empty.
func (o object) always(key string, value object) object {
	if len(value.node.Content) == 0 {
		value.node.Style = yaml.FlowStyle
	}
	return o.add(key, value.node)
}

// dump writes the mapping as a YAML document.
func (o object) dump() ([]byte, error) {
	var b bytes.Buffer
	d, err := yaml.NewDumper(&b, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err != nil {
		return nil, err
	}
	if err := d.Dump(o.node); err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// texter is anything with a text form, such as an address.
type texter interface{ String() string }

func strs[T texter](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = v.String()
	}
	return out
}

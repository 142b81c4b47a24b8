package ignconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Flat returns one config that says what a config says together with those that it merges from data: URLs. Configs that
// are fetched from elsewhere are still merged by the guest.
func (c Config) Flat() (Config, diag.List) {
	var l diag.List
	flat, changed := flatten(c.types, &l, 0)
	if !changed || l.HasErrors() {
		return c, l
	}
	built, problems := Build(flat)
	return built, append(l, problems...)
}

func flatten(c types.Config, l *diag.List, depth int) (types.Config, bool) {
	var rest []types.Resource
	var children []Config
	s := source{root: &yaml.Node{Kind: yaml.MappingNode}, list: l}
	for i, r := range c.Ignition.Config.Merge {
		data, ok := s.content(r, dataPath{"ignition", "config", "merge", i})
		if !ok || len(rest) > 0 || depth >= maxDepth {
			// What follows a config that the guest fetches must stay behind it.
			rest = append(rest, r)
			continue
		}
		child, problems := parse(data, reading{depth: depth + 1})
		if problems.HasErrors() {
			*l = append(*l, problems...)
			return c, false
		}
		children = append(children, child)
	}
	if len(children) == 0 {
		return c, false
	}
	c.Ignition.Config.Merge = rest
	parent, problems := Build(c)
	*l = append(*l, problems...)
	for _, child := range children {
		child.types, _ = flatten(child.types, l, depth+1)
		parent, problems = Merge(parent, child)
		*l = append(*l, problems...)
	}
	return parent.types, true
}

// Butane writes the config as a Butane document of a variant, fcos or flatcar, whose translation says what the config says.
// Contents that are text stand in the document as text.
func (c Config) Butane(dialect string) ([]byte, diag.List) {
	flat, l := c.Flat()
	if l.HasErrors() {
		return nil, l
	}
	i := slices.IndexFunc(variants, func(v variant) bool { return v.name == dialect })
	at := -1
	if i >= 0 {
		at = slices.IndexFunc(variants[i].minor, func(minor int) bool { return slices.Index(specs(), flat.version) <= minor })
	}
	if at < 0 {
		l.Errorf(CodeButane, diag.Range{}, "choose the variant fcos", "Butane's variant %s has no version for configs of specification %s", dialect, flat.version)
		return nil, l
	}
	docs, problems := bounded.YAML("", flat.text, limits())
	if l = append(l, problems...); l.HasErrors() {
		return nil, l
	}
	root := docs[0].Content[0]
	butaneNode(root, "")
	if ignition := step(root, "ignition"); ignition != nil {
		drop(ignition, "version")
		if len(ignition.Content) == 0 {
			drop(root, "ignition")
		}
	}
	root.Content = append([]*yaml.Node{word("variant"), word(dialect), word("version"), word(variants[i].versions[at])}, root.Content...)
	text, err := cloudconfig.EncodeNode(root)
	if err != nil {
		l.Errorf(CodeButane, diag.Range{}, "", "the config cannot be written as YAML")
		return nil, l
	}
	if _, problems := ParseButane(diag.Origin{}, text); problems.HasErrors() {
		return nil, append(l, problems...)
	}
	return text, l
}

// specs lists the specifications 3 in order.
func specs() []string {
	var out []string
	for minor := range newest + 1 {
		out = append(out, spec(minor))
	}
	return out
}

func word(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

func drop(n *yaml.Node, key string) {
	if i := keyIndex(n, key); i >= 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// butaneNode turns a node of a config in JSON into one of Butane: names in snake case, modes in octal digits, texts out of
// data: URLs, everything in block style.
func butaneNode(n *yaml.Node, key string) {
	n.Style = 0
	switch n.Kind {
	case yaml.MappingNode:
		inline(n)
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i]
			butaneNode(n.Content[i+1], name.Value)
			if key != "httpHeaders" {
				name.Value = snake(name.Value)
			}
			name.Style = 0
		}
	case yaml.SequenceNode:
		for _, c := range n.Content {
			butaneNode(c, "")
		}
	case yaml.ScalarNode:
		if v, ok := integer(n); ok && key == "mode" {
			n.Value = fmt.Sprintf("%#o", v)
		}
		if n.Tag == "!!str" && strings.Contains(n.Value, "\n") {
			n.Style = yaml.LiteralStyle
		}
	}
}

// inline turns a resource whose data: URL holds text into that text.
func inline(n *yaml.Node) {
	source := step(n, "source")
	if source == nil || source.Kind != yaml.ScalarNode || step(n, "verification") != nil {
		return
	}
	data, ok := DecodeData(source.Value)
	if !ok {
		return
	}
	if c := step(n, "compression"); c != nil && c.Value == "gzip" {
		plain, err := bounded.Gunzip(data, limits().Bytes)
		if err != nil {
			return
		}
		data = plain
	}
	if !utf8.Valid(data) || bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xfeff }) {
		return
	}
	drop(n, "compression")
	i := keyIndex(n, "source")
	n.Content[i].Value = "inline"
	*n.Content[i+1] = *word(string(data))
}

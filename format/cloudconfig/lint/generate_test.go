//go:build conformance

package lint

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/format/cloudconfig"
)

// generator makes documents that follow the table of keys most of the time, so that every line of it is tried with
// values that fit and values that don't.
type generator struct {
	*rand.Rand
	v version
}

// document returns a cloud-config with one to three of the keys.
func (g generator) document(keys map[string]variants) []byte {
	names := slices.Sorted(maps.Keys(keys))
	root := &yaml.Node{Kind: yaml.MappingNode}
	used := map[string]bool{}
	for range 1 + g.IntN(3) {
		name := names[g.IntN(len(names))]
		s := keys[name].at(g.v)
		if used[name] || s == nil {
			continue
		}
		used[name] = true
		root.Content = append(root.Content, g.text(name), g.value(s, 0))
	}
	data, err := cloudconfig.EncodeNode(root)
	if err != nil || len(root.Content) == 0 {
		return []byte(cloudconfig.Header + "\nhostname: x\n")
	}
	return append([]byte(cloudconfig.Header+"\n"), data...)
}

func (g generator) text(s string) *yaml.Node {
	n, err := cloudconfig.Value(s)
	if err != nil {
		panic(err)
	}
	return n
}

// plainWords are scalars as people write them, with the types that YAML 1.1 gives them.
var plainWords = []string{"5", "0644", "0", "-1", "3.5", "yes", "no", "true", "off", "null", "~", "", "2030-01-01", "12:30:45", "1e3",
	"auto", "x", "template", "none", "now", "1_000", "08", ".inf", "!!binary aGk="}

func (g generator) plain() *yaml.Node {
	w := plainWords[g.IntN(len(plainWords))]
	if tag, value, ok := strings.Cut(w, " "); ok {
		return &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.TaggedStyle, Tag: tag, Value: value}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: w}
}

// value returns a node that fits the shape, or with some probability does not.
func (g generator) value(s *shape, depth int) *yaml.Node {
	if depth > 8 || g.IntN(12) == 0 {
		return g.plain()
	}
	if len(s.enum) > 0 && g.IntN(8) > 0 {
		c := s.enum[g.IntN(len(s.enum))]
		n, err := cloudconfig.Value(c.value)
		if err != nil {
			panic(err)
		}
		return n
	}
	for _, group := range [][]variants{s.one, s.some} {
		if len(group) == 0 || s.kinds&kMap != 0 {
			continue
		}
		if a := group[g.IntN(len(group))].at(g.v); a != nil && len(a.required) == 0 || a != nil && a.kinds == 0 && len(a.keys) > 0 {
			return g.value(a, depth)
		}
	}
	var options []kinds
	for _, w := range kindWords {
		if s.kinds&w.kind != 0 {
			options = append(options, w.kind)
		}
	}
	if len(options) == 0 {
		if len(s.keys) > 0 {
			options = []kinds{kMap}
		} else {
			return g.plain()
		}
	}
	switch options[g.IntN(len(options))] {
	case kString:
		return g.word(s)
	case kBool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: []string{"true", "false", "yes", "off"}[g.IntN(4)]}
	case kInt:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(g.IntN(20) - 2)}
	case kNumber:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprintf("%.1f", g.Float64()*10-1)}
	case kList:
		return g.list(s, depth)
	case kMap:
		return g.mapping(s, depth)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
}

func (g generator) word(s *shape) *yaml.Node {
	words := []string{"x", "a b", "http://x/", "", "0644", "now", "10", "+5", "1G", "2030-12-31", "2030-13-01", "u:p", "vim", "a,b", "yes"}
	return g.text(words[g.IntN(len(words))])
}

func (g generator) list(s *shape, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	item := s.items.at(g.v)
	size := g.IntN(4)
	if s.minItems > 0 && s.minItems == s.maxItems && g.IntN(4) > 0 {
		size = s.minItems
	}
	for range size {
		if item == nil {
			n.Content = append(n.Content, g.plain())
			continue
		}
		n.Content = append(n.Content, g.value(item, depth+1))
	}
	return n
}

func (g generator) mapping(s *shape, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	names := slices.Sorted(maps.Keys(s.keys))
	wanted := map[string]bool{}
	add := func(name string, v *yaml.Node) {
		if !wanted[name] {
			wanted[name] = true
			n.Content = append(n.Content, g.text(name), v)
		}
	}
	require := slices.Clone(s.required)
	for _, group := range [][]variants{s.one, s.some} {
		if len(group) == 0 {
			continue
		}
		if a := group[g.IntN(len(group))].at(g.v); a != nil {
			require = append(require, a.required...)
			for name, shapes := range a.keys {
				if c := shapes.at(g.v); c != nil && slices.Contains(a.required, name) {
					add(name, g.value(c, depth+1))
				}
			}
		}
	}
	for _, name := range names {
		c := s.keys[name].at(g.v)
		if c != nil && (g.IntN(len(names)) < 2 || slices.Contains(require, name) && g.IntN(8) > 0) {
			add(name, g.value(c, depth+1))
		}
	}
	for _, p := range s.patterns {
		if c := p.shapes.at(g.v); c != nil && g.IntN(3) > 0 {
			add([]string{"one", "rsa_public", "dsa_private", "a.b"}[g.IntN(4)], g.value(c, depth+1))
		}
	}
	if c := s.others.at(g.v); c != nil {
		add("other", g.value(c, depth+1))
	}
	if g.IntN(15) == 0 {
		add([]string{"unknown", "since", "name"}[g.IntN(3)], g.plain())
	}
	return n
}

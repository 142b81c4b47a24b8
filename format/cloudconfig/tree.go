package cloudconfig

import (
	"errors"

	"go.yaml.in/yaml/v4"
)

// expand returns a copy of a tree in which aliases and merge keys (<<) are written out as PyYAML expands them, and
// of equal keys the last one is left, at the place of the first. The copy shares nothing with the tree.
func expand(n *yaml.Node) (*yaml.Node, error) {
	x := expander{left: maxNodes}
	return x.node(n, 0)
}

// maxNodes bounds what a tree may grow to through its aliases.
const maxNodes = 500_000

// errGrowth is for trees that are larger than any document once their aliases are written out.
var errGrowth = errors.New("the document grows beyond bounds once its aliases are written out")

type expander struct{ left int }

func (x *expander) node(n *yaml.Node, depth int) (*yaml.Node, error) {
	if n == nil {
		return plain("!!null", "null"), nil
	}
	if x.left--; x.left < 0 {
		return nil, errGrowth
	}
	if depth > maxDepth {
		return nil, errDepth
	}
	switch n.Kind {
	case yaml.AliasNode:
		c, err := x.node(n.Alias, depth+1)
		if err == nil {
			c.HeadComment, c.LineComment, c.FootComment = n.HeadComment, n.LineComment, n.FootComment
		}
		return c, err
	case yaml.DocumentNode:
		if len(n.Content) != 1 {
			return plain("!!null", "null"), nil
		}
		return x.node(n.Content[0], depth+1)
	case yaml.ScalarNode:
		c := *n
		c.Anchor = ""
		return &c, nil
	case yaml.SequenceNode, yaml.MappingNode:
		c := *n
		c.Anchor, c.Content = "", nil
		if n.Kind == yaml.MappingNode {
			return &c, x.mapping(&c, n, depth)
		}
		for _, item := range n.Content {
			i, err := x.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			c.Content = append(c.Content, i)
		}
		return &c, nil
	}
	return nil, errors.New("the tree holds a node of no kind")
}

// errMergeKey is for a << whose value is neither a mapping nor a list of mappings.
var errMergeKey = errors.New("the value of a merge key (<<) is no mapping and no list of mappings")

func isMergeKey(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && (k.Style == 0 && k.Value == "<<" || explicitTag(k) == "!!merge")
}

// mapping fills to with the pairs of from: those of merge keys first, each of which gives way to a later equal one.
func (x *expander) mapping(to, from *yaml.Node, depth int) error {
	pairs, err := x.pairs(from, depth)
	if err != nil {
		return err
	}
	at := make(map[string]int, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		k, err := x.node(pairs[i], depth+1)
		if err != nil {
			return err
		}
		v, err := x.node(pairs[i+1], depth+1)
		if err != nil {
			return err
		}
		id := identity(k)
		if k.Kind == yaml.ScalarNode {
			if j, ok := at[id]; ok {
				to.Content[j+1] = v
				continue
			}
			at[id] = len(to.Content)
		}
		to.Content = append(to.Content, k, v)
	}
	return nil
}

// pairs lists the keys and values of a mapping with those that its merge keys bring, in PyYAML's order.
func (x *expander) pairs(n *yaml.Node, depth int) ([]*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	var merged, own []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if !isMergeKey(k) {
			own = append(own, k, v)
			continue
		}
		sources := []*yaml.Node{v}
		if s := resolveAlias(v); s.Kind == yaml.SequenceNode {
			sources = nil
			for j := len(s.Content) - 1; j >= 0; j-- { // the first of the list wins, so it comes last
				sources = append(sources, s.Content[j])
			}
		}
		for _, s := range sources {
			if s = resolveAlias(s); s.Kind != yaml.MappingNode {
				return nil, errMergeKey
			}
			more, err := x.pairs(s, depth+1)
			if err != nil {
				return nil, err
			}
			if x.left -= len(more); x.left < 0 {
				return nil, errGrowth
			}
			merged = append(merged, more...)
		}
	}
	return append(merged, own...), nil
}

// find returns the index of a key in a mapping's content, or -1.
func find(n *yaml.Node, id string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if identity(n.Content[i]) == id {
			return i
		}
	}
	return -1
}

// lookup returns the value of a text key, or nil.
func lookup(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	if i := find(n, "s"+key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

// remove takes the pair at i out of a mapping.
func remove(n *yaml.Node, i int) {
	n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
}

func emptyMapping() *yaml.Node { return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"} }

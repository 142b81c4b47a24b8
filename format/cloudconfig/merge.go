package cloudconfig

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// ErrMerge is wrapped by errors about two values that cloud-init's mergers cannot merge. cloud-init drops the later
// document in that case.
var ErrMerge = errors.New("cloud-init cannot merge these values")

// Merge merges the tree over into the tree base with cloud-init's own algorithm and returns the result, which shares
// nothing with either. Aliases and merge keys are written out. Types are those that PyYAML sees, so that yes is a
// boolean.
func Merge(base, over *yaml.Node, how How) (*yaml.Node, error) {
	b, err := expand(base)
	if err != nil {
		return nil, err
	}
	o, err := expand(over)
	if err != nil {
		return nil, err
	}
	return newMergerSet(how).merge(b, o, 0)
}

// mergerSet is a How in the form that merging asks for: the first merger of each type.
type mergerSet struct {
	dict, list, str *Merger
	dictReplace     bool
	listMethod      string
}

func newMergerSet(how How) *mergerSet {
	s := &mergerSet{listMethod: "replace"}
	for i := range how {
		m := &how[i]
		switch {
		case m.Type == "dict" && s.dict == nil:
			s.dict = m
			s.dictReplace = m.has("replace")
		case m.Type == "list" && s.list == nil:
			s.list = m
			for _, method := range []string{"append", "prepend", "replace", "no_replace"} { // cloud-init's order
				if m.has(method) {
					s.listMethod = method
					break
				}
			}
		case m.Type == "str" && s.str == nil:
			s.str = m
		}
	}
	return s
}

// merge hands the pair to the merger for the type of the earlier value. Types without a merger keep that value.
func (s *mergerSet) merge(old, new *yaml.Node, depth int) (*yaml.Node, error) {
	if depth > maxDepth {
		return nil, errDepth
	}
	switch t := TypeOf(old); {
	case t == Map && s.dict != nil:
		return s.mergeDict(old, new, depth)
	case t == List && s.list != nil:
		return s.mergeList(old, new, depth)
	case t == String && s.str != nil:
		if !s.str.has("append") {
			return new, nil
		}
		if TypeOf(new) != String {
			return nil, fmt.Errorf("%w: str(append) has a %s to append to text", ErrMerge, TypeOf(new))
		}
		joined, err := text(old.Value + new.Value)
		return joined, err
	}
	return old, nil
}

// recurse merges the pair if the option for the type of the later value is on, else reports false.
func (s *mergerSet) recurse(old, new *yaml.Node, list, str, dict bool, depth int) (*yaml.Node, bool, error) {
	switch t := TypeOf(new); {
	case t == List && list, t == String && str, t == Map && dict:
		merged, err := s.merge(old, new, depth+1)
		return merged, true, err
	}
	return nil, false, nil
}

func (s *mergerSet) mergeDict(old, new *yaml.Node, depth int) (*yaml.Node, error) {
	if TypeOf(new) != Map {
		return old, nil
	}
	at := make(map[string]int, len(old.Content)/2)
	for i := 0; i+1 < len(old.Content); i += 2 {
		at[identity(old.Content[i])] = i
	}
	deleted := false
	for i := 0; i+1 < len(new.Content); i += 2 {
		k, v := new.Content[i], new.Content[i+1]
		j, ok := at[identity(k)]
		if !ok {
			at[identity(k)] = len(old.Content)
			old.Content = append(old.Content, k, v)
			continue
		}
		if TypeOf(v) == Null && s.dict.has("allow_delete") {
			old.Content[j], old.Content[j+1] = nil, nil
			deleted = true
			continue
		}
		if s.dictReplace {
			old.Content[j+1] = v
			continue
		}
		merged, ok, err := s.recurse(old.Content[j+1], v, s.dict.has("recurse_array", "recurse_list"),
			s.dict.has("recurse_str"), true, depth)
		if err != nil {
			return nil, err
		}
		if ok {
			old.Content[j+1] = merged
		}
	}
	if deleted {
		old.Content = compact(old.Content)
	}
	old.Style &^= yaml.FlowStyle
	return old, nil
}

func compact(nodes []*yaml.Node) []*yaml.Node {
	kept := nodes[:0]
	for _, n := range nodes {
		if n != nil {
			kept = append(kept, n)
		}
	}
	return kept
}

func (s *mergerSet) mergeList(old, new *yaml.Node, depth int) (*yaml.Node, error) {
	if s.listMethod == "replace" && TypeOf(new) != List {
		return new, nil
	}
	if s.listMethod == "append" || s.listMethod == "prepend" {
		more, err := iterate(new)
		if err != nil {
			return nil, err
		}
		if s.listMethod == "append" {
			old.Content = append(old.Content, more...)
		} else {
			old.Content = append(more, old.Content...)
		}
		old.Style &^= yaml.FlowStyle
		return old, nil
	}
	if s.listMethod == "no_replace" {
		return old, indexable(old, new)
	}
	for i := range min(len(old.Content), len(new.Content)) {
		merged, ok, err := s.recurse(old.Content[i], new.Content[i], s.list.has("recurse_array", "recurse_list"),
			s.list.has("recurse_str"), s.list.has("recurse_dict"), depth)
		if err != nil {
			return nil, err
		}
		if !ok {
			merged = new.Content[i]
		}
		old.Content[i] = merged
	}
	return old, nil
}

// iterate lists what Python's list.extend takes from a value: the items of a list, the keys of a mapping or set, the
// characters of a text, the octets of bytes.
func iterate(n *yaml.Node) ([]*yaml.Node, error) {
	switch TypeOf(n) {
	case List:
		return n.Content, nil
	case Binary:
		var octets []*yaml.Node
		for _, c := range lenientBase64(n.Value) {
			octets = append(octets, plain("!!int", strconv.Itoa(int(c))))
		}
		return octets, nil
	case Map, Other:
		if n.Kind != yaml.MappingNode {
			break
		}
		var keys []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := *n.Content[i]
			k.HeadComment, k.LineComment, k.FootComment = "", "", ""
			keys = append(keys, &k)
		}
		return keys, nil
	case String:
		var chars []*yaml.Node
		for _, r := range n.Value {
			c, err := text(string(r))
			if err != nil {
				return nil, err
			}
			chars = append(chars, c)
		}
		return chars, nil
	}
	return nil, fmt.Errorf("%w: a %s cannot be added to a list", ErrMerge, TypeOf(n))
}

// indexable reports, as an error, where list(no_replace) fails: it looks at the items of the later value by number
// although it keeps the earlier ones.
func indexable(old, new *yaml.Node) error {
	switch TypeOf(new) {
	case List, String, Binary:
		return nil
	case Other:
		if len(old.Content) == 0 || len(new.Content) == 0 {
			return nil
		}
	case Map:
		for i := range min(len(old.Content), len(new.Content)/2) {
			if find(new, "n"+big.NewInt(int64(i)).String()) < 0 {
				return fmt.Errorf("%w: list(no_replace) meets a mapping", ErrMerge)
			}
		}
		return nil
	}
	return fmt.Errorf("%w: list(no_replace) meets a %s", ErrMerge, TypeOf(new))
}

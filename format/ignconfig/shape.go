package ignconfig

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	old "github.com/coreos/ignition/config/v2_4/types"
	types0 "github.com/coreos/ignition/v2/config/v3_0/types"
	types1 "github.com/coreos/ignition/v2/config/v3_1/types"
	types2 "github.com/coreos/ignition/v2/config/v3_2/types"
	types3 "github.com/coreos/ignition/v2/config/v3_3/types"
	types4 "github.com/coreos/ignition/v2/config/v3_4/types"
	types5 "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/coreos/vcontext/tree"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	documents "github.com/vmseed/vmseed/format/tree"
)

// specification2 stands for the minor version of specification 3 where a config has specification 2.
const specification2 = -1

// configType returns the official type of configs of version 3.minor. Those of specification 2 have the type of its last
// version, which knows the members of all.
func configType(minor int) reflect.Type {
	return map[int]reflect.Type{specification2: reflect.TypeFor[old.Config](),
		0: reflect.TypeFor[types0.Config](), 1: reflect.TypeFor[types1.Config](), 2: reflect.TypeFor[types2.Config](),
		3: reflect.TypeFor[types3.Config](), 4: reflect.TypeFor[types4.Config](), 5: reflect.TypeFor[types5.Config](),
		6: reflect.TypeFor[types.Config]()}[minor]
}

// member is a field of an official type.
type member struct {
	name string
	t    reflect.Type
}

// members returns the fields of a struct by the names that JSON has for them.
func members(t reflect.Type) []member {
	var out []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			out = append(out, members(f.Type)...)
			continue
		}
		out = append(out, member{name, f.Type})
	}
	return out
}

// lookUp finds a field as encoding/json does: by its name, else in any case.
func lookUp(t reflect.Type, key string) (m member, exact, ok bool) {
	for _, f := range members(t) {
		switch {
		case f.name == key:
			return f, true, true
		case !ok && strings.EqualFold(f.name, key):
			m, ok = f, true
		}
	}
	return m, false, ok
}

// shape compares a document with the official types: values of a wrong type, which encoding/json reports one at a time
// and behind the value, and keys that nobody reads.
type shape struct {
	source
	minor int
}

func (s shape) walk(n *yaml.Node, t reflect.Type, p dataPath) {
	if n.Tag == "!!null" {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		s.walk(n, t.Elem(), p)
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			s.mismatch(n, p, "an object", "")
			return
		}
		s.object(n, t, p)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			remedy := "put it into square brackets"
			if p.leaf() == "append" && n.Tag == "!!bool" {
				remedy = "since specification 3, it is a list of contents"
			}
			s.mismatch(n, p, "a list", remedy)
			return
		}
		for i, c := range n.Content {
			s.walk(c, t.Elem(), p.child(i))
		}
	case reflect.String:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
			s.mismatch(n, p, "a text", "put it into double quotes")
		}
	case reflect.Bool:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			s.mismatch(n, p, "true or false", "write true or false without quotes")
		}
	case reflect.Int:
		if _, ok := integer(n); !ok {
			s.mismatch(n, p, "a whole number", numberRemedy(n, p))
		}
	}
}

func (s shape) mismatch(n *yaml.Node, p dataPath, want, remedy string) {
	if remedy == "" {
		remedy = "see the specification of Ignition configs for its members"
	}
	have := shapeOf(n)
	if have == "a number" && want == "a whole number" {
		have = "a number with a fraction, an exponent, or too many digits"
	}
	s.addAt(n, CodeType, diag.Error, p, remedy, "this should be %s, not %s", want, have)
}

// numberRemedy computes the number that is meant. Modes are no secrets.
func numberRemedy(n *yaml.Node, p dataPath) string {
	if len(p) > 0 && p[len(p)-1] == "mode" {
		if mode, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "0o"), 8, 13); err == nil {
			return fmt.Sprintf("modes are decimal numbers: write %d, which is octal %04o", mode, mode)
		}
		return "modes are decimal numbers: write 420 for octal 0644"
	}
	return "write a whole number without quotes"
}

func (s shape) object(n *yaml.Node, t reflect.Type, p dataPath) {
	seen := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, exact, ok := lookUp(t, key.Value)
		if !ok {
			s.unknown(key, value, t, p)
			continue
		}
		here := p.child(f.name)
		if first := seen[f.name]; first != nil {
			s.list.Add(spelledTwice(key, first, f.name, here))
			continue
		}
		seen[f.name] = key
		if !exact {
			s.addAt(key, CodeUnknownKey, diag.Warning, p.child(tree.Key(key.Value)), fmt.Sprintf("write %q", f.name),
				"the key has another case than the one that Ignition documents, and not every reader takes it")
		}
		s.walk(value, f.t, here)
	}
}

// unknown says what is wrong with a key that Ignition ignores.
func (s shape) unknown(key, value *yaml.Node, t reflect.Type, p dataPath) {
	at := p.child(tree.Key(key.Value))
	if s.minor != specification2 {
		if minor, ok := s.since(p, key.Value); ok {
			s.addAt(key, CodeUnknownKey, diag.Warning, at, fmt.Sprintf("write \"version\": %q, or do without it", spec(minor)),
				"Ignition ignores this key in a config of version %s, it exists since %s", spec(s.minor), spec(minor))
			return
		}
		if summary, remedy := removed(p, key.Value, value); summary != "" {
			s.addAt(key, CodeUnknownKey, diag.Warning, at, remedy, "%s", summary)
			return
		}
	}
	remedy := "remove it"
	if near := nearest(t, key.Value); near != "" {
		remedy = fmt.Sprintf("did you mean %q?", near)
	}
	s.addAt(key, CodeUnknownKey, diag.Warning, at, remedy, "Ignition does not know this key and ignores it")
}

// since returns the first later version of specification 3 that has a key at a place.
func (s shape) since(p dataPath, key string) (int, bool) {
	for minor := s.minor + 1; minor <= newest; minor++ {
		if t := typeAt(configType(minor), p); t != nil {
			if _, _, ok := lookUp(t, key); ok {
				return minor, true
			}
		}
	}
	return 0, false
}

// typeAt returns the struct type at a path, or nil.
func typeAt(t reflect.Type, p dataPath) reflect.Type {
	for _, e := range p {
		t = bare(t)
		switch e := e.(type) {
		case int:
			if t.Kind() != reflect.Slice {
				return nil
			}
			t = t.Elem()
		case string:
			if t.Kind() != reflect.Struct {
				return nil
			}
			m, _, ok := lookUp(t, e)
			if !ok {
				return nil
			}
			t = m.t
		}
	}
	if t = bare(t); t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

func bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// nearest returns the member that was probably meant by a key, or nothing.
func nearest(t reflect.Type, key string) string {
	var names []string
	for _, f := range members(t) {
		names = append(names, f.name)
	}
	best, _ := documents.Closest(key, names)
	return best
}

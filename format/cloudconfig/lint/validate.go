package lint

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
)

// problem is one difference between a value and its shape.
type problem struct {
	code   diag.Code
	node   *yaml.Node
	path   string
	text   string
	remedy string
	depth  int
	shape  *shape // for deprecations
}

// validator compares values with the shapes of one release.
type validator struct{ v version }

// value returns the problems of a value, and the deprecated forms that it uses.
func (x validator) value(n *yaml.Node, s *shape, path string, depth int) (wrong, old []problem) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if cloudconfig.Opaque(n) {
		return nil, nil
	}
	if s.deprecated != (version{}) && !x.v.before(s.deprecated) && !x.v.before(s.flagged) {
		old = append(old, problem{code: CodeDeprecated, node: n, path: path, shape: s, depth: depth})
	}
	fail := func(code diag.Code, remedy, format string, args ...any) {
		wrong = append(wrong, problem{code, n, path, fmt.Sprintf(format, args...), remedy, depth, s})
	}
	if s.kinds != 0 && kindsOf(n)&s.kinds == 0 {
		fail(CodeType, quoteHint(n, s), "must be %s, not a %s", describeKinds(s.kinds), cloudconfig.TypeOf(n))
		return wrong, old
	}
	if len(s.enum) > 0 && !x.chosen(n, s.enum) {
		fail(CodeValue, "", "must be %s", x.describeEnum(s.enum))
	}
	x.scalar(n, s, fail)
	var more, dep []problem
	switch cloudconfig.TypeOf(n) {
	case cloudconfig.List:
		more, dep = x.list(n, s, path, depth, fail)
	case cloudconfig.Map:
		more, dep = x.mapping(n, s, path, depth, fail)
	}
	wrong, old = append(wrong, more...), append(old, dep...)
	more, dep = x.alternatives(n, s, path, depth)
	return append(wrong, more...), append(old, dep...)
}

type failure func(code diag.Code, remedy, format string, args ...any)

// kindsOf returns the JSON types that a value has: a date has none, bytes count as a string.
func kindsOf(n *yaml.Node) kinds {
	switch cloudconfig.TypeOf(n) {
	case cloudconfig.Null:
		return kNull
	case cloudconfig.Bool:
		return kBool
	case cloudconfig.Int:
		return kInt | kNumber
	case cloudconfig.Float:
		return kNumber
	case cloudconfig.String, cloudconfig.Binary:
		return kString
	case cloudconfig.List:
		return kList
	case cloudconfig.Map:
		return kMap
	}
	return 0
}

// scalar checks what holds for texts and numbers.
func (x validator) scalar(n *yaml.Node, s *shape, fail failure) {
	switch t := cloudconfig.TypeOf(n); {
	case t == cloudconfig.String:
		if s.pattern != nil && !s.pattern.MatchString(n.Value) {
			fail(CodeValue, "", "must match %s", s.pattern)
		}
		if _, err := time.Parse(time.DateOnly, n.Value); s.date && err != nil {
			fail(CodeValue, "", "must be a date such as 2030-12-31")
		}
	case s.minimum == nil:
	case t == cloudconfig.Int:
		if i, ok := cloudconfig.Integer(n); ok && new(big.Float).SetInt(i).Cmp(big.NewFloat(*s.minimum)) < 0 {
			fail(CodeValue, "", "must be at least %g", *s.minimum)
		}
	case t == cloudconfig.Float:
		if f, err := strconv.ParseFloat(n.Value, 64); err == nil && f < *s.minimum {
			fail(CodeValue, "", "must be at least %g", *s.minimum)
		}
	}
}

func (x validator) chosen(n *yaml.Node, choices []choice) bool {
	truth, isBool := cloudconfig.Truth(n)
	for _, c := range choices {
		if !within(x.v, c.since, c.until) {
			continue
		}
		if word, ok := c.value.(string); ok && cloudconfig.TypeOf(n) == cloudconfig.String && word == n.Value {
			return true
		}
		if b, ok := c.value.(bool); ok && isBool && b == truth {
			return true
		}
	}
	return false
}

func (x validator) list(n *yaml.Node, s *shape, path string, depth int, fail failure) (wrong, old []problem) {
	if len(n.Content) < s.minItems {
		fail(CodeValue, "remove it, or add to it", "needs at least %s", count(s.minItems, "item"))
	}
	if s.maxItems > 0 && len(n.Content) > s.maxItems {
		fail(CodeValue, "", "has more than %s", count(s.maxItems, "item"))
	}
	if s.unique {
		seen := map[string]bool{}
		for _, c := range n.Content {
			if c.Kind == yaml.ScalarNode {
				id := cloudconfig.TypeOf(c).String() + c.Value
				if seen[id] {
					fail(CodeValue, "remove one of the two", "holds an item twice")
				}
				seen[id] = true
			}
		}
	}
	item := s.items.at(x.v)
	if item == nil {
		return nil, nil
	}
	for i, c := range n.Content {
		w, o := x.value(c, item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		wrong, old = append(wrong, w...), append(old, o...)
	}
	return wrong, old
}

func count(n int, noun string) string {
	if n == 1 {
		return "one " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (x validator) mapping(n *yaml.Node, s *shape, path string, depth int, fail failure) (wrong, old []problem) {
	if len(n.Content)/2 < s.minKeys {
		fail(CodeValue, "remove it, or add to it", "needs at least %s", count(s.minKeys, "key"))
	}
	present := map[string]bool{}
	pairs(n, func(k, v *yaml.Node) {
		if cloudconfig.Opaque(k) {
			return
		}
		present[k.Value] = true
		sub := join(path, k.Value)
		shapes, known := x.shapesOf(s, k)
		if !known && s.closed {
			text, remedy := x.unknownField(s, k.Value)
			wrong = append(wrong, problem{CodeUnknownField, k, sub, text, remedy, depth + 1, nil})
		}
		for _, c := range shapes {
			w, o := x.value(v, c, sub, depth+1)
			wrong, old = append(wrong, w...), append(old, o...)
		}
	})
	for _, r := range s.required {
		if !present[r] {
			fail(CodeMissing, "add it", "has no %s, which is required", r)
		}
	}
	for _, e := range s.exclusive {
		if present[e[0]] && present[e[1]] {
			fail(CodeValue, "remove one of the two", "has both %s and %s", e[0], e[1])
		}
	}
	return wrong, old
}

// pairs calls f for each key and value of a mapping with its merge keys (<<) written out.
func pairs(n *yaml.Node, f func(k, v *yaml.Node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			continue
		}
		if k.Value != "<<" || k.Style != 0 {
			f(k, v)
			continue
		}
		sources := []*yaml.Node{v}
		if v.Kind == yaml.AliasNode {
			sources[0] = v.Alias
		}
		if sources[0].Kind == yaml.SequenceNode {
			sources = sources[0].Content
		}
		for _, s := range sources {
			if s.Kind == yaml.AliasNode {
				s = s.Alias
			}
			pairs(s, f)
		}
	}
}

// shapesOf returns the shapes of a key's value. A key is known if the mapping lists it, by name or by pattern.
func (x validator) shapesOf(s *shape, k *yaml.Node) (shapes []*shape, known bool) {
	if cloudconfig.TypeOf(k) == cloudconfig.String {
		if c := s.keys[k.Value].at(x.v); c != nil {
			shapes = append(shapes, c)
		}
		for _, p := range s.patterns {
			if c := p.shapes.at(x.v); c != nil && p.re.MatchString(k.Value) {
				shapes = append(shapes, c)
			}
		}
	}
	if len(shapes) > 0 {
		return shapes, true
	}
	if c := s.others.at(x.v); c != nil {
		return []*shape{c}, true
	}
	return nil, false
}

// unknownField explains why a key is not allowed: too new, gone, misspelt or simply unknown.
func (x validator) unknownField(s *shape, key string) (text, remedy string) {
	if other := s.keys[key]; len(other) > 0 {
		if last := other[len(other)-1]; x.v.before(last.since) {
			return "is known to cloud-init since " + last.since.String() + " only", "remove it for this guest"
		}
		return "is not known to cloud-init any more since " + other[len(other)-1].until.String(), "remove it"
	}
	var names []string
	for name, shapes := range s.keys {
		if shapes.at(x.v) != nil {
			names = append(names, name)
		}
	}
	return "is not known to cloud-init here", suggest(key, names)
}

// alternatives checks that exactly one alternative holds, or for the other sort at least one.
func (x validator) alternatives(n *yaml.Node, s *shape, path string, depth int) (wrong, old []problem) {
	for _, group := range []struct {
		shapes    []variants
		exclusive bool
	}{{s.one, true}, {s.some, false}} {
		var failed [][]problem
		var shapes []*shape
		held := 0
		for _, alternative := range group.shapes {
			a := alternative.at(x.v)
			if a == nil {
				continue
			}
			shapes = append(shapes, a)
			w, o := x.value(n, a, path, depth)
			if len(w) == 0 {
				held++
				old = append(old, o...)
			}
			failed = append(failed, w)
		}
		switch {
		case held == 0 && len(failed) > 0:
			wrong = append(wrong, x.closest(n, s, shapes, failed, path, depth)...)
		case held > 1 && group.exclusive:
			wrong = append(wrong, problem{CodeValue, n, path, "fits several forms that exclude each other", "", depth, s})
		}
	}
	return wrong, old
}

// closest chooses what to say when no alternative holds: the problems inside the one alternative whose type fits, or
// what the alternatives are.
func (x validator) closest(n *yaml.Node, s *shape, shapes []*shape, failed [][]problem, path string, depth int) []problem {
	var best []problem
	deepest := -1
	for i, w := range failed {
		a := shapes[i]
		if a.kinds != 0 && a.kinds&kindsOf(n) == 0 {
			continue
		}
		d := 0
		for _, p := range w {
			d = max(d, p.depth)
		}
		if a.kinds != 0 && d > depth && d > deepest {
			best, deepest = w, d
		}
	}
	if best != nil {
		return best
	}
	var fields []string
	var words []string
	for _, a := range shapes {
		if a.kinds == 0 && len(a.required) > 0 {
			fields = append(fields, strings.Join(a.required, " and "))
		}
		words = append(words, x.describe(a))
	}
	if len(fields) == len(shapes) && kindsOf(n) == kMap {
		return []problem{{CodeMissing, n, path, "needs " + orList(fields), "add it", depth, s}}
	}
	words = slices.Compact(words)
	hint := ""
	for _, a := range shapes {
		if hint == "" {
			hint = quoteHint(n, a)
		}
	}
	return []problem{{CodeType, n, path, fmt.Sprintf("must be %s, not this %s", orList(words), cloudconfig.TypeOf(n)), hint, depth, s}}
}

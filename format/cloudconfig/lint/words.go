package lint

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/tree"
)

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// kindWords are in the order in which messages list types.
var kindWords = []struct {
	kind kinds
	word string
}{
	{kString, "a string"}, {kBool, "true or false"}, {kNumber, "a number"}, {kInt, "a whole number"}, {kList, "a list"},
	{kMap, "a mapping"}, {kNull, "null"},
}

func describeKinds(k kinds) string {
	var words []string
	for _, w := range kindWords {
		if k&w.kind != 0 && (w.kind != kInt || k&kNumber == 0) {
			words = append(words, w.word)
		}
	}
	return orList(words)
}

// describe says in words what a shape is.
func (x validator) describe(s *shape) string {
	switch {
	case len(s.enum) > 0:
		return x.describeEnum(s.enum)
	case s.pattern != nil:
		return "a string that matches " + s.pattern.String()
	case s.kinds == kList:
		if item := s.items.at(x.v); item != nil && item.kinds == kString {
			if s.minItems > 0 && s.minItems == s.maxItems {
				return fmt.Sprintf("a list of %d strings", s.minItems)
			}
			return "a list of strings"
		}
	case s.kinds == 0:
		var words []string
		for _, group := range [][]variants{s.one, s.some} {
			for _, a := range group {
				if c := a.at(x.v); c != nil {
					words = append(words, x.describe(c))
				}
			}
		}
		if len(words) > 0 {
			return orList(slices.Compact(words))
		}
		if len(s.required) > 0 {
			return "a mapping with " + strings.Join(s.required, " and ")
		}
		return "another value"
	}
	return describeKinds(s.kinds)
}

// describeEnum lists allowed values, as far as a reader takes them in.
func (x validator) describeEnum(choices []choice) string {
	var words []string
	for _, c := range choices {
		if !within(x.v, c.since, c.until) {
			continue
		}
		words = append(words, fmt.Sprint(c.value))
	}
	if len(words) > 12 {
		return fmt.Sprintf("one of %d words, such as %s", len(words), orList(words[:3]))
	}
	return orList(words)
}

// quoteHint says how to make a text of a value that YAML reads as something else.
func quoteHint(n *yaml.Node, s *shape) string {
	if s.kinds&kString == 0 || n.Kind != yaml.ScalarNode || n.Style != 0 || n.Value == "" {
		if n.Kind == yaml.MappingNode && s.kinds&(kString|kList) != 0 {
			return "put the whole text into quotes if it holds a colon followed by a blank"
		}
		return ""
	}
	switch cloudconfig.TypeOf(n) {
	case cloudconfig.Int, cloudconfig.Float:
		if sixty(n) {
			return "put the value into quotes: YAML reads digits with colons as one number to the base 60"
		}
		return "put the value into quotes"
	case cloudconfig.Bool, cloudconfig.Time, cloudconfig.Null:
		return "put the value into quotes"
	}
	return ""
}

// suggest names the known word that was probably meant.
func suggest(word string, known []string) string {
	slices.Sort(known)
	if best, ok := tree.Closest(word, known); ok {
		return "did you mean " + best + "?"
	}
	return "remove it"
}

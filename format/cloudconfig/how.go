package cloudconfig

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Merger is one of cloud-init's mergers with its options. Type is dict, list or str.
type Merger struct {
	Type    string
	Options []string
}

// has reports whether one of the options is set.
func (m Merger) has(options ...string) bool {
	for _, o := range options {
		if slices.Contains(m.Options, o) {
			return true
		}
	}
	return false
}

// How says how a cloud-config is merged into what came before: a set of mergers, of which the first of each type
// counts. A type without a merger keeps the earlier value.
type How []Merger

// String returns the form in which merge_how and the Merge-Type header say it.
func (h How) String() string {
	var parts []string
	for _, m := range h {
		parts = append(parts, m.Type+"("+strings.Join(m.Options, ",")+")")
	}
	return strings.Join(parts, "+")
}

// DefaultHow is how cloud-init merges a part that says nothing: each top-level key replaces the earlier one.
func DefaultHow() How {
	return How{{Type: "dict", Options: []string{"replace"}}, {Type: "list"}, {Type: "str"}}
}

// AppendHow is the usual choice of those who want lists joined: earlier scalars win, lists are appended, mappings are
// united at every depth.
func AppendHow() How {
	return How{{Type: "list", Options: []string{"append"}}, {Type: "dict", Options: []string{"recurse_array"}}, {Type: "str"}}
}

// ErrHow is wrapped by every error about a merge_how, merge_type or Merge-Type that cloud-init does not understand.
// cloud-init drops the whole part in that case.
var ErrHow = errors.New("cloud-init does not understand this way to merge")

var howForm = regexp.MustCompile(`^([a-z_][a-z0-9_]*)\((.*)\)$`)

// optionNames are the options that any merger looks at.
var optionNames = []string{"replace", "no_replace", "append", "prepend", "recurse_str", "recurse_dict", "recurse_array",
	"recurse_list", "allow_delete"}

// newMerger checks the type of a merger.
func newMerger(name string, options []string) (Merger, error) {
	t := strings.TrimPrefix(name, "m_")
	if t != "dict" && t != "list" && t != "str" {
		return Merger{}, fmt.Errorf("%w: there is no merger %q; the mergers are dict, list and str", ErrHow, name)
	}
	return Merger{Type: t, Options: options}, nil
}

// ParseHow reads the text form: mergers with their options in brackets, joined by a plus sign, in any case and with
// - for _, such as list(append)+dict(no_replace,recurse_list)+str(). An empty text is an empty How.
func ParseHow(s string) (How, error) {
	var how How
	for m := range strings.SplitSeq(s, "+") {
		m = strings.ReplaceAll(strings.TrimSpace(strings.ToLower(m)), "-", "_")
		if m == "" {
			continue
		}
		match := howForm.FindStringSubmatch(m)
		if match == nil {
			return nil, fmt.Errorf("%w: %q is not of the form type(option,...)", ErrHow, m)
		}
		var options []string
		for o := range strings.SplitSeq(match[2], ",") {
			if o = strings.TrimSpace(o); o != "" {
				options = append(options, o)
			}
		}
		merger, err := newMerger(match[1], options)
		if err != nil {
			return nil, err
		}
		how = append(how, merger)
	}
	return how, nil
}

// HowOf reads the value of merge_how or merge_type in a document: text as for ParseHow, or a list of mergers, each
// {name: ..., settings: [...]} or [name, option, ...].
func HowOf(n *yaml.Node) (How, error) {
	n = resolveAlias(n)
	switch TypeOf(n) {
	case Null:
		return nil, nil
	case String:
		return ParseHow(n.Value)
	case List:
		return howList(n.Content)
	case Map:
		// Python iterates over the keys. Each is text, of which the first letter is taken for a name.
		var keys []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i])
		}
		return howList(keys)
	}
	return nil, fmt.Errorf("%w: a %s says nothing", ErrHow, TypeOf(n))
}

func howList(items []*yaml.Node) (How, error) {
	var how How
	for _, n := range items {
		m, ok, err := howItem(resolveAlias(n))
		if err != nil {
			return nil, err
		}
		if ok {
			how = append(how, m)
		}
	}
	return how, nil
}

// howItem reads one merger of the list form. An empty name is skipped, as cloud-init does.
func howItem(n *yaml.Node) (Merger, bool, error) {
	switch TypeOf(n) {
	case Map:
		name, settings := lookup(n, "name"), lookup(n, "settings")
		if name == nil || settings == nil || TypeOf(name) != String {
			return Merger{}, false, fmt.Errorf("%w: a merger needs a name, which is text, and settings", ErrHow)
		}
		options, err := howSettings(resolveAlias(settings))
		text := strings.TrimSpace(strings.ReplaceAll(resolveAlias(name).Value, "-", "_"))
		if err != nil || text == "" {
			return Merger{}, false, err
		}
		m, err := newMerger(text, options)
		return m, err == nil, err
	case List:
		if len(n.Content) == 0 {
			return Merger{}, false, fmt.Errorf("%w: a merger in the list has no name", ErrHow)
		}
		name := resolveAlias(n.Content[0])
		if TypeOf(name) == String && name.Value == "" {
			return Merger{}, false, nil
		}
		if TypeOf(name) != String {
			return Merger{}, false, fmt.Errorf("%w: the name of a merger is text", ErrHow)
		}
		m, err := newMerger(name.Value, texts(n.Content[1:]))
		return m, err == nil, err
	}
	return Merger{}, false, fmt.Errorf("%w: a merger in the list is neither a mapping with name and settings nor a list", ErrHow)
}

// howSettings reads the options of the mapping form. Text works too: cloud-init then looks for each option in it.
func howSettings(n *yaml.Node) ([]string, error) {
	switch TypeOf(n) {
	case List:
		return texts(n.Content), nil
	case Map:
		var keys []*yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			keys = append(keys, n.Content[i])
		}
		return texts(keys), nil
	case String:
		var options []string
		for _, o := range optionNames {
			if strings.Contains(n.Value, o) {
				options = append(options, o)
			}
		}
		return options, nil
	}
	return nil, fmt.Errorf("%w: the settings of a merger are a list of options", ErrHow)
}

func texts(nodes []*yaml.Node) []string {
	var out []string
	for _, n := range nodes {
		if n = resolveAlias(n); TypeOf(n) == String {
			out = append(out, n.Value)
		}
	}
	return out
}

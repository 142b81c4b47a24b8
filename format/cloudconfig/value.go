package cloudconfig

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Entry is one key of a Mapping with its value.
type Entry struct {
	Key   string
	Value any
}

// Mapping is a mapping in a fixed order, for Value.
type Mapping []Entry

// ErrNotText is for strings that no YAML document can hold as text.
var ErrNotText = errors.New("a string is not UTF-8 text; write it as base64")

// Value builds the node for a Go value, in the style in which PyYAML reads exactly that value back: nil, bool, all
// integers, float64, string, []string, []any, []Mapping, Mapping, map[string]string and map[string]any (keys in
// order), and *yaml.Node, which is taken as it is. Any other type is an error, and so is a string that is not UTF-8.
func Value(v any) (*yaml.Node, error) {
	switch v := v.(type) {
	case nil:
		return plain("!!null", "null"), nil
	case *yaml.Node:
		return v, nil
	case bool:
		return plain("!!bool", strconv.FormatBool(v)), nil
	case int:
		return plain("!!int", strconv.Itoa(v)), nil
	case int64:
		return plain("!!int", strconv.FormatInt(v, 10)), nil
	case int32:
		return plain("!!int", strconv.FormatInt(int64(v), 10)), nil
	case uint32:
		return plain("!!int", strconv.FormatUint(uint64(v), 10)), nil
	case uint64:
		return plain("!!int", strconv.FormatUint(v, 10)), nil
	case float64:
		return plain("!!float", formatFloat(v)), nil
	case string:
		return text(v)
	case []string:
		return sequence(v)
	case []any:
		return sequence(v)
	case []Mapping:
		return sequence(v)
	case Mapping:
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for _, e := range v {
			if err := add(n, e.Key, e.Value); err != nil {
				return nil, err
			}
		}
		return n, nil
	case map[string]string:
		return sorted(v)
	case map[string]any:
		return sorted(v)
	}
	return nil, fmt.Errorf("a value of type %T has no YAML form here", v)
}

func plain(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// text chooses a style for a string: plain where every reader agrees that it is a string, a literal block for lines
// of text, else double quotes.
func text(s string) (*yaml.Node, error) {
	if !utf8.ValidString(s) {
		return nil, ErrNotText
	}
	n := plain("!!str", s)
	switch {
	case strings.Contains(s, "\n") && literalFits(s):
		n.Style = yaml.LiteralStyle
	case !safePlain.MatchString(s) || PlainType(s) != String || looseType(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}

// looseType reports whether some reader other than PyYAML takes a plain text for another type: YAML 1.2 numbers such
// as 1e3 and 0o17, the one-letter booleans of old readers, and the special texts of all of them.
func looseType(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "nan", "inf", "infinity", ".inf", ".nan", "null", "true", "false", "yes", "no", "on", "off":
		return true
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return true
	}
	_, err := strconv.ParseInt(s, 0, 64)
	return err == nil
}

func sequence[T any](items []T) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, item := range items {
		c, err := Value(item)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, c)
	}
	return n, nil
}

func sorted[T any](m map[string]T) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if err := add(n, k, m[k]); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func add(n *yaml.Node, key string, value any) error {
	k, err := text(key)
	if err != nil {
		return err
	}
	if k.Style == yaml.LiteralStyle {
		k.Style = yaml.DoubleQuotedStyle
	}
	v, err := Value(value)
	if err != nil {
		return err
	}
	n.Content = append(n.Content, k, v)
	return nil
}

// formatFloat writes a number so that YAML 1.1 sees a float: with a point, and with a sign in the exponent.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Contains(s, ".") {
		return s
	}
	if mantissa, exponent, ok := strings.Cut(s, "e"); ok {
		return mantissa + ".0e" + exponent
	}
	return s + ".0"
}

package cloudconfig

import (
	"encoding/base64"
	"errors"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Type is what a YAML node is to PyYAML's safe loader, which reads YAML 1.1 and is the reader that cloud-init uses.
type Type uint8

// The types of PyYAML's safe loader.
const (
	// Invalid is a value that the loader refuses, and with it the whole document.
	Invalid Type = iota
	// Null is nothing: an empty value, ~ or null.
	Null
	// Bool is true, false, and also yes, no, on and off.
	Bool
	// Int is a whole number in any base, 60 included.
	Int
	// Float is a number with a point.
	Float
	// String is text.
	String
	// Time is a date or a date with a time.
	Time
	// Binary is base64 text with the tag !!binary.
	Binary
	// List is a sequence.
	List
	// Map is a mapping.
	Map
	// Other is a collection with a tag of its own: !!set, !!omap or !!pairs.
	Other
)

var typeNames = [...]string{"unreadable value", "null", "boolean", "integer", "number", "string", "date", "binary",
	"list", "mapping", "tagged collection"}

// String returns the word for the type that messages use.
func (t Type) String() string { return typeNames[t] }

// The implicit types of YAML 1.1 (https://yaml.org/type/) in the spelling of PyYAML 6.
var (
	boolText  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	intText   = regexp.MustCompile(`^(?:[-+]?0b[0-1_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)|[-+]?0x[0-9a-fA-F_]+|[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)$`)
	floatText = regexp.MustCompile(`^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|` +
		`[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	timeText = regexp.MustCompile(`^(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|` +
		`[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9][0-9]?(?::[0-9]{2})?))?)$`)
	timeParts = regexp.MustCompile(`^([0-9]+)-([0-9]+)-([0-9]+)(?:(?:[Tt]|[ \t]+)([0-9]+):([0-9]+):([0-9]+)(?:.*?([-+])([0-9]+)(?::([0-9]+))?)?)?`)
)

// TypeOf tells how PyYAML's safe loader reads a node. An alias has the type of what it stands for.
func TypeOf(n *yaml.Node) Type {
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 1 {
			return TypeOf(n.Content[0])
		}
		return Null
	case yaml.AliasNode:
		return TypeOf(n.Alias)
	case yaml.SequenceNode:
		return collectionType(n, List, "!!seq", "!!omap", "!!pairs")
	case yaml.MappingNode:
		return collectionType(n, Map, "!!map", "!!set")
	case yaml.ScalarNode:
		return scalarType(n)
	}
	return Invalid
}

// explicitTag returns the tag that the author wrote, in its short form, or "".
func explicitTag(n *yaml.Node) string {
	if n.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return n.ShortTag()
}

func collectionType(n *yaml.Node, own Type, own1 string, others ...string) Type {
	switch tag := explicitTag(n); {
	case tag == "" || tag == own1 || tag == "!":
		return own
	default:
		for _, o := range others {
			if tag == o {
				return Other
			}
		}
	}
	return Invalid
}

const quotedStyles = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func scalarType(n *yaml.Node) Type {
	switch tag := explicitTag(n); tag {
	case "":
		if n.Style&quotedStyles != 0 {
			return String
		}
		return PlainType(n.Value)
	case "!", "!!str":
		return String
	case "!!null":
		return Null
	case "!!bool":
		return explicitType(boolText.MatchString(n.Value), Bool)
	case "!!int":
		_, ok := parseInt(n.Value)
		return explicitType(ok, Int)
	case "!!float":
		_, err := parseFloat(n.Value)
		return explicitType(err == nil, Float)
	case "!!timestamp":
		return explicitType(timeText.MatchString(n.Value) && validTime(n.Value), Time)
	case "!!binary":
		return explicitType(validBase64(n.Value), Binary)
	}
	return Invalid
}

func explicitType(ok bool, t Type) Type {
	if ok {
		return t
	}
	return Invalid
}

// PlainType tells how PyYAML's safe loader reads a plain (unquoted) scalar. It is Invalid for texts that match a
// type but have no value, such as 0x_ and 2024-02-31, and for =.
func PlainType(s string) Type {
	if s == "" {
		return Null
	}
	switch c := s[0]; {
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		return numberType(s)
	case s == "~" || s == "null" || s == "Null" || s == "NULL":
		return Null
	case len(s) <= len("false") && boolText.MatchString(s):
		return Bool
	case s == "=" || s == "<<":
		return Invalid
	}
	return String
}

// numberType tells the type of a plain scalar that begins as numbers and dates do.
func numberType(s string) Type {
	switch {
	case floatText.MatchString(s):
		if _, err := parseFloat(s); err != nil {
			return Invalid
		}
		return Float
	case intText.MatchString(s):
		if _, ok := parseInt(s); !ok {
			return Invalid
		}
		return Int
	case timeText.MatchString(s):
		if !validTime(s) {
			return Invalid
		}
		return Time
	}
	return String
}

// Truth returns the value of a boolean, and whether the node is one to PyYAML.
func Truth(n *yaml.Node) (value, ok bool) {
	if TypeOf(n) != Bool {
		return false, false
	}
	switch strings.ToLower(resolveAlias(n).Value) {
	case "yes", "true", "on":
		return true, true
	}
	return false, true
}

// Integer returns the value of a whole number, and whether the node is one to PyYAML.
func Integer(n *yaml.Node) (*big.Int, bool) {
	if TypeOf(n) != Int {
		return nil, false
	}
	return parseInt(resolveAlias(n).Value)
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// parseInt computes what PyYAML's construct_yaml_int does.
func parseInt(s string) (*big.Int, bool) {
	s = strings.ReplaceAll(s, "_", "")
	sign := ""
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, s = s[:1], s[1:]
	}
	v, ok := new(big.Int), true
	switch {
	case s == "":
		return nil, false
	case s == "0":
	case strings.HasPrefix(s, "0b"):
		v, ok = v.SetString(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		v, ok = v.SetString(s[2:], 16)
	case s[0] == '0':
		v, ok = v.SetString(s, 8)
	case strings.Contains(s, ":"):
		sixty := big.NewInt(60)
		for digit := range strings.SplitSeq(s, ":") {
			d, good := new(big.Int).SetString(digit, 10)
			if !good {
				return nil, false
			}
			v.Add(v.Mul(v, sixty), d)
		}
	default:
		v, ok = v.SetString(s, 10)
	}
	if ok && sign == "-" {
		v.Neg(v)
	}
	return v, ok
}

// parseFloat computes what PyYAML's construct_yaml_float does.
func parseFloat(s string) (float64, error) {
	s = strings.ToLower(strings.ReplaceAll(s, "_", ""))
	factor := 1.0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			factor = -1
		}
		s = s[1:]
	}
	if strings.Contains(s, ":") {
		value := 0.0
		for digit := range strings.SplitSeq(s, ":") {
			d, err := strconv.ParseFloat(digit, 64)
			if err != nil {
				return 0, err
			}
			value = value*60 + d
		}
		return factor * value, nil
	}
	if s == ".inf" || s == ".nan" {
		s = s[1:]
	}
	v, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // Python reads these as infinity or zero
	}
	return factor * v, err
}

// validTime reports whether Python can hold a text that has the form of a timestamp.
func validTime(s string) bool {
	m := timeParts.FindStringSubmatch(s)
	if m == nil {
		return false
	}
	var f [10]int
	for i, text := range m {
		if i > 0 && i != 7 {
			f[i], _ = strconv.Atoi(text)
		}
	}
	day := time.Date(f[1], time.Month(f[2]), f[3], 0, 0, 0, 0, time.UTC)
	if f[1] < 1 || f[2] < 1 || f[2] > 12 || f[3] < 1 || day.Day() != f[3] {
		return false
	}
	return f[4] < 24 && f[5] < 60 && f[6] < 60 && f[8]*60+f[9] < 24*60
}

// validBase64 reports whether Python's base64.decodebytes reads a text.
func validBase64(s string) bool {
	return lenientBase64(s) != nil
}

// lenientBase64 decodes as Python's base64.decodebytes does: characters outside the alphabet don't count, and padding
// ends the text where a group is complete. It returns nil for a text that Python refuses.
func lenientBase64(s string) []byte {
	packed := make([]byte, 0, len(s))
	pads, complete := 0, false
	for _, r := range s {
		switch {
		case r > 127:
			return nil
		case complete:
		case r == '=':
			pads++
			complete = len(packed)%4 >= 2 && len(packed)%4+pads >= 4
		case r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '+', r == '/':
			pads = 0
			packed = append(packed, byte(r))
		}
	}
	if len(packed)%4 != 0 && !complete {
		return nil
	}
	out, err := base64.RawStdEncoding.DecodeString(string(packed))
	if err != nil {
		return nil
	}
	return append([]byte{}, out...)
}

// identity is equal for two keys exactly when they are one key of a Python dict: 1, 1.0 and yes are the same.
func identity(n *yaml.Node) string {
	n = resolveAlias(n)
	switch TypeOf(n) {
	case String:
		return "s" + n.Value
	case Null:
		return "z"
	case Bool:
		if v, _ := Truth(n); v {
			return "n1"
		}
		return "n0"
	case Int:
		if v, ok := parseInt(n.Value); ok {
			return "n" + v.String()
		}
	case Float:
		v, err := parseFloat(n.Value)
		if err != nil {
			break
		}
		if b := new(big.Float); v == v && v-v == 0 {
			if i, exact := b.SetFloat64(v).Int(nil); exact == big.Exact {
				return "n" + i.String()
			}
		}
		return "f" + strconv.FormatFloat(v, 'g', -1, 64)
	case Invalid:
		if n.Value == "=" {
			return "s=" // PyYAML reads a lone = as text where it is a key
		}
	}
	return "o" + n.ShortTag() + n.Value
}

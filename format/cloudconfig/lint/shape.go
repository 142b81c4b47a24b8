package lint

import (
	"embed"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// The table of cloud-init's keys: which there are, what their values look like, and since and until which release.
// The facts are those of cloud-init's JSON schemas of 22.4 to 26.2; the notation is our own. A line is
//
//	label: types attribute...
//
// and the lines below it that are indented by two more describe the parts of the value. Labels:
//
//	name      a key of a mapping; at the margin, a top-level key
//	/regexp/  the keys that match it
//	*         all other keys
//	-         the items of a list
//	|         an alternative, of which exactly one must hold
//	+         an alternative, of which at least one must hold
//	$name     a shape that others refer to, instead of types, as $name
//
// Types are any of string, bool, int, number, null, list and map with commas between them, or any. Attributes:
//
//	enum=[...]        the allowed values as JSON; "x>=24.1" is allowed since, "x<24.1" until that release
//	pattern=/regexp/  for strings;  format=date for strings
//	minItems= maxItems= unique     for lists
//	minProperties= required=a,b exclusive=a,b closed    for mappings; closed allows no keys but those listed
//	minimum=          for numbers
//	since=V until=V   the line holds from the first release until before the second
//	deprecated=V      since that release; deprecated=V@W: said since release W only
//	older             the key works in older releases too, whose schemas don't know it
//
//go:embed table
var tables embed.FS

// kinds is a set of JSON types.
type kinds uint8

const (
	kString kinds = 1 << iota
	kBool
	kInt
	kNumber
	kNull
	kList
	kMap
)

var kindNames = map[string]kinds{"string": kString, "bool": kBool, "int": kInt, "number": kNumber | kInt, "null": kNull,
	"list": kList, "map": kMap, "any": 0}

// shape is what a value may look like.
type shape struct {
	kinds        kinds // 0 for any
	enum         []choice
	pattern      *regexp.Regexp
	date         bool
	minItems     int
	maxItems     int // 0 for no limit
	unique       bool
	minKeys      int
	minimum      *float64
	required     []string
	exclusive    [][2]string
	closed       bool
	keys         map[string]variants
	patterns     []patternKeys
	others       variants
	items        variants
	one, some    []variants
	since, until version // zero for no limit
	deprecated   version
	flagged      version
	older        bool
}

type choice struct {
	value        any // string or bool
	since, until version
}

type patternKeys struct {
	re     *regexp.Regexp
	shapes variants
}

// variants are the shapes of one place in different releases.
type variants []*shape

// at returns the shape that holds in a release, or nil.
func (vs variants) at(v version) *shape {
	for _, s := range vs {
		if within(v, s.since, s.until) {
			return s
		}
	}
	return nil
}

func within(v, since, until version) bool {
	return !v.before(since) && (until == (version{}) || v.before(until))
}

// keyTable returns the top-level keys. The table is read once.
var keyTable = sync.OnceValues(func() (map[string]variants, error) {
	r := tableReader{shared: map[string]*shape{}}
	root := &shape{}
	for _, name := range []string{"shared", "a-l", "m-z"} {
		text, err := tables.ReadFile("table/" + name + ".txt")
		if err == nil {
			err = r.read(root, string(text))
		}
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
	}
	return root.keys, nil
})

type tableReader struct{ shared map[string]*shape }

// read adds the lines of text to root.
func (r *tableReader) read(root *shape, text string) error {
	parents := []*shape{root}
	for number, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimLeft(line, " ")
		depth := (len(line) - len(trimmed)) / 2
		if trimmed == "" || trimmed[0] == '#' {
			continue
		}
		label, rest, ok := cutLabel(trimmed)
		if !ok || depth >= len(parents) {
			return fmt.Errorf("line %d: no label, or indented too far", number+1)
		}
		s, err := r.shape(rest)
		if err == nil {
			err = r.attach(parents[depth], label, s)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number+1, err)
		}
		parents = append(parents[:depth+1], s)
	}
	return nil
}

// cutLabel splits a line behind its label, which holds a colon only inside slashes.
func cutLabel(line string) (label, rest string, ok bool) {
	start := 0
	if line[0] == '/' {
		start = strings.LastIndex(line, "/: ")
	}
	if start < 0 {
		return "", "", false
	}
	label, rest, ok = strings.Cut(line[start:], ": ")
	return line[:start] + label, rest, ok
}

// attach puts a shape into the place of its parent that the label names.
func (r *tableReader) attach(parent *shape, label string, s *shape) error {
	switch {
	case label == "-":
		parent.items = append(parent.items, s)
	case label == "*":
		parent.others = append(parent.others, s)
	case label == "|":
		parent.one = append(parent.one, variants{s})
	case label == "+":
		parent.some = append(parent.some, variants{s})
	case label[0] == '$':
		r.shared[label] = s
	case label[0] == '/':
		re, err := regexp.Compile(strings.Trim(label, "/"))
		if err != nil {
			return err
		}
		parent.patterns = append(parent.patterns, patternKeys{re, variants{s}})
	default:
		if parent.keys == nil {
			parent.keys = map[string]variants{}
		}
		parent.keys[label] = append(parent.keys[label], s)
	}
	return nil
}

// shape reads types and attributes.
func (r *tableReader) shape(text string) (*shape, error) {
	words := strings.Split(text, " ")
	s := &shape{}
	if words[0][0] == '$' {
		shared, ok := r.shared[words[0]]
		if !ok {
			return nil, fmt.Errorf("%s is not defined above", words[0])
		}
		*s = *shared
	} else {
		for t := range strings.SplitSeq(words[0], ",") {
			k, ok := kindNames[t]
			if !ok {
				return nil, fmt.Errorf("there is no type %q", t)
			}
			s.kinds |= k
		}
	}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		if err := s.attribute(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", w, err)
		}
	}
	return s, nil
}

func (s *shape) attribute(name, value string) (err error) {
	switch name {
	case "enum":
		s.enum, err = parseEnum(value)
	case "pattern":
		s.pattern, err = regexp.Compile(strings.Trim(value, "/"))
	case "format":
		s.date = value == "date"
	case "minItems":
		s.minItems, err = strconv.Atoi(value)
	case "maxItems":
		s.maxItems, err = strconv.Atoi(value)
	case "minProperties":
		s.minKeys, err = strconv.Atoi(value)
	case "minimum":
		var f float64
		f, err = strconv.ParseFloat(value, 64)
		s.minimum = &f
	case "unique":
		s.unique = true
	case "required":
		s.required = strings.Split(value, ",")
	case "exclusive":
		a, b, _ := strings.Cut(value, ",")
		s.exclusive = append(s.exclusive, [2]string{a, b})
	case "closed":
		s.closed = true
	case "since":
		s.since, err = parseVersion(value)
	case "until":
		s.until, err = parseVersion(value)
	case "older":
		s.older = true
	case "deprecated":
		since, flagged, ok := strings.Cut(value, "@")
		if s.deprecated, err = parseVersion(since); err == nil && ok {
			s.flagged, err = parseVersion(flagged)
		}
	default:
		return fmt.Errorf("there is no such attribute")
	}
	return err
}

func parseVersion(text string) (version, error) {
	var v version
	n, err := fmt.Sscanf(text, "%d.%d", &v.year, &v.number)
	if err != nil || n != 2 {
		return v, fmt.Errorf("%q is no release", text)
	}
	return v, nil
}

func parseEnum(text string) ([]choice, error) {
	var values []any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		return nil, err
	}
	var out []choice
	for _, v := range values {
		c := choice{value: v}
		if word, ok := v.(string); ok {
			var err error
			if i := strings.Index(word, "<"); i > 0 {
				if c.until, err = parseVersion(word[i+1:]); err != nil {
					return nil, err
				}
				word = word[:i]
			}
			if i := strings.Index(word, ">="); i > 0 {
				if c.since, err = parseVersion(word[i+2:]); err != nil {
					return nil, err
				}
				word = word[:i]
			}
			c.value = word
		}
		out = append(out, c)
	}
	return out, nil
}

package ovirtapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// field gives the values that an object has under one name of the search language; an object without any matches
// no "=" and every "!=".
type field[T any] func(T) []string

// searchable says how objects of one kind are found. It is a read-only table.
type searchable[T any] struct {
	// noun is how the kind is called in messages.
	noun string
	// fields by lower-case name, with the name of a related kind and a dot in front where there is one.
	fields map[string]field[T]
	// absent are fields of oVirt's own that nothing here ever has: they are known, and match nothing.
	absent []string
	// text are the fields that free text looks into.
	text []string
}

// value makes a field of which every object has one value.
func value[T any](f func(T) string) field[T] { return func(t T) []string { return []string{f(t)} } }

// search gives the objects that a search text asks for, in its order, and not more than max of them; max < 0 means all.
func (s searchable[T]) search(objects []T, text string, caseSensitive bool, max int) ([]T, error) {
	q, err := parseSearch(text)
	if err != nil {
		return nil, err
	}
	if err := s.check(q); err != nil {
		return nil, err
	}
	var found []T
	matcher := s.compile(q, caseSensitive)
	for _, o := range objects {
		if matcher(o) {
			found = append(found, o)
		}
	}
	if f := s.fields[q.sortBy]; f != nil {
		slices.SortStableFunc(found, func(a, b T) int {
			c := compare(first(f(a)), first(f(b)))
			if q.descending {
				return -c
			}
			return c
		})
	}
	return page(found, q.page, max), nil
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// page cuts the page with the given number, counted from 1, out of objects. Without a number the maximum alone counts.
func page[T any](objects []T, number, max int) []T {
	if number > 0 {
		if max <= 0 {
			max = defaultPageSize
		}
		from := number - 1
		if from > len(objects)/max {
			return nil
		}
		objects = objects[min(from*max, len(objects)):]
	}
	if max >= 0 && max < len(objects) {
		objects = objects[:max]
	}
	return objects
}

// check refuses names of fields that oVirt does not know either, so that a misspelt one is not a search that finds nothing.
func (s searchable[T]) check(q query) error {
	known := func(name string) bool {
		return s.fields[name] != nil || slices.Contains(s.absent, name) || isRelated(name)
	}
	for _, group := range q.groups {
		for _, c := range group {
			if c.field != "" && !known(c.field) {
				return fmt.Errorf("%s have no field %q", s.noun, c.field)
			}
		}
	}
	if q.sortBy != "" && !known(q.sortBy) {
		return fmt.Errorf("%s have no field %q to sort by", s.noun, q.sortBy)
	}
	return nil
}

// isRelated says whether a name is a field of a kind of object that oVirt relates to others. Where there is no such relation
// here, it has no value.
func isRelated(name string) bool {
	kind, member, dotted := strings.Cut(name, ".")
	switch strings.TrimSuffix(kind, "s") {
	case "vm", "template", "host", "cluster", "datacenter", "storage", "disk", "network", "user", "event", "tag", "vnicprofile", "pool", "quota", "provider",
		"affinity_group", "affinity_label", "instancetype", "volume":
		return dotted && member != ""
	}
	return false
}

func (s searchable[T]) compile(q query, caseSensitive bool) func(T) bool {
	if len(q.groups) == 0 {
		return func(T) bool { return true }
	}
	groups := make([][]func(T) bool, len(q.groups))
	for i, group := range q.groups {
		for _, c := range group {
			groups[i] = append(groups[i], s.condition(c, caseSensitive))
		}
	}
	return func(o T) bool {
		return slices.ContainsFunc(groups, func(group []func(T) bool) bool {
			return !slices.ContainsFunc(group, func(holds func(T) bool) bool { return !holds(o) })
		})
	}
}

func (s searchable[T]) condition(c condition, caseSensitive bool) func(T) bool {
	fold := strings.ToLower
	if caseSensitive {
		fold = func(text string) string { return text }
	}
	if c.field == "" {
		pattern := "*" + fold(c.value) + "*"
		return func(o T) bool {
			return slices.ContainsFunc(s.text, func(name string) bool {
				return slices.ContainsFunc(s.fields[name](o), func(v string) bool { return wildcard(pattern, fold(v)) })
			})
		}
	}
	read := s.fields[c.field]
	if read == nil {
		return func(T) bool { return c.op == opNotEqual }
	}
	if isEnumField(c.field) {
		fold = func(text string) string { return strings.ReplaceAll(strings.ToLower(text), "_", "") }
	}
	pattern := fold(c.value)
	equal := func(v string) bool { return wildcard(pattern, fold(v)) }
	switch c.op {
	case opEqual:
		return func(o T) bool { return slices.ContainsFunc(read(o), equal) }
	case opNotEqual:
		return func(o T) bool { return !slices.ContainsFunc(read(o), equal) }
	}
	return func(o T) bool {
		return slices.ContainsFunc(read(o), func(v string) bool {
			if v == "" {
				return false
			}
			r := compare(fold(v), pattern)
			return r < 0 && (c.op == opLess || c.op == opLessOrEqual) || r > 0 && (c.op == opGreater || c.op == opGreaterOrEqual) ||
				r == 0 && (c.op == opLessOrEqual || c.op == opGreaterOrEqual)
		})
	}
}

// isEnumField says whether a field's values are words of the API, which the search language writes without underscores
// ("imagelocked") and clients with them.
func isEnumField(name string) bool {
	name = name[strings.LastIndexByte(name, '.')+1:]
	return name == "status" || name == "type" || name == "severity"
}

// compare orders numbers by value, points in time by time and anything else by its text.
func compare(a, b string) int {
	if !numeric(a) || !numeric(b) {
		return strings.Compare(a, b)
	}
	if x, err := strconv.ParseFloat(a, 64); err == nil {
		if y, err := strconv.ParseFloat(b, 64); err == nil {
			return cmp.Compare(x, y)
		}
	}
	if x, ok := parseTime(a); ok {
		if y, ok := parseTime(b); ok {
			return x.Compare(y)
		}
	}
	return strings.Compare(a, b)
}

// numeric says whether a text may be a number or a point in time, which most texts that are sorted are not.
func numeric(text string) bool {
	return text != "" && (text[0] >= '0' && text[0] <= '9' || text[0] == '-' || text[0] == '+' || text[0] == '.')
}

// parseTime reads the points in time that the API writes and those that people search for.
func parseTime(text string) (time.Time, bool) {
	text = strings.ToUpper(text)
	for _, layout := range [...]string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02", "01/02/2006", "01/02/2006 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// wildcard says whether text is what pattern describes, in which "*" stands for any text. It takes time in proportion
// to the product of both lengths at worst.
func wildcard(pattern, text string) bool {
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

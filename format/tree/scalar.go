package tree

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// Want reports, as an error in l, that the value is not of a kind; an absent or null value passes. It returns whether
// the value exists and is of that kind.
func (v Value) Want(l *diag.List, kind Kind) bool {
	have := v.Kind()
	if have == kind {
		return true
	}
	if have != Absent && have != Null {
		v.wrong(l, kind.String(), have.String())
	}
	v.Consume()
	return false
}

func (v Value) wrong(l *diag.List, want, have string) {
	l.Add(diag.Diagnostic{Code: CodeWrongType, Severity: diag.Error, Range: v.Range(), Field: v.path,
		Summary: fmt.Sprintf("%s should stand here, not %s", want, have)})
}

// Errorf reports an error at the value.
func (v Value) Errorf(l *diag.List, code diag.Code, remedy, format string, args ...any) {
	l.Add(diag.Diagnostic{Code: code, Severity: diag.Error, Range: v.Range(), Field: v.path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// Warnf reports a warning at the value.
func (v Value) Warnf(l *diag.List, code diag.Code, remedy, format string, args ...any) {
	l.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Range: v.Range(), Field: v.path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// plain reports whether a scalar stands without quotes, so that its spelling decides its type.
func plain(n *yaml.Node) bool {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	return n.Style&quoted == 0
}

// oldBools are the words that YAML 1.1, and so kubectl and PyYAML, read as booleans and YAML 1.2 as texts. A lone y or n
// is left out: PyYAML reads those as texts.
var oldBools = map[string]bool{
	"yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}

// Str returns a text. Anything that some YAML reader takes for another type is an error that asks for quotes.
func (v Value) Str(l *diag.List) string {
	if !v.Want(l, Scalar) {
		return ""
	}
	v.mark()
	n := v.target()
	if what := v.nonText(); what != "" {
		v.Errorf(l, CodeAmbiguous, "put it into quotes", "a text should stand here, but YAML readers take this for %s", what)
		return ""
	}
	return n.Value
}

// nonText says what a scalar is when it is not a text for every reader, or "".
func (v Value) nonText() string {
	n := v.target()
	tag := n.ShortTag()
	if n.Style&yaml.TaggedStyle != 0 && tag == "!!str" {
		return ""
	}
	switch tag {
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!timestamp":
		return "a date"
	case "!!str":
	default:
		return "a value with a tag of its own"
	}
	if !plain(n) {
		return ""
	}
	if _, ok := oldBools[n.Value]; ok {
		return "a boolean"
	}
	switch {
	case oldDate.MatchString(n.Value):
		return "a date"
	case base60.MatchString(n.Value):
		return "a number (base 60)"
	case oldNumber.MatchString(n.Value):
		return "a number"
	case n.Value == "=":
		return "a special value"
	}
	return ""
}

// What YAML 1.1 takes for numbers and dates and YAML 1.2 for texts (https://yaml.org/type/int.html, float.html and
// timestamp.html): 12:30:45 is a number of seconds to PyYAML.
var (
	base60    = regexp.MustCompile(`^[-+]?([1-9][0-9_]*(:[0-5]?[0-9])+|[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*)$`)
	oldNumber = regexp.MustCompile(`^[-+]?(0b[01_]+|0[0-7_]+|0x[0-9a-fA-F_]+|[1-9][0-9_]*|[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?)$`)
	oldDate   = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}`)
)

// Loose returns a text, and takes numbers and booleans as they are written.
func (v Value) Loose(l *diag.List) string {
	if !v.Want(l, Scalar) {
		return ""
	}
	v.mark()
	return v.target().Value
}

// Bool returns a boolean. The words yes, no, on and off are read as kubectl reads them, with a warning.
func (v Value) Bool(l *diag.List) bool {
	if !v.Want(l, Scalar) {
		return false
	}
	v.mark()
	n := v.target()
	if n.ShortTag() == "!!bool" && plain(n) {
		switch strings.ToLower(n.Value) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	if b, ok := oldBools[n.Value]; ok && plain(n) {
		v.Warnf(l, CodeOldBool, "write true or false", "YAML readers disagree whether %q is a boolean or a text", n.Value)
		return b
	}
	v.wrong(l, "true or false", v.describe())
	return false
}

// describe names a scalar's type without showing it.
func (v Value) describe() string {
	if what := v.nonText(); what != "" {
		return what
	}
	return "a text"
}

// Int returns a whole number between low and high.
func (v Value) Int(l *diag.List, low, high int64) int64 {
	if !v.Want(l, Scalar) {
		return 0
	}
	v.mark()
	n := v.target()
	i, err := strconv.ParseInt(n.Value, 10, 64)
	tooLong := errors.Is(err, strconv.ErrRange)
	switch digits := strings.TrimLeft(n.Value, "+-"); {
	case !plain(n) || n.Style&yaml.TaggedStyle != 0 || err != nil && !tooLong:
		v.wrong(l, "a whole number in decimal digits", v.describe())
		return 0
	case len(digits) > 1 && digits[0] == '0':
		v.Errorf(l, CodeAmbiguous, "remove the leading zero", "YAML readers disagree whether a number that begins with 0 is octal")
		return 0
	}
	if tooLong || i < low || i > high {
		limit := fmt.Sprintf("between %d and %d", low, high)
		if high == math.MaxInt64 {
			limit = fmt.Sprintf("at least %d", low)
		}
		v.Errorf(l, CodeOutOfRange, "", "the number should be %s", limit)
		return 0
	}
	return i
}

// Base64 returns the bytes that a text encodes in standard base64. White space in it is passed over.
func (v Value) Base64(l *diag.List) []byte {
	s := v.Loose(l)
	clean := strings.Join(strings.Fields(s), "")
	out, err := base64.StdEncoding.DecodeString(clean)
	if err != nil {
		v.Errorf(l, CodeNotBase64, "encode the value with base64", "this is not base64")
		return nil
	}
	return out
}

// Strings returns the texts of a list.
func (v Value) Strings(l *diag.List) []string {
	if !v.Want(l, List) {
		return nil
	}
	var out []string
	for _, item := range v.Items() {
		out = append(out, item.Str(l))
	}
	return out
}

// StringMap returns the fields of a mapping whose values are texts.
func (v Value) StringMap(l *diag.List) map[string]string {
	if !v.Want(l, Map) {
		return nil
	}
	out := map[string]string{}
	for _, e := range v.Entries() {
		out[e.Key] = e.Value.Str(l)
	}
	return out
}

// Only reports every field of a mapping that is not among the known ones, with the closest known name as remedy.
func (v Value) Only(l *diag.List, known ...string) {
	for _, e := range v.Entries() {
		if !contains(known, e.Key) {
			e.Unknown(l, known...)
		}
	}
}

// Unknown reports a field that does not belong here, and names the known one that was probably meant.
func (e Entry) Unknown(l *diag.List, known ...string) {
	l.Add(diag.Diagnostic{Code: CodeUnknownField, Severity: diag.Error, Range: e.Place, Field: e.Value.path,
		Summary: fmt.Sprintf("there is no field %q here", e.Key), Remedy: Suggest(e.Key, known)})
	e.Value.Consume()
}

// Origin says where the characters of a text stand in the file: exactly for block scalars in literal style and for
// texts on one line without escapes, else the whole value.
func (v Value) Origin(what string) diag.Origin {
	o := diag.Origin{Whole: v.Range(), What: what}
	n := v.target()
	if n == nil || n.Kind != yaml.ScalarNode {
		return o
	}
	if starts := v.doc.starts[n]; starts != nil {
		o.Lines = starts
		return o
	}
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		o.Lines = v.literalLines(n)
	case plain(n) && v.standsAt(n.Line, n.Column, n.Value):
		o.Lines = []diag.Pos{{Line: n.Line, Column: n.Column}}
	case v.standsAt(n.Line, n.Column+1, n.Value):
		o.Lines = []diag.Pos{{Line: n.Line, Column: n.Column + 1}}
	}
	return o
}

// standsAt reports whether text stands literally at a place of the file.
func (v Value) standsAt(line, column int, text string) bool {
	if line < 1 || line > len(v.doc.lines) || text == "" {
		return false
	}
	runes := []rune(string(v.doc.lines[line-1]))
	return column-1 < len(runes) && strings.HasPrefix(string(runes[column-1:]), text)
}

// literalLines finds the lines of a block scalar, which begin in the line behind its header. They share the indentation
// of the first line that is not empty, less what the value itself begins with.
func (v Value) literalLines(n *yaml.Node) []diag.Pos {
	values := strings.Split(n.Value, "\n")
	indent := 0
	for i, value := range values {
		if at := n.Line + i; at < len(v.doc.lines) && strings.TrimSpace(value) != "" {
			indent = leading(string(v.doc.lines[at])) - leading(value)
			break
		}
	}
	var out []diag.Pos
	for i := range values {
		out = append(out, diag.Pos{Line: n.Line + i + 1, Column: max(indent, 0) + 1})
	}
	return out
}

func leading(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// Suggest names the known field that differs least, or lists them all when none is close.
func Suggest(key string, known []string) string { return SuggestOf("fields", key, known) }

// SuggestOf is Suggest for words of another kind, which is named in the plural.
func SuggestOf(kind, key string, known []string) string {
	best, ok := Closest(key, known)
	switch {
	case ok:
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return "remove it"
	case len(known) > 12:
		return "see the reference for the " + kind + " that it has"
	}
	return "the " + kind + " are " + strings.Join(known, ", ")
}

// Closest returns the known word that was probably meant, and whether there is one: it is the same but for case, dashes and
// underscores, or differs by two or three edits at most (one in words of up to three letters, which two would make another
// word). The first of several equally close ones counts.
func Closest(word string, known []string) (string, bool) {
	plain := strings.NewReplacer("-", "", "_", "")
	word = strings.ToLower(word)
	best, cost := "", min(max(len(word)/3, 2), 3)+1
	if len(word) < 4 {
		cost = 2
	}
	for _, k := range known {
		lower := strings.ToLower(k)
		if plain.Replace(lower) == plain.Replace(word) {
			return k, true
		}
		if d := distance(word, lower); d < cost {
			best, cost = k, d
		}
	}
	return best, best != ""
}

// distance is the number of edits between two words (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		previous := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := previous
			if a[i] != b[j] {
				change++
			}
			previous = row[j+1]
			row[j+1] = min(change, row[j]+1, previous+1)
		}
	}
	return row[len(b)]
}

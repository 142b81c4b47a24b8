package ovirt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// hypermedia are members that lead a client through the API.
var hypermedia = []string{"href", "link", "actions", "rel"}

// blank reports whether a value is a text of white space, which is what XML makes of an element that is empty but for a line
// break.
func blank(v tree.Value) bool {
	if v.Kind() != tree.Scalar {
		return false
	}
	var unheard diag.List
	return strings.TrimSpace(v.Loose(&unheard)) == ""
}

// isMap reports whether there is a mapping. What is there and is none is an error, unless it is empty.
func isMap(v tree.Value, l *diag.List) bool {
	if blank(v) {
		return false
	}
	return v.Want(l, tree.Map)
}

func (r *reader) isMap(v tree.Value) bool { return isMap(v, &r.list) }

// items returns the members of a collection, which is an element that holds others of one name.
func (r *reader) items(v tree.Value, name string) []tree.Value {
	if !r.isMap(v) {
		return nil
	}
	r.only(v, name)
	return r.listed(v.Get(name))
}

// listed returns the items of what JSON writes as a list and XML as siblings.
func (r *reader) listed(v tree.Value) []tree.Value {
	switch v.Kind() {
	case tree.Absent, tree.Null:
		return nil
	case tree.List:
		return v.Items()
	}
	return []tree.Value{v}
}

// only reports the members that a value of oVirt's API does not have.
func (r *reader) only(v tree.Value, known ...string) {
	for _, e := range v.Entries() {
		switch {
		case slices.Contains(hypermedia, e.Key):
			e.Value.Consume()
		case !slices.Contains(known, e.Key):
			e.Unknown(&r.list, known...)
		}
	}
}

// verbatim reads a text as it stands there.
func (r *reader) verbatim(v tree.Value) string {
	if v.Kind() == tree.List {
		r.several(v)
		v.Consume()
		return ""
	}
	return v.Loose(&r.list)
}

// separators are what stands between the values of members that hold several in one text.
var separators = map[string]string{"dns_servers": "blanks", "dns_search": "blanks", "authorized_ssh_keys": "line breaks"}

// several reports a list, which siblings of one name are in XML, in the place of a text.
func (r *reader) several(v tree.Value) {
	remedy, summary := "keep one of them", v.Path()+" stands here more than once"
	between, joined := separators[v.Path()[strings.LastIndex(v.Path(), ".")+1:]]
	switch xml := strings.HasPrefix(strings.TrimLeft(r.m.Document.Text.Reveal(), "\ufeff \t\r\n"), "<"); {
	case joined:
		remedy, summary = "write them into one text", fmt.Sprintf("this is one text with the values separated by %s, not a list", between)
	case !xml:
		remedy, summary = "write the text without the brackets", "this is one text, not a list"
	}
	v.Errorf(&r.list, CodeTwice, remedy, "%s", summary)
}

// text reads a text without the white space around it.
func (r *reader) text(v tree.Value) string { return strings.TrimSpace(r.verbatim(v)) }

// word reads one of several words, in any case. Those of the API before version 4 are in capitals.
func (r *reader) word(v tree.Value, known ...string) string {
	text := r.text(v)
	if text == "" {
		return ""
	}
	lower := strings.ToLower(text)
	if !slices.Contains(known, lower) {
		r.instead(v, text, "one of "+strings.Join(known, ", "))
		return ""
	}
	return lower
}

// invalid reports a value in the words of the engine's fault.
func (r *reader) invalid(v tree.Value, want string) {
	v.Errorf(&r.list, CodeInvalidValue, "", "Invalid value: %s should stand here", want)
}

// instead is invalid for a value that cannot be secret, which it quotes. A long one is in its place for another reason than a slip.
func (r *reader) instead(v tree.Value, text, want string) {
	if len(text) > 20 {
		r.invalid(v, want)
		return
	}
	v.Errorf(&r.list, CodeInvalidValue, "", "Invalid value %q: %s should stand here", text, want)
}

// flag reads a boolean, nil when there is none.
func (r *reader) flag(v tree.Value) *bool {
	text := strings.ToLower(r.text(v))
	var b bool
	switch text {
	case "":
		return nil
	case "true", "1":
		b = true
	case "false", "0":
	default:
		r.invalid(v, "true or false")
		return nil
	}
	return &b
}

// number reads a whole number, 0 when there is none.
func (r *reader) number(v tree.Value, low, high int64) int64 {
	return r.count(v, low, high, fmt.Sprintf("a whole number from %d to %d", low, high))
}

// bytes reads an amount of memory or of a disk, 0 when there is none.
func (r *reader) bytes(v tree.Value, low, high int64) machine.Bytes {
	return machine.Bytes(r.count(v, low, high, fmt.Sprintf("a number of bytes from %d to %d (1 GiB is 1073741824)", low, high)))
}

func (r *reader) count(v tree.Value, low, high int64, want string) int64 {
	text := r.text(v)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		r.instead(v, text, want)
		return 0
	}
	return n
}

func (r *reader) warn(v tree.Value, code diag.Code, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Range: v.Span(), Field: v.Path(),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// note adds a remark that asks for nothing.
func (r *reader) note(v tree.Value, code diag.Code, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: diag.Note, Range: v.Span(), Field: v.Path(), Summary: fmt.Sprintf(format, args...)})
}

func (r *reader) fail(v tree.Value, code diag.Code, remedy, format string, args ...any) {
	v.Errorf(&r.list, code, remedy, format, args...)
}

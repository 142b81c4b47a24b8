package machinetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Dump shows a machine as text for golden files: one line for each value, `path = value`, in the order of declaration.
// Texts of several lines follow on indented lines. Secrets are revealed. Values that are not set are left out, and so
// are Document, Places and Origin, which say where a machine came from and not what it is.
func Dump(m machine.Machine) string {
	var b strings.Builder
	visit(reflect.ValueOf(m), "", func(path string, v reflect.Value) {
		text := show(v)
		if strings.Contains(text, "\n") {
			fmt.Fprintf(&b, "%s = |\n", path)
			for line := range strings.SplitSeq(text, "\n") {
				fmt.Fprintf(&b, "\t%s\n", line)
			}
			return
		}
		fmt.Fprintf(&b, "%s = %s\n", path, text)
	})
	return b.String()
}

// Diff compares two machines value by value. It returns the lines of their dumps that differ, - for want and + for got,
// and "" when there are none.
func Diff(want, got machine.Machine) string {
	a, b := entries(want), entries(got)
	have := map[string]bool{}
	for _, e := range b {
		have[e] = true
	}
	wanted := map[string]bool{}
	var out strings.Builder
	for _, e := range a {
		wanted[e] = true
		if !have[e] {
			fmt.Fprintf(&out, "- %s\n", e)
		}
	}
	for _, e := range b {
		if !wanted[e] {
			fmt.Fprintf(&out, "+ %s\n", e)
		}
	}
	return out.String()
}

// entries are the lines of a dump with texts of several lines on one.
func entries(m machine.Machine) []string {
	var out []string
	visit(reflect.ValueOf(m), "", func(path string, v reflect.Value) {
		out = append(out, fmt.Sprintf("%s = %q", path, show(v)))
	})
	return out
}

// Secrets returns the secret values of a machine in the order of declaration.
func Secrets(m machine.Machine) []string {
	var out []string
	visit(reflect.ValueOf(m), "", func(_ string, v reflect.Value) {
		if s, ok := v.Interface().(secret.Text); ok {
			out = append(out, s.Reveal())
		}
	})
	return out
}

// visit calls f for each value that is set. Members of lists and maps are values of their own.
func visit(v reflect.Value, path string, f func(string, reflect.Value)) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
		}
	case v.Kind() == reflect.Map:
		m := v.Interface().(map[string]string)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			f(fmt.Sprintf("%s[%q]", path, k), reflect.ValueOf(m[k]))
		}
	case machine.IsLeaf(v.Type()):
		inList := strings.HasSuffix(path, "]")
		if !v.IsZero() || inList {
			f(path, v)
		}
	default:
		group(v, path, f)
	}
}

// group visits the fields of a struct. A member of a list in which nothing is set is shown as such.
func group(v reflect.Value, path string, f func(string, reflect.Value)) {
	if strings.HasSuffix(path, "]") && v.IsZero() {
		f(path, reflect.ValueOf("nothing"))
		return
	}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("field")
		if name == "" || name == "-" {
			continue
		}
		if path != "" {
			name = path + "." + name
		}
		visit(v.Field(i), name, f)
	}
}

func show(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case secret.Text:
		return printable(x.Reveal())
	case machine.Mode:
		if x == machine.NoAccess {
			return "0000"
		}
		return fmt.Sprintf("%#o", x.Bits())
	case string:
		return printable(x)
	}
	return fmt.Sprint(v.Interface())
}

// printable returns a text as it is, or quoted when an editor would not show it so.
func printable(s string) string {
	for _, r := range s {
		if r == 0xfffd || r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return fmt.Sprintf("%q", s)
		}
	}
	return s
}

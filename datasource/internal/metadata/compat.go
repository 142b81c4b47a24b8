package metadata

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/machine"
)

// The values of machine.Compat.
const (
	kubevirt = "kubevirt"
	ovirt    = "ovirt"
)

// Style is how an object is written. The zero value is vmseed's own.
type Style struct {
	// First are the members that stand first, in this order. The others follow in order of bytes.
	First []string
	// EscapeHTML writes <, > and & as escapes, as Go's encoder does unless it is told otherwise.
	EscapeHTML bool
}

// StyleFor returns the style of a machine's meta-data. KubeVirt's clients compare texts, so what it writes stands first and
// to the byte as it writes it: first are its members.
func StyleFor(m machine.Machine, first ...string) Style {
	if !ForKubeVirt(m) {
		return Style{}
	}
	return Style{First: first, EscapeHTML: true}
}

// ForKubeVirt reports whether a machine's meta-data has KubeVirt's members.
func ForKubeVirt(m machine.Machine) bool { return m.Compat == kubevirt }

// ForOVirt reports whether a machine's seed is one of oVirt's engine.
func ForOVirt(m machine.Machine) bool { return m.Compat == ovirt }

// keys returns the object's keys in the order of a style.
func (o Object) keys(s Style) []string {
	var out []string
	for _, k := range s.First {
		if _, ok := o[k]; ok {
			out = append(out, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(s.First, k) {
			out = append(out, k)
		}
	}
	return out
}

// Encode writes the object on one line without an end, in vmseed's own style. Control characters that PyYAML refuses inside
// JSON are written as escapes.
func (o Object) Encode() ([]byte, error) { return o.EncodeIn(Style{}) }

// EncodeIn is Encode in a given style.
func (o Object) EncodeIn(s Style) ([]byte, error) {
	var b bytes.Buffer
	write := func(v any) error {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(s.EscapeHTML)
		if err := e.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the encoder ends each value with a newline
		return nil
	}
	b.WriteByte('{')
	for i, k := range o.keys(s) {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := write(k); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := write(o[k]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	var out bytes.Buffer
	for _, r := range b.String() {
		if r >= 0x7f && r <= 0x9f {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes(), nil
}

// KeyMap turns the public keys of an object into a mapping from prefix and number to key, which is the form of the member
// public_keys. Whatever is no list of keys is returned as it is.
func KeyMap(prefix string, keys any) any {
	var list []string
	switch k := keys.(type) {
	case []string:
		list = k
	case []any:
		for _, v := range k {
			list = append(list, fmt.Sprint(v))
		}
	case string:
		list = []string{k}
	default:
		return keys
	}
	out := map[string]string{}
	for i, k := range list {
		out[prefix+strconv.Itoa(i)] = k
	}
	return out
}

// KeyList lists public keys that stand in a member as a text with a key on each line, or as a list or a mapping of such.
// The order of a mapping is that of its names, a shorter name before a longer one.
func KeyList(keys any) (out []string) {
	switch k := keys.(type) {
	case nil:
	case []string:
		out = slices.Clone(k)
	case []any:
		for _, v := range k {
			out = append(out, KeyList(v)...)
		}
	case map[string]string:
		for _, name := range slices.SortedFunc(maps.Keys(k), byNumber) {
			out = append(out, k[name])
		}
	case map[string]any:
		for _, name := range slices.SortedFunc(maps.Keys(k), byNumber) {
			out = append(out, KeyList(k[name])...)
		}
	default:
		for line := range strings.Lines(fmt.Sprint(k)) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	return out
}

// byNumber compares names that end in numbers: key-9 comes before key-10.
func byNumber(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }

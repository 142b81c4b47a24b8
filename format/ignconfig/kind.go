package ignconfig

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// Kind is a form that configs are written in.
type Kind uint8

// The kinds of configs.
const (
	// None is any other text.
	None Kind = iota
	// Ignition is the JSON that a guest reads.
	Ignition
	// Butane is the YAML that is translated to it.
	Butane
)

// String returns the kind's name.
func (k Kind) String() string { return [...]string{"none", "Ignition", "Butane"}[k] }

var (
	variantKey = regexp.MustCompile(`(?m)^["']?variant["']?[ \t]*:`)
	versionKey = regexp.MustCompile(`(?m)^["']?version["']?[ \t]*:`)
)

// Recognise tells what the beginning of a text claims to be: a JSON object with the member ignition, or YAML with variant
// and version at its top. It is fast, never fails, and does not say that the text is valid.
func Recognise(head []byte) Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, byteOrderMark), " \t\r\n")
	switch {
	case len(text) == 0:
		return None
	case text[0] == '{':
		if claimsIgnition(text) {
			return Ignition
		}
	case variantKey.Match(text) && versionKey.Match(text):
		return Butane
	}
	return None
}

var variantValue = regexp.MustCompile(`(?m)^["']?variant["']?[ \t]*:[ \t]*["']?([a-z0-9]+)`)

// Variant returns the variant that a Butane document names, such as flatcar, and nothing for other texts. It does not say
// that there is such a variant.
func Variant(head []byte) string {
	if m := variantValue.FindSubmatch(head); m != nil && IsButane(head) {
		return string(m[1])
	}
	return ""
}

// IsButane reports whether a text claims to be a Butane document.
func IsButane(head []byte) bool { return Recognise(head) == Butane }

// claimsIgnition looks for the member ignition of the outermost object. It needs no valid JSON behind it.
func claimsIgnition(text []byte) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	depth, isKey := 0, false
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		switch t := t.(type) {
		case json.Delim:
			switch t {
			case '{', '[':
				depth++
				isKey = depth == 1
				continue
			}
			depth--
		case string:
			if depth == 1 && isKey && (strings.EqualFold(t, "ignition") || t == "ignitionVersion") {
				return true
			}
		}
		if depth == 1 {
			isKey = !isKey
		} else if depth == 0 {
			return false
		}
	}
}

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

// claimsIgnition looks for the member ignition of the outermost object. What is broken behind it, or between, does not
// matter: it is to be complained about as a config.
func claimsIgnition(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '/':
			i += comment(text[i:])
		case '"':
			length := quoted(text[i:])
			var name string // empty for what is no text, and that is no member's name
			_ = json.Unmarshal(text[i:min(i+length+1, len(text))], &name)
			i += length
			behind := bytes.TrimLeft(text[min(i+1, len(text)):], " \t\r\n")
			if depth == 1 && bytes.HasPrefix(behind, []byte(":")) && (strings.EqualFold(name, "ignition") || name == "ignitionVersion") {
				return true
			}
		}
	}
	return false
}

// quoted returns the offset of the quote that closes the one at the beginning of a text.
func quoted(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

// comment returns the offset of the last character of a comment at the beginning of a text, which is 0 when there is none.
func comment(text []byte) int {
	for _, c := range [][2]string{{"//", "\n"}, {"/*", "*/"}} {
		if bytes.HasPrefix(text, []byte(c[0])) {
			if end := bytes.Index(text[2:], []byte(c[1])); end >= 0 {
				return 2 + end + len(c[1]) - 1
			}
			return len(text)
		}
	}
	return 0
}

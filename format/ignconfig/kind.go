package ignconfig

import (
	"bytes"
	"regexp"
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
	ignitionKey = regexp.MustCompile(`(?i)^\{\s*"(ignition|ignitionVersion)"\s*:|"ignition"\s*:\s*\{|"ignitionVersion"\s*:`)
	variantKey  = regexp.MustCompile(`(?m)^["']?variant["']?[ \t]*:`)
	versionKey  = regexp.MustCompile(`(?m)^["']?version["']?[ \t]*:`)
)

// Recognise tells what the beginning of a text claims to be. It is fast, never fails, and does not say that the text is
// valid.
func Recognise(head []byte) Kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case len(text) == 0:
		return None
	case text[0] == '{':
		if ignitionKey.Match(text) {
			return Ignition
		}
	case variantKey.Match(text) && versionKey.Match(text):
		return Butane
	}
	return None
}

// IsButane reports whether a text claims to be a Butane document: YAML with variant and version at its top.
func IsButane(head []byte) bool { return Recognise(head) == Butane }

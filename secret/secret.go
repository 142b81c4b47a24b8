// Package secret holds the type for values that must never be printed: passwords, hashes, private keys, the values
// of Kubernetes Secrets, user-data.
//
// Text keeps its value in a function behind a pointer. fmt reaches into unexported fields of a struct without calling
// their methods, but prints a pointer as an address only; printers that follow pointers, such as go-cmp's, end at the
// function.
package secret

import (
	"crypto/subtle"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what stands where a secret would have been printed.
const Redacted = "[secret]"

// ErrEncode is returned by every encoder that meets a Text: a document with a redacted value in it could be taken for
// a whole one when it is read back.
var ErrEncode = errors.New("secret: a secret text has no encoded form; reveal it where it is meant to be written")

// Text is a string or byte sequence that no formatting verb, encoder or logger prints. The zero value is empty. Text
// is immutable and may be copied. Compare with Equal: == and reflect.DeepEqual tell copies of one Text from others, not
// values.
type Text struct{ reveal *func() string }

// New wraps s.
func New(s string) Text {
	if s == "" {
		return Text{}
	}
	reveal := func() string { return s }
	return Text{&reveal}
}

// FromBytes wraps a copy of b.
func FromBytes(b []byte) Text { return New(string(b)) }

// Reveal returns the value. Every call of it is a place where a secret leaves its wrapping.
func (t Text) Reveal() string {
	if t.reveal == nil {
		return ""
	}
	return (*t.reveal)()
}

// Len returns the length of the value in bytes.
func (t Text) Len() int { return len(t.Reveal()) }

// IsZero reports whether the text is empty.
func (t Text) IsZero() bool { return t.reveal == nil }

// Equal compares two texts in a time that depends on their lengths only.
func (t Text) Equal(u Text) bool {
	return subtle.ConstantTimeCompare([]byte(t.Reveal()), []byte(u.Reveal())) == 1
}

// String returns the redacted form.
func (t Text) String() string { return Redacted }

// GoString returns the redacted form.
func (t Text) GoString() string { return Redacted }

// Format writes the redacted form for every verb.
func (t Text) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, Redacted) }

// LogValue gives log/slog the redacted form.
func (t Text) LogValue() slog.Value { return slog.StringValue(Redacted) }

// MarshalText returns ErrEncode.
func (t Text) MarshalText() ([]byte, error) { return nil, ErrEncode }

// MarshalJSON returns ErrEncode.
func (t Text) MarshalJSON() ([]byte, error) { return nil, ErrEncode }

// MarshalYAML returns ErrEncode.
func (t Text) MarshalYAML() (any, error) { return nil, ErrEncode }

// MarshalBinary returns ErrEncode.
func (t Text) MarshalBinary() ([]byte, error) { return nil, ErrEncode }

// GobEncode returns ErrEncode.
func (t Text) GobEncode() ([]byte, error) { return nil, ErrEncode }

// MarshalXML returns ErrEncode.
func (t Text) MarshalXML(*xml.Encoder, xml.StartElement) error { return ErrEncode }

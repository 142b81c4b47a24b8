// Package element reads and writes the documents of oVirt's API: one tree of elements for the two ways to spell it, XML and
// JSON. Input is hostile until it has been read: budgets, no DTD, no entities but XML's own, no processing instructions. Every
// element knows its place, and texts are kept to the last blank.
package element

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Kind says how JSON spells an element.
type Kind uint8

// The kinds. XML knows no difference, so what is read from it is String.
const (
	String Kind = iota
	Boolean
	Number
	// Object is for elements without a text, which JSON writes as {} when they are empty.
	Object
)

// Element is one element of a document. Its zero value is absent: accessors return zero Elements where there is nothing.
//
// An element has a text or children. fmt, encoders and log/slog show its name only, because texts may be secret.
type Element struct {
	Name  string
	Attrs []Attr
	// Text is the character data, as it stands there. White space between children is none.
	Text     string
	Children []Element
	// Collection means that all children are of one name and that JSON puts them into a list even if there are none or one:
	// {"vm": [{…}]}.
	Collection bool
	// Many means that JSON puts the element into a list of its parent's even if it is alone there.
	Many bool
	Kind Kind
	// Place is where the element begins, or for JSON where its value does. It is zero for elements that a program made.
	Place diag.Range

	// text is the place of Text, lines that of each line of it where it stands in the file line by line.
	text  diag.Range
	lines []diag.Pos
}

// Attr is an attribute.
type Attr struct {
	Name, Value string
	Place       diag.Range
}

// New makes an element with children.
func New(name string, children ...Element) Element {
	return Element{Name: name, Children: children, Kind: Object}
}

// List makes a collection: JSON writes its children as a list.
func List(name string, children ...Element) Element {
	return Element{Name: name, Children: children, Collection: true, Kind: Object}
}

// Text makes an element with a text.
func Text(name, value string) Element { return Element{Name: name, Text: value} }

// Bool makes an element with true or false.
func Bool(name string, value bool) Element {
	return Element{Name: name, Text: strconv.FormatBool(value), Kind: Boolean}
}

// Int makes an element with a number.
func Int(name string, value int64) Element {
	return Element{Name: name, Text: strconv.FormatInt(value, 10), Kind: Number}
}

// Exists reports whether there is an element.
func (e Element) Exists() bool { return e.Name != "" }

// Empty reports whether the element has neither attributes nor children nor a text other than white space.
func (e Element) Empty() bool {
	return len(e.Attrs) == 0 && len(e.Children) == 0 && strings.TrimSpace(e.Text) == ""
}

// Child returns the first child of a name.
func (e Element) Child(name string) Element {
	for _, c := range e.Children {
		if c.Name == name {
			return c
		}
	}
	return Element{}
}

// All returns the children of a name.
func (e Element) All(name string) []Element {
	var out []Element
	for _, c := range e.Children {
		if c.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// Get follows a path of child names between slashes, such as os/boot/devices.
func (e Element) Get(path string) Element {
	for name := range strings.SplitSeq(path, "/") {
		e = e.Child(name)
	}
	return e
}

// Attr returns the value of an attribute, or of the child of that name, which is how JSON spells attributes.
func (e Element) Attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return e.Child(name).Text
}

// With returns the element with child in the place of the first child of that name, or behind the others. Further children
// of the name are left out.
func (e Element) With(child Element) Element {
	out := make([]Element, 0, len(e.Children)+1)
	done := false
	for _, c := range e.Children {
		switch {
		case c.Name != child.Name:
			out = append(out, c)
		case !done:
			out, done = append(out, child), true
		}
	}
	if !done {
		out = append(out, child)
	}
	e.Children = out
	return e
}

// Append returns the element with further children behind the others.
func (e Element) Append(children ...Element) Element {
	e.Children = slices.Concat(e.Children, children)
	return e
}

// Without returns the element without the children of some names.
func (e Element) Without(names ...string) Element {
	e.Children = slices.DeleteFunc(slices.Clone(e.Children), func(c Element) bool { return slices.Contains(names, c.Name) })
	return e
}

// WithAttr returns the element with an attribute set.
func (e Element) WithAttr(name, value string) Element {
	e.Attrs = slices.DeleteFunc(slices.Clone(e.Attrs), func(a Attr) bool { return a.Name == name })
	e.Attrs = append(e.Attrs, Attr{Name: name, Value: value})
	return e
}

// Equal reports whether two elements say the same: places, and how JSON spells texts and lists, do not count.
func (e Element) Equal(o Element) bool {
	same := func(a, b Attr) bool { return a.Name == b.Name && a.Value == b.Value }
	return e.Name == o.Name && e.Text == o.Text && slices.EqualFunc(e.Attrs, o.Attrs, same) &&
		slices.EqualFunc(e.Children, o.Children, Element.Equal)
}

// String returns the name between angle brackets.
func (e Element) String() string { return "<" + e.Name + ">" }

// Format writes the name for every verb.
func (e Element) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, e.String()) }

// MarshalText gives encoders and log/slog the name. XML and JSON write elements.
func (e Element) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

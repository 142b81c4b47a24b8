package element

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textMember is the name that stands for the text of an element with attributes where there are only members: in JSON and in
// trees.
const textMember = "$text"

// XML writes the element as a document: UTF-8, two blanks a level, no declaration, no white space added to texts. A
// character that XML cannot hold (XML 1.0, section 2.2) is an error that names the element.
func (e Element) XML() ([]byte, error) {
	var b bytes.Buffer
	if err := e.xml(&b, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (e Element) xml(b *bytes.Buffer, level int) error {
	switch {
	case !validName(e.Name):
		return fmt.Errorf("%q cannot be the name of an XML element", e.Name)
	case e.Text != "" && len(e.Children) > 0:
		return fmt.Errorf("element <%s> has a text beside its children", e.Name)
	}
	indent := strings.Repeat("  ", level)
	b.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attrs {
		if !validName(a.Name) {
			return fmt.Errorf("element <%s>: %q cannot be the name of an XML attribute", e.Name, a.Name)
		}
		b.WriteString(" " + a.Name + `="`)
		if err := escape(b, a.Value, true); err != nil {
			return fmt.Errorf("element <%s>, attribute %s: %w", e.Name, a.Name, err)
		}
		b.WriteByte('"')
	}
	switch {
	case len(e.Children) > 0:
		b.WriteString(">\n")
		for _, c := range e.Children {
			if err := c.xml(b, level+1); err != nil {
				return err
			}
		}
		b.WriteString(indent + "</" + e.Name + ">\n")
	case e.Text != "":
		b.WriteByte('>')
		if err := escape(b, e.Text, false); err != nil {
			return fmt.Errorf("element <%s>: %w", e.Name, err)
		}
		b.WriteString("</" + e.Name + ">\n")
	default:
		b.WriteString("/>\n")
	}
	return nil
}

// escape writes a text. A reader turns a carriage return into a line break, and in attributes white space into blanks,
// unless they are written as references.
func escape(b *bytes.Buffer, s string, attribute bool) error {
	for i, r := range s {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '"' && attribute:
			b.WriteString("&quot;")
		case r == '\r', attribute && (r == '\n' || r == '\t'):
			fmt.Fprintf(b, "&#%d;", r)
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			return fmt.Errorf("the text is not UTF-8")
		case !validChar(r):
			return fmt.Errorf("XML cannot hold the character U+%04X", r)
		default:
			b.WriteRune(r)
		}
	}
	return nil
}

// validChar is the production Char of XML 1.0, section 2.2.
func validChar(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 && r <= 0x10ffff
}

// validName takes the names that every reader of XML takes: a letter or underscore, then letters, digits, dots, dashes,
// underscores, and one colon between two such names.
func validName(s string) bool {
	prefix, local, found := strings.Cut(s, ":")
	if found {
		return simpleName(prefix) && simpleName(local)
	}
	return simpleName(s)
}

func simpleName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r < utf8.RuneSelf && unicode.IsLetter(r)
		if !letter && (i == 0 || r != '-' && r != '.' && (r < '0' || r > '9')) {
			return false
		}
	}
	return s != ""
}

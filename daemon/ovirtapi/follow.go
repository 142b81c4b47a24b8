package ovirtapi

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/vmseed/vmseed/format/element"
)

// Budgets of the parameter follow: objects that one answer may fetch, and levels of links.
const (
	maxFollowed    = 20_000
	maxFollowDepth = 4
)

// follower puts the objects behind links into an answer. What several objects link to is fetched once.
type follower struct {
	request *request
	seen    map[string]element.Element
}

// followed returns body with the links that the parameter follow names replaced by what they lead to, in the object
// itself or in each one of a collection: "follow=disk_attachments.disk,nics".
func (q *request) followed(body element.Element) (element.Element, error) {
	paths := q.address.list("follow")
	if len(paths) == 0 || !body.Exists() {
		return body, nil
	}
	f := &follower{request: q, seen: map[string]element.Element{}}
	for _, path := range paths {
		names := strings.Split(path, ".")
		if len(names) > maxFollowDepth {
			return body, badValue("parameter follow: " + path + " has more than 4 levels")
		}
		var err error
		if body, err = f.each(body, names); err != nil {
			return body, err
		}
	}
	return body, nil
}

// each follows a path from an object, or from every object of a collection.
func (f *follower) each(e element.Element, names []string) (element.Element, error) {
	if !e.Collection {
		return f.one(e, names)
	}
	children := make([]element.Element, len(e.Children))
	for i, c := range e.Children {
		var err error
		if children[i], err = f.one(c, names); err != nil {
			return e, err
		}
	}
	e.Children = children
	return e, nil
}

// one follows a path from one object. A link that the object does not have now, such as that to the host of a VM which is
// down, leads nowhere; neither does one to something that is not offered.
func (f *follower) one(e element.Element, names []string) (element.Element, error) {
	children := append([]element.Element(nil), e.Children...)
	for i, c := range children {
		rel := c.Name
		if c.Name == "link" {
			rel = c.Attr("rel")
		}
		if joined(rel) != joined(names[0]) {
			continue
		}
		target := c
		if address := c.Attr("href"); address != "" && (c.Name == "link" || len(c.Children) == 0) {
			fetched, err := f.fetch(address)
			if err != nil {
				return e, err
			}
			if !fetched.Exists() {
				continue
			}
			if c.Name != "link" {
				fetched.Name = c.Name
			}
			target = fetched.WithAttr("href", address)
		}
		if len(names) > 1 {
			var err error
			if target, err = f.each(target, names[1:]); err != nil {
				return e, err
			}
		}
		children[i] = target
	}
	e.Children = children
	return e, nil
}

// joined is a name as addresses write it: diskattachments for disk_attachments.
func joined(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "") }

// fetch gives what a GET on an address answers, or nothing.
func (f *follower) fetch(address string) (element.Element, error) {
	if e, seen := f.seen[address]; seen {
		return e, nil
	}
	if len(f.seen) == maxFollowed {
		return element.Element{}, badValue("parameter follow: the links lead to too many objects; ask for fewer with max")
	}
	f.seen[address] = element.Element{}
	u, err := url.Parse(address)
	if err != nil {
		return element.Element{}, nil
	}
	at, bad := parseAddress(u, http.Header{})
	if bad != nil {
		return element.Element{}, nil
	}
	endpoint, ids, bad := f.request.api.routes.find(at.segments)
	if bad != nil || endpoint.get == nil {
		return element.Element{}, nil
	}
	q := *f.request
	q.address, q.endpoint, q.ids = at, endpoint, ids
	answer, err := endpoint.get(&q)
	if err != nil {
		return element.Element{}, nil // it went away in between
	}
	f.seen[address] = answer.body
	return answer.body, nil
}

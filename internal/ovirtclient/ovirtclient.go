// Package ovirtclient fetches the document of a virtual machine from a live engine of oVirt, by the requests that the stock
// clients send: a token for a password, a search for the name, and the VM with everything that belongs to it. It only reads.
//
// Sources: the REST API guide of oVirt 4 and the behaviour of its SDKs.
package ovirtclient

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/secret"
)

// Scheme is that of the addresses that ParseTarget takes.
const Scheme = "ovirt"

// DefaultUser is the user that every engine has.
const DefaultUser = "admin@internal"

// maxDocument is the size of the largest answer that is read. A VM with all of its content has some ten kilobytes.
const maxDocument = 16 << 20

// Target is a virtual machine of an engine.
type Target struct {
	// Host has a port when that is not 443.
	Host string
	// User is name@profile; empty means that the address does not say.
	User string
	// VM is the name or the id.
	VM string
	// Cluster limits the search for a name.
	Cluster string
}

// String returns the address without the user.
func (t Target) String() string {
	u := url.URL{Scheme: Scheme, Host: t.Host, Path: "/" + t.VM}
	if t.Cluster != "" {
		u.RawQuery = url.Values{"cluster": {t.Cluster}}.Encode()
	}
	return u.String()
}

// ParseTarget reads an address: ovirt://[USER@PROFILE@]HOST[:PORT]/NAME-OR-ID[?cluster=NAME]. Names may be percent-encoded.
// A password is not taken: addresses end in the history of shells and in the lists of processes.
func ParseTarget(address string) (Target, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != Scheme || u.Hostname() == "" || u.Fragment != "" {
		return Target{}, fmt.Errorf("this is no address of a virtual machine; write it as ovirt://HOST/NAME") // the error of url.Parse would show a password
	}
	t := Target{Host: u.Host, VM: strings.TrimPrefix(u.Path, "/")}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			return Target{}, fmt.Errorf("an address has no password, which others would see; set OVIRT_PASSWORD")
		}
		t.User = u.User.Username()
	}
	if t.VM == "" || strings.Contains(t.VM, "/") {
		return Target{}, fmt.Errorf("ovirt://%s names no virtual machine; write it as ovirt://HOST/NAME", t.Host)
	}
	if strings.ContainsFunc(t.VM+t.Host, func(c rune) bool { return c < ' ' }) {
		return Target{}, fmt.Errorf("the address of a virtual machine has no control characters")
	}
	for name, values := range u.Query() {
		if name != "cluster" || len(values) != 1 {
			return Target{}, fmt.Errorf("ovirt://%s/%s: the one thing that may be asked for is cluster=NAME", t.Host, t.VM)
		}
		t.Cluster = values[0]
	}
	return t, nil
}

// Options say who asks, and whom to trust.
type Options struct {
	// User takes the place of Target.User where that is empty; DefaultUser that of both.
	User     string
	Password secret.Text
	// Token is an access token that the user has already; then no password is needed, and the token stays valid.
	Token secret.Text
	// CA holds certificates in PEM that sign for the engine, beside those that the host trusts.
	CA []byte
	// Insecure takes any certificate.
	Insecure bool
	// Timeout is for each request. The zero value stands for a minute.
	Timeout time.Duration
	// Pause is the time before the first of two further tries of a request that met an engine out of service; the second
	// waits twice as long. The zero value stands for a second.
	Pause time.Duration
}

// Document is what an engine says about a virtual machine.
type Document struct {
	// Name is the address of the VM without user and password, for messages.
	Name string
	// Text is the XML document, the outermost element vm.
	Text secret.Text
}

// Fetch asks an engine for the document of a virtual machine, with its NICs, disks and CDs. Errors are *Error unless ctx is
// done, and never hold password or token.
func Fetch(ctx context.Context, t Target, o Options) (Document, error) {
	s, err := newSession(t, o)
	if err != nil {
		return Document{}, err
	}
	defer s.client.CloseIdleConnections()
	if err := s.login(ctx); err != nil {
		return Document{}, err
	}
	// The engine forgets the token whatever happens, but nobody waits long for that.
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(s.options.Timeout, 5*time.Second))
		defer cancel()
		s.logout(ctx)
	}()
	id, err := s.find(ctx)
	if err != nil {
		return Document{}, err
	}
	text, err := s.vm(ctx, id)
	if err != nil {
		return Document{}, err
	}
	return Document{Name: t.String(), Text: secret.FromBytes(text)}, nil
}

// uuid matches the ids of an engine.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// find returns the id of the VM. A name is searched for; the search of an engine knows no case and reads * as a wildcard, so
// only a name that is equal counts.
func (s *session) find(ctx context.Context) (string, error) {
	if uuid.MatchString(s.target.VM) {
		return strings.ToLower(s.target.VM), nil
	}
	search := "name=" + quoted(s.target.VM)
	if s.target.Cluster != "" {
		search += " and cluster=" + quoted(s.target.Cluster)
	}
	list, err := s.element(ctx, "/vms?"+url.Values{"search": {search}, "case_sensitive": {"true"}}.Encode(), "vms")
	if err != nil {
		return "", err
	}
	var ids []string
	for _, vm := range list.All("vm") {
		if vm.Child("name").Text == s.target.VM && vm.Attr("id") != "" {
			ids = append(ids, vm.Attr("id"))
		}
	}
	switch {
	case len(ids) == 1 && uuid.MatchString(ids[0]):
		return ids[0], nil
	case len(ids) > 1:
		return "", s.errorf("name it by its id instead, or add ?cluster=NAME", "%d virtual machines are called %q: %s", len(ids), s.target.VM, strings.Join(ids, ", "))
	}
	return "", s.errorf("see that the name is right, and that the user may see it", "there is no virtual machine %q", s.target.VM)
}

// quoted writes a value of a search. Quotes are not known inside of quotes, so a name that has them is searched for with
// wildcards in their places.
func quoted(value string) string {
	return `"` + strings.ReplaceAll(value, `"`, "*") + `"`
}

// follow are the collections of a VM that come with it. Engines before 4.2 do not know the parameter, and send links.
const follow = "nics,diskattachments.disk,cdroms"

// vm returns the document of a VM, with the collections in it that an engine left out.
func (s *session) vm(ctx context.Context, id string) ([]byte, error) {
	vm, err := s.element(ctx, "/vms/"+id+"?"+url.Values{"all_content": {"true"}, "follow": {follow}}.Encode(), "vm")
	if err != nil {
		return nil, err
	}
	changed := false
	for _, c := range []struct{ path, name string }{{"nics", "nics"}, {"diskattachments?follow=disk", "disk_attachments"}, {"cdroms", "cdroms"}} {
		if len(vm.Child(c.name).Children) > 0 {
			continue
		}
		list, err := s.element(ctx, "/vms/"+id+"/"+c.path, c.name)
		if err != nil {
			return nil, err
		}
		if len(list.Children) > 0 {
			vm, changed = vm.With(list), true
		}
	}
	if !changed {
		return s.last, nil
	}
	text, err := vm.XML()
	if err != nil {
		return nil, s.errorf("", "the answer cannot be written: %v", err)
	}
	return text, nil
}

// element gets a document of the API and checks its outermost element.
func (s *session) element(ctx context.Context, path, root string) (element.Element, error) {
	answer, err := s.get(ctx, path)
	if err != nil {
		return element.Element{}, err
	}
	if answer.status == http.StatusForbidden && !s.filter {
		s.filter = true // an ordinary user sees nothing without saying so
		if answer, err = s.get(ctx, path); err != nil {
			return element.Element{}, err
		}
	}
	if answer.status != http.StatusOK {
		return element.Element{}, s.failure(answer)
	}
	e, l := element.ParseXML(s.target.Host, answer.body, bounded.Limits{})
	switch {
	case l.HasErrors():
		return element.Element{}, s.errorf("see that the address is that of an engine", "the answer to %s is no document of oVirt: %s", cut(path), l[0].Summary)
	case e.Name != root:
		return element.Element{}, s.errorf("see that the address is that of an engine", "the answer to %s is <%s>, not <%s>", cut(path), e.Name, root)
	}
	if root == "vm" {
		s.last = bytes.Clone(answer.body)
	}
	return e, nil
}

// cut takes the query off a path.
func cut(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return "/ovirt-engine/api" + path
}

// isTimeout reports whether an error of the network is one of a deadline.
func isTimeout(err error) bool {
	n, ok := err.(net.Error)
	return ok && n.Timeout()
}

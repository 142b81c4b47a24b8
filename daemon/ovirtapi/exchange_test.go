//go:build linux

package ovirtapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/internal/bounded"
)

// TestExchanges plays the files of testdata/exchange: what clients send, byte by byte, and what they must find in the
// answer. Each file has a daemon of its own.
//
// A section "NAME request" is an HTTP request without Host and Content-Length. The section "NAME response" that follows it
// begins with the status. Its other lines are headers ("Location: …"), or say about the document in the body:
//
//	path = text      the element has this text; a path begins with the root, and ends in @name for an attribute
//	path ~ regexp    its text matches
//	path # n         there are n such elements
//	path => name     the text is ${name} in the sections that follow
//	empty            there is no body
//
// With "until" in the request's section name the request is sent again, whenever something has happened, until the answer
// is the one expected.
func TestExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/exchange/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			api := testAPI(t)
			p := &player{t: t, api: api, vars: map[string]string{"cluster": api.d.Cluster().ID, "profile": profileID()}}
			if len(archive.Files)%2 != 0 {
				t.Fatal("a request without response")
			}
			for i := 0; i < len(archive.Files); i += 2 {
				p.play(archive.Files[i], archive.Files[i+1])
			}
		})
	}
}

type player struct {
	t    *testing.T
	api  *API
	vars map[string]string
}

func (p *player) play(request, response txtar.File) {
	p.t.Helper()
	name, isRequest := strings.CutSuffix(request.Name, " request")
	name, again := strings.CutSuffix(name, " until")
	if !isRequest || name+" response" != response.Name {
		p.t.Fatalf("sections %q and %q are no pair", request.Name, response.Name)
	}
	ctx, cancel := context.WithTimeout(p.t.Context(), daemontest.Limit)
	defer cancel()
	for {
		since := p.api.d.LastEvent()
		answer := p.send(request.Data)
		problems := p.compare(answer, string(response.Data))
		if len(problems) == 0 {
			return
		}
		seen := errors.New("something happened")
		if !again || !errors.Is(p.api.d.Watch(ctx, since, func(daemon.Event) error { return seen }), seen) {
			p.t.Errorf("%s:\n%s\nthe answer was %d %v\n%s", name, strings.Join(problems, "\n"), answer.Code, answer.Header(), answer.Body)
			return
		}
	}
}

// send makes a request of a section and gives the answer to it.
func (p *player) send(section []byte) *httptest.ResponseRecorder {
	p.t.Helper()
	return serve(p.t, p.api, p.expand(string(section)))
}

// serve sends a request in the form of RFC 9112, but for Host and Content-Length, to a handler.
func serve(t testing.TB, api http.Handler, text string) *httptest.ResponseRecorder {
	t.Helper()
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	method, target, _ := strings.Cut(strings.TrimSuffix(line, " HTTP/1.1"), " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	scanner := bufio.NewScanner(strings.NewReader(headers))
	for scanner.Scan() {
		name, value, found := strings.Cut(scanner.Text(), ": ")
		if !found {
			t.Fatalf("a header line without colon: %q", scanner.Text())
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r.WithContext(auth.NewContext(r.Context(), auth.Identity{Name: auth.Admin})))
	return w
}

var variable = regexp.MustCompile(`\$\{(\w+)\}`)

func (p *player) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(v string) string {
		value, known := p.vars[v[2:len(v)-1]]
		if !known {
			p.t.Fatalf("%s was not seen yet", v)
		}
		return value
	})
}

// compare gives the differences between an answer and what a section expects.
func (p *player) compare(answer *httptest.ResponseRecorder, section string) (problems []string) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	lines := strings.Split(strings.TrimSpace(section), "\n")
	if want := strings.TrimSpace(lines[0]); fmt.Sprint(answer.Code) != want {
		problem("status %d, want %s", answer.Code, want)
		return problems
	}
	root := answerElement(p.t, answer)
	for _, line := range lines[1:] {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == ';' {
			continue
		}
		if line == "empty" {
			if answer.Body.Len() > 0 {
				problem("the body is not empty")
			}
			continue
		}
		path, rest, _ := strings.Cut(line, " ")
		if strings.HasSuffix(path, ":") {
			if got := answer.Header().Get(strings.TrimSuffix(path, ":")); got != p.expand(rest) {
				problem("%s %q, want %q", path, got, p.expand(rest))
			}
			continue
		}
		op, want, _ := strings.Cut(rest, " ")
		values := at(root, path)
		switch op {
		case "=":
			if len(values) == 0 || values[0] != unquoted(p.expand(want)) {
				problem("%s is %q, want %q", path, values, p.expand(want))
			}
		case "~":
			if len(values) == 0 || !regexp.MustCompile(p.expand(want)).MatchString(values[0]) {
				problem("%s is %q, want it to match %s", path, values, want)
			}
		case "#":
			if fmt.Sprint(len(values)) != want {
				problem("there are %d of %s, want %s", len(values), path, want)
			}
		case "=>":
			if len(values) == 0 || values[0] == "" {
				problem("%s is not there", path)
				continue
			}
			p.vars[want] = values[0]
		default:
			p.t.Fatalf("not understood: %s", line)
		}
	}
	return problems
}

// unquoted lets a text have line feeds.
func unquoted(text string) string {
	return strings.NewReplacer(`\n`, "\n", `\"`, `"`).Replace(text)
}

// answerElement reads the body of an answer, which must be what its header says.
func answerElement(t testing.TB, answer *httptest.ResponseRecorder) element.Element {
	t.Helper()
	body := answer.Body.Bytes()
	contentType := answer.Header().Get("Content-Type")
	if len(body) == 0 {
		if contentType != "" && answer.Header().Get("Content-Length") == "0" {
			t.Errorf("an empty body with Content-Type %s", contentType)
		}
		return element.Element{}
	}
	var root element.Element
	var err error
	switch contentType {
	case "application/xml;charset=UTF-8":
		e, list := element.ParseXML("answer", body, bounded.Limits{Bytes: 64 << 20, Nodes: 1 << 24})
		root, err = e, list.Err()
	case "application/json":
		e, list := element.ParseJSON("answer", bytes.TrimSpace(body), "json", bounded.Limits{})
		root, err = e, list.Err()
	default:
		t.Fatalf("Content-Type %q", contentType)
	}
	if err != nil {
		t.Fatalf("the answer cannot be read: %v\n%s", err, body)
	}
	return root
}

// at gives the texts of all elements at a path.
func at(root element.Element, path string) []string {
	path, attribute, isAttribute := strings.Cut(path, "@")
	names := strings.Split(path, "/")
	if root.Name != names[0] {
		return nil
	}
	found := []element.Element{root}
	for _, name := range names[1:] {
		var next []element.Element
		for _, e := range found {
			next = append(next, e.All(name)...)
		}
		found = next
	}
	texts := []string{}
	for _, e := range found {
		if !isAttribute {
			texts = append(texts, e.Text)
			continue
		}
		texts = append(texts, e.Attr(attribute))
	}
	return texts
}

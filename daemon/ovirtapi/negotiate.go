package ovirtapi

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Budgets of a request's body.
const (
	maxBody  = 1 << 20
	maxDepth = 32
	maxNodes = 20_000
)

// bodyName stands for the file in places inside a request's body.
const bodyName = "request"

// format is a way to write elements.
type format int

const (
	formatXML format = iota
	formatJSON
)

func (f format) contentType() string {
	if f == formatJSON {
		return "application/json"
	}
	return "application/xml;charset=UTF-8"
}

// formatOf reads a media type. Both SDKs send application/xml; text/xml is its older name.
func formatOf(mediaType string) (format, bool) {
	switch strings.ToLower(mediaType) {
	case "application/xml", "text/xml":
		return formatXML, true
	case "application/json", "text/json":
		return formatJSON, true
	}
	return 0, false
}

// accepted picks the format of the answer: the one that the client prefers, XML where it has no preference, and also where
// it accepts neither, because a fault that cannot be read is worse than one in the wrong format; ok is false then.
func accepted(header http.Header) (f format, ok bool) {
	values := header.Values("Accept")
	if len(values) == 0 {
		return formatXML, true
	}
	best := 0.0
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		mediaType, params, err := mime.ParseMediaType(part)
		if err != nil && !errors.Is(err, mime.ErrInvalidMediaParameter) {
			continue
		}
		quality := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			quality = q
		}
		candidate, known := formatOf(mediaType)
		if !known && mediaType != "*/*" && mediaType != "application/*" && mediaType != "text/*" {
			continue
		}
		if quality > best {
			best, f, ok = quality, candidate, true
		}
	}
	return f, ok
}

// readBody reads the document in a request and returns it as it was sent, too. An empty body is an empty element: SDKs send none with some actions. A body
// without a content type is what it looks like.
func readBody(w http.ResponseWriter, r *http.Request, root string) (body element.Element, data []byte, bad *fault) {
	data, err := bounded.ReadAll(http.MaxBytesReader(w, r.Body, maxBody+1), maxBody)
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.Is(err, bounded.ErrTooLarge) || errors.As(err, &tooLarge) {
			return body, nil, &fault{status: http.StatusRequestEntityTooLarge, reason: reasonSyntax,
				detail: fmt.Sprintf("the body has more than %d bytes", maxBody), code: CodeSyntax}
		}
		return body, nil, badSyntax("the body ends early")
	}
	trimmed := strings.TrimSpace(string(data))
	if trimmed == "" {
		return element.New(root), nil, nil
	}
	f := formatXML
	if trimmed[0] == '{' || trimmed[0] == '[' {
		f = formatJSON
	}
	if contentType := r.Header.Get("Content-Type"); contentType != "" {
		mediaType, _, _ := strings.Cut(contentType, ";")
		var known bool
		if f, known = formatOf(strings.TrimSpace(mediaType)); !known {
			return body, nil, &fault{status: http.StatusUnsupportedMediaType, reason: reasonSyntax,
				detail: fmt.Sprintf("content type %q is not read; send application/xml or application/json", mediaType), code: CodeSyntax}
		}
	}
	body, bad = parseBody(f, data, root)
	return body, data, bad
}

func parseBody(f format, data []byte, root string) (element.Element, *fault) {
	limits := bounded.Limits{Bytes: maxBody, Depth: maxDepth, Nodes: maxNodes}
	var body element.Element
	var list diag.List
	if f == formatJSON {
		body, list = element.ParseJSON(bodyName, data, root, limits)
	} else {
		body, list = element.ParseXML(bodyName, data, limits)
	}
	if list.HasErrors() {
		return element.Element{}, refused(list)
	}
	if body.Name != root {
		return element.Element{}, badSyntax(fmt.Sprintf("%s: the body is <%s> where <%s> belongs", body.Place, body.Name, root))
	}
	return body, nil
}

// reply is what a handler answers with.
type reply struct {
	status int
	// body may be absent.
	body element.Element
	// location is the new object's address.
	location string
	// links are for the Link header of the entry point.
	links []string
	// allow are the methods of the resource, where the client asks for them or used another.
	allow []string
}

func ok(body element.Element) reply { return reply{status: http.StatusOK, body: body} }

// write sends a reply. An answer without a body has no content type either: the Python SDK looks at the type of every
// body, and at none when there is no body.
func write(w http.ResponseWriter, r *http.Request, f format, a reply) error {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if a.location != "" {
		header.Set("Location", a.location)
	}
	for _, l := range a.links {
		header.Add("Link", l)
	}
	if len(a.allow) > 0 {
		header.Set("Allow", strings.Join(a.allow, ", "))
	}
	if !a.body.Exists() {
		header.Set("Content-Length", "0")
		w.WriteHeader(a.status)
		return nil
	}
	data, err := encode(f, a.body)
	if err != nil {
		return err
	}
	header.Set("Content-Type", f.contentType())
	header.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return nil
	}
	_, _ = w.Write(data) // a client that is gone needs no answer
	return nil
}

// encode writes an element. An engine writes texts that are empty with two tags, and the Python SDK reads them as such then, and as
// nothing when there is one. In XML that was written no text looks like a tag.
func encode(f format, e element.Element) ([]byte, error) {
	if f == formatJSON {
		e = typed(e)
	}
	data, err := f.marshal(e)
	if err != nil {
		// What a guest or another client said must not keep anybody from reading the list that it is in.
		if data, err = f.marshal(legible(e)); err != nil {
			return nil, err
		}
	}
	if f == formatJSON {
		return data, nil
	}
	out := make([]byte, 0, len(data)+len(data)/16+len(xmlDeclaration))
	return appendTexts(append(out, xmlDeclaration...), data), nil
}

func (f format) marshal(e element.Element) ([]byte, error) {
	if f == formatJSON {
		return e.JSON()
	}
	return e.XML()
}

// legible puts U+FFFD in the place of what is no UTF-8 and of the characters that XML cannot hold (XML 1.0, section 2.2).
func legible(e element.Element) element.Element {
	clean := func(text string) string {
		return strings.Map(func(r rune) rune {
			if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
				return utf8.RuneError
			}
			return r // bytes that are no UTF-8 come as RuneError
		}, text)
	}
	e.Text = clean(e.Text)
	e.Attrs = slices.Clone(e.Attrs)
	for i := range e.Attrs {
		e.Attrs[i].Value = clean(e.Attrs[i].Value)
	}
	e.Children = slices.Clone(e.Children)
	for i, c := range e.Children {
		e.Children[i] = legible(c)
	}
	return e
}

// typed gives the texts that are booleans and numbers in the API's model their JSON form. Definitions come as XML, in which there
// is no difference; without this a member would be a number or a text by where it is from.
func typed(e element.Element) element.Element {
	switch e.Name {
	case "cores", "cpu_shares", "guaranteed", "max", "memory", "monitors", "priority", "sockets", "threads":
		if e.Text != "" && len(e.Text) < 19 && allDigits(e.Text) {
			e.Kind = element.Number
		}
	case "comment", "content", "custom_script", "description", "host_name", "name", "user_name", "value":
	default:
		if e.Text == "true" || e.Text == "false" {
			e.Kind = element.Boolean
		}
	}
	children := make([]element.Element, len(e.Children))
	for i, c := range e.Children {
		children[i] = typed(c)
	}
	e.Children = children
	return e
}

const xmlDeclaration = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"

// appendTexts appends XML with two tags for texts that are empty.
func appendTexts(out, data []byte) []byte {
	for {
		end := bytes.Index(data, []byte("/>"))
		if end < 0 {
			return append(out, data...)
		}
		out = append(out, data[:end]...)
		name := string(data[bytes.LastIndexByte(data[:end], '<')+1 : end])
		switch name {
		case "address", "comment", "description", "gateway", "netmask":
			out = append(out, "></"+name+">"...)
		default:
			out = append(out, "/>"...)
		}
		data = data[end+2:]
	}
}

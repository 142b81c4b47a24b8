// Package cloudconfig reads, merges and writes cloud-init's user-data documents as YAML trees, and tells the kinds of
// user-data apart.
//
// What it promises is measured against cloud-init itself: a document that was not changed is written byte for byte, a
// changed one is written so that PyYAML, the reader of every guest, gets the same values that the author wrote; Merge
// is cloud-init's own algorithm with all of its options; Recognise follows cloud-init's order of tests. The rules are
// those of cloud-init's modules mergers, handlers and user_data, which agree from 22.4 to 26.2.
package cloudconfig

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// Header is the first line that makes a YAML mapping a cloud-config.
const Header = "#cloud-config"

// Document is one cloud-config. The zero value is an empty document that belongs to no file.
type Document struct {
	origin diag.Origin
	raw    []byte     // as read; nil when there is nothing to write verbatim
	header string     // the header line as written, or ""
	root   *yaml.Node // a mapping, or nil when empty
	opaque bool       // a template whose expressions were masked
}

// FromNode makes a document of a mapping that the caller built or merged. A nil root makes an empty document.
func FromNode(root *yaml.Node) *Document { return &Document{root: root} }

// Parse reads a cloud-config. The header line may be missing, as it is in an annotation or in a MIME part with a
// content type of its own; whether a guest would recognise the text is Recognise's to say. Places in diagnostics are
// places of the file that origin names.
//
// Refused are: other kinds of user-data, text over budget, broken YAML, duplicate keys, more than one document, a
// root that is no mapping, what PyYAML refuses although other readers don't, and the marks of a template language
// where YAML breaks on them. The document is nil if and only if there are errors.
func Parse(origin diag.Origin, data []byte) (*Document, diag.List) {
	switch kind := Recognise(data); kind {
	case CloudConfig, Unknown, Empty, Base64, Ignition:
	default:
		var l diag.List
		l.Errorf(CodeKind, origin.At(1, 1), "only a cloud-config can be read as YAML and merged",
			"this is %s, not a cloud-config", kind.Describe())
		return nil, l
	}
	return parse(origin, data, data)
}

// ParseTemplate reads a jinja template of a cloud-config for checking: expressions are opaque values, statements are
// left out, so that the values of all branches are seen. Opaque tells which values are unknown. The document encodes
// to the template's own bytes and cannot be changed.
func ParseTemplate(origin diag.Origin, data []byte) (*Document, diag.List) {
	d, l := parse(origin, data, maskJinja(data))
	if d != nil {
		d.opaque = true
	}
	return d, l
}

// parse reads masked, a copy of data with the same lines.
func parse(origin diag.Origin, data, masked []byte) (*Document, diag.List) {
	var l diag.List
	header, body := cutHeader(masked)
	if i := bytes.LastIndexByte(body, '\n'); len(bytes.Trim(body[i+1:], " ")) == 0 {
		body = body[:i+1] // readers differ about blanks behind the last line
	}
	nodes, found := bounded.YAML("", body, bounded.Limits{})
	if found.HasErrors() {
		if d, ok := templateInstead(data, found); ok {
			found = diag.List{d}
		}
		return nil, origin.Carry(found)
	}
	l = append(l, found...)
	if line := secondDocument(body); line > 0 || len(nodes) > 1 {
		if line == 0 {
			line = nodes[1].Content[0].Line
		}
		l.Errorf(CodeManyDocuments, diag.At("", line, 1), "keep one document, or make a MIME multipart of several",
			"cloud-init reads one YAML document and drops all of the text when there is another")
		return nil, origin.Carry(l)
	}
	d := &Document{origin: origin, raw: slices.Clone(data), header: header}
	if len(nodes) == 0 {
		return d, origin.Carry(l)
	}
	root := nodes[0].Content[0]
	if TypeOf(root) == Null {
		return d, origin.Carry(l)
	}
	if r := resolveAlias(root); r.Kind != yaml.MappingNode {
		remedy := "start with the name of a module, such as users:"
		if TypeOf(r) == String {
			remedy = `begin a script with the line "#! /bin/sh", or start a cloud-config with the name of a module, such as users:`
		}
		l.Errorf(CodeNotMapping, diag.At("", root.Line, root.Column), remedy,
			"a cloud-config is a mapping, not a %s", TypeOf(root))
		return nil, origin.Carry(l)
	}
	c := checker{list: &l, data: data}
	if c.node(root); !l.HasErrors() {
		checkLayout(&l, root, body)
	}
	if at, r, bad := unprintable(body); bad {
		l.Errorf(CodeRefused, diag.Range{Start: at}, `write it as an escape in double quotes, such as "\x7f"`,
			"cloud-init's YAML reader refuses the character U+%04X, and with it the whole document", r)
	}
	if l.HasErrors() {
		return nil, origin.Carry(l)
	}
	d.root = root
	return d, origin.Carry(l)
}

// cutHeader returns the header line of a cloud-config and the text with that line left blank.
func cutHeader(data []byte) (string, []byte) {
	if Recognise(data) != CloudConfig {
		return "", data
	}
	start := len(data) - len(trimLeft(data))
	end := len(data)
	if i := bytes.IndexByte(data[start:], '\n'); i >= 0 {
		end = start + i
	}
	body := slices.Clone(data)
	for i := start; i < end; i++ {
		body[i] = ' '
	}
	return strings.TrimRight(string(data[start:end]), "\r \t"), body
}

// secondDocument returns the line on which another YAML document starts, or 0. A line that starts with --- cannot
// stand inside any value of a mapping.
func secondDocument(body []byte) int {
	n, content := 0, false
	for line := range bytes.Lines(body) {
		n++
		text := bytes.TrimRight(line, " \t\r\n")
		mark := bytes.HasPrefix(text, []byte("---")) && (len(text) == 3 || text[3] == ' ' || text[3] == '\t')
		switch {
		case mark && content:
			return n
		case len(text) == 0 || text[0] == '%' && !content:
		case mark:
			content = true
		case bytes.TrimLeft(text, " \t")[0] != '#':
			content = true
		}
	}
	return 0
}

// Origin returns where the document was read from. It is zero for documents that were built or merged.
func (d *Document) Origin() diag.Origin { return d.origin }

// Range returns the place of a node of this document in the file it was read from.
func (d *Document) Range(n *yaml.Node) diag.Range {
	if n == nil || n.Line == 0 {
		return d.origin.Whole
	}
	return d.origin.At(n.Line, n.Column)
}

// HasHeader reports whether the text began with the header line, without which a guest ignores it.
func (d *Document) HasHeader() bool { return d.header != "" }

// IsEmpty reports whether the document has no keys. cloud-init drops such a document with a warning.
func (d *Document) IsEmpty() bool {
	r := resolveAlias(d.root)
	return r == nil || len(r.Content) == 0
}

// Root returns the mapping. It is empty, never nil, and must not be changed.
func (d *Document) Root() *yaml.Node {
	if r := resolveAlias(d.root); r != nil {
		return r
	}
	return emptyMapping()
}

// Keys returns the top-level keys that are text, in the order of the document.
func (d *Document) Keys() []string {
	var keys []string
	root := d.Root()
	for i := 0; i+1 < len(root.Content); i += 2 {
		if k := root.Content[i]; TypeOf(k) == String {
			keys = append(keys, k.Value)
		}
	}
	return keys
}

// Get returns the value of a top-level key, or nil. Aliases are followed; merge keys (<<) are not.
func (d *Document) Get(key string) *yaml.Node { return resolveAlias(lookup(d.Root(), key)) }

// ErrTemplate is returned where a document of ParseTemplate was to be changed or merged: only the guest knows its values.
var ErrTemplate = errors.New("a jinja template cannot be changed or merged before it is rendered")

// copyRoot returns the mapping of a copy that may be changed.
func (d *Document) copyRoot() (*yaml.Node, error) {
	if d.opaque {
		return nil, ErrTemplate
	}
	return expand(d.Root())
}

// With returns a copy of the document in which the top-level key has the given value. The document stays as it is.
func (d *Document) With(key string, value *yaml.Node) (*Document, error) {
	root, err := d.copyRoot()
	if err != nil {
		return nil, err
	}
	if value, err = expand(value); err != nil {
		return nil, err
	}
	if i := find(root, "s"+key); i >= 0 {
		root.Content[i+1] = value
	} else {
		k, err := text(key)
		if err != nil {
			return nil, err
		}
		root.Content = append(root.Content, k, value)
	}
	root.Style &^= yaml.FlowStyle
	return &Document{origin: d.origin, header: d.header, root: root}, nil
}

// Without returns a copy of the document without the top-level keys. The document stays as it is.
func (d *Document) Without(keys ...string) (*Document, error) {
	root, err := d.copyRoot()
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if i := find(root, "s"+key); i >= 0 {
			remove(root, i)
		}
	}
	return &Document{origin: d.origin, header: d.header, root: root}, nil
}

// Encode returns the document as a guest reads it. A document that was read and not changed is returned byte for
// byte if it had its header; else the header line comes first, then the mapping as EncodeNode writes it. An empty
// document is the header line alone.
func (d *Document) Encode() ([]byte, error) {
	if d.raw != nil && (d.header != "" || d.opaque) {
		return slices.Clone(d.raw), nil
	}
	header := d.header
	if header == "" {
		header = Header
	}
	if d.IsEmpty() {
		return []byte(header + "\n"), nil
	}
	body, err := EncodeNode(d.root)
	if err != nil {
		return nil, err
	}
	return append([]byte(header+"\n"), body...), nil
}

// How returns how the document asks to be merged, by merge_how or else merge_type, and the document without what
// cloud-init takes out for that: merge_type stays in when merge_how is there too. ok is false when the document says
// nothing. The error wraps ErrHow.
func (d *Document) How() (how How, rest *Document, ok bool, err error) {
	rest = d
	for _, key := range []string{"merge_how", "merge_type"} {
		n := lookup(d.Root(), key)
		if n == nil {
			continue
		}
		if rest, err = rest.Without(key); err != nil {
			return nil, d, false, err
		}
		if TypeOf(n) == Null {
			continue
		}
		how, err = HowOf(n)
		return how, rest, err == nil && len(how) > 0, err
	}
	return nil, rest, false, nil
}

// Part is one cloud-config among several, with the value of its Merge-Type or X-Merge-Type header.
type Part struct {
	Document  *Document
	MergeType string
}

// MergeParts merges cloud-config parts in order as a guest does: each says how it is merged into those before it, by
// merge_how or merge_type in the document and by its header, else DefaultHow holds. A part that cloud-init would drop
// because of that is left out with an error diagnostic. The parts stay as they are.
func MergeParts(parts ...Part) (*Document, diag.List) {
	var l diag.List
	root := emptyMapping()
	for _, p := range parts {
		how, rest, _, err := p.Document.How()
		if err == nil {
			var header How
			if header, err = ParseHow(p.MergeType); err == nil {
				how = append(slices.Clip(how), header...)
			}
		}
		if len(how) == 0 {
			how = DefaultHow()
		}
		var merged *yaml.Node
		if err == nil && p.Document.opaque {
			err = ErrTemplate
		}
		if err == nil && !p.Document.IsEmpty() {
			merged, err = Merge(root, rest.Root(), how)
		}
		if err != nil {
			l.Errorf(CodeMerge, p.Document.origin.Whole, "", "cloud-init drops this part: %v", err)
			continue
		}
		if merged != nil {
			root = merged
		}
	}
	return FromNode(root), l
}

package element

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

const (
	byteOrderMark = "\ufeff"
	cdataOpen     = "<![CDATA["
	xmlSpace      = " \t\r\n"
)

// declared matches the encoding of an XML declaration.
var declared = regexp.MustCompile(`^<\?xml[ \t\r\n][^>]*?encoding[ \t\r\n]*=[ \t\r\n]*["']([^"'>]*)["']`)

// ParseXML reads one XML document. Prefixes of names are dropped, declarations of name spaces left out; attributes that
// differ in their prefix only keep it. When there are errors the element is not to be used.
func ParseXML(file string, data []byte, limits bounded.Limits) (Element, diag.List) {
	limits, l := bounded.Text(file, data, limits)
	if l.HasErrors() {
		return Element{}, l
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	p := xmlParser{file: file, data: data, limits: limits, dec: xml.NewDecoder(bytes.NewReader(data)), at: cursor{line: 1, column: 1}}
	if m := declared.FindSubmatchIndex(data); m != nil && !strings.EqualFold(string(data[m[2]:m[3]]), "utf-8") {
		p.fail(m[2], CodeEncoding, "save the file as UTF-8 and correct the declaration", "the XML declaration names another encoding than UTF-8")
		return Element{}, p.list
	}
	for p.step() {
	}
	if len(p.list) == 0 && p.root == nil {
		p.fail(len(data), CodeSyntax, "", "there is no element in it")
	}
	if p.list.HasErrors() {
		return Element{}, p.list
	}
	return *p.root, p.list
}

// cursor is a place that moves forward over the data.
type cursor struct{ offset, line, column int }

// to moves the cursor to an offset that is not behind it. Columns count characters.
func (c *cursor) to(data []byte, offset int) diag.Pos {
	for c.offset < offset {
		b := data[c.offset]
		c.offset++
		switch {
		case b == '\n':
			c.line, c.column = c.line+1, 1
		case utf8.RuneStart(b):
			c.column++
		}
	}
	return diag.Pos{Line: c.line, Column: c.column}
}

// open is an element whose end has not come yet.
type open struct {
	Element
	name  string // with its prefix, which the end must have as well
	words strings.Builder
	solid bool // there is more than white space in words
}

type xmlParser struct {
	file   string
	data   []byte
	limits bounded.Limits
	dec    *xml.Decoder
	at     cursor
	nodes  int
	stack  []*open
	root   *Element
	list   diag.List
}

// fail reports an error at an offset that need not be ahead of the cursor.
func (p *xmlParser) fail(offset int, code diag.Code, remedy, format string, args ...any) {
	pos := diag.Index(string(p.data), offset)
	p.list.Errorf(code, diag.At(p.file, pos.Line, pos.Column), remedy, format, args...)
}

// step reads one token. It returns false at the end and after an error.
func (p *xmlParser) step() bool {
	start := int(p.dec.InputOffset())
	token, err := p.dec.RawToken()
	end := int(p.dec.InputOffset())
	switch {
	case errors.Is(err, io.EOF):
		p.finish()
		return false
	case err != nil:
		p.syntax(start, end, err)
		return false
	}
	switch t := token.(type) {
	case xml.StartElement:
		p.start(t, start, end)
	case xml.EndElement:
		p.end(t, start)
	case xml.CharData:
		p.text(t, start, end)
	case xml.Directive:
		p.fail(start, CodeForbidden, "remove it", "document type definitions are not read")
	case xml.ProcInst:
		if t.Target != "xml" || start != 0 {
			p.fail(start, CodeForbidden, "remove it", "processing instructions are not read, and an XML declaration stands at the very beginning")
		}
	}
	return len(p.list) == 0
}

func (p *xmlParser) finish() {
	if len(p.stack) > 0 {
		top := p.stack[len(p.stack)-1]
		p.list.Errorf(CodeSyntax, top.Place, "close it", "element <%s> is not closed", top.name)
	}
}

// syntax reports a complaint of the tokenizer. Its own words may hold a part of a text, so they are not repeated.
func (p *xmlParser) syntax(start, end int, err error) {
	text := err.Error()
	says := func(part string) bool { return strings.Contains(text, part) }
	switch {
	case says("invalid character entity"):
		p.fail(start+max(bytes.LastIndexByte(p.data[start:end], '&'), 0), CodeForbidden, "write & as &amp;", "an & begins an entity here, and it is none of XML's own five nor a character reference")
	case says("unexpected EOF"):
		if start == end || len(p.stack) > 0 {
			p.finish()
		}
		if len(p.list) == 0 {
			p.fail(start, CodeSyntax, "complete the document", "the text ends inside of a tag")
		}
	case says("illegal character code"):
		p.fail(end, CodeSyntax, "remove it", "a character stands here that XML cannot hold")
	case says("]]>"):
		p.fail(end, CodeSyntax, "write ]]&gt;", "]]> stands in a text")
	case says("quoted") || says("attribute"):
		p.fail(end, CodeSyntax, `write attributes as name="value", with &lt; for <`, "an attribute is not well-formed")
	case says("comment"):
		p.fail(end, CodeSyntax, "", "a comment is not well-formed")
	default:
		p.fail(end, CodeSyntax, "write < in texts as &lt;", "this is not well-formed XML")
	}
}

func (p *xmlParser) start(t xml.StartElement, start, end int) {
	name := fullName(t.Name)
	place := diag.Range{File: p.file, Start: p.at.to(p.data, start)}
	p.nodes += 1 + len(t.Attr)
	switch {
	case len(p.stack) == 0 && p.root != nil:
		p.fail(start, CodeSyntax, "remove it", "a document has one outermost element, and <%s> is a second one", name)
	case len(p.stack) >= p.limits.Depth:
		p.fail(start, bounded.CodeTooDeep, "flatten the document", "nesting is deeper than %d levels", p.limits.Depth)
	case p.nodes > p.limits.Nodes:
		p.fail(start, bounded.CodeTooManyNodes, "split the document", "the document has more than %d values", p.limits.Nodes)
	case len(p.stack) > 0 && p.stack[len(p.stack)-1].solid:
		p.fail(start, CodeMixed, "write < in texts as &lt;", "element <%s> stands beside a text", name)
	}
	if len(p.list) > 0 {
		return
	}
	e := &open{Element: Element{Name: t.Name.Local, Place: place}, name: name}
	p.attributes(e, t.Attr, start, end)
	p.stack = append(p.stack, e)
}

func fullName(n xml.Name) string {
	if n.Space == "" {
		return n.Local
	}
	return n.Space + ":" + n.Local
}

func (p *xmlParser) attributes(e *open, attrs []xml.Attr, start, end int) {
	places := attributePlaces(p.data[start:end])
	seen := map[string]bool{}
	local := map[string]int{}
	for _, a := range attrs {
		if !isNamespace(a.Name) {
			local[a.Name.Local]++
		}
	}
	for i, a := range attrs {
		at := e.Place
		if len(places) == len(attrs) {
			at = diag.Range{File: p.file, Start: p.at.to(p.data, start+places[i])}
		}
		full := fullName(a.Name)
		if seen[full] {
			p.list.Errorf(CodeDuplicateAttr, at, "remove one of the two", "element <%s> has the attribute %q twice", e.name, full)
			return
		}
		seen[full] = true
		if isNamespace(a.Name) {
			continue
		}
		name := a.Name.Local
		if local[name] > 1 {
			name = full
		}
		e.Attrs = append(e.Attrs, Attr{Name: name, Value: a.Value, Place: at})
	}
}

func isNamespace(n xml.Name) bool {
	return n.Space == "xmlns" || n.Space == "" && n.Local == "xmlns"
}

// attributePlaces finds where the attributes begin in a tag that the tokenizer has accepted.
func attributePlaces(tag []byte) []int {
	var out []int
	skip := func(i int, stop func(byte) bool) int {
		for i < len(tag) && !stop(tag[i]) {
			i++
		}
		return i
	}
	space := func(b byte) bool { return strings.IndexByte(xmlSpace, b) >= 0 }
	i := skip(0, space)
	for {
		i = skip(i, func(b byte) bool { return !space(b) })
		if i >= len(tag) || tag[i] == '>' || tag[i] == '/' {
			return out
		}
		out = append(out, i)
		i = skip(i, func(b byte) bool { return b == '"' || b == '\'' })
		if i >= len(tag) {
			return out
		}
		quote := tag[i]
		i = skip(i+1, func(b byte) bool { return b == quote }) + 1
	}
}

func (p *xmlParser) end(t xml.EndElement, start int) {
	name := fullName(t.Name)
	if len(p.stack) == 0 {
		p.fail(start, CodeSyntax, "remove it", "</%s> closes an element that is not open", name)
		return
	}
	top := p.stack[len(p.stack)-1]
	if top.name != name {
		pos := diag.Index(string(p.data), start)
		p.list.Add(diag.Diagnostic{Code: CodeSyntax, Severity: diag.Error, Range: diag.At(p.file, pos.Line, pos.Column),
			Summary: fmt.Sprintf("</%s> stands where </%s> should close", name, top.name), Remedy: "close elements in the order in which they were opened"}.
			With(top.Place, fmt.Sprintf("<%s> is opened here", top.name)))
		return
	}
	p.stack = p.stack[:len(p.stack)-1]
	if len(top.Children) == 0 {
		top.Text = top.words.String()
	} else {
		top.text, top.lines = diag.Range{}, nil
	}
	if strings.Count(top.Text, "\n")+1 != len(top.lines) {
		top.lines = nil
	}
	if len(p.stack) == 0 {
		p.root = &top.Element
		return
	}
	parent := p.stack[len(p.stack)-1]
	parent.Children = append(parent.Children, top.Element)
}

// text adds character data to the innermost element, and notes where each of its lines begins.
func (p *xmlParser) text(t xml.CharData, start, end int) {
	blank := len(bytes.Trim(t, xmlSpace)) == 0
	if len(p.stack) == 0 {
		if !blank {
			p.fail(start, CodeSyntax, "remove it", "a text stands outside of the outermost element")
		}
		return
	}
	top := p.stack[len(p.stack)-1]
	if !blank && len(top.Children) > 0 {
		first := bytes.IndexFunc(p.data[start:end], func(r rune) bool { return !strings.ContainsRune(xmlSpace, r) })
		p.fail(start+first, CodeMixed, "write < in texts as &lt;", "a text stands beside the elements in <%s>", top.name)
		return
	}
	if len(top.Children) > 0 {
		return
	}
	top.solid = top.solid || !blank
	from, to, references := start, end, true
	if bytes.HasPrefix(p.data[start:end], []byte(cdataOpen)) {
		from, to, references = start+len(cdataOpen), end-len("]]>"), false
	}
	pos := p.at.to(p.data, from)
	if top.words.Len() == 0 {
		top.text, top.lines = diag.Range{File: p.file, Start: pos}, []diag.Pos{pos}
	}
	top.words.Write(t)
	for _, i := range lineStarts(p.data[from:to], references) {
		top.lines = append(top.lines, p.at.to(p.data, from+i))
	}
}

// newline matches the references that stand for a line break.
var newline = regexp.MustCompile(`^&#(?:0*10|x0*[aA]);`)

// lineStarts finds the offsets behind the line breaks of character data. A carriage return breaks a line too (XML 1.0,
// section 2.11).
func lineStarts(raw []byte, references bool) []int {
	var out []int
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '\n', raw[i] == '\r' && (i+1 == len(raw) || raw[i+1] != '\n'):
			out = append(out, i+1)
		case raw[i] == '&' && references:
			if n := len(newline.Find(raw[i:])); n > 0 {
				out = append(out, i+n)
			}
		}
	}
	return out
}

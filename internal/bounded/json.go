package bounded

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// JSON parses one strict JSON value (RFC 8259) into a document node of the same shape that YAML returns, so that one
// walker serves both. It refuses, with a place in file: input over budget, bytes that are not UTF-8, duplicate keys,
// lone surrogates, and anything behind the value. encoding/json lets all of these pass.
func JSON(file string, data []byte, limits Limits) (*yaml.Node, diag.List) {
	limits = limits.orDefaults()
	var l diag.List
	if !checkBytes(&l, file, data, limits) {
		return nil, l
	}
	p := jsonParser{file: file, text: string(data), limits: limits, line: 1, column: 1}
	root, err := p.document()
	if err != nil {
		l.Add(*err)
		return nil, l
	}
	return &yaml.Node{Kind: yaml.DocumentNode, Line: root.Line, Column: root.Column, Content: []*yaml.Node{root}}, l
}

// jsonParser is a recursive descent parser that keeps line and column. Errors are diagnostics, returned by pointer so
// that nil means none.
type jsonParser struct {
	file         string
	text         string
	at           int
	line, column int
	nodes        int
	limits       Limits
}

func (p *jsonParser) fail(code diag.Code, remedy, format string, args ...any) *diag.Diagnostic {
	return &diag.Diagnostic{Code: code, Severity: diag.Error, Range: diag.At(p.file, p.line, p.column),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (p *jsonParser) syntax(remedy, format string, args ...any) *diag.Diagnostic {
	return p.fail(CodeSyntax, remedy, "this is not JSON: "+format, args...)
}

// advance moves over n bytes, which must end at a character boundary.
func (p *jsonParser) advance(n int) {
	for _, r := range p.text[p.at : p.at+n] {
		if r == '\n' {
			p.line, p.column = p.line+1, 1
		} else {
			p.column++
		}
	}
	p.at += n
}

func (p *jsonParser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.advance(1)
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (p *jsonParser) peek() byte {
	p.space()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *jsonParser) document() (*yaml.Node, *diag.Diagnostic) {
	root, err := p.value(1)
	if err != nil {
		return nil, err
	}
	if p.peek() != 0 {
		return nil, p.syntax("remove what follows", "there is something behind the closing bracket")
	}
	return root, nil
}

func (p *jsonParser) value(depth int) (*yaml.Node, *diag.Diagnostic) {
	c := p.peek()
	p.nodes++
	if depth > p.limits.Depth {
		return nil, p.fail(CodeTooDeep, remedyDepth, "nesting is deeper than %d levels", p.limits.Depth)
	}
	if p.nodes > p.limits.Nodes {
		return nil, p.fail(CodeTooManyNodes, "split the document", "the document has more than %d values", p.limits.Nodes)
	}
	n := &yaml.Node{Line: p.line, Column: p.column}
	switch {
	case c == '{':
		return p.object(n, depth)
	case c == '[':
		return p.array(n, depth)
	case c == '"':
		s, err := p.string()
		n.Kind, n.Tag, n.Style, n.Value = yaml.ScalarNode, "!!str", yaml.DoubleQuotedStyle, s
		return n, err
	case c == 0:
		return nil, p.syntax("complete the document", "the text ends where a value should stand")
	case c == '}' || c == ']':
		return nil, p.syntax("remove the comma before it", "a bracket closes where a value should stand")
	}
	return p.word(n)
}

// word parses the values without quotes: numbers, true, false, null.
func (p *jsonParser) word(n *yaml.Node) (*yaml.Node, *diag.Diagnostic) {
	end := p.at
	for end < len(p.text) && strings.IndexByte(" \t\r\n,:{}[]\"", p.text[end]) < 0 {
		end++
	}
	w := p.text[p.at:end]
	n.Kind, n.Value = yaml.ScalarNode, w
	switch w {
	case "true", "false":
		n.Tag = "!!bool"
	case "null":
		n.Tag = "!!null"
	default:
		var number json.Number
		if json.Unmarshal([]byte(w), &number) != nil || w == "" {
			return nil, p.syntax("put texts into double quotes", "neither a number, true, false, null nor a quoted text")
		}
		n.Tag = "!!int"
		if strings.ContainsAny(w, ".eE") || w == "-0" {
			n.Tag = "!!float"
		}
	}
	p.advance(len(w))
	return n, nil
}

func (p *jsonParser) array(n *yaml.Node, depth int) (*yaml.Node, *diag.Diagnostic) {
	n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
	p.advance(1)
	if p.peek() == ']' {
		p.advance(1)
		return n, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, v)
		done, err := p.next(']')
		if err != nil || done {
			return n, err
		}
	}
}

func (p *jsonParser) object(n *yaml.Node, depth int) (*yaml.Node, *diag.Diagnostic) {
	n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
	p.advance(1)
	if p.peek() == '}' {
		p.advance(1)
		return n, nil
	}
	seen := map[string]*yaml.Node{}
	for {
		key, err := p.key(seen)
		if err != nil {
			return nil, err
		}
		if p.peek() != ':' {
			return nil, p.syntax("put a colon behind the key", "a colon is missing")
		}
		p.advance(1)
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, key, v)
		done, err := p.next('}')
		if err != nil || done {
			return n, err
		}
	}
}

func (p *jsonParser) key(seen map[string]*yaml.Node) (*yaml.Node, *diag.Diagnostic) {
	switch p.peek() {
	case '"':
	case '}':
		return nil, p.syntax("remove the comma before it", "a bracket closes where a key should stand")
	default:
		return nil, p.syntax("put keys into double quotes", "a key in double quotes should stand here")
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Line: p.line, Column: p.column}
	here := *p
	s, err := p.string()
	if err != nil {
		return nil, err
	}
	if first, ok := seen[s]; ok {
		d := here.fail(CodeDuplicateKey, "remove one of the two", "key %q stands twice in one object", s)
		*d = d.With(diag.At(p.file, first.Line, first.Column), "the first one is here")
		return nil, d
	}
	seen[s] = key
	key.Value = s
	return key, nil
}

// next consumes a comma, or the closing bracket, which it reports as done.
func (p *jsonParser) next(closing byte) (done bool, err *diag.Diagnostic) {
	switch p.peek() {
	case ',':
		p.advance(1)
		if p.peek() == ',' {
			return false, p.syntax("remove one of them", "two commas stand one behind the other")
		}
		return false, nil
	case closing:
		p.advance(1)
		return true, nil
	case 0:
		return false, p.syntax("close the brackets", "the text ends before %q", closing)
	}
	return false, p.syntax("separate values by commas", "a comma or %q should stand here", closing)
}

func (p *jsonParser) string() (string, *diag.Diagnostic) {
	end := p.at + 1
	for end < len(p.text) && p.text[end] != '"' {
		if p.text[end] < 0x20 {
			p.advance(end - p.at)
			return "", p.syntax(`write it as an escape such as \n`, "a control character stands inside a text")
		}
		if p.text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.text) {
		return "", p.syntax("close the quotes", "a text is not closed")
	}
	raw := p.text[p.at : end+1]
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		return "", p.syntax(`use \", \\, \/, \b, \f, \n, \r, \t or \uXXXX`, "a text holds an escape that JSON does not know")
	}
	// The decoder turns a lone surrogate into U+FFFD without a word.
	if strings.ContainsRune(s, utf8.RuneError) && !strings.ContainsRune(raw, utf8.RuneError) &&
		!strings.Contains(strings.ToLower(raw), `\ufffd`) {
		return "", p.syntax("write both halves of the pair", "a text holds half of a surrogate pair")
	}
	p.advance(len(raw))
	return s, nil
}

package bounded

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// YAML parses the documents of a YAML stream into node trees, one document node each; empty documents are left out.
// It refuses, with a place in file: input over budget, bytes that are not UTF-8, NUL, broken syntax, and duplicate
// keys, which YAML readers resolve in different ways.
func YAML(file string, data []byte, limits Limits) ([]*yaml.Node, diag.List) {
	limits = limits.orDefaults()
	var l diag.List
	if !checkBytes(&l, file, data, limits) {
		return nil, l
	}
	if line, depth := flowDepth(data, limits.Depth); depth {
		l.Errorf(CodeTooDeep, diag.At(file, line, 1), remedyDepth, "nesting is deeper than %d levels", limits.Depth)
		return nil, l
	}
	var docs []*yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		doc := new(yaml.Node)
		err := dec.Decode(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			l.Add(syntaxError(file, data, err))
			return nil, l
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
			continue
		}
		w := walker{file: file, limits: limits, list: &l, open: map[*yaml.Node]bool{}}
		w.walk(doc.Content[0], 1)
		if l.HasErrors() {
			return nil, l
		}
		if root := doc.Content[0]; root.Kind == yaml.ScalarNode && root.Value == "" && root.Style == 0 {
			continue
		}
		docs = append(docs, doc)
	}
	return docs, l
}

const remedyDepth = "flatten the document"

func checkBytes(l *diag.List, file string, data []byte, limits Limits) bool {
	if int64(len(data)) > limits.Bytes {
		l.Errorf(CodeTooLarge, diag.At(file, 1, 1), "split the input",
			"input has %d bytes, more than the %d that are read", len(data), limits.Bytes)
		return false
	}
	at := bytes.IndexByte(data, 0)
	if at >= 0 {
		l.Errorf(CodeNotText, place(file, data, at), "remove the NUL byte", "input holds a NUL byte")
		return false
	}
	if !utf8.Valid(data) {
		at = 0
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		l.Errorf(CodeNotText, place(file, data, at), "save the file as UTF-8", "input is not UTF-8")
		return false
	}
	return true
}

// place turns a byte offset into a range. The column counts characters.
func place(file string, data []byte, offset int) diag.Range {
	head := string(data[:offset])
	line := strings.Count(head, "\n") + 1
	return diag.At(file, line, utf8.RuneCountInString(head[strings.LastIndexByte(head, '\n')+1:])+1)
}

// flowDepth finds flow nesting beyond limit before the parser recurses into it. Brackets inside scalars only make
// the count too high, so it is generous: it looks at runs of opening brackets that nothing closes.
func flowDepth(data []byte, limit int) (line int, over bool) {
	depth, line := 0, 1
	for _, c := range data {
		switch c {
		case '\n':
			line++
		case '[', '{':
			depth++
			if depth > limit*10 {
				return line, true
			}
		case ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return 0, false
}

var yamlLine = regexp.MustCompile(`\bline (\d+)(?:, column (\d+))?`)

// syntaxError gives the parser's complaint a place. The parser's text never quotes a value, only what it expected.
func syntaxError(file string, data []byte, err error) diag.Diagnostic {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line, column := 1, 1
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		line, _ = strconv.Atoi(text[m[2]:m[3]])
		if m[4] >= 0 {
			column, _ = strconv.Atoi(text[m[4]:m[5]])
		}
	}
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	lines := strings.Count(string(data), "\n") + 1
	if line > lines {
		line = lines
	}
	return diag.Diagnostic{Code: CodeSyntax, Severity: diag.Error, Range: diag.At(file, line, max(column, 1)),
		Summary: "this is not YAML: " + text, Remedy: "check indentation, quotes and brackets around this line"}
}

// walker counts a node tree as a reader would see it, aliases expanded.
type walker struct {
	file   string
	limits Limits
	list   *diag.List
	nodes  int
	open   map[*yaml.Node]bool // collections being walked, to notice an alias inside its own anchor
}

func (w *walker) fail(n *yaml.Node, code diag.Code, remedy, format string, args ...any) {
	w.list.Errorf(code, diag.At(w.file, n.Line, n.Column), remedy, format, args...)
}

func (w *walker) walk(n *yaml.Node, depth int) {
	if w.list.HasErrors() {
		return
	}
	w.nodes++
	if w.nodes > w.limits.Nodes {
		w.fail(n, CodeTooManyNodes, "remove aliases or split the document",
			"the document has more than %d values once its aliases are expanded", w.limits.Nodes)
		return
	}
	if depth > w.limits.Depth {
		w.fail(n, CodeTooDeep, remedyDepth, "nesting is deeper than %d levels", w.limits.Depth)
		return
	}
	switch n.Kind {
	case yaml.AliasNode:
		if w.open[n.Alias] {
			w.fail(n, CodeSyntax, "remove the alias", "alias %q stands inside its own anchor", n.Value)
			return
		}
		w.walk(n.Alias, depth)
	case yaml.SequenceNode, yaml.MappingNode:
		w.open[n] = true
		if n.Kind == yaml.MappingNode {
			w.duplicates(n)
		}
		for _, c := range n.Content {
			w.walk(c, depth+1)
		}
		delete(w.open, n)
	}
}

// duplicates reports the second of two equal keys. Keys are compared as written values with their tags.
func (w *walker) duplicates(n *yaml.Node) {
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
			continue
		}
		id := k.ShortTag() + " " + k.Value
		if first, ok := seen[id]; ok {
			w.list.Add(diag.Diagnostic{Code: CodeDuplicateKey, Severity: diag.Error,
				Range:   diag.At(w.file, k.Line, k.Column),
				Summary: fmt.Sprintf("key %q stands twice in one mapping", k.Value), Remedy: "remove one of the two"}.
				With(diag.At(w.file, first.Line, first.Column), "the first one is here"))
			return
		}
		seen[id] = k
	}
}

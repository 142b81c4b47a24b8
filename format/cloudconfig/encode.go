package cloudconfig

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxDepth bounds the nesting that the encoder and the mergers follow, so that a tree with a cycle is an error.
const maxDepth = 1000

// maxKey is the length of a key above which it is written in the explicit form: PyYAML looks for the colon of a
// plain key within 1024 characters.
const maxKey = 900

// errDepth is for trees that nest deeper than any document or contain themselves.
var errDepth = errors.New("the document nests too deep")

// EncodeNode writes a tree as YAML that PyYAML reads back as the tree reads: plain scalars keep their spelling,
// strings that YAML 1.1 would take for something else are quoted, characters that PyYAML refuses are escaped.
// Aliases and merge keys are written out. The result ends with a newline.
func EncodeNode(root *yaml.Node) ([]byte, error) {
	var e emitter
	root, err := expand(root)
	if err != nil {
		return nil, err
	}
	switch {
	case root.Kind == yaml.ScalarNode:
		e.comments(root.HeadComment, 0)
		text, err := e.inline(root, false)
		if err != nil {
			return nil, err
		}
		e.b.WriteString(text)
		e.line(root.LineComment)
		e.comments(root.FootComment, 0)
	default:
		if tag := explicitTag(root); tag != "" {
			e.b.WriteString(tag + "\n")
		}
		if err := e.block(root, 0); err != nil {
			return nil, err
		}
	}
	return e.b.Bytes(), nil
}

// emitter writes block style with an indentation of two, and flow style where the author used it on one line.
type emitter struct{ b bytes.Buffer }

func (e *emitter) indent(n int) {
	for range n {
		e.b.WriteByte(' ')
	}
}

// comments writes whole comment lines.
func (e *emitter) comments(text string, indent int) {
	if text == "" {
		return
	}
	for line := range strings.Lines(text) {
		line = cleanComment(line)
		if line == "" {
			e.b.WriteByte('\n')
			continue
		}
		e.indent(indent)
		e.b.WriteString(line)
		e.b.WriteByte('\n')
	}
}

// foot writes a comment behind a node. The blank line keeps it from becoming the comment of what follows.
func (e *emitter) foot(text string, indent int) {
	if text != "" {
		e.comments(text, indent)
		e.b.WriteByte('\n')
	}
}

// line ends the current line, with a comment if there is one.
func (e *emitter) line(comment string) {
	if c := cleanComment(strings.ReplaceAll(comment, "\n", " ")); c != "" {
		e.b.WriteByte(' ')
		e.b.WriteString(c)
	}
	e.b.WriteByte('\n')
}

// cleanComment makes sure that a comment is one: it starts with # and holds no character that ends a line or that
// PyYAML refuses.
func cleanComment(line string) string {
	line = strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		if !printable(r) || r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return -1
		}
		return r
	}, line)
	line = strings.TrimSpace(line)
	if line != "" && line[0] != '#' {
		line = "# " + line
	}
	return line
}

// printable reports whether PyYAML accepts a character outside of an escape.
func printable(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0x7e || r == 0x85 ||
		r >= 0xa0 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}

// leading collects the comments that stand before the first entry of nested collections: behind a dash or a colon
// there is no room for them.
func leading(n *yaml.Node) string {
	var parts []string
	for {
		if n.HeadComment != "" {
			parts = append(parts, n.HeadComment)
		}
		if n.Kind == yaml.ScalarNode || len(n.Content) == 0 || n.Style&yaml.FlowStyle != 0 {
			return strings.Join(parts, "\n")
		}
		n = n.Content[0]
	}
}

// block writes a collection that starts on a line of its own at the given indentation.
func (e *emitter) block(n *yaml.Node, indent int) error {
	e.comments(leading(n), indent)
	e.indent(indent)
	return e.collection(n, indent)
}

// collection writes a collection whose first entry goes onto the current line, which is at indent already. The
// comments before that entry have been written.
func (e *emitter) collection(n *yaml.Node, indent int) error {
	if indent > 2*maxDepth {
		return errDepth
	}
	if text, ok, err := e.flow(n); err != nil {
		return err
	} else if ok {
		e.b.WriteString(text)
		e.line(n.LineComment)
		e.foot(n.FootComment, indent)
		return nil
	}
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	for i := 0; i+step <= len(n.Content); i += step {
		first := n.Content[i]
		if i > 0 {
			if step == 1 {
				e.comments(leading(first), indent)
			} else {
				e.comments(first.HeadComment, indent)
			}
			e.indent(indent)
		}
		var err error
		if step == 1 {
			err = e.item(first, indent)
		} else {
			err = e.pair(first, n.Content[i+1], indent)
		}
		if err != nil {
			return err
		}
	}
	e.foot(n.FootComment, indent)
	return nil
}

// item writes an entry of a sequence behind its dash.
func (e *emitter) item(n *yaml.Node, indent int) error {
	e.b.WriteString("- ")
	if n.Kind == yaml.ScalarNode {
		if err := e.scalar(n, indent, ""); err != nil {
			return err
		}
		e.foot(n.FootComment, indent)
		return nil
	}
	if tag := explicitTag(n); tag != "" {
		e.b.WriteString(tag)
		if _, ok, err := e.flow(n); err != nil || !ok {
			e.b.WriteByte('\n')
			e.indent(indent + 2)
			return errors.Join(err, e.collection(n, indent+2))
		}
		e.b.WriteByte(' ')
	}
	return e.collection(n, indent+2)
}

// pair writes a key and its value.
func (e *emitter) pair(k, v *yaml.Node, indent int) error {
	key, err := e.key(k)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(key) > maxKey {
		e.b.WriteString("? " + key + "\n")
		e.indent(indent)
		key = ""
	}
	e.b.WriteString(key + ":")
	comment := k.LineComment
	if tag := explicitTag(v); tag != "" && v.Kind != yaml.ScalarNode {
		e.b.WriteString(" " + tag)
	}
	if v.Kind == yaml.ScalarNode {
		err = e.value(v, indent, comment)
	} else if text, ok, flowErr := e.flow(v); flowErr != nil {
		err = flowErr
	} else if ok {
		e.b.WriteString(" " + text)
		e.line(join(join(comment, strings.ReplaceAll(v.HeadComment, "\n", " ")), v.LineComment))
		e.foot(v.FootComment, indent)
	} else {
		e.line(join(comment, v.LineComment))
		err = e.block(v, indent+2)
	}
	if err == nil {
		e.foot(k.FootComment, indent)
	}
	return err
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// value writes a scalar behind the colon of its key.
func (e *emitter) value(v *yaml.Node, indent int, comment string) error {
	if v.HeadComment != "" { // there is no room for it between the colon and the value
		comment = join(comment, strings.ReplaceAll(v.HeadComment, "\n", " "))
	}
	if v.Value == "" && TypeOf(v) == Null && explicitTag(v) == "" {
		e.line(join(comment, v.LineComment))
	} else {
		e.b.WriteByte(' ')
		if err := e.scalar(v, indent, comment); err != nil {
			return err
		}
	}
	e.foot(v.FootComment, indent)
	return nil
}

// scalar writes a scalar to the end of the current line, as a literal block below it if that suits its text.
func (e *emitter) scalar(n *yaml.Node, indent int, comment string) error {
	comment = join(comment, n.LineComment)
	if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 || !literalFits(n.Value) {
		text, err := e.inline(n, false)
		if err != nil {
			return err
		}
		e.b.WriteString(text)
		e.line(comment)
		return nil
	}
	if tag := explicitTag(n); tag != "" {
		e.b.WriteString(tag + " ")
	}
	e.b.WriteByte('|')
	switch trimmed := strings.TrimRight(n.Value, "\n"); len(n.Value) - len(trimmed) {
	case 0:
		e.b.WriteByte('-')
	case 1:
	default:
		e.b.WriteByte('+')
	}
	e.line(comment)
	for line := range strings.Lines(n.Value) {
		if line != "\n" {
			e.indent(indent + 2)
		}
		e.b.WriteString(line)
	}
	if !strings.HasSuffix(n.Value, "\n") {
		e.b.WriteByte('\n')
	}
	return nil
}

// literalFits reports whether a literal block holds a text exactly, without an indentation indicator.
func literalFits(s string) bool {
	if strings.Trim(s, "\n") == "" || strings.ContainsRune(" \t\n", rune(s[0])) || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !printable(r) || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			return false
		}
	}
	return true
}

// key returns the text of a mapping key. Only scalars can be keys: a Python dict takes no other.
func (e *emitter) key(k *yaml.Node) (string, error) {
	if k.Kind != yaml.ScalarNode {
		return "", errors.New("a mapping key is a list or a mapping; cloud-init refuses such documents")
	}
	if k.Value == "" && TypeOf(k) == Null {
		return "null", nil
	}
	if TypeOf(k) == Invalid && k.Value == "=" {
		return `"="`, nil
	}
	text, err := e.inline(k, true)
	if err == nil && explicitTag(k) == "" && strings.HasPrefix(text, "?") {
		text = quote(k.Value)
	}
	return text, err
}

// inline returns a scalar on one line. In flow style and as a key fewer plain texts are safe.
func (e *emitter) inline(n *yaml.Node, tight bool) (string, error) {
	if !utf8.ValidString(n.Value) {
		return "", errors.New("a value is not UTF-8 text; write it as base64")
	}
	tag := explicitTag(n)
	prefix := ""
	if tag != "" && tag != "!" {
		if !knownTag(tag) {
			return "", fmt.Errorf("cloud-init's YAML reader does not know the tag %s", n.Tag)
		}
		prefix = tag + " "
	}
	switch {
	case tag == "!" || n.Style&quotedStyles != 0:
		if n.Style&yaml.SingleQuotedStyle != 0 && tag != "!" && singleFits(n.Value) {
			return prefix + "'" + strings.ReplaceAll(n.Value, "'", "''") + "'", nil
		}
		return prefix + quote(n.Value), nil
	case tag != "":
		return prefix + quote(n.Value), nil
	}
	switch PlainType(n.Value) {
	case Invalid:
		return "", fmt.Errorf("cloud-init's YAML reader refuses a value of this form")
	case String:
		if !plainFits(n.Value, tight) {
			return quote(n.Value), nil
		}
	case Null:
		if n.Value == "" {
			return "null", nil
		}
	}
	return n.Value, nil
}

func knownTag(tag string) bool {
	switch tag {
	case "!!str", "!!null", "!!bool", "!!int", "!!float", "!!timestamp", "!!binary":
		return true
	}
	return false
}

func singleFits(s string) bool {
	for _, r := range s {
		if !printable(r) || strings.ContainsRune("\t\n\r\u0085\u2028\u2029\ufeff", r) {
			return false
		}
	}
	return true
}

// plainStart are the characters that begin no plain scalar; -, ? and : may where a character that is no blank follows.
const plainStart = ",[]{}#&*!|>'\"%@`"

// plainFits reports whether a string that a document wrote plain can stay so. Tight places are keys and flow style.
func plainFits(s string, tight bool) bool {
	if s == "" || strings.ContainsRune(plainStart, rune(s[0])) || strings.Contains(s, ": ") || strings.Contains(s, " #") {
		return false
	}
	if strings.ContainsRune("-?:", rune(s[0])) && (len(s) == 1 || s[1] == ' ' || tight && s[0] != '-') {
		return false
	}
	if s[0] == ' ' || s[len(s)-1] == ' ' || s[len(s)-1] == ':' || strings.HasPrefix(s, "---") || strings.HasPrefix(s, "...") {
		return false
	}
	for _, r := range s {
		if !printable(r) || strings.ContainsRune("\t\n\r\u0085\u2028\u2029\ufeff", r) {
			return false
		}
	}
	return !tight || !strings.ContainsAny(s, ",[]{}?:#")
}

// maxFlow is the length up to which a collection in flow style stays on its line.
const maxFlow = 120

// flow returns a collection in flow style if it is empty, or if its author wrote it so and it is short.
func (e *emitter) flow(n *yaml.Node) (string, bool, error) {
	if len(n.Content) == 0 {
		if n.Kind == yaml.SequenceNode {
			return "[]", true, nil
		}
		return "{}", true, nil
	}
	if n.Style&yaml.FlowStyle == 0 || !flowFits(n, 0) {
		return "", false, nil
	}
	text, err := e.flowText(n)
	return text, err == nil && utf8.RuneCountInString(text) <= maxFlow, err
}

// flowFits reports whether nothing in a flow collection needs a line of its own.
func flowFits(n *yaml.Node, depth int) bool {
	if depth > 8 || n.HeadComment != "" || n.FootComment != "" || depth > 0 && n.LineComment != "" {
		return false
	}
	if n.Kind == yaml.ScalarNode {
		return len(n.Value) <= maxFlow && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
	if depth > 0 && explicitTag(n) != "" {
		return false
	}
	for _, c := range n.Content {
		if !flowFits(c, depth+1) {
			return false
		}
	}
	return true
}

func (e *emitter) flowText(n *yaml.Node) (string, error) {
	var parts []string
	switch n.Kind {
	case yaml.ScalarNode:
		return e.inline(n, true)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			text, err := e.flowText(c)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return "[" + strings.Join(parts, ", ") + "]", nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, err := e.key(n.Content[i])
		if err != nil {
			return "", err
		}
		v, err := e.flowText(n.Content[i+1])
		if err != nil {
			return "", err
		}
		parts = append(parts, k+": "+v)
	}
	return "{" + strings.Join(parts, ", ") + "}", nil
}

// quote returns s as a double-quoted scalar on one line.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r >= 0x7f && r <= 0x9f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// safePlain is a string that can stand unquoted in any context, provided that it is one to YAML 1.1 as well.
var safePlain = regexp.MustCompile(`^[A-Za-z_/.][A-Za-z0-9_./@%+=~-]*(?:[ :][A-Za-z0-9_./@%+=~-]+)*$`)

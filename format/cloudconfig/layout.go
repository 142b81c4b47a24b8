package cloudconfig

import (
	"bytes"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// layout finds what PyYAML refuses in the way a document is laid out, rather than in its values: tabs between tokens,
// names of anchors, keys of several lines, and characters inside flow collections.
type layout struct {
	list   *diag.List
	lines  [][]rune // the text, in which quoted and block scalars are blanked
	marked []*yaml.Node

	anchors map[string]bool
}

var anchorName = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// checkLayout adds an error for the first finding.
func checkLayout(l *diag.List, root *yaml.Node, body []byte) {
	c := layout{list: l, anchors: map[string]bool{}, lines: yamlLines(body)}
	c.node(root, false)
	if !l.HasErrors() && bytes.ContainsRune(body, '\t') {
		c.tabs()
	}
}

// yamlLines cuts a text where YAML 1.1 breaks lines, so that the lines of nodes are found in it.
func yamlLines(body []byte) [][]rune {
	var lines [][]rune
	var line []rune
	last := rune(0)
	for _, r := range string(body) {
		switch {
		case r == '\n' && last == '\r':
		case r == '\n' || r == '\r' || r == 0x85 || r == 0x2028 || r == 0x2029:
			lines, line = append(lines, line), nil
		default:
			line = append(line, r)
		}
		last = r
	}
	return append(lines, line)
}

func (c *layout) refuse(line, column int, remedy, what string) {
	c.list.Errorf(CodeRefused, diag.At("", line, column), remedy,
		"cloud-init's YAML reader refuses %s, and with it the whole document", what)
}

// node checks names and flow scalars, and collects the scalars that may hold tabs, in the order of the text.
func (c *layout) node(n *yaml.Node, flow bool) {
	if n.Anchor != "" && c.anchors[n.Anchor] {
		c.refuse(n.Line, n.Column, "give it another name", "a second anchor of the same name")
	}
	if n.Anchor != "" {
		c.anchors[n.Anchor] = true
	}
	if n.Anchor != "" && !anchorName.MatchString(n.Anchor) || n.Kind == yaml.AliasNode && !anchorName.MatchString(n.Value) {
		c.refuse(n.Line, n.Column, "use letters, digits, - and _ only", "this name of an anchor")
	}
	c.marked = append(c.marked, n)
	if n.Kind == yaml.ScalarNode && flow && n.Style&quotedStyles == 0 &&
		(strings.Contains(n.Value, "?") || strings.HasPrefix(n.Value, ":")) {
		c.refuse(n.Line, n.Column, "put the value into quotes", "an unquoted ? or leading : between brackets")
	}
	if n.Kind == yaml.AliasNode {
		return
	}
	flow = flow || n.Style&yaml.FlowStyle != 0
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			c.key(child)
		}
		c.node(child, flow)
	}
}

// key checks that an unquoted key stands on one line, and that there is one before the colon.
func (c *layout) key(k *yaml.Node) {
	if k.Kind != yaml.ScalarNode || k.Style&quotedStyles != 0 || k.Anchor != "" || explicitTag(k) != "" ||
		k.Line < 1 || k.Line > len(c.lines) {
		return
	}
	line := c.lines[k.Line-1]
	at := min(k.Column-1, len(line))
	switch rest := string(line[at:]); {
	case k.Value == "" && strings.HasPrefix(rest, ":") && !strings.HasSuffix(strings.TrimRight(string(line[:at]), " "), "?"):
		c.refuse(k.Line, k.Column, "write the key", "a colon without a key")
	case !strings.HasPrefix(rest, k.Value):
		c.refuse(k.Line, k.Column, "write it on one line", "a key of several lines")
	}
}

// tabs finds a tab outside of quotes, block scalars and comments.
func (c *layout) tabs() {
	for i, n := range c.marked {
		switch {
		case n.Kind != yaml.ScalarNode || n.Line < 1 || n.Line > len(c.lines):
		case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
			c.blankQuoted(n)
		case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
			end := len(c.lines)
			for _, next := range c.marked[i+1:] {
				if next.Line > n.Line {
					end = next.Line - 1
					break
				}
			}
			c.blankBlock(n.Line, end)
		}
	}
	for i, line := range c.lines {
		text := string(line)
		if at := commentStart(line); at >= 0 {
			text = string(line[:at])
		}
		if at := strings.IndexRune(text, '\t'); at >= 0 {
			c.refuse(i+1, len([]rune(text[:at]))+1, "use blanks", "a tab here")
			return
		}
	}
}

// commentStart returns where the comment of a line starts, or -1.
func commentStart(line []rune) int {
	for i, r := range line {
		if r == '#' && (i == 0 || line[i-1] == ' ') {
			return i
		}
	}
	return -1
}

// blankQuoted turns a quoted scalar into blanks. The node's place may be that of its tag or anchor.
func (c *layout) blankQuoted(n *yaml.Node) {
	quote := '"'
	if n.Style&yaml.SingleQuotedStyle != 0 {
		quote = '\''
	}
	row, col, open := n.Line-1, n.Column-1, false
	for ; row < len(c.lines); row, col = row+1, 0 {
		for line := c.lines[row]; col < len(line); col++ {
			r := line[col]
			if !open {
				open = r == quote
				continue
			}
			line[col] = 'x'
			switch {
			case r == '\\' && quote == '"' && col+1 < len(line):
				col++
				line[col] = 'x'
			case r == quote && quote == '\'' && col+1 < len(line) && line[col+1] == quote:
				col++
				line[col] = 'x'
			case r == quote:
				return
			}
		}
	}
}

// blankBlock empties the lines of a block scalar from the one behind its header (counted from 0) to end. A tab where
// the indentation should be ends the scalar, so it stays.
func (c *layout) blankBlock(from, end int) {
	indent := -1
	for i := from; i < end; i++ {
		text := string(c.lines[i])
		lead := len(text) - len(strings.TrimLeft(text, " "))
		if indent < 0 && strings.TrimSpace(text) != "" {
			indent = lead
		}
		if lead < indent && lead < len(text) && text[lead] == '\t' {
			continue
		}
		c.lines[i] = nil
	}
}

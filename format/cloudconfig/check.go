package cloudconfig

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// checker finds what PyYAML refuses although the parser here reads it.
type checker struct {
	list *diag.List
	data []byte
	seen map[*yaml.Node]bool // anchored nodes that were checked
}

func (c *checker) refuse(n *yaml.Node, remedy, format string, args ...any) {
	c.list.Errorf(CodeRefused, diag.At("", n.Line, n.Column), remedy,
		"cloud-init's YAML reader refuses "+format+", and with it the whole document", args...)
}

func (c *checker) node(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Anchor != "" {
		if c.seen[n] {
			return
		}
		if c.seen == nil {
			c.seen = map[*yaml.Node]bool{}
		}
		c.seen[n] = true
	}
	if TypeOf(n) == Invalid {
		c.invalid(n)
		return
	}
	if n.Kind == yaml.MappingNode {
		c.mapping(n)
		return
	}
	for _, item := range n.Content {
		c.node(item)
	}
}

func (c *checker) invalid(n *yaml.Node) {
	if tag := explicitTag(n); tag != "" {
		c.refuse(n, "remove the tag", "the tag %s here", n.Tag)
		return
	}
	c.refuse(n, "put the value into quotes", "an unquoted value of this form")
}

func (c *checker) mapping(n *yaml.Node) {
	keys := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := resolveAlias(n.Content[i]), n.Content[i+1]
		switch {
		case isMergeKey(k):
			if _, err := (&expander{left: maxNodes}).pairs(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{k, v}}, 0); err != nil {
				c.refuse(k, "name a mapping with it", "this merge key (<<)")
			}
			c.node(v)
			continue
		case k.Kind != yaml.ScalarNode:
			if name := templateAt(c.data, k.Line); name != "" {
				c.list.Add(unrendered(name, k.Line, k.Column))
			} else {
				c.refuse(k, "put the key into quotes", "a list or mapping as a key")
			}
			continue
		case TypeOf(k) == Invalid && k.Value != "=":
			c.invalid(k)
			continue
		}
		if first, ok := keys[identity(k)]; ok {
			c.list.Add(diag.Diagnostic{Code: CodeSameKey, Severity: diag.Error, Range: diag.At("", k.Line, k.Column),
				Summary: fmt.Sprintf("key %q is the same as %q to a guest, which keeps only this one", k.Value, first.Value),
				Remedy:  "remove one of the two, or put both into quotes"}.
				With(diag.At("", first.Line, first.Column), "the first one is here"))
		}
		keys[identity(k)] = k
		c.node(v)
	}
}

// unprintable finds the first character that PyYAML accepts nowhere, not even in a comment.
func unprintable(data []byte) (diag.Pos, rune, bool) {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if !printable(r) {
			return diag.Index(string(data), i), r, true
		}
		i += n
	}
	return diag.Pos{}, 0, false
}

// The marks of template languages, from the most telling to the least. Each language is named for its users.
var templates = []struct {
	name string
	mark *regexp.Regexp
}{
	{"a Helm or Go template", regexp.MustCompile(`\{\{-?\s*(?:[.$]|(?:include|template|if|range|with|end|else|toYaml|tpl|quote|define)\b)`)},
	{"a Jinja template without its header line", regexp.MustCompile(`\{%-?\+?\s*\w+`)},
	{"a Terraform template", regexp.MustCompile(`%\{~?\s*(?:if|for|else|endif|endfor)\b`)},
	{"an ERB template", regexp.MustCompile(`<%[=#-]?\s`)},
	{"a Jinja or Ansible template", regexp.MustCompile(`\{\{-?\s*[A-Za-z_]`)},
	{"a template with variables of the form ${name}", regexp.MustCompile(`(?:^|\s)\$\{[A-Za-z_][A-Za-z0-9_.]*\}`)},
}

// TemplateMark returns the name of the template language whose mark stands in a text, or "". Shell text has marks of
// the form ${name} of its own, so the caller must know that the text is none.
func TemplateMark(text string) string {
	for _, t := range templates {
		if t.mark.MatchString(text) {
			return t.name
		}
	}
	return ""
}

// templateAt names the template language whose mark stands on a line (from 1) of data.
func templateAt(data []byte, line int) string {
	for l := range bytes.Lines(data) {
		if line--; line == 0 {
			return TemplateMark(string(l))
		}
	}
	return ""
}

func unrendered(name string, line, column int) diag.Diagnostic {
	remedy := "render the template first"
	if strings.Contains(name, "Jinja") {
		remedy = `render the template first, or make "## template: jinja" its first line so that the guest renders it`
	}
	return diag.Diagnostic{Code: CodeTemplate, Severity: diag.Error, Range: diag.At("", line, column),
		Summary: "this is " + name + " that was not rendered", Remedy: remedy}
}

// templateInstead looks for the mark of a template language near the place where YAML broke: there the template is
// the trouble, not its YAML.
func templateInstead(data []byte, found diag.List) (diag.Diagnostic, bool) {
	at := 0
	for _, d := range found {
		if d.Severity == diag.Error {
			at = d.Range.Start.Line
			break
		}
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if n++; n > at+1 {
			break
		}
		trimmed := strings.TrimLeft(line, " \t-")
		leads := strings.HasPrefix(trimmed, "{{") || strings.HasPrefix(trimmed, "{%") || strings.HasPrefix(trimmed, "%{") ||
			strings.HasPrefix(trimmed, "<%")
		if name := TemplateMark(line); name != "" && (leads || n >= at-2) {
			return unrendered(name, n, utf8.RuneCountInString(line)-utf8.RuneCountInString(trimmed)+1), true
		}
	}
	return diag.Diagnostic{}, false
}

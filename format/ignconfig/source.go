package ignconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/coreos/vcontext/tree"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/bounded"
)

// limits are the budgets for one config. Files travel in configs as data: URLs, so the bytes are more than a definition's.
// The values are fewer, because the official libraries compare every file with every link.
func limits() bounded.Limits { return bounded.Limits{Bytes: 16 << 20, Nodes: 50_000} }

// source is a document that knows the places of its values. Places are those inside the document, without a file.
type source struct {
	root *yaml.Node
	list *diag.List
	// snake means that keys have Butane's spelling.
	snake bool
	// budget is how many bytes of contents may still be unpacked and looked at, or nil for any number.
	budget *int64
}

// newBudget is the budget for a config and all that travels inside it. What is beyond it is not looked into.
func newBudget() *int64 {
	budget := 4 * limits().Bytes
	return &budget
}

// dataPath names a value by keys and indices, as the reports of the official libraries do.
type dataPath []any

func (p dataPath) child(e any) dataPath { return append(slices.Clip(p), e) }

// String returns the path as messages show it: storage.files[0].path.
func (p dataPath) String() string {
	var b strings.Builder
	for _, e := range p {
		switch e := e.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", e)
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, e)
		}
	}
	return b.String()
}

// find returns the node at a path, or the deepest one on the way to it. A tree.Key at the end asks for the key itself.
func (s source) find(p dataPath) (n *yaml.Node, whole bool) {
	n = s.root
	for _, e := range p {
		if key, ok := e.(string); ok && s.snake {
			e = snake(key)
		}
		next := step(n, e)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

func step(n *yaml.Node, e any) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch e := e.(type) {
	case int:
		if n.Kind == yaml.SequenceNode && e < len(n.Content) {
			return n.Content[e]
		}
	case string:
		if i := keyIndex(n, e); i >= 0 {
			return n.Content[i+1]
		}
	case tree.Key:
		if i := keyIndex(n, string(e)); i >= 0 {
			return n.Content[i]
		}
	}
	return nil
}

// keyIndex finds a key of a mapping. As encoding/json does, it takes one in another case when there is none in the
// right one.
func keyIndex(n *yaml.Node, key string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if strings.EqualFold(n.Content[i].Value, key) {
			return i
		}
	}
	return -1
}

// text is how messages show a path, in the spelling of the document.
func (s source) text(p dataPath) string {
	if !s.snake {
		return p.String()
	}
	out := slices.Clone(p)
	for i, e := range out {
		if key, ok := e.(string); ok {
			out[i] = snake(key)
		}
	}
	return out.String()
}

// value returns the node at a path, or nil.
func (s source) value(p ...any) *yaml.Node {
	if n, whole := s.find(p); whole {
		return n
	}
	return nil
}

func at(n *yaml.Node) diag.Range { return diag.At("", n.Line, n.Column) }

// add appends a remark about the value at a path.
func (s source) add(code diag.Code, severity diag.Severity, p dataPath, remedy, format string, args ...any) {
	n, _ := s.find(p)
	s.addAt(n, code, severity, p, remedy, format, args...)
}

// addAt appends a remark about a node that is at hand.
func (s source) addAt(n *yaml.Node, code diag.Code, severity diag.Severity, p dataPath, remedy, format string, args ...any) {
	s.list.Add(diag.Diagnostic{Code: code, Severity: severity, Range: at(n), Field: s.text(p),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (s source) errorf(code diag.Code, p dataPath, remedy, format string, args ...any) {
	s.add(code, diag.Error, p, remedy, format, args...)
}

func (s source) warnf(code diag.Code, p dataPath, remedy, format string, args ...any) {
	s.add(code, diag.Warning, p, remedy, format, args...)
}

func (s source) notef(code diag.Code, p dataPath, remedy, format string, args ...any) {
	s.add(code, diag.Note, p, remedy, format, args...)
}

// shapeOf says what a node is, for messages.
func shapeOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "an object"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!str":
		return "a text"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!null":
		return "null"
	}
	return "a number"
}

// integer returns the value of a number without fraction and exponent, which encoding/json demands of one.
func integer(n *yaml.Node) (int, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!str" {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Value, 10, 0)
	return int(i), err == nil
}

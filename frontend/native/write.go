package native

import (
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"encoding/base64"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Write returns a machine as a native document. Secrets stand in it in clear text. What the strict reader would not
// take back is a warning at the place where the machine was read: the document is whole, but needs its author's hand.
func (Frontend) Write(m machine.Machine) ([]byte, diag.List) {
	root := mapping("apiVersion", scalar(APIVersion), "kind", scalar(Kind))
	v := reflect.ValueOf(m)
	meta, spec := mapping(), mapping()
	for _, name := range fieldNames(v.Type()) {
		into := spec
		if slices.Contains(inMetadata, name) {
			into = meta
		}
		if n := encode(fieldOf(v, name)); n != nil {
			add(into, name, n)
		}
	}
	if m.Identity.Hostname == "" {
		// A document without a host name takes the machine's own.
		withoutHostname(spec)
	}
	add(root, "metadata", meta)
	add(root, "spec", spec)
	data, err := cloudconfig.EncodeNode(root)
	if err != nil {
		var l diag.List
		l.Errorf(CodeForm, m.Places.Find(""), "", "the machine cannot be written: %v", err)
		return nil, l
	}
	return data, recheck(m, data)
}

// recheck reads a document back and carries what is wrong with it over to the places of the machine.
func recheck(m machine.Machine, data []byte) diag.List {
	trees, l := tree.Parse("", data, bounded.Limits{})
	for _, v := range trees {
		read(v, &l, func(kubeobject.Ref) (kubeobject.Object, error) { return kubeobject.Object{}, kubeobject.ErrNotFound })
	}
	for i := range l {
		path := strings.TrimPrefix(strings.TrimPrefix(l[i].Field, "spec."), "metadata.")
		l[i].Range, l[i].Related, l[i].Severity = m.Places.Find(path), nil, diag.Warning
	}
	return l
}

func withoutHostname(spec *yaml.Node) {
	for i := 0; i < len(spec.Content); i += 2 {
		if spec.Content[i].Value == "identity" {
			add(spec.Content[i+1], "hostname", scalar(""))
			return
		}
	}
	add(spec, "identity", mapping("hostname", scalar("")))
}

func mapping(content ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(content); i += 2 {
		add(n, content[i].(string), content[i+1].(*yaml.Node))
	}
	return n
}

func add(n *yaml.Node, key string, value *yaml.Node) {
	n.Content = append(n.Content, scalar(key), value)
}

// plainText matches texts that every reader of YAML takes for texts, unless they are one of the words. Everything else
// is quoted.
var (
	plainText = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./@-]*$`)
	plainWord = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|nan|inf)$`)
)

func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case strings.Contains(strings.TrimRight(s, "\n"), "\n"):
		n.Style = yaml.LiteralStyle
	case !plainText.MatchString(s) || plainWord.MatchString(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// word returns a node for a value that is no text.
func word(tag string, value any) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: fmt.Sprint(value)}
}

// encode returns a value as a node, or nil when it is not set.
func encode(v reflect.Value) *yaml.Node {
	switch x := v.Interface().(type) {
	case secret.Text:
		return revealed(x)
	case machine.Command:
		return command(x)
	case netip.Addr:
		if x.IsValid() {
			return scalar(x.String())
		}
		return nil
	case netip.Prefix:
		if x.IsValid() {
			return scalar(x.String())
		}
		return nil
	case time.Duration:
		if x != 0 {
			return scalar(x.String())
		}
		return nil
	case machine.Bytes:
		if x != 0 {
			return size(x)
		}
		return nil
	case machine.Mode:
		if x != 0 {
			return scalar(fmt.Sprintf("%04o", x.Bits()))
		}
		return nil
	}
	return encodeKind(v)
}

func encodeKind(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return simple(v.Elem())
	case reflect.Struct:
		n := group(v)
		if len(n.Content) == 0 {
			return nil
		}
		return n
	case reflect.Slice:
		return list(v)
	case reflect.Map:
		texts := v.Interface().(map[string]string)
		if len(texts) == 0 {
			return nil
		}
		n := mapping()
		for _, k := range slices.Sorted(maps.Keys(texts)) {
			add(n, k, scalar(texts[k]))
		}
		return n
	}
	if v.IsZero() {
		return nil
	}
	return simple(v)
}

// simple returns a text, number or boolean, zero or not.
func simple(v reflect.Value) *yaml.Node {
	switch v.Kind() {
	case reflect.Bool:
		return word("!!bool", v.Bool())
	case reflect.Int, reflect.Int64:
		return word("!!int", v.Int())
	}
	return scalar(v.String())
}

func group(v reflect.Value) *yaml.Node {
	n := mapping()
	for _, name := range fieldNames(v.Type()) {
		if c := encode(fieldOf(v, name)); c != nil {
			add(n, name, c)
		}
	}
	return n
}

// list keeps members in which nothing is set, because their neighbours would move up otherwise.
func list(v reflect.Value) *yaml.Node {
	if v.Len() == 0 {
		return nil
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for i := range v.Len() {
		item := encode(v.Index(i))
		switch {
		case item != nil:
		case v.Index(i).Kind() == reflect.Struct && !machine.IsLeaf(v.Index(i).Type()):
			item = mapping()
		default:
			item = scalar("")
		}
		n.Content = append(n.Content, item)
	}
	return n
}

// revealed writes a secret as text where YAML can hold it, else as base64.
func revealed(s secret.Text) *yaml.Node {
	switch text := s.Reveal(); {
	case s.IsZero():
		return nil
	case utf8.ValidString(text) && !strings.ContainsRune(text, 0):
		return scalar(text)
	default:
		return mapping(viaBase64, scalar(base64.StdEncoding.EncodeToString([]byte(text))))
	}
}

func command(c machine.Command) *yaml.Node {
	switch {
	case c.Shell != "" && len(c.Args) == 0:
		return scalar(c.Shell)
	case c.Shell == "" && len(c.Args) > 0:
		n := list(reflect.ValueOf(c.Args))
		n.Style = yaml.FlowStyle
		return n
	}
	n := group(reflect.ValueOf(c))
	return n
}

// size writes a number of bytes with the largest binary unit that leaves no fraction.
func size(b machine.Bytes) *yaml.Node {
	units := []string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	i := 0
	for b%1024 == 0 && i < len(units)-1 {
		b /= 1024
		i++
	}
	if i == 0 {
		return word("!!int", int64(b))
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: fmt.Sprintf("%d%s", b, units[i])}
}

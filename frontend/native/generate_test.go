package native

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

var update = flag.Bool("update", false, "rewrite generated and golden files")

// describer knows the comments of the machine's types.
type describer struct {
	types  map[string]string
	fields map[string]string // by Type.Field
}

func newDescriber(t *testing.T) describer {
	t.Helper()
	d := describer{map[string]string{}, map[string]string{}}
	files, err := filepath.Glob("../../machine/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				ts := spec.(*ast.TypeSpec)
				d.types[ts.Name.Name] = oneLine(gen.Doc.Text())
				if st, ok := ts.Type.(*ast.StructType); ok {
					for _, field := range st.Fields.List {
						for _, n := range field.Names {
							d.fields[ts.Name.Name+"."+n.Name] = oneLine(field.Doc.Text())
						}
					}
				}
			}
		}
	}
	return d
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// of describes a field of a group: by its own comment, else by that of its type.
func (d describer) of(group reflect.Type, i int) string {
	sf := group.Field(i)
	text := d.fields[group.Name()+"."+sf.Name]
	if text == "" {
		t := sf.Type
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.PkgPath() == group.PkgPath() && t.Kind() == reflect.Struct {
			text = d.types[t.Name()]
		}
	}
	for j := range group.NumField() {
		if tag := group.Field(j).Tag.Get("field"); tag != "" && tag != "-" {
			name := regexp.MustCompile(`(^|, | and |what )` + group.Field(j).Name + `\b`)
			text = name.ReplaceAllString(text, "${1}`"+tag+"`")
		}
	}
	return text
}

type object = map[string]any

// schemaOf describes a type as JSON schema.
func (d describer) schemaOf(t reflect.Type, field machine.Field) object {
	r := rules[field]
	switch t {
	case reflect.TypeFor[secret.Text]():
		return object{"oneOf": []any{textSchema(rules.textForm(field)), object{"$ref": "#/$defs/from"}}}
	case reflect.TypeFor[machine.Layer]():
		return object{"oneOf": []any{object{"type": "string"}, d.groupSchema(t, field, nil)}}
	case reflect.TypeFor[machine.Command]():
		return object{"oneOf": []any{object{"type": "string", "minLength": 1},
			object{"type": "array", "items": object{"type": "string"}, "minItems": 1}, d.groupSchema(t, field, nil)}}
	case reflect.TypeFor[netip.Addr](), reflect.TypeFor[netip.Prefix]():
		return textSchema(r.form)
	case reflect.TypeFor[time.Duration]():
		return textSchema(duration)
	case reflect.TypeFor[machine.Bytes]():
		return object{"oneOf": []any{object{"type": "integer", "minimum": 1}, textSchema(quantity)}}
	case reflect.TypeFor[machine.Mode]():
		return textSchema(octal)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schemaOf(t.Elem(), field)
	case reflect.Slice:
		return object{"type": "array", "items": d.schemaOf(t.Elem(), field)}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": object{"type": "string"}}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		s := object{"type": "integer", "minimum": r.low}
		if r.high != math.MaxInt64 {
			s["maximum"] = r.high
		}
		return s
	case reflect.Struct:
		return d.groupSchema(t, field, nil)
	}
	if r.enum != nil {
		return object{"enum": r.enum}
	}
	return textSchema(r.form)
}

func textSchema(f *form) object {
	s := object{"type": "string"}
	if f != anyText {
		s["pattern"] = f.pattern.String()
	}
	if f.example != "" {
		s["examples"] = []string{strings.Trim(f.example, `"`)}
	}
	return s
}

// groupSchema describes a struct, without the fields that want refuses.
func (d describer) groupSchema(t reflect.Type, field machine.Field, want func(string) bool) object {
	properties, required := object{}, []string{}
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("field")
		if name == "" || name == "-" || want != nil && !want(name) {
			continue
		}
		f := below(field, name)
		s := d.schemaOf(t.Field(i).Type, f)
		if text := d.of(t, i); text != "" {
			s["description"] = text
		}
		properties[name] = s
		if rules[f].needed {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func generateSchema(t *testing.T) []byte {
	d := newDescriber(t)
	m := reflect.TypeFor[machine.Machine]()
	ref := object{"type": "object", "additionalProperties": false, "required": []string{"name", "key"},
		"properties": object{"name": object{"type": "string"}, "key": object{"type": "string"}}}
	from := func(key string, s object) object {
		return object{"type": "object", "additionalProperties": false, "required": []string{key}, "properties": object{key: s}}
	}
	root := object{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id":     "https://vmseed.dev/schema/v1alpha1/machine.json",
		"title":   "Machine (" + APIVersion + ")", "description": d.types["Machine"],
		"type": "object", "additionalProperties": false, "required": []string{"apiVersion", "kind", "metadata"},
		"properties": object{
			"apiVersion": object{"const": APIVersion}, "kind": object{"const": Kind},
			"metadata": d.groupSchema(m, "", func(n string) bool { return slices.Contains(inMetadata, n) }),
			"spec":     d.groupSchema(m, "", func(n string) bool { return !slices.Contains(inMetadata, n) }),
		},
		"$defs": object{
			"from": object{"description": "A text that stands somewhere else, or is no text.",
				"oneOf": []any{from(viaSecret, ref), from(viaConfigMap, ref), from(viaBase64, object{"type": "string", "contentEncoding": "base64"})}},
		},
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// takes says in words what a field takes.
func takes(t reflect.Type, field machine.Field) string {
	r := rules[field]
	switch t {
	case reflect.TypeFor[secret.Text]():
		if r.form != nil && r.form != anyText {
			return r.form.what + " *"
		}
		return "text *"
	case reflect.TypeFor[time.Duration]():
		return duration.what + ", `" + duration.example + "`"
	case reflect.TypeFor[machine.Bytes]():
		return quantity.what + ", `" + quantity.example + "`"
	case reflect.TypeFor[machine.Mode]():
		return octal.what
	}
	switch t.Kind() {
	case reflect.Pointer:
		return takes(t.Elem(), field)
	case reflect.Slice:
		return "list: " + takes(t.Elem(), field)
	case reflect.Map:
		return "mapping of texts"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		if r.high == math.MaxInt64 {
			return fmt.Sprintf("number from %d", r.low)
		}
		return fmt.Sprintf("number, %d to %d", r.low, r.high)
	}
	if r.enum != nil {
		return "`" + strings.Join(r.enum, "`, `") + "`"
	}
	if r.form.example != "" {
		return r.form.what + ", `" + r.form.example + "`"
	}
	return r.form.what
}

// reference writes the tables of fields.
func (d describer) reference(b *strings.Builder, t reflect.Type, field machine.Field, path string) {
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("field")
		if name == "" || name == "-" {
			continue
		}
		f, ft := below(field, name), t.Field(i).Type
		p := below(path, name)
		if path == "" {
			p = "spec." + name
			if slices.Contains(inMetadata, name) {
				p = "metadata." + name
			}
		}
		text := strings.ReplaceAll(d.of(t, i), "|", `\|`)
		if rules[f].needed {
			text = "**Required.** " + text
		}
		switch {
		case machine.IsLeaf(ft):
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", p, strings.ReplaceAll(takes(ft, f), "|", `\|`), text)
		case ft.Kind() == reflect.Slice:
			fmt.Fprintf(b, "| `%s` | list | %s |\n", p, text)
			d.reference(b, ft.Elem(), f, p+"[]")
		default:
			fmt.Fprintf(b, "| `%s` | mapping | %s |\n", p, text)
			d.reference(b, ft, f, p)
		}
	}
}

const referenceFile = "../../docs/reference/native.md"

// generated replaces what stands between two marks of a document.
func generated(t *testing.T, doc []byte, mark, text string) []byte {
	t.Helper()
	begin, end := "<!-- "+mark+": generated by go test ./frontend/native -update -->\n", "<!-- end of "+mark+" -->\n"
	before, rest, ok := strings.Cut(string(doc), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for %s", referenceFile, mark)
	}
	return []byte(before + begin + text + end + after)
}

func checkFile(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is out of date; run go test ./frontend/native -update", name)
	}
}

func TestSchemaIsCurrent(t *testing.T) { checkFile(t, "schema.json", generateSchema(t)) }

func TestReferenceIsCurrent(t *testing.T) {
	doc, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/native/web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| field | takes | meaning |\n|---|---|---|\n")
	newDescriber(t).reference(&b, reflect.TypeFor[machine.Machine](), "", "")
	b.WriteString("\n")
	doc = generated(t, doc, "fields", b.String())
	doc = generated(t, doc, "example", "\n```yaml\n"+string(example)+"```\n\n")
	checkFile(t, referenceFile, doc)
}

// Every text and number has a rule, so that nobody adds a field without deciding what it takes, and every rule is for
// a field that exists.
func TestRulesFitFields(t *testing.T) {
	known := map[machine.Field]bool{}
	var walk func(t reflect.Type, field machine.Field)
	walk = func(group reflect.Type, field machine.Field) {
		for i := range group.NumField() {
			name := group.Field(i).Tag.Get("field")
			if name == "" || name == "-" {
				continue
			}
			f, ft := below(field, name), group.Field(i).Type
			for ft.Kind() == reflect.Slice || ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			known[f] = true
			r := rules[f]
			switch {
			case !machine.IsLeaf(ft):
				walk(ft, f)
			case ft == reflect.TypeFor[netip.Addr](), ft == reflect.TypeFor[netip.Prefix](), ft.Kind() == reflect.String && r.enum == nil:
				if r.form == nil {
					t.Errorf("%s has no form", f)
				}
			case ft == reflect.TypeFor[time.Duration](), ft == reflect.TypeFor[machine.Bytes]():
			case ft.Kind() == reflect.Int, ft.Kind() == reflect.Int64:
				if r.high == 0 {
					t.Errorf("%s has no range", f)
				}
			}
		}
	}
	walk(reflect.TypeFor[machine.Machine](), "")
	for f := range rules {
		if !known[f] {
			t.Errorf("there is a rule for %s, which is no field", f)
		}
	}
}

package native

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// resolver finds the Secrets and ConfigMaps that a document refers to.
type resolver func(kubeobject.Ref) (kubeobject.Object, error)

// decoder walks a document and the machine's types side by side.
type decoder struct {
	resolve   resolver
	namespace string
	list      *diag.List
	places    machine.Places
	// origins are those of the secret texts by path.
	origins map[string]diag.Origin
	// broken are the paths of values that were reported, so that checks of the whole do not report them again.
	broken map[string]bool
}

// inMetadata are the fields of a machine that stand under metadata, as in every Kubernetes object.
var inMetadata = []string{"name", "namespace", "labels", "annotations"}

func (d *decoder) metadata(v tree.Value, m *machine.Machine) {
	d.some(v, reflect.ValueOf(m).Elem(), func(name string) bool { return slices.Contains(inMetadata, name) })
}

func (d *decoder) spec(v tree.Value, m *machine.Machine) {
	for _, e := range v.Entries() {
		if slices.Contains(inMetadata, e.Key) {
			d.list.Add(diag.Diagnostic{Code: tree.CodeUnknownField, Severity: diag.Error, Range: e.Place, Field: e.Value.Path(),
				Summary: "this field does not stand under spec", Remedy: "move it to metadata." + e.Key})
			e.Value.Consume()
		}
	}
	d.some(v, reflect.ValueOf(m).Elem(), func(name string) bool { return !slices.Contains(inMetadata, name) })
}

// some decodes the fields of the machine itself that are wanted.
func (d *decoder) some(v tree.Value, into reflect.Value, want func(string) bool) {
	names := slices.DeleteFunc(fieldNames(into.Type()), func(n string) bool { return !want(n) })
	known := names
	if !slices.Contains(names, "name") {
		known = append(slices.Clone(names), inMetadata...)
	}
	d.fields(v, into, "", "", names, known)
}

// fieldNames lists the names of a group's fields in the order of declaration.
func fieldNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("field"); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// fieldOf returns the field of a group by its name.
func fieldOf(group reflect.Value, name string) reflect.Value {
	for i := range group.NumField() {
		if group.Type().Field(i).Tag.Get("field") == name {
			return group.Field(i)
		}
	}
	return reflect.Value{}
}

func below[S ~string](prefix S, name string) S {
	if prefix == "" {
		return S(name)
	}
	return prefix + S("."+name)
}

// group decodes a mapping into a struct.
func (d *decoder) group(v tree.Value, into reflect.Value, field machine.Field, path string) {
	names := fieldNames(into.Type())
	d.fields(v, into, field, path, names, names)
}

func (d *decoder) fields(v tree.Value, into reflect.Value, field machine.Field, path string, names, known []string) {
	if v.Exists() && v.Kind() != tree.Null && !v.Want(d.list, tree.Map) {
		d.broken[path] = true
		return
	}
	if v.Kind() == tree.Null {
		v.Consume()
	}
	v.Only(d.list, known...)
	for _, name := range names {
		value := v.Get(name)
		f, p := below(field, name), below(path, name)
		if value.Exists() && value.Kind() != tree.Null {
			d.value(value, fieldOf(into, name), f, p)
			continue
		}
		value.Consume()
		if rules[f].needed {
			d.fail(value, p, CodeMissing, "add it", "the field %q must be here", name)
		}
	}
}

// fail reports an error at a value that stands at path in the machine.
func (d *decoder) fail(v tree.Value, path string, code diag.Code, remedy, format string, args ...any) {
	d.broken[path] = true
	v.Errorf(d.list, code, remedy, format, args...)
}

// value decodes a value that is there into a field.
func (d *decoder) value(v tree.Value, into reflect.Value, field machine.Field, path string) {
	d.places[path] = v.Range()
	before := len(*d.list)
	defer func() {
		if len(*d.list) > before {
			d.broken[path] = true
		}
	}()
	switch x := into.Addr().Interface().(type) {
	case *secret.Text:
		*x = d.secretText(v, field, path)
	case *machine.Layer:
		if v.Kind() == tree.Scalar {
			x.Data = d.secretText(v, below(field, "data"), path+".data")
		} else {
			d.group(v, into, field, path)
		}
		x.Origin = d.origins[path+".data"]
	case *machine.Command:
		d.command(v, into, field, path)
	case *netip.Addr:
		*x, _ = netip.ParseAddr(d.text(v, rules[field].form, func(s string) bool { _, err := netip.ParseAddr(s); return err == nil }))
	case *netip.Prefix:
		*x, _ = netip.ParsePrefix(d.text(v, rules[field].form, func(s string) bool { _, err := netip.ParsePrefix(s); return err == nil }))
	case *time.Duration:
		*x, _ = time.ParseDuration(d.text(v, duration, func(s string) bool { _, err := time.ParseDuration(s); return err == nil }))
	case *machine.Bytes:
		*x = d.bytes(v)
	case *machine.Mode:
		*x = d.mode(v)
	case *map[string]string:
		*x = d.texts(v)
	default:
		d.kind(v, into, field, path)
	}
}

// kind decodes what has no type of its own.
func (d *decoder) kind(v tree.Value, into reflect.Value, field machine.Field, path string) {
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.kind(v, into.Elem(), field, path)
	case reflect.Struct:
		d.group(v, into, field, path)
	case reflect.Slice:
		d.items(v, into, field, path)
	case reflect.Bool:
		into.SetBool(v.Bool(d.list))
	case reflect.Int, reflect.Int64:
		into.SetInt(v.Int(d.list, rules[field].low, rules[field].high))
	case reflect.String:
		if enum := rules[field].enum; enum != nil {
			into.SetString(d.choice(v, enum))
		} else {
			into.SetString(d.text(v, rules[field].form, nil))
		}
	}
}

func (d *decoder) items(v tree.Value, into reflect.Value, field machine.Field, path string) {
	if !v.Want(d.list, tree.List) {
		return
	}
	items := v.Items()
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		p := fmt.Sprintf("%s[%d]", path, i)
		if item.Kind() == tree.Null {
			item.Consume()
			d.fail(item, p, CodeMissing, "write what it should hold, or remove the dash", "this item of the list is empty")
			continue
		}
		d.value(item, into.Index(i), field, p)
	}
}

// text returns a text of a form; accept, where it is set, must like it as well.
func (d *decoder) text(v tree.Value, f *form, accept func(string) bool) string {
	before := len(*d.list)
	s := v.Str(d.list)
	if len(*d.list) > before {
		return ""
	}
	if !f.matches(s) || accept != nil && !accept(s) {
		remedy := ""
		if f.example != "" {
			remedy = "write for example " + f.example
		}
		v.Errorf(d.list, CodeForm, remedy, "this is not %s", f.what)
		return ""
	}
	if f.canonical != nil {
		return f.canonical(s)
	}
	return s
}

func (d *decoder) choice(v tree.Value, enum []string) string {
	before := len(*d.list)
	s := v.Str(d.list)
	if len(*d.list) > before || slices.Contains(enum, s) {
		return s
	}
	words := "write " + strings.Join(enum[:len(enum)-1], ", ") + " or " + enum[len(enum)-1]
	if i := slices.IndexFunc(enum, func(w string) bool { return strings.EqualFold(w, s) }); i >= 0 {
		words = fmt.Sprintf("did you mean %q?", enum[i])
	}
	v.Errorf(d.list, CodeChoice, words, "the field does not take this value")
	return ""
}

// texts decodes a mapping of texts.
func (d *decoder) texts(v tree.Value) map[string]string {
	if !v.Want(d.list, tree.Map) {
		return nil
	}
	out := map[string]string{}
	for _, e := range v.Entries() {
		if e.Value.Kind() == tree.Null {
			e.Value.Errorf(d.list, CodeMissing, `write "" for an empty text`, "the value of %q is missing", e.Key)
			e.Value.Consume()
			continue
		}
		out[e.Key] = d.text(e.Value, anyText, nil)
	}
	return out
}

// bytes decodes a size. A number without a unit counts bytes.
func (d *decoder) bytes(v tree.Value) machine.Bytes {
	before := len(*d.list)
	s := v.Loose(d.list)
	if len(*d.list) > before {
		return 0
	}
	q, err := kubeobject.ParseQuantity(s)
	if n, whole := q.Whole(); err == nil && whole && n > 0 && quantity.pattern.MatchString(s) {
		return machine.Bytes(n)
	}
	v.Errorf(d.list, CodeForm, "write for example "+quantity.example, "this is not %s of at least one byte", quantity.what)
	return 0
}

func (d *decoder) mode(v tree.Value) machine.Mode {
	s := d.text(v, octal, nil)
	if s == "" {
		return 0
	}
	if n, _ := strconv.ParseUint(s, 8, 32); n > 0 {
		return machine.Mode(n)
	}
	return machine.NoAccess
}

// command decodes a line for the shell, a list of arguments, or a mapping with one of the two.
func (d *decoder) command(v tree.Value, into reflect.Value, field machine.Field, path string) {
	c := into.Addr().Interface().(*machine.Command)
	switch v.Kind() {
	case tree.Scalar:
		d.places[path+".shell"] = v.Range()
		c.Shell = d.text(v, anyText, nil)
	case tree.List:
		d.value(v, reflect.ValueOf(&c.Args).Elem(), below(field, "args"), path+".args")
	default:
		d.group(v, into, field, path)
	}
	if (c.Shell == "") == (len(c.Args) == 0) && !d.brokenAt(path) {
		d.fail(v, path, CodeExclusive, "write a line for the shell, or a list of arguments", "a command is either `shell` or `args`")
	}
}

// brokenAt reports whether something at or below a path was reported.
func (d *decoder) brokenAt(path string) bool {
	for p := range d.broken {
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(p, path+"[") {
			return true
		}
	}
	return false
}

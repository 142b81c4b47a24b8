package kubeobject

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/secret"
)

// The kinds of objects that Read returns. All belong to version v1 of the core API group.
const (
	Secret                = "Secret"
	ConfigMap             = "ConfigMap"
	PersistentVolumeClaim = "PersistentVolumeClaim"
	PersistentVolume      = "PersistentVolume"
)

// DefaultNamespace is that of objects and definitions which state none.
const DefaultNamespace = "default"

// Read sorts the documents of an input into objects that definitions refer to and the rest, which are definitions or
// none of ours. Lists (List, SecretList, ConfigMapList) are taken apart. Objects of PersistentVolumes have no namespace.
func Read(values []tree.Value) (objects []Object, rest []tree.Value, l diag.List) {
	for _, v := range values {
		if isList(v) {
			o, r, sub := readList(v)
			objects, rest, l = append(objects, o...), append(rest, r...), append(l, sub...)
			continue
		}
		if o, ours := readObject(v, &l); ours {
			objects = append(objects, o...)
		} else {
			rest = append(rest, v)
		}
	}
	return objects, rest, l
}

// peek returns a text of a document that may not be ours, without complaint.
func peek(v tree.Value, key string) string {
	if v.Kind() != tree.Map {
		return ""
	}
	var unheard diag.List
	return v.Get(key).Loose(&unheard)
}

func isList(v tree.Value) bool {
	kind := peek(v, "kind")
	return kind == "List" || kind == "SecretList" || kind == "ConfigMapList" || kind == "PersistentVolumeClaimList"
}

func readList(v tree.Value) (objects []Object, rest []tree.Value, l diag.List) {
	v.Only(&l, "apiVersion", "kind", "metadata", "items")
	v.Get("metadata").Consume()
	items := v.Get("items")
	if !items.Exists() {
		v.Errorf(&l, CodeObject, "", "the list has no items")
		return nil, nil, l
	}
	if !items.Want(&l, tree.List) {
		return nil, nil, l
	}
	objects, rest, sub := Read(items.Items())
	return objects, rest, append(l, sub...)
}

// readObject reads one object of ours. It returns none, and true, for one that is broken.
func readObject(v tree.Value, l *diag.List) (out []Object, ours bool) {
	kind, version := peek(v, "kind"), peek(v, "apiVersion")
	var read func(tree.Value, *Object, *diag.List)
	switch kind {
	case Secret:
		read = readSecret
	case ConfigMap:
		read = readConfigMap
	case PersistentVolumeClaim, PersistentVolume:
		read = func(v tree.Value, _ *Object, l *diag.List) {
			v.Only(l, "apiVersion", "kind", "metadata", "spec", "status")
			v.Consume()
		}
	default:
		return nil, false
	}
	switch version {
	case "v1":
	case "":
		v.Errorf(l, CodeObject, `add "apiVersion: v1"`, "a %s without apiVersion", kind)
	default:
		return nil, false // an object of another API group, such as sealed secrets
	}
	ref, ok := readRef(v, kind, l)
	if !ok {
		v.Consume()
		return nil, true
	}
	o := Object{Ref: ref, Tree: v}
	read(v, &o, l)
	slices.SortFunc(o.Data, func(a, b Item) int { return cmp.Compare(a.Key, b.Key) })
	return []Object{o}, true
}

// subdomain matches the names of objects (RFC 1123 subdomains).
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ValidName reports whether name can be the name of an object, or of a namespace. Such a name is safe as part of a
// file name.
func ValidName(name string) bool { return len(name) <= 253 && subdomain.MatchString(name) }

func readRef(v tree.Value, kind string, l *diag.List) (Ref, bool) {
	meta := v.Get("metadata")
	if !meta.Want(l, tree.Map) {
		if !meta.Exists() {
			v.Errorf(l, CodeObject, "give it metadata.name", "the %s has no name", kind)
		}
		return Ref{}, false
	}
	before := len(*l)
	name, namespace := meta.Get("name").Str(l), meta.Get("namespace").Str(l)
	meta.Consume()
	if len(*l) > before {
		return Ref{}, false
	}
	if kind == PersistentVolume {
		namespace = ""
	} else if namespace == "" {
		namespace = DefaultNamespace
	}
	switch {
	case name == "":
		v.Errorf(l, CodeObject, "give it metadata.name", "the %s has no name", kind)
		return Ref{}, false
	case !ValidName(name):
		meta.Get("name").Errorf(l, CodeObject, "use lower-case letters, digits, dashes and dots", "%q cannot be the name of an object", name)
		return Ref{}, false
	case namespace != "" && !ValidName(namespace):
		meta.Get("namespace").Errorf(l, CodeObject, "use lower-case letters, digits and dashes", "%q cannot be a namespace", namespace)
		return Ref{}, false
	}
	return Ref{Kind: kind, Namespace: namespace, Name: name}, true
}

// readSecret reads data, which is base64, and stringData, which wins.
func readSecret(v tree.Value, o *Object, l *diag.List) {
	v.Only(l, "apiVersion", "kind", "metadata", "type", "immutable", "data", "stringData")
	v.Get("type").Consume()
	v.Get("immutable").Consume()
	for _, e := range entries(v.Get("data"), l) {
		o.set(e, secret.FromBytes(e.Value.Base64(l)), diag.Origin{Whole: e.Value.Range(), What: o.what(e.Key)})
	}
	for _, e := range entries(v.Get("stringData"), l) {
		o.set(e, secret.New(e.Value.Str(l)), e.Value.Origin(o.what(e.Key)))
	}
}

// readConfigMap reads data, which is text, and binaryData, which is base64.
func readConfigMap(v tree.Value, o *Object, l *diag.List) {
	v.Only(l, "apiVersion", "kind", "metadata", "immutable", "data", "binaryData")
	v.Get("immutable").Consume()
	for _, e := range entries(v.Get("data"), l) {
		o.set(e, secret.New(e.Value.Str(l)), e.Value.Origin(o.what(e.Key)))
	}
	for _, e := range entries(v.Get("binaryData"), l) {
		if have, ok := o.Item(e.Key); ok {
			l.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Error, Range: e.Place, Field: e.Value.Path(),
				Summary: fmt.Sprintf("key %q stands under data and under binaryData", e.Key), Remedy: "remove one of the two"}.
				With(have.Origin.Whole, "the other one is here"))
		}
		o.set(e, secret.FromBytes(e.Value.Base64(l)), diag.Origin{Whole: e.Value.Range(), What: o.what(e.Key)})
	}
}

func (o *Object) what(key string) string { return fmt.Sprintf("%s, key %s", o.Ref, key) }

func (o *Object) set(e tree.Entry, value secret.Text, origin diag.Origin) {
	item := Item{Key: e.Key, Value: value, Origin: origin}
	for i := range o.Data {
		if o.Data[i].Key == e.Key {
			o.Data[i] = item
			return
		}
	}
	o.Data = append(o.Data, item)
}

var keyForm = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// entries returns the fields of a map of data whose keys are valid.
func entries(v tree.Value, l *diag.List) []tree.Entry {
	if !v.Want(l, tree.Map) {
		return nil
	}
	var out []tree.Entry
	for _, e := range v.Entries() {
		if len(e.Key) > 253 || !keyForm.MatchString(e.Key) || e.Key == "." || strings.HasPrefix(e.Key, "..") {
			l.Add(diag.Diagnostic{Code: CodeKey, Severity: diag.Error, Range: e.Place, Field: v.Path(),
				Summary: fmt.Sprintf("%q cannot be a key", e.Key), Remedy: "use letters, digits, dashes, underscores and dots"})
			e.Value.Consume()
			continue
		}
		out = append(out, e)
	}
	return out
}

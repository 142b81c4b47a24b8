package native

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// The ways to give a text that may be a secret, beside the text itself.
const (
	viaSecret    = "secretRef"
	viaConfigMap = "configMapRef"
	viaBase64    = "base64"
)

// secretText decodes a text that stands in the document, in base64, or in a Secret or ConfigMap.
func (d *decoder) secretText(v tree.Value, field machine.Field, path string) secret.Text {
	d.places[path] = v.Range()
	if v.Kind() != tree.Map {
		s := d.text(v, rules.textForm(field), nil)
		d.origins[path] = v.Origin(v.Path())
		return secret.New(s)
	}
	v.Only(d.list, viaSecret, viaConfigMap, viaBase64)
	var ways []tree.Value
	for _, key := range []string{viaSecret, viaConfigMap, viaBase64} {
		if way := v.Get(key); way.Exists() && way.Kind() != tree.Null {
			ways = append(ways, way)
		}
	}
	if len(ways) != 1 {
		v.Consume()
		d.fail(v, path, CodeExclusive, "write the text itself, or one of secretRef, configMapRef and base64",
			"the text comes from exactly one place")
		return secret.Text{}
	}
	switch way := ways[0]; {
	case v.Get(viaSecret).Exists():
		return d.reference(way, kubeobject.Secret, path)
	case v.Get(viaConfigMap).Exists():
		return d.reference(way, kubeobject.ConfigMap, path)
	default:
		d.origins[path] = diag.Origin{Whole: way.Range(), What: way.Path()}
		return secret.FromBytes(way.Base64(d.list))
	}
}

// textForm is the form of a text that may be a secret: any, unless the field has a rule.
func (r ruleSet) textForm(field machine.Field) *form {
	if f := r[field].form; f != nil {
		return f
	}
	return anyText
}

// reference reads a key of an object in the machine's namespace.
func (d *decoder) reference(v tree.Value, kind, path string) secret.Text {
	before := len(*d.list)
	v.Want(d.list, tree.Map)
	v.Only(d.list, "name", "key")
	for _, key := range []string{"name", "key"} {
		if f := v.Get(key); !f.Exists() || f.Kind() == tree.Null {
			f.Consume()
			d.fail(f, path, CodeMissing, "add it", "the field %q must be here", key)
		}
	}
	name, key := v.Get("name").Str(d.list), v.Get("key").Str(d.list)
	if len(*d.list) > before {
		return secret.Text{}
	}
	ref := kubeobject.Ref{Kind: kind, Namespace: d.namespace, Name: name}
	object, err := d.resolve(ref)
	if err != nil {
		d.fail(v.Get("name"), path, CodeResolve, "add its manifest to the input, or correct the name", "%s cannot be read: %v", ref, err)
		return secret.Text{}
	}
	item, ok := object.Item(key)
	if !ok {
		d.fail(v.Get("key"), path, CodeResolve, "correct the key", "%s has no such key", ref)
		return secret.Text{}
	}
	d.origins[path] = item.Origin
	return item.Value
}

package machine

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
)

// Field is the data path of a kind of value without indexes, such as users.sshAuthorizedKeys.
type Field string

// FieldSet is a set of fields. A field stands for all below it.
type FieldSet struct{ fields []Field }

// NewFieldSet makes a set.
func NewFieldSet(fields ...Field) FieldSet { return FieldSet{slices.Clone(fields)} }

// Has reports whether f, or a field that holds it, is in the set.
func (s FieldSet) Has(f Field) bool {
	return slices.ContainsFunc(s.fields, func(have Field) bool {
		return f == have || strings.HasPrefix(string(f), string(have)+".")
	})
}

// Union returns the fields of both sets.
func (s FieldSet) Union(t FieldSet) FieldSet {
	return FieldSet{append(slices.Clone(s.fields), t.fields...)}
}

// Fields returns the set's members in the order they were given.
func (s FieldSet) Fields() []Field { return slices.Clone(s.fields) }

// Fields lists every field that a machine can hold, leaves only, in the order of declaration. A map is a leaf.
func Fields() []Field {
	var out []Field
	walkType(reflect.TypeFor[Machine](), "", func(f Field) { out = append(out, f) })
	return out
}

// HardwareFields are those that a hypervisor or the one who places the machine must honour. No data source can express
// them, and none is asked to. The tags of devices are not among them: it is the guest that reads those.
func HardwareFields() FieldSet {
	return NewFieldSet("identity.uuid", "identity.serial", "disks", "shares", "media", "hardware", "boot",
		"network.nics.model", "network.nics.network", "network.nics.pciAddress", "network.nics.bootOrder",
		"network.nics.linkDown", "running", "restartPolicy", "guest.os", "agentUsers").
		without("disks.tag", "hardware.hostDevices.tag")
}

// without spells the set out in leaves and leaves some of them out.
func (s FieldSet) without(fields ...Field) FieldSet {
	return FieldSet{slices.DeleteFunc(Fields(), func(f Field) bool { return !s.Has(f) || slices.Contains(fields, f) })}
}

// ControlFields are those that vmseed itself acts on: they choose the machine and the data source, or name a layer in
// messages.
func ControlFields() FieldSet {
	return NewFieldSet("name", "namespace", "dataSource", "identity.uid", "identity.revision", "labels", "annotations",
		"guest.release", "guest.ignitionPlatform", "compat", "stopGrace", "ignition.name",
		"metaData.name", "vendorData.name", "userData.layers.name", "network.document.name",
		"metaData.merge", "vendorData.merge", "network.document.merge")
}

// Use is a value that a machine holds.
type Use struct {
	Field Field
	// Path is the field with indexes: users[0].name.
	Path string
}

// Used lists the fields that have a value in m, with the path of each value, in the order of declaration.
func Used(m Machine) []Use {
	var out []Use
	walkValue(reflect.ValueOf(m), "", "", func(u Use, _ reflect.Value) { out = append(out, u) })
	return out
}

// Lost returns the values of m whose fields are in none of the sets.
func Lost(m Machine, sets ...FieldSet) []Use {
	return slices.DeleteFunc(Used(m), func(u Use) bool {
		return slices.ContainsFunc(sets, func(s FieldSet) bool { return s.Has(u.Field) })
	})
}

// Clear sets a field of m to its zero value, in every element of the lists on the way.
func Clear(m *Machine, f Field) {
	clearField(reflect.ValueOf(m).Elem(), strings.Split(string(f), "."))
}

func clearField(v reflect.Value, path []string) {
	if v.Kind() == reflect.Slice {
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		v.Set(fresh)
		for i := range v.Len() {
			clearField(v.Index(i), path)
		}
		return
	}
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("field") != path[0] {
			continue
		}
		if len(path) == 1 {
			v.Field(i).SetZero()
			return
		}
		clearField(v.Field(i), path[1:])
	}
}

// IsLeaf reports whether a value of type t is one value rather than a group of fields.
func IsLeaf(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[secret.Text](), reflect.TypeFor[netip.Addr](), reflect.TypeFor[netip.Prefix](),
		reflect.TypeFor[diag.Origin]():
		return true
	}
	switch t.Kind() {
	case reflect.Struct:
		return false
	case reflect.Slice:
		return IsLeaf(t.Elem())
	}
	return true
}

func join[S ~string](prefix S, name string) S {
	if prefix == "" {
		return S(name)
	}
	return prefix + "." + S(name)
}

func walkType(t reflect.Type, prefix Field, visit func(Field)) {
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("field")
		if name == "-" || name == "" {
			continue
		}
		f, ft := join(prefix, name), t.Field(i).Type
		switch {
		case IsLeaf(ft):
			visit(f)
		case ft.Kind() == reflect.Slice:
			walkType(ft.Elem(), f, visit)
		default:
			walkType(ft, f, visit)
		}
	}
}

func walkValue(v reflect.Value, prefix Field, path string, visit func(Use, reflect.Value)) {
	for i := range v.NumField() {
		sf := v.Type().Field(i)
		name := sf.Tag.Get("field")
		if name == "-" || name == "" {
			continue
		}
		f, p, fv := join(prefix, name), join(path, name), v.Field(i)
		switch {
		case IsLeaf(sf.Type):
			if !fv.IsZero() && (fv.Kind() != reflect.Slice && fv.Kind() != reflect.Map || fv.Len() > 0) {
				visit(Use{f, p}, fv)
			}
		case fv.Kind() == reflect.Slice:
			for j := range fv.Len() {
				walkValue(fv.Index(j), f, fmt.Sprintf("%s[%d]", p, j), visit)
			}
		default:
			walkValue(fv, f, p, visit)
		}
	}
}

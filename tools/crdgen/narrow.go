package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubevirt "kubevirt.io/api/core/v1"
)

// schema is an OpenAPI schema as JSON has it.
type schema map[string]any

// at returns the schema of a property, or of the items of a list where the name is "[]".
func (s schema) at(path ...string) schema {
	for _, name := range path {
		if name == "[]" {
			s, _ = s["items"].(map[string]any)
			continue
		}
		properties, _ := s["properties"].(map[string]any)
		s, _ = properties[name].(map[string]any)
	}
	return s
}

// put adds a property.
func (s schema) put(name string, property schema) {
	properties, ok := s["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		s["properties"] = properties
	}
	properties[name] = map[string]any(property)
}

// rule adds a CEL rule.
func (s schema) rule(rule map[string]any) {
	rules, _ := s["x-kubernetes-validations"].([]any)
	s["x-kubernetes-validations"] = append(rules, rule)
}

// narrower compares schemas with Go types.
type narrower struct{ problems []string }

func (n *narrower) text() string { return strings.Join(n.problems, "\n") }

func (n *narrower) problem(path, format string, args ...any) {
	n.problems = append(n.problems, path+": "+fmt.Sprintf(format, args...))
}

// The forms of text that Go types of Kubernetes are decoded from, narrower than the generator's. Numbers have so few
// digits that they stay within 64 bits and cost nothing to compute with.
const (
	quantityForm = `^[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	// The format date-time takes the 31st of February. In the years that there are here, UTC has the date with any offset.
	timeForm = `^([1-8][0-9]{3}-(02-(0[1-9]|1[0-9]|2[0-8])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|(0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01]))` +
		`|([1-8][0-9](0[48]|[2468][048]|[13579][26])|([2468][048]|[1357][26])00)-02-29)` +
		`T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	durationForm = `^(0|([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}(\.[0-9]{1,9})?s)?([0-9]{1,6}ms)?)$`
)

// leaves are the types that decode themselves, and what their schema needs in addition.
func leaves() map[reflect.Type]func(schema) {
	time := func(s schema) {
		delete(s, "format")
		s["pattern"] = timeForm
	}
	return map[reflect.Type]func(schema){
		reflect.TypeFor[resource.Quantity](): func(s schema) { s["pattern"] = quantityForm },
		reflect.TypeFor[metav1.Duration]():   func(s schema) { s["pattern"], s["minLength"] = durationForm, 1 },
		reflect.TypeFor[metav1.Time]():       time,
		reflect.TypeFor[metav1.MicroTime]():  time,
		reflect.TypeFor[intstr.IntOrString](): func(s schema) {
			// An integer has to fit 32 bits.
			s.rule(map[string]any{"rule": "type(self) != int || (self >= -2147483648 && self <= 2147483647)", "message": "must be a number of 32 bits or text"})
		},
	}
}

// plain are the types that decode themselves as any other would be decoded, and then tidy up. They do it with
// encoding/json, which takes the names of fields in any letter case, so that unknown fields must not be kept there.
func plain() []reflect.Type {
	return []reflect.Type{reflect.TypeFor[kubevirt.VirtualMachineInstanceSpec](), reflect.TypeFor[kubevirt.DHCPOptions](),
		reflect.TypeFor[kubevirt.PodNetwork]()}
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// narrow limits a schema to what can be decoded into a Go type. The metadata of the object itself are the API server's.
func (n *narrower) narrow(path string, s schema, t reflect.Type, below bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if limit, ok := leaves()[t]; ok {
		limit(s)
		return
	}
	if t == reflect.TypeFor[metav1.ObjectMeta]() {
		if below {
			objectMeta(s)
		}
		return
	}
	if reflect.PointerTo(t).Implements(unmarshaler) && !slices.Contains(plain(), t) {
		n.problem(path, "the type %s decodes itself; say in leaves what it takes", t)
		return
	}
	want := map[reflect.Kind]string{reflect.Struct: "object", reflect.Map: "object", reflect.Slice: "array", reflect.String: "string", reflect.Bool: "boolean"}[t.Kind()]
	switch kind := t.Kind(); {
	case kind >= reflect.Int && kind <= reflect.Uint64:
		want = "integer"
		bounds(s, t)
	case kind == reflect.Float32:
		want = "number"
		s["minimum"], s["maximum"] = int64(-1<<31), int64(1<<31)
	case t == reflect.TypeFor[[]byte]():
		want = "string"
	}
	if s["type"] != want {
		n.problem(path, "%s has the type %v", t, s["type"])
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		delete(s, "x-kubernetes-preserve-unknown-fields")
		n.fields(path, s, t)
	case reflect.Slice:
		if want == "array" {
			n.narrow(path+"[]", s.at("[]"), t.Elem(), true)
		}
	case reflect.Map:
		values, _ := s["additionalProperties"].(map[string]any)
		n.narrow(path+"{}", values, t.Elem(), true)
	}
}

// fields narrows the properties of an object.
func (n *narrower) fields(path string, s schema, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && (options == "inline" || field.Anonymous):
			inner := field.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			n.fields(path, s, inner)
		case s.at(name) == nil:
			n.problem(path+"."+name, "the schema lacks it")
		default:
			n.narrow(path+"."+name, s.at(name), field.Type, path != "" && strings.Contains(path, "."))
		}
	}
}

// bounds limits integers to their type. Those of 64 bits with a sign need no limit: larger ones are no integers in JSON.
func bounds(s schema, t reflect.Type) {
	low, high := int64(0), int64(-1)
	switch t.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		low, high = -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		high = 1<<t.Bits() - 1
		s["format"] = "int64"
	case reflect.Uint, reflect.Uint64:
		s["format"] = "int64"
	default:
		return
	}
	if _, ok := s["minimum"]; !ok {
		s["minimum"] = low
	}
	if _, ok := s["maximum"]; !ok && high > 0 {
		s["maximum"] = high
	}
}

// objectMeta is what may stand in the metadata of a template: what users write, and what copies of objects have.
func objectMeta(s schema) {
	delete(s, "x-kubernetes-preserve-unknown-fields")
	for _, name := range []string{"generateName", "resourceVersion", "selfLink", "uid"} {
		s.put(name, schema{"type": "string"})
	}
	created := schema{"type": "string", "nullable": true}
	leaves()[reflect.TypeFor[metav1.Time]()](created)
	s.put("creationTimestamp", created)
	s.put("generation", schema{"type": "integer", "format": "int64"})
}

package manifests_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kubevirt "kubevirt.io/api/core/v1"

	"github.com/vmseed/vmseed/kube/manifests"
)

// server does with an object what an API server does with one of a kind that a definition defines.
type server struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

func newServer(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) *server {
	t.Helper()
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, internal, nil); err != nil {
		t.Fatal(err)
	}
	s := &server{}
	var err error
	if s.structural, err = structuralschema.NewStructural(internal); err != nil {
		t.Fatal(err)
	}
	if problems := structuralschema.ValidateStructural(nil, s.structural); len(problems) > 0 {
		t.Fatal(problems)
	}
	if s.schema, _, err = validation.NewSchemaValidator(internal); err != nil {
		t.Fatal(err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s
}

// stores reports whether the server would store an object, whose unknown fields it drops.
func (s *server) stores(t *testing.T, object map[string]any) bool { return s.problem(t, object) == nil }

// problem returns what the server would say of an object that it does not store.
func (s *server) problem(t *testing.T, object map[string]any) error {
	pruning.Prune(object, s.structural, true)
	if problems := validation.ValidateCustomResource(nil, object, s.schema); len(problems) > 0 {
		return problems.ToAggregate()
	}
	problems, _ := s.rules.Validate(t.Context(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return problems.ToAggregate()
}

// mean are values that are meant for some other field, or that fit a schema's type and not the Go type behind it.
var mean = []any{"text", "", int64(-1), int64(5), int64(1) << 31, int64(1) << 32, int64(1)<<62 + 1, 1.5, true, nil, []any{}, []any{"a"}, []any{int64(1)}, map[string]any{},
	map[string]any{"a": "b"}, map[string]any{"a": int64(1)}, "1e1.5", "1e999999999", "1E", "12Gi", "5", ".", "99999999999999999999999999Ei", "99999999h", "1h2m", "3s", "-1s",
	"2026-02-31T00:00:00Z", "2026-02-28T00:00:00Z", "2026-02-28T00:00:00.1+24:00", "2026-02-28", "25:00", "!!", "QUI="}

// TestDecode puts mean values into every field of every kind. What the server would store must be something that the Go
// types can be decoded from: a single object that cannot keeps every informer of its kind from listing.
func TestDecode(t *testing.T) {
	t.Parallel()
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]func() any{
		"VirtualMachine":         func() any { return &kubevirt.VirtualMachine{} },
		"VirtualMachineInstance": func() any { return &kubevirt.VirtualMachineInstance{} },
		"KubeVirt":               func() any { return &kubevirt.KubeVirt{} },
	}
	for _, crd := range crds {
		target := targets[crd.Spec.Names.Kind]
		t.Run(crd.Spec.Names.Kind, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, crd, "v1")
			tried, stored := 0, 0
			for _, part := range []string{"spec", "status"} {
				root := s.structural.Properties[part]
				walk(&root, []string{part}, func(path []string) {
					for _, value := range mean {
						object := map[string]any{"apiVersion": "kubevirt.io/v1", "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": "a"}}
						put(object, s.structural, path, value)
						given, err := json.Marshal(object)
						if err != nil {
							t.Fatal(err)
						}
						tried++
						if !s.stores(t, object) {
							continue
						}
						stored++
						text, err := json.Marshal(object)
						if err != nil {
							t.Fatal(err)
						}
						if err := json.Unmarshal(text, target()); err != nil {
							t.Errorf("%s = %v is stored and cannot be read: %v\n%s", strings.Join(path, "."), value, err, given)
						}
					}
				})
			}
			t.Logf("%d objects, of which %d are stored", tried, stored)
			if stored < tried/100 || stored > tried*9/10 {
				t.Errorf("of %d objects %d are stored: the test does not reach the fields", tried, stored)
			}
		})
	}
}

// walk calls visit with the path of each property below a schema. "[]" is an item and "{}" a member of a map.
func walk(s *structuralschema.Structural, path []string, visit func([]string)) {
	visit(path)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		walk(&property, append(slices.Clip(path), name), visit)
	}
	if s.Items != nil {
		walk(s.Items, append(slices.Clip(path), "[]"), visit)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		walk(s.AdditionalProperties.Structural, append(slices.Clip(path), "{}"), visit)
	}
}

// put makes everything above a path, with what the schema requires there, and sets a value.
func put(object map[string]any, s *structuralschema.Structural, path []string, value any) {
	set := any(object)
	var store func(any)
	for i, step := range path {
		fill(s, set)
		last := i == len(path)-1
		switch step {
		case "[]":
			s = s.Items
			items := []any{blank(s)}
			store(items)
			store = func(v any) { items[0] = v }
			set = items[0]
		case "{}":
			s = s.AdditionalProperties.Structural
			m := map[string]any{"key": blank(s)}
			store(m)
			store = func(v any) { m["key"] = v }
			set = m["key"]
		default:
			property := s.Properties[step]
			s = &property
			m, ok := set.(map[string]any)
			if !ok {
				m = map[string]any{}
				store(m)
			}
			if m[step] == nil || !reflect.DeepEqual(reflect.TypeOf(m[step]), reflect.TypeOf(blank(s))) {
				m[step] = blank(s)
			}
			store = func(v any) { m[step] = v }
			set = m[step]
		}
		if last {
			store(value)
		}
	}
	// One of two is demanded by a rule.
	spec, ok := object["spec"].(map[string]any)
	if _, running := spec["running"]; ok && !running && spec["runStrategy"] == nil && object["kind"] == "VirtualMachine" && len(path) > 1 {
		spec["runStrategy"] = "Always"
	}
}

// blank is the smallest value of a schema.
func blank(s *structuralschema.Structural) any {
	switch {
	case s.XIntOrString:
		return int64(1)
	case s.Type == "object":
		m := map[string]any{}
		fill(s, m)
		return m
	case s.Type == "array":
		return []any{}
	case s.Type == "integer" || s.Type == "number":
		return int64(1)
	case s.Type == "boolean":
		return true
	case s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0:
		return s.ValueValidation.Enum[0].Object
	}
	return "a"
}

// fill gives an object what its schema requires.
func fill(s *structuralschema.Structural, value any) {
	m, ok := value.(map[string]any)
	if !ok || s.ValueValidation == nil {
		return
	}
	for _, name := range s.ValueValidation.Required {
		if _, ok := m[name]; !ok {
			property := s.Properties[name]
			m[name] = blank(&property)
		}
	}
}

// TestNothingUnknownIsKept holds the definitions closed where Go types decode what is there: their JSON decoder takes names
// in any letter case, so that an unknown field is not always unknown to it.
func TestNothingUnknownIsKept(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		s := newServer(t, crd, "v1")
		var visit func(s *structuralschema.Structural, path string)
		visit = func(s *structuralschema.Structural, path string) {
			if s.XPreserveUnknownFields && len(s.Properties) > 0 {
				t.Errorf("%s: %s keeps unknown fields beside known ones", crd.Name, path)
			}
			for name, property := range s.Properties {
				visit(&property, path+"."+name)
			}
			if s.Items != nil {
				visit(s.Items, path+"[]")
			}
		}
		visit(s.structural, fmt.Sprint(crd.Spec.Names.Kind))
	}
}

package native_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/frontend/native"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(native.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("machine.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("machine.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate checks the machines of a YAML stream.
func validate(t *testing.T, s *jsonschema.Schema, text string) (machines int, err error) {
	t.Helper()
	var docs []any
	if err := yaml.Load([]byte(text), &docs, yaml.WithAllDocuments()); err != nil {
		t.Fatal(err)
	}
	for _, doc := range docs {
		if m, ok := doc.(map[string]any); !ok || m["kind"] != native.Kind {
			continue
		}
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		inst, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(inst); err != nil {
			return machines, err
		}
		machines++
	}
	return machines, nil
}

// Whatever the front end reads is valid by the published schema.
func TestSchemaAcceptsDocuments(t *testing.T) {
	s := compileSchema(t)
	var files []string
	for _, pattern := range []string{"../../examples/native/*.yaml", "testdata/*/in.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %d files", pattern, err, len(found))
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.Contains(file, "warnings") {
			continue // what is read with a warning is no boolean to others, the schema's readers among them
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := validate(t, s, string(data)); err != nil || n == 0 {
			t.Errorf("%s: %d machines, %v", file, n, err)
		}
	}
}

// What the table of bad input calls wrong in form is wrong by the schema as well. Contradictions between fields, and
// spellings that only YAML knows, are beyond it.
func TestSchemaRefusesBadInput(t *testing.T) {
	s := compileSchema(t)
	for _, tt := range badInput {
		if !tt.schema {
			continue
		}
		if _, err := validate(t, s, tt.text()); err == nil {
			t.Errorf("%s: valid by the schema:\n%s", tt.name, tt.text())
		}
	}
}

func TestSchemaIsCopied(t *testing.T) {
	native.Schema()[0] = 'x'
	if !strings.HasPrefix(string(native.Schema()), "{") {
		t.Error("a caller can change the schema")
	}
}

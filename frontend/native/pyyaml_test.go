//go:build conformance

package native_test

import (
	"os"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// A written document means the same to PyYAML: what we write as a text is a text to it, and so on.
func TestWriteAgreesWithPyYAML(t *testing.T) {
	text, l := native.New().Write(machinetest.Full())
	if len(l) > 0 {
		t.Fatal(l)
	}
	example, err := os.ReadFile("../../examples/native/network.yaml")
	if err != nil {
		t.Fatal(err)
	}
	docs := [][]byte{text, example}
	for i, have := range judge.PyYAML(t, docs) {
		var root yaml.Node
		if err := yaml.Load(docs[i], &root); err != nil {
			t.Fatal(err)
		}
		compare(t, "", root.Content[0], have)
	}
}

func compare(t *testing.T, path string, n *yaml.Node, v judge.Value) {
	t.Helper()
	switch n.Kind {
	case yaml.MappingNode:
		if v.Tag != "map" || len(v.Items) != len(n.Content) {
			t.Errorf("%s: PyYAML reads %s of %d", path, v.Tag, len(v.Items))
			return
		}
		for i, c := range n.Content {
			compare(t, path+"."+n.Content[i&^1].Value, c, v.Items[i])
		}
	case yaml.SequenceNode:
		if v.Tag != "list" || len(v.Items) != len(n.Content) {
			t.Errorf("%s: PyYAML reads %s of %d", path, v.Tag, len(v.Items))
			return
		}
		for i, c := range n.Content {
			compare(t, path+"[]", c, v.Items[i])
		}
	default:
		want := map[string]string{"!!str": "str", "!!int": "int", "!!bool": "bool"}[n.ShortTag()]
		if v.Tag != want || v.Text != n.Value {
			t.Errorf("%s: PyYAML reads %s %q, not %s %q", path, v.Tag, v.Text, want, n.Value)
		}
	}
}

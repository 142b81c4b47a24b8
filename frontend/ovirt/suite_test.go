package ovirt_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/ovirt"
)

// TestSuite holds the front end to what all front ends promise. The suite changes documents value by value as YAML, so those
// in JSON are given in that spelling; the others show that they are read alike.
func TestSuite(t *testing.T) {
	var samples []frontendtest.Sample
	for _, name := range []string{"full.json", "legacy.json", "ignition.json", "seed-004.json"} {
		f := fixture(t, name)
		f.Text = block(t, f.Text)
		samples = append(samples, frontendtest.Sample{Name: strings.TrimSuffix(name, ".json"), Files: []frontendtest.File{f}, Match: frontend.Weak})
	}
	for _, name := range []string{"seed-001.xml", "seed-004.xml", "seed-004-sdk1.xml", "seed-004-sdk2.xml"} {
		samples = append(samples, frontendtest.Sample{Name: name, Files: []frontendtest.File{fixture(t, name)}})
	}
	frontendtest.Run(t, frontendtest.Config{New: func() frontend.Frontend { return ovirt.Frontend{} }, Samples: samples})
}

// block writes JSON in YAML's block style.
func block(t testing.TB, text string) string {
	t.Helper()
	var root yaml.Node
	if err := yaml.Load([]byte(text), &root); err != nil {
		t.Fatal(err)
	}
	var clear func(n *yaml.Node)
	clear = func(n *yaml.Node) {
		n.Style &^= yaml.FlowStyle
		for _, c := range n.Content {
			clear(c)
		}
	}
	clear(&root)
	out, err := yaml.Dump(&root)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

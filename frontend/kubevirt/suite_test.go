package kubevirt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

const (
	suite    = "testdata/suite/"
	examples = "../../examples/kubevirt/"
)

// fixture reads a file of the source tree.
func fixture(t testing.TB, path string) frontendtest.File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return frontendtest.File{Name: filepath.Base(path), Text: string(data)}
}

// TestSuite holds the front end to what all front ends promise.
func TestSuite(t *testing.T) {
	sample := func(name, objects string, files ...string) frontendtest.Sample {
		s := frontendtest.Sample{Name: name, Options: frontend.Options{FeatureGates: []string{"ExperimentalIgnitionSupport"}}}
		for _, f := range files {
			s.Files = append(s.Files, fixture(t, f))
		}
		if objects != "" {
			s.Objects = fixture(t, objects).Text
		}
		return s
	}
	frontendtest.Run(t, frontendtest.Config{New: func() frontend.Frontend { return kubevirt.Frontend{} }, Samples: []frontendtest.Sample{
		sample("machine", suite+"objects.yaml", suite+"vm.yaml"),
		sample("instance", suite+"objects.yaml", suite+"vmi.yaml"),
		sample("v1alpha2", "", suite+"old.yaml"),
		sample("configuration", "", suite+"kubevirt.yaml", suite+"old.yaml"),
		sample("instance type", "", suite+"types.yaml", suite+"typed.yaml", suite+"volume.yaml"),
		sample("seed-000", "", examples+"myvm1.yml"),
		sample("seed-003", "", examples+"testvm-inline.yaml"),
	}})
}

package kubevirt_test

import (
	"testing"

	"github.com/vmseed/vmseed/frontend"
)

// TestExamples reads the examples that users see. The first ones are those of KubeVirt's own documentation.
func TestExamples(t *testing.T) {
	for name, c := range map[string]struct {
		files string
		wrong bool
	}{
		"ignition":         {files: "myvm1.yml kubevirt-config.yaml"},
		"ignition-mended":  {files: "myvm1-mended.yml kubevirt-config.yaml"},
		"ignition-no-gate": {files: "myvm1-mended.yml", wrong: true},
		"inline":           {files: "testvm-inline.yaml"},
		"secret":           {files: "testvm-secret.yaml my-vm-secret.yaml", wrong: true},
		"secret-mended":    {files: "testvm-secret.yaml my-vm-userdata.yaml"},
		"provider":         {files: "testvm-provider.yaml", wrong: true},
		"extended":         {files: "extended-vm.yaml extended-objects.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			machines, l := load(frontend.Options{}, fixtures(t, examples, c.files)...)
			compare(t, "testdata/example-"+name+".txt", dump(machines, l))
			if l.HasErrors() != c.wrong {
				t.Errorf("errors %v, want %v", l.HasErrors(), c.wrong)
			}
		})
	}
}

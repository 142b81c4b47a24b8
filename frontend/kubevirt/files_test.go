package kubevirt_test

import (
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
)

// filesDir has machines with credentials, with volumes of files, and in the layouts that came before volumes.
const filesDir = "testdata/files/"

// filesSamples are its machines, each with the file of its objects.
var filesSamples = map[string]string{"vmi": "objects.yaml", "windows": "objects.yaml", "legacy": "legacy-objects.yaml", "prototype": ""}

// TestFilesSuite holds what they say to what all front ends promise.
func TestFilesSuite(t *testing.T) {
	var samples []frontendtest.Sample
	for name, objects := range filesSamples {
		s := frontendtest.Sample{Name: name, Files: fixtures(t, filesDir, name+".yaml")}
		for _, f := range fixtures(t, filesDir, objects) {
			s.Objects = f.Text
		}
		samples = append(samples, s)
	}
	frontendtest.Run(t, frontendtest.Config{New: func() frontend.Frontend { return kubevirt.Frontend{} }, Samples: samples})
}

// TestFilesGolden shows what becomes of them.
func TestFilesGolden(t *testing.T) {
	for name, objects := range filesSamples {
		t.Run(name, func(t *testing.T) {
			machines, l := load(frontend.Options{}, fixtures(t, filesDir, name+".yaml "+objects)...)
			compare(t, filesDir+"want-"+name+".txt", dump(machines, l))
			if l.HasErrors() {
				t.Error(l.Err())
			}
		})
	}
}

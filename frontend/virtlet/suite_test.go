package virtlet_test

import (
	"testing"

	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/virtlet"
)

// TestSuite holds the front end to what all front ends promise.
func TestSuite(t *testing.T) {
	const examples, suite = "../../examples/virtlet/", "testdata/suite/"
	var samples []frontendtest.Sample
	for _, s := range []struct{ name, pod, objects, more string }{
		{"seed", examples + "pod.yaml", examples + "objects.yaml", ""},
		{"extended", examples + "extended-pod.yaml", examples + "extended-objects.yaml", examples + "extended-keys.yaml"},
		{"everything", suite + "full.yaml", suite + "objects.yaml", ""},
		{"script", suite + "script.yaml", suite + "script-objects.yaml", ""},
	} {
		pod, objects := readFile(t, s.pod), readFile(t, s.objects)[1]
		if s.more != "" {
			objects += "---\n" + readFile(t, s.more)[1]
		}
		samples = append(samples, frontendtest.Sample{Name: s.name, Objects: objects,
			Files: []frontendtest.File{{Name: pod[0], Text: pod[1]}}})
	}
	frontendtest.Run(t, frontendtest.Config{New: func() frontend.Frontend { return virtlet.Frontend{} }, Samples: samples})
}

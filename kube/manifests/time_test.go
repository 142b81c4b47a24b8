package manifests_test

import (
	"encoding/json"
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vmseed/vmseed/kube/manifests"
)

// TestTimes holds which texts are a time for the definitions: those that Go reads, and no other.
func TestTimes(t *testing.T) {
	crds, err := manifests.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, crds[slices.IndexFunc(crds, func(c *apiextensionsv1.CustomResourceDefinition) bool { return c.Name == "virtualmachines.kubevirt.io" })], "v1")
	for text, good := range map[string]bool{
		"2026-01-02T03:04:05Z": true, "2026-12-31T23:59:59.123456789+14:00": true, "2024-02-29T00:00:00Z": true, "2000-02-29T00:00:00-12:30": true,
		"1900-02-29T00:00:00Z": false, "2023-02-29T00:00:00Z": false, "2100-02-29T00:00:00Z": false, "2026-02-31T00:00:00Z": false, "2026-04-31T00:00:00Z": false,
		"2026-13-01T00:00:00Z": false, "2026-00-01T00:00:00Z": false, "2026-01-00T00:00:00Z": false, "2026-01-01T24:00:00Z": false, "2026-01-01T00:00:60Z": false,
		"2026-01-01t00:00:00z": false, "2026-01-01 00:00:00Z": false, "2026-01-01T00:00:00": false, "2026-01-01T00:00:00.Z": false, "2026-01-01": false, "": false, "now": false,
	} {
		object := map[string]any{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"runStrategy": "Halted",
			"template": map[string]any{"metadata": map[string]any{"creationTimestamp": text}, "spec": map[string]any{"domain": map[string]any{"devices": map[string]any{}}}}}}
		problem := s.problem(t, object)
		if (problem == nil) != good {
			t.Errorf("%q: %v", text, problem)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var read metav1.Time
		if err := json.Unmarshal(quoted, &read); good && (err != nil || read.IsZero()) {
			t.Errorf("%q is read as %v, %v", text, read, err)
		}
	}
}

//go:build conformance

package manifests_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vmseed/vmseed/kube/manifests"
)

// helm builds the program that renders charts with Helm's engine, and returns its path.
func helm(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "helm")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	build.Dir = "../../tools/helm"
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building tools/helm: %v\n%s", err, out)
	}
	return path
}

// rendered returns the objects that the chart has with some values.
func rendered(t *testing.T, helm, set string) map[string]map[string]any {
	t.Helper()
	var problems bytes.Buffer
	command := exec.CommandContext(t.Context(), helm, "-set", set, "../charts/vmseed-kube")
	command.Stderr = &problems
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, problems.String())
	}
	objects, err := manifests.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return byName(t, objects)
}

// byName returns objects as JSON has them, by kind, namespace and name.
func byName(t *testing.T, objects []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, o := range objects {
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		out[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = plain
	}
	return out
}

// TestChart renders the chart with Helm's own engine: by default it has the objects that kubectl apply -k has, and values
// change what they say they change.
func TestChart(t *testing.T) {
	t.Parallel()
	program := helm(t)
	objects, err := manifests.Objects(manifests.Parts(false)...)
	if err != nil {
		t.Fatal(err)
	}
	want := byName(t, objects)
	got := rendered(t, program, "")
	for name, o := range got {
		if strings.HasPrefix(name, "CustomResourceDefinition/") {
			metadata, _ := o["metadata"].(map[string]any)
			if diff := cmp.Diff(map[string]any{"helm.sh/resource-policy": "keep"}, metadata["annotations"]); diff != "" {
				t.Errorf("%s would be deleted with the release:\n%s", name, diff)
			}
			delete(metadata, "annotations")
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the chart has other objects than kube/config (-config +chart):\n%s", diff)
	}
	if diff := cmp.Diff(want, rendered(t, program, "keepDefinitions=false")); diff != "" {
		t.Errorf("without keepDefinitions:\n%s", diff)
	}

	objects, err = manifests.Objects(manifests.Parts(true)...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(byName(t, objects), rendered(t, program, "besideKubevirt=true")); diff != "" {
		t.Errorf("beside KubeVirt (-config +chart):\n%s", diff)
	}
	for name := range rendered(t, program, "policies.mutating=false,policies.validating=false") {
		if strings.Contains(name, "AdmissionPolicy") {
			t.Errorf("without policies there is %s", name)
		}
	}

	moved := rendered(t, program, "installNamespace=vms,createNamespace=false,image.repository=example.com/x,image.tag=1.2,replicas=3,imagePullSecrets[0].name=pull")
	for name, o := range moved {
		if strings.HasPrefix(name, "CustomResourceDefinition/") {
			continue
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, left := range []string{`"namespace":"kubevirt"`, `serviceaccount:kubevirt:`, `namespace == 'kubevirt'`} {
			if strings.Contains(string(text), left) {
				t.Errorf("%s still has %s", name, left)
			}
		}
	}
	deployment := &unstructured.Unstructured{Object: moved["Deployment/vms/vmseed-controller"]}
	replicas, _, _ := unstructured.NestedFloat64(deployment.Object, "spec", "replicas")
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	pull, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "imagePullSecrets")
	container, _ := slices.Concat(containers, []any{nil})[0].(map[string]any)
	if replicas != 3 || container["image"] != "example.com/x:1.2" || len(pull) != 1 || moved["Namespace//vms"] != nil || moved["Namespace//kubevirt"] != nil {
		t.Errorf("values are not taken: %v", deployment.Object)
	}
}

// TestCurrent asks the generator of the definitions whether they are what it would write.
func TestCurrent(t *testing.T) {
	t.Parallel()
	check := exec.CommandContext(t.Context(), "go", "run", ".", "-check")
	check.Dir = "../../tools/crdgen"
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

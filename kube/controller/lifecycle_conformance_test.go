//go:build conformance

package controller_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// parse reads an object for a namespace.
func parse(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	u.SetNamespace(namespace)
	return &u
}

const machine = `
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: good}
spec:
  runStrategy: Manual
  template:
    spec:
      domain: {memory: {guest: 64Mi}, devices: {}}
      volumes: [{name: root, containerDisk: {image: registry.example/disks/debian}}]
`

// TestMalformedObjects posts what no KubeVirt would take, to the version that takes the most. Whatever gets in has its own
// condition, and machines beside it start.
func TestMalformedObjects(t *testing.T) {
	ctx, c, namespace := start(t)
	var taken []string
	for name, spec := range map[string]string{
		"disks":   "{domain: {devices: {disks: not-a-list}}}",
		"texts":   "{domain: {devices: {disks: [a, 7, {name: 9}]}}, volumes: {a: b}}",
		"numbers": "{domain: 7, terminationGracePeriodSeconds: soon, affinity: [1]}",
	} {
		u := parse(t, namespace, "apiVersion: kubevirt.io/v1alpha2\nkind: VirtualMachineInstance\nmetadata: {name: "+name+"}\nspec: "+spec+"\n")
		switch err := c.Create(ctx, u); {
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsForbidden(err):
		case err != nil:
			t.Fatal(err)
		default:
			taken = append(taken, name)
		}
	}
	good := parse(t, namespace, strings.Replace(machine, "Manual", "Always", 1))
	if err := c.Create(ctx, good); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, c, "VirtualMachine", namespace, "good", "the good machine", func(u *unstructured.Unstructured) bool { return is(u, "Ready", "True") })
	for _, name := range taken {
		u := await(ctx, t, c, "VirtualMachineInstance", namespace, name, "the condition of "+name, func(u *unstructured.Unstructured) bool { return is(u, "Synchronized", "False") })
		if reason, _, message := conditionOf(u, "Synchronized"); reason != "FailedCreate" || message == "" {
			t.Errorf("%s: %s, %s", name, reason, message)
		}
	}
	t.Logf("the API server took %v", taken)
}

// TestRequests starts, restarts and stops a machine as virtctl asks for it, by requests in its status.
func TestRequests(t *testing.T) {
	ctx, c, namespace := start(t)
	if err := c.Create(ctx, parse(t, namespace, machine)); err != nil {
		t.Fatal(err)
	}
	ask := func(requests ...any) {
		t.Helper()
		u := fetch(ctx, t, c, "VirtualMachine", namespace, "good")
		base := u.DeepCopy()
		if err := unstructured.SetNestedSlice(u.Object, requests, "status", "stateChangeRequests"); err != nil {
			t.Fatal(err)
		}
		if err := c.Status().Patch(ctx, u, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}
	}
	starting := map[string]any{"action": "Start"}
	ask(starting)
	await(ctx, t, c, "VirtualMachine", namespace, "good", "the start", func(u *unstructured.Unstructured) bool { return is(u, "Ready", "True") })
	first := string(fetch(ctx, t, c, "VirtualMachineInstance", namespace, "good").GetUID())

	ask(map[string]any{"action": "Stop", "uid": first}, starting)
	vmi := await(ctx, t, c, "VirtualMachineInstance", namespace, "good", "the restart", func(u *unstructured.Unstructured) bool {
		return string(u.GetUID()) != first && is(u, "Ready", "True")
	})
	ask(map[string]any{"action": "Stop", "uid": string(vmi.GetUID())})
	vm := await(ctx, t, c, "VirtualMachine", namespace, "good", "the stop", func(u *unstructured.Unstructured) bool {
		return field(u, "status", "printableStatus") == "Stopped" && is(u, "Ready", "False")
	})
	if requests, ok, _ := unstructured.NestedSlice(vm.Object, "status", "stateChangeRequests"); ok && len(requests) > 0 {
		t.Errorf("requests are left: %v", requests)
	}
	if pods := names(ctx, t, c, "Pod", namespace); len(pods) > 0 {
		t.Errorf("pods are left: %v", pods)
	}
	before := field(vm, "spec", "template", "spec", "domain", "firmware", "uuid")
	ask(starting)
	vmi = await(ctx, t, c, "VirtualMachineInstance", namespace, "good", "the next start", func(u *unstructured.Unstructured) bool { return is(u, "Ready", "True") })
	if after := field(vmi, "spec", "domain", "firmware", "uuid"); after != before || after == "" {
		t.Errorf("the guest was %q and is %q", before, after)
	}
}

// TestRestartRequired changes the template of a machine that runs.
func TestRestartRequired(t *testing.T) {
	ctx, c, namespace := start(t)
	if err := c.Create(ctx, parse(t, namespace, strings.Replace(machine, "Manual", "Always", 1))); err != nil {
		t.Fatal(err)
	}
	await(ctx, t, c, "VirtualMachine", namespace, "good", "the start", func(u *unstructured.Unstructured) bool { return is(u, "Ready", "True") })
	must(ctx, t, namespace, "patch", "vm", "good", "--type=merge", "-p", `{"spec":{"template":{"spec":{"domain":{"cpu":{"cores":2}}}}}}`)
	vm := await(ctx, t, c, "VirtualMachine", namespace, "good", "the condition", func(u *unstructured.Unstructured) bool { return is(u, "RestartRequired", "True") })
	if _, _, message := conditionOf(vm, "RestartRequired"); message != "a non-live-updatable field was changed in the template spec" {
		t.Errorf("message %q", message)
	}
	must(ctx, t, namespace, "delete", "vmi", "good")
	await(ctx, t, c, "VirtualMachine", namespace, "good", "the change at work", func(u *unstructured.Unstructured) bool {
		_, status, _ := conditionOf(u, "RestartRequired")
		return status == "" && is(u, "Ready", "True")
	})
}

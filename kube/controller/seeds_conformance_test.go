//go:build conformance

package controller_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const examples = "../../examples/kubevirt/"

// kubectl runs kubectl as the administrator in a namespace.
func kubectl(ctx context.Context, t *testing.T, namespace string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(ctx, running.plane.Kubectl, append([]string{"--kubeconfig", running.plane.Kubeconfig, "-n", namespace}, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// must is kubectl that has to succeed.
func must(ctx context.Context, t *testing.T, namespace string, args ...string) string {
	t.Helper()
	out, err := kubectl(ctx, t, namespace, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// is reports whether an object has a condition with a status.
func is(u *unstructured.Unstructured, kind, status string) bool {
	_, got, _ := conditionOf(u, kind)
	return got == status
}

// conditionOf returns reason, status and message of a condition.
func conditionOf(u *unstructured.Unstructured, kind string) (reason, status, message string) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, x := range list {
		c, _ := x.(map[string]any)
		if c["type"] == kind {
			reason, _ = c["reason"].(string)
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return reason, status, message
}

func field(u *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// TestIgnitionSeed follows the page on Ignition: with the gate closed the machine is refused with KubeVirt's words, with the
// page's ConfigMap it runs, as v1alpha3 and word for word.
func TestIgnitionSeed(t *testing.T) {
	ctx, c, namespace := start(t)
	must(ctx, t, "kubevirt", "delete", "configmap", "kubevirt-config", "--ignore-not-found")
	if out := must(ctx, t, namespace, "apply", "-f", examples+"myvm1.yml"); !strings.Contains(out, "virtualmachine.kubevirt.io/myvm1 created") {
		t.Errorf("kubectl apply says %q", out)
	}
	const words = "ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, invalid entry metadata.annotations.kubevirt.io/ignitiondata"
	vmi := await(ctx, t, c, "VirtualMachineInstance", namespace, "myvm1", "the refusal", func(u *unstructured.Unstructured) bool { return is(u, "Synchronized", "False") })
	if reason, _, message := conditionOf(vmi, "Synchronized"); reason != "FeatureGateDisabled" || message != words || field(vmi, "status", "phase") != "Pending" {
		t.Errorf("phase %q, condition %s: %s", field(vmi, "status", "phase"), reason, message)
	}
	await(ctx, t, c, "VirtualMachine", namespace, "myvm1", "the machine", func(u *unstructured.Unstructured) bool { return field(u, "status", "printableStatus") == "Starting" })

	must(ctx, t, "kubevirt", "apply", "-f", examples+"kubevirt-config.yaml")
	must(ctx, t, namespace, "wait", "vm/myvm1", "--for=condition=Ready", "--timeout=120s")
	columns := strings.Fields(must(ctx, t, namespace, "get", "vm,vmi", "--no-headers"))
	t.Log(columns)
	if got := strings.Join(append(columns[2:4:4], columns[6:]...), " "); got != "Running True Running 10.9.8.7 n1 True" && got != "Running True Running 10.9.8.7 n2 True" {
		t.Errorf("kubectl get vm,vmi prints %q", columns)
	}
	checkRunning(ctx, t, c, namespace)

	must(ctx, t, namespace, "delete", "vm", "myvm1")
	for _, kind := range []string{"VirtualMachine", "VirtualMachineInstance", "Pod", "Secret"} {
		for _, name := range names(ctx, t, c, kind, namespace) {
			gone(ctx, t, c, kind, namespace, name)
		}
	}
}

// checkRunning looks at what the controller made of the page's machine.
func checkRunning(ctx context.Context, t *testing.T, c client.Client, namespace string) {
	t.Helper()
	vm, vmi := fetch(ctx, t, c, "VirtualMachine", namespace, "myvm1"), fetch(ctx, t, c, "VirtualMachineInstance", namespace, "myvm1")
	id := field(vm, "spec", "template", "spec", "domain", "firmware", "uuid")
	if len(id) != 36 || id != field(vmi, "spec", "domain", "firmware", "uuid") {
		t.Errorf("firmware UUID %q of the machine, %q of its instance", id, field(vmi, "spec", "domain", "firmware", "uuid"))
	}
	if got := field(vmi, "status", "guestOSInfo", "prettyName"); got != "Debian GNU/Linux 12 (bookworm)" || !is(vmi, "AgentConnected", "True") {
		t.Errorf("guest %q", got)
	}
	if reason, status, _ := conditionOf(vmi, "LiveMigratable"); status != "False" || reason != "NotMigratable" {
		t.Errorf("LiveMigratable is %s, %s", status, reason)
	}
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(namespace)); err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d pods, %v", len(pods.Items), err)
	}
	text, err := yaml.Marshal(pods.Items[0])
	if err != nil || strings.Contains(string(text), "ssh-rsa") || strings.Contains(string(text), "kube-api-access") {
		t.Errorf("the launcher pod holds Ignition data or a token: %v", err)
	}
	phases, _, _ := unstructured.NestedSlice(vmi.Object, "status", "phaseTransitionTimestamps")
	var seen []string
	for _, p := range phases {
		seen = append(seen, field(&unstructured.Unstructured{Object: p.(map[string]any)}, "phase"))
	}
	if got := strings.Join(seen, " "); !strings.HasPrefix(got, "Pending ") || !strings.HasSuffix(got, " Running") {
		t.Errorf("phases %q", got)
	}
}

// TestNoCloudSeed follows the page on cloud-init: the instance with the data inline, and that with a Secret that comes later,
// in the layout of 2017 under v1alpha2, which nothing prunes.
func TestNoCloudSeed(t *testing.T) {
	ctx, c, namespace := start(t)
	must(ctx, t, namespace, "apply", "-f", examples+"testvm-inline.yaml")
	vmi := await(ctx, t, c, "VirtualMachineInstance", namespace, "testvm-nocloud", "the instance", func(u *unstructured.Unstructured) bool { return is(u, "Ready", "True") })
	var want unstructured.Unstructured
	text, err := os.ReadFile(examples + "testvm-inline.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &want.Object)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, want := field(vmi, "spec", "domain", "firmware", "uuid"), 36; len(got) != want {
		t.Errorf("firmware UUID %q", got)
	}
	disks, _, _ := unstructured.NestedSlice(vmi.Object, "spec", "domain", "devices", "disks")
	asked, _, _ := unstructured.NestedSlice(want.Object, "spec", "domain", "devices", "disks")
	if a, b := marshal(t, disks), marshal(t, asked); a != b {
		t.Errorf("the API server keeps\n%s of\n%s", a, b)
	}
	must(ctx, t, namespace, "delete", "vmi", "testvm-nocloud")
	if pods := names(ctx, t, c, "Pod", namespace); len(pods) != 0 {
		t.Errorf("the instance is gone before %v", pods)
	}

	must(ctx, t, namespace, "apply", "-f", examples+"testvm-secret.yaml")
	vmi = await(ctx, t, c, "VirtualMachineInstance", namespace, "testvm-nocloud", "the instance should wait for its Secret", func(u *unstructured.Unstructured) bool {
		reason, status, message := conditionOf(u, "Synchronized")
		return status == "False" && reason == "CreateContainerConfigError" && strings.Contains(message, `secrets "my-vm-userdata" not found`)
	})
	if field(vmi, "status", "phase") != "Scheduled" {
		t.Errorf("phase %q while the Secret is missing", field(vmi, "status", "phase"))
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// fetch reads an object.
func fetch(ctx context.Context, t *testing.T, c client.Client, kind, namespace, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("kubevirt.io/v1")
	u.SetKind(kind)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		t.Fatal(err)
	}
	return u
}

// names lists the objects of a kind in a namespace.
func names(ctx context.Context, t *testing.T, c client.Client, kind, namespace string) []string {
	t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.APIVersion, list.Kind = "v1", kind+"List"
	if strings.HasPrefix(kind, "Virtual") {
		list.APIVersion = "kubevirt.io/v1"
	}
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out
}

package launch_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/kube/launch"
)

// example reads a file of the core's examples.
func example(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile("../../examples/kubevirt/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return object(t, string(data))
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	var u unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return &u
}

// stored is an instance as an API server hands it out.
func stored(u *unstructured.Unstructured) *unstructured.Unstructured {
	u.SetAPIVersion("kubevirt.io/v1")
	u.SetNamespace("default")
	u.SetUID("5d307ca9-b3ef-428c-8861-06e72d69f223")
	u.SetResourceVersion("7")
	u.SetFinalizers([]string{"foregroundDeleteVirtualMachine"})
	return u
}

// instance is the instance of a VirtualMachine.
func instance(vm *unstructured.Unstructured) *unstructured.Unstructured {
	template, _, _ := unstructured.NestedMap(vm.Object, "spec", "template")
	u := &unstructured.Unstructured{Object: map[string]any{"kind": "VirtualMachineInstance", "metadata": template["metadata"], "spec": template["spec"]}}
	u.SetName(vm.GetName())
	return stored(u)
}

const open = "ExperimentalIgnitionSupport"

// build demands that an instance can be launched.
func build(t *testing.T, vmi *unstructured.Unstructured, c launch.Cluster) launch.Objects {
	t.Helper()
	r := launch.Check(context.Background(), vmi, c)
	if text := r.Refusal(); text != "" {
		t.Fatalf("refused: %s", text)
	}
	o, l := launch.Build(vmi, r, c)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return o
}

// TestNode follows the way of instances to a node: what the front end reads there has no error, and it asks for no object that
// the pod does not name.
func TestNode(t *testing.T) {
	for _, c := range []struct {
		name    string
		vmi     *unstructured.Unstructured
		cluster launch.Cluster
	}{
		{"ignition in an annotation", instance(example(t, "myvm1.yml")), launch.Cluster{ConfigMap: map[string]string{"feature-gates": "LiveMigration, " + open}}},
		{"the oldest layout, inline", stored(example(t, "testvm-inline.yaml")), launch.Cluster{}},
		{"the oldest layout, with a Secret", stored(example(t, "testvm-secret.yaml")), launch.Cluster{}},
		{"everything that names an object", stored(object(t, references)), launch.Cluster{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := build(t, c.vmi, c.cluster)
			doc, err := launch.Read(o.Pod, o.Secret)
			if err != nil {
				t.Fatal(err)
			}
			asked := &node{pod: o.Pod}
			e := vmseed.Engine{Frontends: []frontend.Frontend{kubevirt.Frontend{}}}
			machines, l := e.Load(context.Background(), doc.Inputs, vmseed.LoadOptions{Options: doc.Options, Resolver: asked})
			for _, d := range l {
				if d.Severity == diag.Error && d.Code != kubevirt.CodeMissingObject {
					t.Errorf("on the node: %v", d)
				}
			}
			if len(machines) != 1 || machines[0].Name != c.vmi.GetName() || machines[0].Identity.UID != string(c.vmi.GetUID()) {
				t.Errorf("the node reads %d machines, want one of the names", len(machines))
			}
			if len(asked.refused) > 0 {
				t.Errorf("the node authorizer would refuse %v", asked.refused)
			}
		})
	}
}

// node is a resolver that says which objects a node may not read.
type node struct {
	pod     *corev1.Pod
	refused []kubeobject.Ref
}

func (n *node) Resolve(_ context.Context, ref kubeobject.Ref) (kubeobject.Object, error) {
	for _, v := range n.pod.Spec.Volumes {
		switch {
		case v.Secret != nil && ref == (kubeobject.Ref{Kind: "Secret", Namespace: n.pod.Namespace, Name: v.Secret.SecretName}),
			v.ConfigMap != nil && ref == (kubeobject.Ref{Kind: "ConfigMap", Namespace: n.pod.Namespace, Name: v.ConfigMap.Name}),
			v.PersistentVolumeClaim != nil && ref == (kubeobject.Ref{Kind: "PersistentVolumeClaim", Namespace: n.pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName}):
			return kubeobject.Object{}, &kubeobject.MissingError{Ref: ref}
		}
	}
	n.refused = append(n.refused, ref)
	return kubeobject.Object{}, &kubeobject.MissingError{Ref: ref}
}

const references = `
kind: VirtualMachineInstance
metadata:
  name: all
  annotations: {secret.example/note: "x", vmseed.dev/datasource: nocloud}
spec:
  domain:
    memory: {guest: 1Gi}
    cpu: {cores: 2}
    devices: {}
  accessCredentials:
  - sshPublicKey: {source: {secret: {secretName: keys}}, propagationMethod: {noCloud: {}}}
  - userPassword: {source: {secret: {secretName: passwords}}, propagationMethod: {qemuGuestAgent: {}}}
  volumes:
  - {name: root, containerDisk: {image: "registry.example/disks/debian:12", imagePullSecret: pull}}
  - {name: seed, cloudInitNoCloud: {secretRef: {name: user}, networkDataSecretRef: {name: network}}}
  - {name: claim, persistentVolumeClaim: {claimName: data}}
  - {name: backing, ephemeral: {persistentVolumeClaim: {claimName: base}}}
  - {name: config, configMap: {name: settings}}
  - {name: secrets, secret: {secretName: more}}
  - {name: volume, dataVolume: {name: imported}}
`

func TestPod(t *testing.T) {
	o := build(t, stored(object(t, references)), launch.Cluster{})
	var named []string
	for i, v := range o.Pod.Spec.Volumes {
		name := ""
		switch {
		case v.Secret != nil:
			name = "Secret " + v.Secret.SecretName
		case v.ConfigMap != nil:
			name = "ConfigMap " + v.ConfigMap.Name
		case v.PersistentVolumeClaim != nil:
			name = "claim " + v.PersistentVolumeClaim.ClaimName
		}
		if i > 0 {
			named = append(named, name)
			if v.PersistentVolumeClaim == nil && !(v.Secret != nil && *v.Secret.Optional) && !(v.ConfigMap != nil && *v.ConfigMap.Optional) {
				t.Errorf("%s is not optional, so a node could not say that it is missing", name)
			}
		}
	}
	for _, want := range []string{"Secret keys", "Secret passwords", "Secret user", "Secret network", "Secret more", "ConfigMap settings", "claim data", "claim base", "claim imported"} {
		if !strings.Contains(strings.Join(named, ","), want) {
			t.Errorf("no volume names %s, there are %v", want, named)
		}
	}
	c := o.Pod.Spec.Containers[0]
	type facts struct{ name, image, memory, cpu, pull, source, note, role string }
	got := facts{o.Pod.Name, c.Image, c.Resources.Requests.Memory().String(), c.Resources.Requests.Cpu().String(), o.Pod.Spec.ImagePullSecrets[0].Name,
		o.Pod.Annotations["vmseed.dev/datasource"], o.Pod.Annotations["secret.example/note"], o.Pod.Labels["kubevirt.io"]}
	want := facts{"virt-launcher-all-" + got.name[len(got.name)-5:], "registry.example/disks/debian:12", "1222Mi", "200m", "pull", "nocloud", "", "virt-launcher"}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(facts{})); d != "" {
		t.Errorf("pod (-want +got):\n%s", d)
	}
}

// TestSecrecy demands that nothing of an Ignition config is anywhere but in the Secret, and that the name of the Secret does
// not depend on it, because names are seen by those who may not see Secrets.
func TestSecrecy(t *testing.T) {
	cluster := launch.Cluster{ConfigMap: map[string]string{"feature-gates": open}}
	vmi := instance(example(t, "myvm1.yml"))
	o := build(t, vmi, cluster)
	text, err := yaml.Marshal(o.Pod)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "ssh-rsa") || strings.Contains(string(text), "ignition\"") {
		t.Error("the pod holds a part of the config")
	}
	if !strings.Contains(string(o.Secret.Data[launch.DocumentKey]), "ssh-rsa") {
		t.Error("the Secret does not hold the config")
	}
	other := vmi.DeepCopy()
	other.SetAnnotations(map[string]string{"kubevirt.io/ignitiondata": `{"ignition": {"version": "3.4.0"}}`})
	if again := build(t, other, cluster); again.Secret.Name != o.Secret.Name {
		t.Error("the name of the Secret tells configs apart")
	}
	other.SetResourceVersion("8")
	if again := build(t, other, cluster); again.Secret.Name == o.Secret.Name || again.Pod.Name != o.Pod.Name {
		t.Error("another version of the instance should have another Secret and the same pod")
	}
}

// TestRead demands that a node takes a Secret only from the controller.
func TestRead(t *testing.T) {
	o := build(t, stored(example(t, "testvm-inline.yaml")), launch.Cluster{})
	for name, change := range map[string]func(*corev1.Pod, *corev1.Secret){
		"a pod of another kind":    func(p *corev1.Pod, _ *corev1.Secret) { delete(p.Labels, "kubevirt.io") },
		"another Secret":           func(_ *corev1.Pod, s *corev1.Secret) { s.Name = "other" },
		"another namespace":        func(_ *corev1.Pod, s *corev1.Secret) { s.Namespace = "other" },
		"a Secret of another type": func(_ *corev1.Pod, s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque },
		"a Secret without owner":   func(_ *corev1.Pod, s *corev1.Secret) { s.OwnerReferences = nil },
		"a Secret of another VM":   func(_ *corev1.Pod, s *corev1.Secret) { s.OwnerReferences[0].UID = "other" },
		"an empty Secret":          func(_ *corev1.Pod, s *corev1.Secret) { s.Data = nil },
		"a broken placement":       func(_ *corev1.Pod, s *corev1.Secret) { s.Data["placement.json"] = []byte("{") },
	} {
		pod, secret := o.Pod.DeepCopy(), o.Secret.DeepCopy()
		change(pod, secret)
		if _, err := launch.Read(pod, secret); err == nil {
			t.Errorf("%s is accepted", name)
		} else if strings.Contains(err.Error(), "I2Nsb3VkLWNvbmZpZw") {
			t.Errorf("%s: the error shows user-data", name)
		}
	}
}

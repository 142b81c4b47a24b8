//go:build conformance

package manifests_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/launch"
)

// launched returns what the controller makes of an instance.
func launched(t *testing.T, namespace, name string) launch.Objects {
	t.Helper()
	vmi := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(instance(namespace, "domain: {"+memory+", "+disk+"}\nvolumes: [{name: seed, cloudInitNoCloud: {secretRef: {name: user}}}]")), &vmi.Object); err != nil {
		t.Fatal(err)
	}
	vmi.SetName(name)
	vmi.SetUID(types.UID("22222222-2222-4222-8222-222222222222"))
	review := launch.Check(t.Context(), vmi, launch.Cluster{})
	objects, problems := launch.Build(vmi, review, launch.Cluster{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	// The garbage collector would ask for the instance, which does not exist.
	objects.Pod.OwnerReferences, objects.Secret.OwnerReferences = nil, nil
	return objects
}

// limitsTheController does as the controller what it has to do, and what a stolen token of its could be used for.
func limitsTheController(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	controller, _ := c.as(t, controllerUser[0], controllerUser[1:]...)
	accounts(t, c, namespace)
	made := launched(t, namespace, "good")
	for _, o := range []client.Object{made.Secret, made.Pod} {
		if err := controller.Create(t.Context(), o.DeepCopyObject().(client.Object)); err != nil {
			t.Errorf("the controller cannot create what it makes: %v", err)
		}
	}
	if err := controller.Get(t.Context(), client.ObjectKeyFromObject(made.Secret), &corev1.Secret{}); err == nil {
		t.Error("the controller reads a launch Secret")
	}
	alter := func(what, words string, change func(*corev1.Pod)) {
		pod := launched(t, namespace, "bad").Pod
		change(pod)
		refusedFor(t, what, controller.Create(t.Context(), pod), words)
	}
	const what = "a launcher pod is a VM"
	alter("a pod that is no launcher", "launcher pods only", func(p *corev1.Pod) { delete(p.Annotations, launch.SecretAnnotation) })
	alter("a pod without the label", "launcher pods only", func(p *corev1.Pod) { delete(p.Labels, launch.RoleLabel) })
	alter("a container", what, func(p *corev1.Pod) { delete(p.Annotations, launch.RuntimeAnnotation) })
	alter("a token", what, func(p *corev1.Pod) { p.Spec.AutomountServiceAccountToken = nil })
	alter("the host's network", what, func(p *corev1.Pod) { p.Spec.HostNetwork = true })
	alter("a node of its choice", what, func(p *corev1.Pod) { p.Spec.NodeName = "master" })
	alter("a directory of the host", what, func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "h", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}})
	})
	alter("a projected token", what, func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "h", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}}}}}})
	})
	alter("any node", "extraRuntime=virtlet", func(p *corev1.Pod) { p.Spec.Affinity = nil })
	alter("another alternative", "extraRuntime=virtlet", func(p *corev1.Pod) {
		terms := &p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		*terms = append(*terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "a", Operator: corev1.NodeSelectorOpExists}}})
	})

	secret := &corev1.Secret{ObjectMeta: meta(namespace, "user"), StringData: map[string]string{"userdata": "x"}}
	if err := c.admin.Create(t.Context(), secret.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	refusedFor(t, "deletes a user's Secret", controller.Delete(t.Context(), &corev1.Secret{ObjectMeta: secret.ObjectMeta}), "launch Secrets only")
	refusedFor(t, "makes a Secret of another type", controller.Create(t.Context(), &corev1.Secret{ObjectMeta: meta(namespace, "plain"),
		Type: corev1.SecretTypeOpaque}), "launch Secrets only")
	user := &corev1.Pod{ObjectMeta: meta(namespace, "user"), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "x"}}}}
	if err := c.admin.Create(t.Context(), user.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	refusedFor(t, "deletes a user's pod", controller.Delete(t.Context(), &corev1.Pod{ObjectMeta: user.ObjectMeta}), "launcher pods only")
	if out, err := c.run(t, c.Kubectl, controllerConfig(t, c), "", "exec", "-n", namespace, "user", "--", "id"); err == nil || !strings.Contains(out, "connects to launcher pods only") {
		t.Errorf("the controller runs a command in a user's pod: %v %s", err, out)
	}
	// Whatever further rights its account is given.
	c.must(t, "", "create", "rolebinding", "controller", "-n", namespace, "--clusterrole=edit", "--user="+controllerUser[0])
	eventually(t, "the further rights", func() (bool, string) {
		return may(t, controller, right{"patch", "", "pods", "", "", namespace}), "not yet"
	})
	for _, pod := range []*corev1.Pod{user, made.Pod} {
		refusedFor(t, "makes "+pod.Name+" its own", controller.Patch(t.Context(), pod.DeepCopy(), client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"kubevirt.io":"virt-launcher"},"annotations":{"vmseed.dev/launch-secret":"x"}}}`))), "changes no pod")
	}
	refusedFor(t, "changes a launch Secret", controller.Patch(t.Context(), made.Secret.DeepCopy(), client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"a":"b"}}}`))), "launch Secrets only")
	token := &corev1.Secret{ObjectMeta: meta("kubevirt", "vmseed-api-tls"), Type: corev1.SecretTypeServiceAccountToken}
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	refusedFor(t, "asks for a token in the place of its certificate", controller.Create(t.Context(), token), "launch Secrets only")
	tls := &corev1.Secret{ObjectMeta: meta("kubevirt", "vmseed-api-tls"), Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": {}, "tls.key": {}}}
	if err := controller.Create(t.Context(), tls); err != nil {
		t.Errorf("the controller's own certificate: %v", err)
	}
	for _, o := range []client.Object{made.Pod, made.Secret} {
		if err := controller.Delete(t.Context(), o); err != nil {
			t.Errorf("the controller cannot delete what it made: %v", err)
		}
	}
}

// accounts waits for the service account that pods of a namespace have by default.
func accounts(t *testing.T, c *cluster, namespace string) {
	t.Helper()
	eventually(t, "the account of the namespace", func() (bool, string) {
		err := c.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, "none"
	})
}

// editor returns a client of a user with the role edit in a namespace.
func editor(t *testing.T, c *cluster, namespace string) client.Client {
	t.Helper()
	c.must(t, "", "create", "rolebinding", "editor", "-n", namespace, "--clusterrole=edit", "--user=editor")
	cl, _ := c.as(t, "editor")
	accounts(t, c, namespace)
	return cl
}

// keepsLaunchers has a user with the role edit make what only the controller may.
func keepsLaunchers(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	user := editor(t, c, namespace)
	const words = "made by the controller"
	forged := launched(t, namespace, "forged")
	refusedFor(t, "a user's launcher pod", user.Create(t.Context(), forged.Pod.DeepCopy()), words)
	refusedFor(t, "a user's launch Secret", user.Create(t.Context(), forged.Secret.DeepCopy()), words)
	pod := forged.Pod.DeepCopy()
	delete(pod.Annotations, launch.SecretAnnotation)
	if err := user.Create(t.Context(), pod); err != nil {
		t.Fatalf("an ordinary pod: %v", err)
	}
	change := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"vmseed.dev/launch-secret":"x"}}}`))
	refusedFor(t, "an annotation that makes a pod a launcher", user.Patch(t.Context(), pod, change), words)
	if err := user.Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))); err != nil {
		t.Errorf("another annotation: %v", err)
	}
	real := launched(t, namespace, "real")
	if err := c.admin.Create(t.Context(), real.Pod); err != nil {
		t.Fatalf("an administrator of the cluster: %v", err)
	}
	if err := user.Patch(t.Context(), real.Pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Errorf("another label: %v", err)
	}
	refusedFor(t, "another Secret", user.Patch(t.Context(), real.Pod, change), words)
	for _, name := range []string{launch.SecretAnnotation, launch.RuntimeAnnotation} {
		gone := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+name+`":null}}}`))
		refusedFor(t, "without "+name, user.Patch(t.Context(), real.Pod, gone), words)
	}
	owners := func(list string) client.Patch {
		return client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"ownerReferences":`+list+`}}`))
	}
	owned := owners(`[{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachineInstance","name":"x","uid":"33333333-3333-4333-8333-333333333333"}]`)
	refusedFor(t, "another owner", user.Patch(t.Context(), real.Pod, owned), words)
	orphan := launched(t, namespace, "orphan")
	var account corev1.ServiceAccount // an owner that exists
	if err := c.admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, &account); err != nil {
		t.Fatal(err)
	}
	orphan.Secret.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: account.Name, UID: account.UID}}
	if err := c.admin.Create(t.Context(), orphan.Secret); err != nil {
		t.Fatal(err)
	}
	collector, _ := c.as(t, "system:serviceaccount:kube-system:generic-garbage-collector")
	if err := collector.Patch(t.Context(), orphan.Secret, owners("null")); err != nil {
		t.Errorf("the garbage collector cannot take an owner away: %v", err)
	}
	if err := user.Delete(t.Context(), real.Pod); err != nil {
		t.Errorf("whoever may delete pods may delete launcher pods: %v", err)
	}
}

// keepsInstances has a user and the controller change an instance that is there.
func keepsInstances(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	user := editor(t, c, namespace)
	controller, _ := c.as(t, controllerUser[0], controllerUser[1:]...)
	vmi := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(instance(namespace, "domain: {"+memory+", devices: {}}")), &vmi.Object); err != nil {
		t.Fatal(err)
	}
	vmi.SetUID("")
	if err := user.Create(t.Context(), vmi); err != nil {
		t.Fatalf("a user's instance: %v", err)
	}
	change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"domain":{"firmware":{"uuid":"5a9fc181-957e-5c32-9e5a-2de5e9673531"}}}}`))
	refusedFor(t, "a change by a user", user.Patch(t.Context(), vmi, change), "update of VMI object is restricted")
	if err := user.Patch(t.Context(), vmi, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))); err != nil {
		t.Errorf("a label: %v", err)
	}
	if err := controller.Patch(t.Context(), vmi, change); err != nil {
		t.Errorf("a change by the controller: %v", err)
	}
	if err := user.Delete(t.Context(), vmi); err != nil {
		t.Errorf("deletion: %v", err)
	}
}

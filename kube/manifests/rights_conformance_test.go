//go:build conformance

package manifests_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const ignition = "ExperimentalIgnitionSupport"

// followsTheGate opens and closes the feature gate while machines with and without Ignition data come and go.
func followsTheGate(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	text, err := os.ReadFile("../../examples/kubevirt/myvm1.yml")
	if err != nil {
		t.Fatal(err)
	}
	vmi := instance(namespace, "domain: {"+memory+", devices: {}}")
	withData := strings.Replace(vmi, "metadata: {", "metadata: {annotations: {kubevirt.io/ignitiondata: '{}'}, ", 1)
	withNone := strings.Replace(vmi, "metadata: {", "metadata: {annotations: {kubevirt.io/ignitiondata: ''}, ", 1)
	try := func(text string) (bool, string) { return c.try(t, namespace, text) }
	const words = "ExperimentalIgnitionSupport feature gate is not enabled in kubevirt-config, invalid entry "
	refuses := func(why string) {
		t.Helper()
		eventually(t, why+" closes the gate", func() (bool, string) {
			ok, out := try(string(text))
			return !ok && strings.Contains(out, words+"spec.template.metadata.annotations.kubevirt.io/ignitiondata"), out
		})
		if ok, out := try(withData); ok || !strings.Contains(out, words+"metadata.annotations.kubevirt.io/ignitiondata") {
			t.Errorf("%s: an instance: %s", why, out)
		}
		for _, harmless := range []string{vmi, withNone} {
			if ok, out := try(harmless); !ok {
				t.Errorf("%s: an instance without Ignition data: %s", why, out)
			}
		}
	}
	takes := func(why string) {
		t.Helper()
		eventually(t, why+" opens the gate", func() (bool, string) { return try(string(text)) })
		if ok, out := try(withData); !ok {
			t.Errorf("%s: an instance: %s", why, out)
		}
	}
	configure := func(gates string) {
		t.Helper()
		c.must(t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubevirt-config, namespace: kubevirt, labels: {kubevirt.io: ''}}\ndata: {feature-gates: %q}\n", gates),
			"apply", "-f", "-")
	}
	takes("no configuration, which leaves it to the controller")
	configure("")
	refuses("an empty list")
	configure("LiveMigration, " + ignition + " ,Other")
	takes("a list with it")
	c.must(t, string(text), "create", "-n", namespace, "-f", "-")
	configure("X" + ignition + "X")
	refuses("a name that contains it")
	// What is there can be changed otherwise, and deleted.
	c.must(t, "", "label", "vm", "myvm1", "-n", namespace, "a=b")
	c.must(t, "", "patch", "vm", "myvm1", "-n", namespace, "--type=merge", "-p", `{"spec":{"runStrategy":"Halted"}}`)
	if out, err := c.kubectl(t, "", "patch", "vm", "myvm1", "-n", namespace, "--type=merge", "-p",
		`{"spec":{"template":{"metadata":{"annotations":{"kubevirt.io/ignitiondata":"{}"}}}}}`); err == nil {
		t.Errorf("other Ignition data while the gate is closed: %s", out)
	}
	c.must(t, "", "delete", "vm", "myvm1", "-n", namespace)
	c.must(t, "", "delete", "configmap", "kubevirt-config", "-n", "kubevirt")
	takes("no configuration")
}

// token is the volume that pods get for the token of their service account.
var token = regexp.MustCompile(`kube-api-access-[a-z0-9]+=/ `)

// letsNodesReadSources runs a pod of Virtlet's on a node and reads with the node's own rights what it names.
func letsNodesReadSources(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	eventually(t, "the account of the namespace", func() (bool, string) {
		out, err := c.kubectl(t, "", "get", "serviceaccount", "default", "-n", namespace)
		return err == nil, out
	})
	for _, name := range []string{"data", "keys", "files", "other"} {
		c.must(t, "", "create", "configmap", name, "-n", namespace, "--from-literal=a=b")
		c.must(t, "", "create", "secret", "generic", name, "-n", namespace, "--from-literal=a=b")
	}
	pod := func(name string, annotations ...string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, namespace: %s, annotations: {%s}}\nspec: {nodeName: vmseed-1, containers: [{name: vm, image: virtlet.cloud/x}]}\n",
			name, namespace, strings.Join(annotations, ", "))
	}
	const runtime = "kubernetes.io/target-runtime: virtlet.cloud"
	c.must(t, "apiVersion: v1\nkind: Node\nmetadata: {name: vmseed-1}\n", "create", "-f", "-")
	c.must(t, pod("vm", runtime, "VirtletCloudInitUserDataSource: configmap/data", "VirtletSSHKeySource: Secret/keys/authorized", "VirtletFilesFromDataSource: ConfigMap/files"),
		"create", "-f", "-")
	c.must(t, pod("container", "VirtletSSHKeySource: secret/other"), "create", "-f", "-")
	c.must(t, pod("wrong", runtime, "VirtletSSHKeySource: vault/x", "VirtletFilesFromDataSource: secret/../x", "VirtletCloudInitUserDataSource: ''"), "create", "-f", "-")
	c.must(t, strings.Replace(pod("stated", runtime, "VirtletSSHKeySource: secret/keys"), "spec: {", "spec: {volumes: [{name: vmseed-src-1, secret: {secretName: keys}}], ", 1),
		"create", "-f", "-")
	// Launcher pods are left alone.
	c.must(t, strings.Replace(pod("launcher", runtime, "VirtletSSHKeySource: secret/keys"), "metadata: {", "metadata: {labels: {kubevirt.io: virt-launcher}, ", 1), "create", "-f", "-")

	volumes := func(name string) string {
		return c.must(t, "", "get", "pod", name, "-n", namespace, "-o",
			`jsonpath={range .spec.volumes[*]}{.name}={.configMap.name}{.secret.secretName}/{.configMap.optional}{.secret.optional} {end}`)
	}
	for name, want := range map[string]string{
		"vm": "vmseed-src-0=data/true vmseed-src-1=keys/true vmseed-src-2=files/true ", "container": "", "wrong": "", "launcher": "", "stated": "vmseed-src-1=keys/ ",
	} {
		got := volumes(name)
		if got = token.ReplaceAllString(got, ""); got != want {
			t.Errorf("the pod %s has the volumes %q, not %q", name, got, want)
		}
	}

	node, _ := c.as(t, "system:node:vmseed-1", "system:nodes")
	read := func(o client.Object, name string) error {
		return node.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	}
	eventually(t, "the node may read what the pod names", func() (bool, string) {
		err := read(&corev1.ConfigMap{}, "data")
		if err == nil {
			err = read(&corev1.Secret{}, "keys")
		}
		if err == nil {
			err = read(&corev1.ConfigMap{}, "files")
		}
		return err == nil, fmt.Sprint(err)
	})
	for what, err := range map[string]error{
		"configmap/keys": read(&corev1.ConfigMap{}, "keys"), "secret/data": read(&corev1.Secret{}, "data"), "secret/files": read(&corev1.Secret{}, "files"),
		"secret/other": read(&corev1.Secret{}, "other"),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s, which no pod names: %v", what, err)
		}
	}
	other, _ := c.as(t, "system:node:vmseed-2", "system:nodes")
	if err := other.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "keys"}, &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Errorf("another node reads the Secret: %v", err)
	}
	if err := node.List(t.Context(), &corev1.SecretList{}, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("a node lists Secrets: %v", err)
	}
}

// right is what an access rule may allow.
type right struct{ verb, group, resource, subresource, name, namespace string }

// may asks the API server whether the user of a client has a right, as kubectl auth can-i does.
func may(t *testing.T, user client.Client, r right) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.subresource, Name: r.name, Namespace: r.namespace}}}
	if err := user.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// allowsUsers asks the API server who may do what.
func allowsUsers(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	users := map[string]client.Client{}
	users["controller"], _ = c.as(t, controllerUser[0], controllerUser[1:]...)
	users["node"], _ = c.as(t, "system:node:vmseed-1", "system:nodes")
	users["nobody"], _ = c.as(t, "nobody")
	for _, role := range []string{"admin", "edit", "view"} {
		c.must(t, "", "create", "rolebinding", role, "-n", namespace, "--clusterrole="+role, "--user="+role+"-user")
		users[role], _ = c.as(t, role+"-user")
	}
	const kv, sub, vm, vmi = "kubevirt.io", "subresources.kubevirt.io", "virtualmachines", "virtualmachineinstances"
	eventually(t, "the roles of namespaces have our rights", func() (bool, string) {
		return may(t, users["view"], right{"get", kv, vm, "", "", namespace}), "not yet"
	})
	for _, row := range []struct {
		right
		who string // those who may
	}{
		{right{"create", kv, vm, "", "", ""}, "admin edit"}, {right{"delete", kv, vmi, "", "", ""}, "admin edit controller"},
		{right{"deletecollection", kv, vm, "", "", ""}, "admin"}, {right{"list", kv, vmi, "", "", ""}, "admin edit view controller"},
		{right{"watch", kv, vm, "", "", ""}, "admin edit view controller"}, {right{"create", kv, vmi, "", "", ""}, "admin edit controller"},
		{right{"update", kv, vm, "status", "", ""}, "controller"}, {right{"update", kv, vmi, "finalizers", "", ""}, "controller"},
		{right{"update", sub, vm, "start", "", ""}, "admin edit"}, {right{"update", sub, vm, "stop", "", ""}, "admin edit"},
		{right{"update", sub, vm, "restart", "", ""}, "admin edit"}, {right{"get", sub, vmi, "console", "", ""}, "admin edit"},
		{right{"get", sub, vmi, "portforward", "", ""}, "admin edit"}, {right{"get", sub, vmi, "guestosinfo", "", ""}, "admin edit view"},
		{right{"get", "", "secrets", "", "", ""}, "admin edit"}, {right{"list", "", "secrets", "", "", ""}, "admin edit"},
		{right{"watch", "", "secrets", "", "", ""}, "admin edit"}, {right{"create", "", "secrets", "", "", ""}, "admin edit controller"},
		{right{"get", "", "configmaps", "", "", ""}, "admin edit view"}, {right{"update", "", "pods", "", "", ""}, "admin edit"},
		{right{"patch", "", "pods", "", "", ""}, "admin edit"}, {right{"update", "", "secrets", "", "", ""}, "admin edit"},
		{right{"create", "", "pods", "exec", "", ""}, "admin edit controller"}, {right{"create", "vmseed.dev", "launchers", "", "", ""}, "controller"},
		{right{"create", "rbac.authorization.k8s.io", "roles", "", "", ""}, "admin"}, {right{"impersonate", "", "users", "", "", ""}, ""},
		{right{"create", "authentication.k8s.io", "tokenreviews", "", "", ""}, "node"},
	} {
		row.namespace = namespace
		for who, user := range users {
			if got, want := may(t, user, row.right), strings.Contains(" "+row.who+" ", " "+who+" "); got != want {
				t.Errorf("may %s %+v? %v", who, row.right, got)
			}
		}
	}
	for r, want := range map[right]bool{
		{"get", "", "configmaps", "", "kubevirt-config", ""}: true, {"watch", "", "configmaps", "", "kubevirt-config", ""}: true, {"get", "", "configmaps", "", "other", ""}: false,
		{"get", "", "secrets", "", "vmseed-api-tls", ""}: true, {"get", "", "secrets", "", "other", ""}: false, {"list", "", "secrets", "", "", ""}: false,
		{"update", "coordination.k8s.io", "leases", "", "vmseed-controller", ""}: true, {"update", "coordination.k8s.io", "leases", "", "other", ""}: false,
		{"list", kv, "kubevirts", "", "", ""}: true,
	} {
		r.namespace = "kubevirt"
		if got := may(t, users["controller"], r); got != want {
			t.Errorf("may the controller %+v? %v", r, got)
		}
	}
	// The controller's informer asks for the ConfigMap by a selector of its name.
	if err := users["controller"].List(t.Context(), &corev1.ConfigMapList{}, client.InNamespace("kubevirt"), client.MatchingFields{"metadata.name": "kubevirt-config"}); err != nil {
		t.Error(err)
	}
	_, kubeconfig := c.as(t, "edit-user")
	if out, err := c.run(t, c.Kubectl, kubeconfig, "", "auth", "can-i", "create", "vm", "-n", namespace); err != nil || !strings.HasPrefix(out, "yes") {
		t.Errorf("kubectl auth can-i: %s", out)
	}
}

// controllerUser is the controller's service account, and its groups.
var controllerUser = []string{"system:serviceaccount:kubevirt:vmseed-controller", "system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated"}

func controllerConfig(t *testing.T, c *cluster) string {
	t.Helper()
	_, path := c.as(t, controllerUser[0], controllerUser[1:]...)
	return path
}

// refusedFor fails unless an error is a refusal with some words.
func refusedFor(t *testing.T, what string, err error, words string) {
	t.Helper()
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v; a refusal with %q is due", what, err, words)
	}
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

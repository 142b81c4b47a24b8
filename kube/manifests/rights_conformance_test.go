//go:build conformance

package manifests_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

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
	try := func(text string) (bool, string) {
		out, err := c.kubectl(t, text, "create", "--dry-run=server", "-n", namespace, "-f", "-")
		return err == nil, out
	}
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

	volumes := func(name string) string {
		return c.must(t, "", "get", "pod", name, "-n", namespace, "-o",
			`jsonpath={range .spec.volumes[*]}{.name}={.configMap.name}{.secret.secretName}/{.configMap.optional}{.secret.optional} {end}`)
	}
	for name, want := range map[string]string{
		"vm": "vmseed-src-0=data/true vmseed-src-1=keys/true vmseed-src-2=files/true ", "container": "", "wrong": "", "stated": "vmseed-src-1=keys/ ",
	} {
		got := volumes(name)
		if i := strings.Index(got, "kube-api-access"); i >= 0 {
			got = got[:i] + strings.TrimLeft(got[i:], "kube-api-access-bcdfghjklmnpqrstvwxz2456789=/ ")
		}
		if got != want {
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

// allowsUsers asks the API server who may do what.
func allowsUsers(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	kubeconfigs := map[string]string{"controller": controllerConfig(t, c), "node": ""}
	_, kubeconfigs["node"] = c.as(t, "system:node:vmseed-1", "system:nodes")
	for _, role := range []string{"admin", "edit", "view"} {
		c.must(t, "", "create", "rolebinding", role, "-n", namespace, "--clusterrole="+role, "--user="+role+"-user")
		_, kubeconfigs[role] = c.as(t, role+"-user")
	}
	_, kubeconfigs["nobody"] = c.as(t, "nobody")
	may := func(who, verb, resource string) bool {
		args := []string{"auth", "can-i", verb, resource, "-n", namespace}
		if base, sub, ok := strings.Cut(resource, "/"); ok {
			args = []string{"auth", "can-i", verb, base, "--subresource=" + sub, "-n", namespace}
		}
		out, _ := c.run(t, c.Kubectl, kubeconfigs[who], "", args...)
		return strings.HasPrefix(out, "yes")
	}
	const vm, vmi, sub = "virtualmachines.kubevirt.io", "virtualmachineinstances.kubevirt.io", ".subresources.kubevirt.io"
	eventually(t, "the roles of namespaces have our rights", func() (bool, string) { return may("view", "get", vm), "not yet" })
	for _, row := range []struct {
		verb, resource string
		who            string // those who may
	}{
		{"create", vm, "admin edit"}, {"delete", vmi, "admin edit controller"}, {"deletecollection", vm, "admin"},
		{"list", vmi, "admin edit view controller"}, {"watch", vm, "admin edit view controller"}, {"create", vmi, "admin edit controller"},
		{"update", vm + "/status", "controller"}, {"update", vmi + "/status", "controller"}, {"update", vmi + "/finalizers", "controller"},
		{"update", "virtualmachines" + sub + "/start", "admin edit"}, {"update", "virtualmachines" + sub + "/stop", "admin edit"},
		{"update", "virtualmachines" + sub + "/restart", "admin edit"}, {"get", "virtualmachineinstances" + sub + "/console", "admin edit"},
		{"get", "virtualmachineinstances" + sub + "/portforward", "admin edit"}, {"get", "virtualmachineinstances" + sub + "/guestosinfo", "admin edit view"},
		{"get", "secrets", "admin edit"}, {"list", "secrets", "admin edit"}, {"create", "secrets", "admin edit controller"}, {"watch", "secrets", "admin edit"},
		{"create", "pods", "admin edit controller"}, {"update", "pods", "admin edit"}, {"create", "launchers.vmseed.dev", "controller"},
		{"create", "pods/exec", "admin edit controller"}, {"create", "roles.rbac.authorization.k8s.io", "admin"},
		{"get", "configmaps", "admin edit view"}, {"impersonate", "users", ""}, {"create", "tokenreviews.authentication.k8s.io", "node"},
	} {
		for who := range kubeconfigs {
			want := strings.Contains(" "+row.who+" ", " "+who+" ")
			if who == "node" && (row.resource == "pods" && row.verb == "create") {
				continue // mirror pods, which NodeRestriction limits
			}
			if got := may(who, row.verb, row.resource); got != want {
				t.Errorf("may %s %s %s? %v", who, row.verb, row.resource, got)
			}
		}
	}
	inHome := func(args ...string) bool {
		out, _ := c.run(t, c.Kubectl, kubeconfigs["controller"], "", append([]string{"auth", "can-i", "-n", "kubevirt"}, args...)...)
		return strings.HasPrefix(out, "yes")
	}
	for args, want := range map[string]bool{
		"get configmap/kubevirt-config": true, "get configmap/other": false, "get secret/vmseed-api-tls": true, "update secret/vmseed-api-tls": true,
		"get secret/other": false, "list secrets": false, "get lease/vmseed-controller": true, "update lease/other": false, "list kubevirts.kubevirt.io": true,
	} {
		if got := inHome(strings.Fields(args)...); got != want {
			t.Errorf("may the controller %s at home? %v", args, got)
		}
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

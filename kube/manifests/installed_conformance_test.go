//go:build conformance

package manifests_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/vmseed/vmseed/kube/manifests"
)

// TestInstalled judges the objects by a real API server: what it takes, keeps, refuses and allows once they are applied.
func TestInstalled(t *testing.T) {
	t.Parallel()
	c := start(t)
	if !t.Run("Apply", func(t *testing.T) { appliesEveryWay(t, c) }) {
		return
	}
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"Seeds", keepsSeeds},
		{"Refuses", refusesBadObjects},
		{"Trusts", trustsTheController},
		{"Gate", followsTheGate},
		{"Kubectl", printsAsUpstream},
		{"Nodes", letsNodesReadSources},
		{"Users", allowsUsers},
		{"Controller", limitsTheController},
		{"Launchers", keepsLaunchers},
		{"Instances", keepsInstances},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
	// The last ones: they take things away.
	t.Run("Owner", func(t *testing.T) { refusesForeignDefinitions(t, c) })
	t.Run("Delete", func(t *testing.T) { c.must(t, "", "delete", "--ignore-not-found", "--wait", "-k", "../config/default") })
}

// appliesEveryWay applies the tree with two kubectls, on either side, and from this package, each over the other. Nothing is
// deleted in between: an API server of 1.36 stops to watch ConfigMaps when the last policy that has one as its parameter
// is deleted, and does not begin again.
func appliesEveryWay(t *testing.T, c *cluster) {
	old, err := exec.LookPath("kubectl")
	if err != nil {
		t.Log("there is no second kubectl on this machine; the cluster's own applies everything")
		old = c.Kubectl
	}
	for range 2 {
		// On the client's side: a copy of each object is kept in an annotation, which has a limit.
		if out, err := c.run(t, old, c.Kubeconfig, "", "apply", "-k", "../config/default"); err != nil {
			t.Fatalf("%s apply -k: %v\n%s", old, err, out)
		}
	}
	c.install(t)
	out := c.must(t, "", "apply", "--server-side", "-k", "../config/default")
	objects, err := manifests.Objects(manifests.Parts(false)...)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out, "serverside-applied"); n != len(objects) {
		t.Errorf("kubectl applied %d objects and the package has %d:\n%s", n, len(objects), out)
	}
	// Fields of the same value have both as owners.
	if err := manifests.Apply(t.Context(), c.admin, objects); err != nil {
		t.Error(err)
	}
	for _, tree := range []string{"kubernetes-1.30", "beside"} {
		c.must(t, "", "apply", "--server-side", "--dry-run=server", "-k", "../config/"+tree)
	}
	eventually(t, "type checking of the policies", func() (bool, string) {
		out := c.must(t, "", "get", "validatingadmissionpolicies", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.typeChecking}{\"\\n\"}{end}")
		return strings.Count(out, "={") >= 5, out
	})
	if out := c.must(t, "", "get", "validatingadmissionpolicies", "-o", "jsonpath={..status.typeChecking.expressionWarnings}"); out != "" {
		t.Errorf("the API server warns about expressions: %s", out)
	}
}

// examples are the documents of the seeds and those written for vmseed, in files of the repository.
var examples = []string{"myvm1.yml", "myvm1-mended.yml", "testvm-inline.yaml", "testvm-secret.yaml", "testvm-provider.yaml", "extended-vm.yaml"}

// keepsSeeds creates each example in each version and reads it back in each: nothing may be missing or added.
func keepsSeeds(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	for _, file := range examples {
		text, err := os.ReadFile("../../examples/kubevirt/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, version := range []string{"", "v1", "v1alpha3", "v1alpha2"} {
			t.Run(file+"/"+version, func(t *testing.T) {
				objects, err := manifests.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				for _, o := range objects {
					if o.GroupVersionKind().Group == "kubevirt.io" {
						o.SetNamespace(namespace)
						keeps(t, c, o, version)
					}
				}
			})
		}
	}
}

func keeps(t *testing.T, c *cluster, o *unstructured.Unstructured, version string) {
	t.Helper()
	if version != "" {
		o.SetAPIVersion("kubevirt.io/" + version)
	}
	want, err := yaml.Marshal(o.Object)
	if err != nil {
		t.Fatal(err)
	}
	// Numbers as clients have them.
	given := &unstructured.Unstructured{}
	if data, err := o.MarshalJSON(); err != nil {
		t.Fatal(err)
	} else if err := given.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	// Fields that no schema names are refused. One of the versions goes through kubectl, with what that adds.
	if version != "" {
		if err := c.admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	} else if out := c.must(t, string(want), "create", "--validate=strict", "-f", "-"); strings.Contains(out, "Warning") {
		t.Errorf("kubectl create says\n%s", out)
	}
	defer func() {
		if err := c.admin.Delete(t.Context(), o); err != nil {
			t.Error(err)
		}
	}()
	// A status, as a controller writes it, must not cost the spec anything.
	for _, version := range []string{"v1", "v1alpha3", "v1alpha2"} {
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(o.GroupVersionKind())
		got.SetAPIVersion("kubevirt.io/" + version)
		if err := c.admin.Get(t.Context(), client.ObjectKeyFromObject(o), got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(given.Object["spec"], got.Object["spec"]); diff != "" {
			t.Errorf("read as %s the spec differs (-given +kept):\n%s", version, diff)
		}
		patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
		if err := c.admin.Status().Patch(t.Context(), got, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			t.Errorf("the status, written as %s: %v", version, err)
		}
	}
}

// printsAsUpstream holds the columns, names and categories that kubectl's users know.
func printsAsUpstream(t *testing.T, c *cluster) {
	namespace := c.namespace(t)
	c.must(t, "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: myvm}\nspec: {runStrategy: Halted, template: {spec: {domain: {devices: {}}}}}\n",
		"create", "-n", namespace, "-f", "-")
	c.must(t, "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: myvm}\nspec: {domain: {memory: {guest: 1Gi}, devices: {}}}\n",
		"create", "-n", namespace, "-f", "-")
	c.must(t, "", "patch", "vm", "myvm", "-n", namespace, "--subresource=status", "--type=merge", "-p",
		`{"status":{"printableStatus":"Starting","conditions":[{"type":"Ready","status":"False"}]}}`)
	c.must(t, "", "patch", "vmi", "myvm", "-n", namespace, "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Running","nodeName":"node01","interfaces":[{"ipAddress":"10.244.0.12"}],"conditions":[{"type":"Ready","status":"True"},{"type":"LiveMigratable","status":"False"}]}}`)
	for _, c2 := range []struct {
		args   []string
		header string
		row    []string
	}{
		{[]string{"get", "vm"}, "NAME AGE STATUS READY", []string{"myvm", "", "Starting", "False"}},
		{[]string{"get", "vmi"}, "NAME AGE PHASE IP NODENAME READY", []string{"myvm", "", "Running", "10.244.0.12", "node01", "True"}},
		{[]string{"get", "vmis", "-o", "wide"}, "NAME AGE PHASE IP NODENAME READY LIVE-MIGRATABLE PAUSED", []string{"myvm", "", "Running", "10.244.0.12", "node01", "True", "False"}},
	} {
		lines := strings.Split(strings.TrimSpace(c.must(t, "", append(c2.args, "-n", namespace)...)), "\n")
		if got := strings.Join(strings.Fields(lines[0]), " "); got != c2.header || len(lines) != 2 {
			t.Errorf("%v: the columns are %q, not %q", c2.args, got, c2.header)
			continue
		}
		row := strings.Fields(lines[1])
		for i, want := range c2.row {
			if want != "" && (len(row) <= i || row[i] != want) {
				t.Errorf("%v: %q, not %q", c2.args, lines[1], c2.row)
			}
		}
	}
	if out := c.must(t, "", "get", "all", "-n", namespace); !strings.Contains(out, "virtualmachine.kubevirt.io/myvm") || !strings.Contains(out, "virtualmachineinstance.kubevirt.io/myvm") {
		t.Errorf("kubectl get all leaves machines out:\n%s", out)
	}
	c.must(t, "", "wait", "-n", namespace, "--for=condition=Ready", "vmi/myvm")
	if out := c.must(t, "", "explain", "vm.spec.runStrategy"); !strings.Contains(out, "<string>") {
		t.Errorf("kubectl explain does not know the schema:\n%s", out)
	}
}

// refusesForeignDefinitions lets somebody else own a definition.
func refusesForeignDefinitions(t *testing.T, c *cluster) {
	if err := manifests.CheckOwner(t.Context(), c.admin); err != nil {
		t.Fatalf("our own definitions: %v", err)
	}
	c.must(t, "", "delete", "-k", "../config/crd", "--wait")
	if err := manifests.CheckOwner(t.Context(), c.admin); err != nil {
		t.Fatalf("no definitions: %v", err)
	}
	text, err := os.ReadFile("../config/crd/virtualmachines.yaml")
	if err != nil {
		t.Fatal(err)
	}
	foreign := strings.ReplaceAll(string(text), "managed-by: vmseed", "managed-by: virt-operator")
	c.must(t, foreign, "create", "--field-manager=virt-operator", "-f", "-")
	objects, err := manifests.Objects(manifests.CRD)
	if err != nil {
		t.Fatal(err)
	}
	err = manifests.Apply(t.Context(), c.admin, objects)
	if !errors.Is(err, manifests.ErrForeign) || !strings.Contains(err.Error(), "virtualmachines.kubevirt.io") || !strings.Contains(err.Error(), "virt-operator") {
		t.Errorf("with definitions of another owner: %v", err)
	}
	if out, err := c.kubectl(t, "", "apply", "--server-side", "-k", "../config/crd"); err == nil || !strings.Contains(out, "conflict") || !strings.Contains(out, "virt-operator") {
		t.Errorf("kubectl apply --server-side took another owner's definition: %v\n%s", err, out)
	}
	if err := manifests.CheckOwner(t.Context(), c.admin); !errors.Is(err, manifests.ErrForeign) {
		t.Errorf("after that: %v", err)
	}
}

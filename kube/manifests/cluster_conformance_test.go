//go:build conformance

package manifests_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
	"github.com/vmseed/vmseed/kube/manifests"
)

// patience is how long anything may take that a cluster does in its own time.
const patience = 3 * time.Minute

// cluster is a real control plane with vmseed installed on it.
type cluster struct {
	*controlplane.ControlPlane
	dir   string
	admin client.Client
}

// start starts a control plane on which nothing is installed.
func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	c.ControlPlane = controlplanetest.Start(t, controlplane.Options{})
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	// kubectl asks for strict validation as well.
	if c.admin, err = client.New(config, client.Options{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	return c
}

// as returns a client of a user in groups, and the path of its kubeconfig.
func (c *cluster) as(t *testing.T, user string, groups ...string) (client.Client, string) {
	t.Helper()
	config, err := c.As(user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := c.WriteKubeconfig(filepath.Join(t.TempDir(), "kubeconfig"), user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return cl, path
}

// kubectl runs the kubectl of the cluster's release as its administrator, and returns what it prints, with what it prints
// to standard error if that is an error or a warning.
func (c *cluster) kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	return c.run(t, c.Kubectl, c.Kubeconfig, stdin, args...)
}

func (c *cluster) run(t *testing.T, program, kubeconfig, stdin string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+c.dir)
	command.Stdin = strings.NewReader(stdin)
	var out, problems strings.Builder
	command.Stdout, command.Stderr = &out, &problems
	err := command.Run()
	if err != nil || strings.Contains(problems.String(), "Warning") {
		out.WriteString(problems.String())
	}
	return out.String(), err
}

// must is kubectl for what has to succeed.
func (c *cluster) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := c.kubectl(t, stdin, args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// try asks the API server whether it would create the objects of a text in a namespace, without kubectl, which takes most
// of a second to start. The text of a refusal is returned.
func (c *cluster) try(t *testing.T, namespace, text string) (bool, string) {
	t.Helper()
	objects, err := manifests.Parse([]byte(text))
	if err != nil || len(objects) == 0 {
		t.Fatalf("%d objects: %v", len(objects), err)
	}
	for _, o := range objects {
		o.SetNamespace(namespace)
		if err := c.admin.Create(t.Context(), o, client.DryRunAll); err != nil {
			return false, err.Error()
		}
	}
	return true, "created"
}

// namespace makes a namespace for a test.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-", " ", "-").Replace(t.Name()))
	if len(name) > 60 {
		name = strings.Trim(name[len(name)-60:], "-")
	}
	c.must(t, "", "create", "namespace", name)
	return name
}

// eventually waits until a condition holds. What the condition returns last is in the failure.
func eventually(t *testing.T, what string, condition func() (bool, string)) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		var ok bool
		ok, last = condition()
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last: %s", what, err, last)
	}
}

// install applies the whole tree as the documentation says, and waits until the policies are in force.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	c.must(t, "", "apply", "--server-side", "-k", "../config/default")
	c.must(t, "", "wait", "--for=condition=Established", "crd/virtualmachines.kubevirt.io", "crd/virtualmachineinstances.kubevirt.io", "crd/kubevirts.kubevirt.io")
	for _, probe := range []string{
		"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: probe, namespace: default}\nspec: {domain: {devices: {}}}\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: probe, namespace: default, annotations: {kubernetes.io/target-runtime: virtlet.cloud, " +
			"VirtletSSHKeySource: secret/x}}\nspec: {containers: [{name: vm, image: virtlet.cloud/x}]}\n",
	} {
		eventually(t, "policies in force", func() (bool, string) {
			out, err := c.kubectl(t, probe, "apply", "--dry-run=server", "-o", "yaml", "-f", "-")
			return err != nil && strings.Contains(out, "no memory requested") || strings.Contains(out, "vmseed-src-1"), out
		})
	}
}

//go:build conformance

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
)

const instance = `apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: a, namespace: default}
spec:
  domain:
    memory: {guest: 1Gi}
    devices: {disks: [{name: root, disk: {bus: virtio}}, {name: seed, disk: {bus: virtio}}]}
  volumes:
  - name: root
    containerDisk: {image: quay.io/containerdisks/debian:13}
  - name: seed
    cloudInitNoCloud: {secretRef: {name: first-boot}}
`

// TestCluster has the commands for definitions find a Secret at a real API server, as a user who may read it and as one who may not.
func TestCluster(t *testing.T) {
	c := controlplanetest.Start(t, controlplane.Options{Alone: true})
	config, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	vm := filepath.Join(t.TempDir(), "vm.yaml")
	if err := os.WriteFile(vm, []byte(instance), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, problems := call("check", "--kubeconfig", c.Kubeconfig, vm); status != 1 || !strings.Contains(problems, "first-boot") || !strings.Contains(problems, "vm.yaml:") {
		t.Errorf("before there is a Secret: %d, %s", status, problems)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "first-boot"}, StringData: map[string]string{"userdata": "#cloud-config\nhostname: of-the-cluster\n"}}
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	status, out, problems := call("show", "--kubeconfig", c.Kubeconfig, vm)
	if status != 0 || !strings.Contains(out, "hostname: of-the-cluster") {
		t.Errorf("show: %d, %s%s", status, out, problems)
	}
	seed := filepath.Join(t.TempDir(), "seed.iso")
	if status, _, problems := call("render", "-o", seed, "--kubeconfig", c.Kubeconfig, vm); status != 0 {
		t.Errorf("render: %d, %s", status, problems)
	}
	if status, out, problems := call("show", seed); status != 0 || !strings.Contains(out, "hostname: of-the-cluster") {
		t.Errorf("show the seed: %d, %s%s", status, out, problems)
	}
	// What the command line holds goes before the cluster.
	own := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(own, []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: first-boot, namespace: default}\nstringData: {userdata: \"#cloud-config\\nhostname: of-the-file\\n\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, problems := call("show", "--kubeconfig", c.Kubeconfig, vm, own); status != 0 || !strings.Contains(out, "hostname: of-the-file") {
		t.Errorf("show with a Secret of its own: %d, %s%s", status, out, problems)
	}
	stranger, err := c.WriteKubeconfig(filepath.Join(t.TempDir(), "stranger"), "stranger")
	if err != nil {
		t.Fatal(err)
	}
	if status, _, problems := call("check", "--kubeconfig", stranger, vm); status == 0 || !strings.Contains(problems, "the API server forbids it") || strings.Contains(problems, "of-the-cluster") {
		t.Errorf("as a stranger: %d, %s", status, problems)
	}
}

//go:build e2e && linux

package network

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/hosttest"
	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// limit is how long anything may take, such as the first boot of a guest: these machines are shared.
const limit = "25m"

// The node's network.
const (
	subnet4, subnet6   = "10.88.0.0/24", "fd88::/64"
	gateway4, gateway6 = "10.88.0.1", "fd88::1"
	mtu                = "1400"
	nameServer         = "10.88.0.53"
)

// world is the cluster that the tests share.
type world struct {
	*cluster.Cluster
	dir, debian string
}

// lab is where the cluster is, once the first test has asked for it.
var lab laboratory

type laboratory struct {
	world *world
	dir   string
}

// end ends the cluster, and tells what its parts have said if something went wrong.
func (l *laboratory) end(failed bool) error {
	if l.dir == "" {
		return nil
	}
	var err error
	if w := l.world; w != nil {
		if failed {
			w.Logs(os.Stderr)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		err = errors.Join(w.Stop(), w.SwitchOff(ctx))
	}
	return errors.Join(err, os.RemoveAll(l.dir))
}

// shared returns the world.
func shared(t *testing.T) *world {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "qemu-img", "/usr/lib/cni/bridge", "/usr/lib/cni/host-local"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP-MISSING: there is no %s", tool)
		}
	}
	if lab.world == nil {
		w, err := begin(t)
		if errors.Is(err, controlplane.ErrMissing) {
			t.Skip("SKIP-MISSING: " + err.Error())
		}
		if err != nil {
			t.Fatal(err)
		}
		lab.world = w
	}
	return lab.world
}

func begin(t *testing.T) (*world, error) {
	var err error
	if lab.dir == "" {
		// The sockets of VMs have long names already.
		if lab.dir, err = os.MkdirTemp("", "knet"); err != nil {
			return nil, err
		}
	}
	w := &world{dir: lab.dir}
	program := filepath.Join(w.dir, "vmseed-kube")
	var missing error
	ok := t.Run("programs", func(t *testing.T) {
		hosttest.Machine(t)
		if out, err := exec.Command("go", "build", "-o", program, "../../cmd/vmseed-kube").CombinedOutput(); err != nil {
			t.Fatalf("building vmseed-kube: %v: %s", err, out)
		}
		_, missing = controlplane.Build(t.Context())
		w.debian = testguest.Disk(t)
	})
	switch {
	case !ok:
		t.FailNow()
	case missing != nil:
		return nil, missing
	case w.debian == "":
		t.Skip("SKIP-MISSING: the guest cannot be made here")
	}
	images := filepath.Join(w.dir, "images")
	err = errors.Join(os.Mkdir(images, 0o755), os.Mkdir(filepath.Join(w.dir, "cni"), 0o755), os.Symlink(w.debian, filepath.Join(images, "debian.img")),
		os.WriteFile(filepath.Join(images, "tiny.img"), tinyguest.Image(), 0o644),
		os.WriteFile(filepath.Join(w.dir, "cni", "10-pods.conflist"), []byte(w.conflist()), 0o644))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	w.Cluster, err = cluster.Start(ctx, cluster.Options{Dir: w.dir, Program: program, Nodes: 1, NodeFlags: []string{
		"--image-dir", images, "--accel", "tcg", "--disk-pressure-below", "1Gi", "--cni-conf-dir", filepath.Join(w.dir, "cni"), "--cni-bin-dir", "/usr/lib/cni",
		"--cluster-dns", nameServer, "--cluster-domain", "cluster.test",
	}})
	return w, err
}

// conflist is the configuration of the network, as an administrator writes it.
func (w *world) conflist() string {
	return `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "isDefaultGateway": true, "mtu": ` + mtu + `,
	"ipam": {"type": "host-local", "dataDir": "` + w.reserved() + `", "ranges": [[{"subnet": "` + subnet4 + `"}], [{"subnet": "` + subnet6 + `"}]]}}]}`
}

// reserved is the directory in which the plugin host-local keeps who has which address.
func (w *world) reserved() string { return filepath.Join(w.dir, "ipam") }

// kubectl runs it and returns what it says on its standard output.
func (w *world) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, _, err := w.Run(t.Context(), nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies documents.
func (w *world) apply(t *testing.T, documents ...string) {
	t.Helper()
	if _, _, err := w.Run(t.Context(), strings.NewReader(strings.Join(documents, "\n---\n")), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// ready waits until a pod is ready, and returns its addresses.
func (w *world) ready(t *testing.T, pod string) []netip.Addr {
	t.Helper()
	w.kubectl(t, "wait", "pod/"+pod, "--for=condition=Ready", "--timeout", limit)
	var out []netip.Addr
	for _, text := range strings.Fields(w.kubectl(t, "get", "pod/"+pod, "-o", "jsonpath={.status.podIPs[*].ip}")) {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ip)
	}
	if len(out) != 2 || !netip.MustParsePrefix(subnet4).Contains(out[0]) || !netip.MustParsePrefix(subnet6).Contains(out[1]) {
		t.Fatalf("the addresses of pod %s are %v, want one of %s and one of %s", pod, out, subnet4, subnet6)
	}
	if ip := w.kubectl(t, "get", "pod/"+pod, "-o", "jsonpath={.status.podIP}"); ip != out[0].String() {
		t.Errorf("the pod's IP is %s, its IPs are %v", ip, out)
	}
	return out
}

// remove deletes pods and waits until they are gone.
func (w *world) remove(t *testing.T, pods ...string) {
	t.Helper()
	w.kubectl(t, append([]string{"delete", "pod", "--wait", "--timeout", limit}, pods...)...)
}

// tell says at the end of a test that failed what became of its pods.
func (w *world) tell(t *testing.T) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, args := range [][]string{{"describe", "pods"}, {"logs", "root", "--tail", "60"}, {"logs", "cloud", "--tail", "60"}} {
			out, _, err := w.Run(context.Background(), nil, args...)
			t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	})
}

// examine makes checks inside a guest with a guest agent.
func (w *world) examine(t *testing.T, pod string, checks []testguest.Check) {
	t.Helper()
	testguest.Examine(t, func(script string) string { return w.kubectl(t, "exec", pod, "--", "/bin/sh", "-c", script) }, checks)
}

// pod is a document of a pod that becomes a VM.
func pod(name, annotations, container, rest string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  annotations:
    kubernetes.io/target-runtime: virtlet.cloud
%sspec:
  terminationGracePeriodSeconds: 300
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions:
          - {key: extraRuntime, operator: In, values: [virtlet]}
  containers:
  - name: vm
%s%s`, name, annotations, container, rest)
}

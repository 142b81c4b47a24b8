//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// limit is how long a guest may take for its first boot, and anything else for anything else: these machines are shared.
const limit = "20m"

// world is what the tests share: one cluster with two nodes.
type world struct {
	*cluster.Cluster
	// images is the directory of images of both nodes.
	images string
}

// lab makes the world when the first test asks for it, and ends it after the last.
var lab struct {
	once  sync.Once
	world *world
	err   error
	dir   string
}

func TestMain(m *testing.M) {
	flag.Parse()
	status := m.Run()
	if w := lab.world; w != nil {
		if status != 0 {
			w.Logs(os.Stderr)
		}
		if err := w.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "ending the cluster:", err)
			status = max(status, 1)
		}
	}
	if lab.dir != "" {
		_ = os.RemoveAll(lab.dir)
	}
	os.Exit(status)
}

// shared returns the world.
func shared(t *testing.T) *world {
	t.Helper()
	for _, tool := range []string{"qemu-system-x86_64", "qemu-img", "ssh", "ssh-keygen"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIP-MISSING: there is no %s", tool)
		}
	}
	lab.once.Do(func() { lab.world, lab.err = begin(t) })
	if errors.Is(lab.err, controlplane.ErrMissing) {
		t.Skip("SKIP-MISSING: " + lab.err.Error())
	}
	if lab.err != nil {
		t.Fatal(lab.err)
	}
	return lab.world
}

func begin(t *testing.T) (*world, error) {
	// The sockets of VMs have long names already.
	dir, err := os.MkdirTemp("", "kube")
	if err != nil {
		return nil, err
	}
	lab.dir = dir
	w := &world{images: filepath.Join(dir, "images")}
	program := filepath.Join(dir, "vmseed-kube")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/vmseed-kube").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building vmseed-kube: %w: %s", err, out)
	}
	for name, link := range map[string]string{
		"cloud-images.ubuntu.com/xenial/current/xenial-server-cloudimg-amd64-disk1.img": testguest.Disk(t),
		"kubevirt/fedora-cloud-container-disk-demo.img":                                 testguest.IgnitionDisk(t),
		"kubevirt/cirros-container-disk-demo:devel.img":                                 testguest.Disk(t),
	} {
		path := filepath.Join(w.images, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(link, path)); err != nil {
			return nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(w.images, "tiny.img"), tinyguest.Image(), 0o644); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	w.Cluster, err = cluster.Start(ctx, cluster.Options{Dir: dir, Program: program, Nodes: 2,
		NodeFlags: []string{"--image-dir", w.images, "--accel", "tcg", "--disk-pressure-below", "1Gi", "--cni-conf-dir", filepath.Join(dir, "no-cni"),
			"--allow-host-path", "/dev/shm"}, // where the raw volume of seed 002 is
		ControlPlane: controlplane.Options{ControllerManager: []string{
			// A node whose host died is noticed sooner than by default.
			"--node-monitor-grace-period=20s", "--node-monitor-period=2s",
		}},
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// space makes a namespace for a test, which is removed with all that is in it.
func (w *world) space(t *testing.T) *space {
	t.Helper()
	s := &space{world: w, name: strings.ToLower(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, t.Name()))}
	if out, _, err := w.Run(t.Context(), nil, "create", "namespace", s.name); err != nil {
		t.Fatal(out, err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			s.tell(t)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if _, _, err := w.Run(ctx, nil, "delete", "namespace", s.name); err != nil {
			t.Errorf("the namespace cannot be removed: %v", err)
		}
	})
	return s
}

// space is a namespace of the cluster.
type space struct {
	*world
	name string
}

// kubectl runs it in the namespace and returns what it says on its standard output.
func (s *space) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, _, err := s.Run(t.Context(), nil, append([]string{"--namespace", s.name}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies documents.
func (s *space) apply(t *testing.T, documents ...string) {
	t.Helper()
	if _, _, err := s.Run(t.Context(), strings.NewReader(strings.Join(documents, "\n---\n")), "--namespace", s.name, "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
}

// wait waits until an object is as kubectl wait says it.
func (s *space) wait(t *testing.T, object, what string) {
	t.Helper()
	flag := "--for=" + what
	s.kubectl(t, "wait", object, flag, "--timeout", limit)
}

// field reads a field of an object.
func (s *space) field(t *testing.T, object, path string) string {
	t.Helper()
	return s.kubectl(t, "get", object, "-o", "jsonpath={"+path+"}")
}

// tell says what there is in the namespace, for a test that failed.
func (s *space) tell(t *testing.T) {
	for _, args := range [][]string{{"get", "vm,vmi,pod", "-o", "yaml"}, {"get", "events", "--sort-by=.lastTimestamp"}} {
		out, _, err := s.Run(context.Background(), nil, append([]string{"--namespace", s.name}, args...)...)
		if len(out) > 12000 {
			out = out[:12000]
		}
		t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// examine makes checks inside a guest with a guest agent.
func (s *space) examine(t *testing.T, pod string, checks []testguest.Check) {
	t.Helper()
	testguest.Examine(t, func(script string) string { return s.kubectl(t, "exec", pod, "--", "/bin/sh", "-c", script) }, checks)
}

// until waits for something that kubectl wait has no words for; it looks again whenever anything changes in the namespace.
func (s *space) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Minute)
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("waited ten minutes for %s", what)
		}
		<-tick.C
	}
}

// example is a document of the examples, with texts replaced.
func example(t *testing.T, path string, replace ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replace); i += 2 {
		if !bytes.Contains(text, []byte(replace[i])) {
			t.Fatalf("%s does not say %q", path, replace[i])
		}
	}
	return strings.NewReplacer(replace...).Replace(string(text))
}

// keyPair makes a key pair and returns the path of the private key and the public one.
func keyPair(t *testing.T) (path, public string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "key")
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "operator@kube", "-f", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(path + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return path, strings.TrimSpace(string(text))
}

// ssh runs a command in a guest, through kubectl port-forward.
func (s *space) ssh(t *testing.T, pod, key, user, command string) string {
	t.Helper()
	forward := exec.CommandContext(t.Context(), s.Kubectl, "--kubeconfig", s.Kubeconfig, "--namespace", s.name, "port-forward", pod, ":22")
	var problems bytes.Buffer
	forward.Stderr = &problems
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = forward.Process.Kill()
		_ = forward.Wait()
	}()
	var port int
	if _, err := fmt.Fscanf(out, "Forwarding from 127.0.0.1:%d -> 22", &port); err != nil {
		t.Fatalf("kubectl port-forward: %v: %s", err, problems.String())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cmd := exec.CommandContext(t.Context(), "ssh", "-i", key, "-p", fmt.Sprint(port), "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=120", user+"@127.0.0.1", command)
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ssh: %v: %s", err, text)
	}
	return strings.TrimSpace(string(text))
}

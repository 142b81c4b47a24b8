//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// tinyPod is a pod of the smallest guest, which says nothing of its first boot.
func tinyPod(name, node string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata:
  name: %s
  annotations:
    kubernetes.io/target-runtime: virtlet.cloud
    vmseed.dev/first-boot-timeout: 0s
spec:
  nodeName: %q
  terminationGracePeriodSeconds: 60
  containers:
  - name: vm
    image: virtlet.cloud/tiny
    resources:
      limits:
        memory: 32Mi
`, name, node)
}

// tinyVM is a VirtualMachine of the smallest guest.
func tinyVM(name string) string {
	return fmt.Sprintf(`apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: %s
spec:
  runStrategy: Always
  template:
    metadata:
      annotations:
        vmseed.dev/first-boot-timeout: 0s
    spec:
      terminationGracePeriodSeconds: 60
      domain:
        devices:
          disks:
          - name: root
            disk:
              bus: virtio
        resources:
          requests:
            memory: 32Mi
      volumes:
      - name: root
        containerDisk:
          image: tiny
`, name)
}

// guests are the processes of QEMU whose VMs a node has.
func guests(t *testing.T, w *world, node string) []int {
	t.Helper()
	return running(t, func(program, dir string) bool {
		return strings.HasPrefix(program, "qemu-system-") && strings.HasPrefix(dir, w.StateDir(node)+"/")
	})
}

// supervisors are the processes that look after the VMs of a node.
func supervisors(t *testing.T, w *world, node string) []int {
	t.Helper()
	return running(t, func(program, dir string) bool {
		return program == "vmseed-kube" && strings.HasPrefix(dir, w.StateDir(node)+"/")
	})
}

// running are the processes with a program and a working directory of which is says yes.
func running(t *testing.T, is func(program, dir string) bool) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		program, err1 := os.Readlink(filepath.Join("/proc", e.Name(), "exe"))
		dir, err2 := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err1 == nil && err2 == nil && is(filepath.Base(program), dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestPod is the life of a pod on one node: console, graceful end, and a node process that is killed while the VM runs.
func TestPod(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	s.apply(t, tinyPod("tiny", "node1"))
	s.wait(t, "pod/tiny", "condition=Ready")
	s.until(t, "the console's log", func() bool { return strings.Contains(s.kubectl(t, "logs", "tiny"), strings.TrimSpace(tinyguest.Up)) })
	before := guests(t, w, "node1")
	if len(before) != 1 {
		t.Fatalf("there are %d guests on the node", len(before))
	}
	t.Run("kill the node", func(t *testing.T) {
		node := w.Node("node1")
		node.Kill()
		if now := guests(t, w, "node1"); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Fatalf("after the node was killed there runs %v, before %v", now, before)
		}
		if err := node.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.wait(t, "pod/tiny", "condition=Ready")
		if now := guests(t, w, "node1"); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("after the node came back there runs %v, before %v", now, before)
		}
		if n := s.field(t, "pod/tiny", ".status.containerStatuses[0].restartCount"); n != "0" {
			t.Errorf("the VM was started again %s times", n)
		}
	})
	s.kubectl(t, "delete", "pod", "tiny", "--wait", "--timeout", "5m")
	if left := guests(t, w, "node1"); len(left) > 0 {
		t.Errorf("the deleted pod leaves %v", left)
	}
}

// TestWrong is input that nobody can make a VM of: the pod says why, and nothing is started.
func TestWrong(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	s.apply(t, strings.Replace(tinyPod("wrong", "node1"), "    vmseed.dev/first-boot-timeout: 0s\n",
		"    VirtletCloudInitUserData: |\n      users: [\n", 1))
	s.wait(t, "pod/wrong", "jsonpath={.status.phase}=Failed")
	if events := s.kubectl(t, "get", "events", "-o", "jsonpath={.items[*].message}"); !strings.Contains(events, "VirtletCloudInitUserData") {
		t.Errorf("the events do not name the annotation: %s", events)
	}
	if left := guests(t, w, "node1"); len(left) > 0 {
		t.Errorf("there run %v", left)
	}
}

// TestHostDead is a host that dies with everything on it. Its VM is started on the other node when an operator has said
// that the host is out of service, and not before: until then it may still run. A pod of nobody's is reported lost.
func TestHostDead(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	s.apply(t, tinyVM("moves"))
	s.wait(t, "vm/moves", "condition=Ready")
	first := s.field(t, "vmi/moves", ".status.nodeName")
	other := map[string]string{"node1": "node2", "node2": "node1"}[first]
	s.apply(t, tinyPod("stays", first))
	s.wait(t, "pod/stays", "condition=Ready")

	w.Node(first).Kill()
	for _, pid := range append(supervisors(t, w, first), guests(t, w, first)...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	s.wait(t, "node/"+first, "condition=Ready=Unknown")
	s.wait(t, "vmi/moves", "condition=Ready=False")
	s.wait(t, "pod/stays", "condition=Ready=False")
	if now := guests(t, w, other); len(now) > 0 {
		t.Fatalf("the other node runs %v, although the VM may run on the first", now)
	}
	s.kubectl(t, "taint", "node", first, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
	s.until(t, "the VM on the other node", func() bool {
		return strings.HasPrefix(s.kubectl(t, "get", "vmi", "-o", "jsonpath={.items[*].status.nodeName}"), other)
	})
	s.wait(t, "vm/moves", "condition=Ready")
	if now := guests(t, w, other); len(now) != 1 {
		t.Errorf("the other node runs %v", now)
	}
	s.kubectl(t, "taint", "node", first, "node.kubernetes.io/out-of-service-")
	if err := w.Node(first).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "node/"+first, "condition=Ready")
	s.until(t, "the host that came back to have no guests", func() bool { return len(guests(t, w, first)) == 0 })
}

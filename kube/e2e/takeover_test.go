//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/kube/internal/cluster"
	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// TestTakeover has a second controller take over when the one that leads is killed: a machine that is made after that runs.
func TestTakeover(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	leader := func() string {
		t.Helper()
		return s.kubectl(t, "--namespace", cluster.Namespace, "get", "lease", "vmseed-controller", "-o", "jsonpath={.spec.holderIdentity}")
	}
	first := leader()
	if _, err := w.AddController(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := leader(); now != first {
		t.Fatalf("the second controller leads (%s) while the first one (%s) lives", now, first)
	}
	w.Controller().Kill()
	s.apply(t, tinyVM("late"))
	s.wait(t, "vm/late", "condition=Ready")
	if now := leader(); now == first || now == "" {
		t.Errorf("%q leads, the controller that was killed is %q", now, first)
	}
	// It is a replica now.
	if err := w.Controller().Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := leader(); now == first {
		t.Error("the first controller leads again although the second one lives")
	}
}

// diskClaim are documents of a claim and the volume that it is bound to, a disk file that both nodes have.
func diskClaim(namespace, path string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata:
  name: %[1]s
spec:
  capacity: {storage: 1Mi}
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  hostPath: {path: %[2]s}
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: %[1]s, name: disk}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: disk
spec:
  storageClassName: ""
  volumeName: %[1]s
  volumeMode: Block
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 1Mi}}
`, namespace, path)
}

// TestDoubleStart forces what nobody should do: a pod's VM runs on a node that is cut off, the pod is removed by force, and
// another node is to run its successor with the same disk. The lock on the image stops the second VM until the first one is
// gone.
func TestDoubleStart(t *testing.T) {
	w := shared(t)
	s := w.space(t)
	path := filepath.Join(filepath.Dir(w.images), "disk.img")
	if err := os.WriteFile(path, tinyguest.Image(), 0o600); err != nil {
		t.Fatal(err)
	}
	database := func(node string) string {
		return tinyPod("database", node) + `    volumeDevices:
    - name: disk
      devicePath: /
  volumes:
  - name: disk
    persistentVolumeClaim:
      claimName: disk
`
	}
	s.apply(t, diskClaim(s.name, path))
	t.Cleanup(func() {
		if _, _, err := w.Run(context.Background(), nil, "delete", "persistentvolume", s.name, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	s.wait(t, "pvc/disk", "jsonpath={.status.phase}=Bound")
	s.apply(t, database("node1"))
	s.wait(t, "pod/database", "condition=Ready")
	first := guests(t, w, "node1")
	if len(first) != 1 {
		t.Fatalf("there are %d guests on the node", len(first))
	}

	w.Node("node1").Kill()
	s.kubectl(t, "delete", "pod", "database", "--force", "--grace-period", "0")
	s.apply(t, database("node2"))
	s.until(t, "the word on the disk", func() bool {
		return strings.Contains(s.kubectl(t, "get", "events", "-o", "jsonpath={.items[*].message}"), "a disk of the VM is in use by another VM")
	})
	if why := s.field(t, "pod/database", ".status.containerStatuses[0].state.waiting.message"); !strings.Contains(why, "in use by another VM") {
		t.Errorf("the pod waits because of %q", why)
	}
	if now := guests(t, w, "node2"); len(now) > 0 {
		t.Errorf("the second node runs %v with the disk of a VM that runs", now)
	}
	if now := guests(t, w, "node1"); fmt.Sprint(now) != fmt.Sprint(first) {
		t.Errorf("the first node runs %v, before %v", now, first)
	}

	// A node that comes back ends what is no pod of its own any more, and the disk is free.
	if err := w.Node("node1").Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "pod/database", "condition=Ready")
	if one, two := guests(t, w, "node1"), guests(t, w, "node2"); len(one) != 0 || len(two) != 1 {
		t.Errorf("at the end the first node runs %v and the second one %v", one, two)
	}
}

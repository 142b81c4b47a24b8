//go:build e2e && linux

package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAddresses holds that pods have the addresses of the plugins, all different, and that these and all else are given
// back when the pods are gone.
func TestAddresses(t *testing.T) {
	w := shared(t)
	w.tell(t)
	tiny := func(name string) string {
		return pod(name, "    vmseed.dev/first-boot-timeout: 0s\n", `    image: virtlet.cloud/tiny
    resources: {limits: {memory: 32Mi}}
`, "")
	}
	w.apply(t, tiny("one"), tiny("two"))
	one, two := w.ready(t, "one"), w.ready(t, "two")
	if one[0] == two[0] || one[1] == two[1] {
		t.Errorf("two pods have the addresses %v and %v", one, two)
	}
	w.remove(t, "one", "two")
	for _, dir := range []string{w.reserved(), "/run/netns", filepath.Join(w.StateDir("node1"), "vms")} {
		err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() && !strings.HasPrefix(e.Name(), "last_reserved_ip") && e.Name() != "lock" {
				t.Errorf("%s is left", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if out, err := exec.Command("ip", "-o", "link", "show", "type", "veth").CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("interfaces of pods are left (%v): %s", err, out)
	}
}

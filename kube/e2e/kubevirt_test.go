//go:build e2e

package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// memory is what the guests of the tests need; the documents are about smaller ones.
const memory = "memory: 768Mi"

// TestSeed000 is KubeVirt's page on Ignition: the feature gate is off, and the VM is refused with the reason; the
// ConfigMap opens it; the VM is applied, boots with its Ignition data, and its user logs in with a key.
func TestSeed000(t *testing.T) {
	t.Parallel()
	w := shared(t)
	s := w.space(t)
	key, public := keyPair(t)
	vm := example(t, "kubevirt/myvm1-mended.yml", "memory: 64M", memory,
		`"sshAuthorizedKeys": [`, `"sshAuthorizedKeys": [ "`+public+`",`)
	t.Run("gate", func(t *testing.T) {
		s.apply(t, vm)
		s.until(t, "the word on the feature gate", func() bool {
			return strings.Contains(s.kubectl(t, "get", "events", "-o", "jsonpath={.items[*].message}"), "ExperimentalIgnitionSupport feature gate is not enabled")
		})
		if out := s.kubectl(t, "get", "pods", "-o", "name"); out != "" {
			t.Errorf("there are pods although the gate is closed: %s", out)
		}
	})
	if _, _, err := w.Run(t.Context(), strings.NewReader(example(t, "kubevirt/kubevirt-config.yaml")), "apply", "-f", "-"); err != nil {
		t.Fatal(err)
	}
	s.wait(t, "vm/myvm1", "condition=Ready")
	table := s.kubectl(t, "get", "vm,vmi")
	for _, want := range []string{
		`virtualmachine\.kubevirt\.io/myvm1 +\S+ +Running +True`,
		// These nodes have no CNI network, so no address leads to the guest and the column IP is empty.
		`virtualmachineinstance\.kubevirt\.io/myvm1 +\S+ +Running +node[12] +True`,
	} {
		if !regexp.MustCompile(want).MatchString(table) {
			t.Errorf("kubectl get vm,vmi says\n%swant %s", table, want)
		}
	}
	pod := s.field(t, "pod", ".items[0].metadata.name")
	if host := s.ssh(t, pod, key, "core", "hostname; cat /run/vmseed-none 2>/dev/null || id -un"); host != "myvm1\ncore" {
		t.Errorf("the guest says %q", host)
	}
	if text := s.field(t, "pod/"+pod, ".metadata.annotations"); strings.Contains(text, "sshAuthorizedKeys") {
		t.Error("the pod carries the Ignition config")
	}
	if log := s.kubectl(t, "logs", pod, "--tail", "5"); log == "" {
		t.Error("kubectl logs says nothing")
	}
	s.kubectl(t, "delete", "vm", "myvm1", "--wait", "--timeout", "5m")
	s.until(t, "everything of the VM to be gone", func() bool {
		return s.kubectl(t, "get", "vm,vmi,pod,secret", "-o", "name") == ""
	})
}

// TestSeed003 is KubeVirt's page on cloud-init: the layout of 2017 with user-data in the document, and with user-data in a
// Secret that comes later than the VM.
func TestSeed003(t *testing.T) {
	t.Parallel()
	w := shared(t)
	inline := w.space(t)
	vmi := func(path string) string { return example(t, path, "value: 64", "value: 768") }
	inline.apply(t, vmi("kubevirt/testvm-inline.yaml"))

	t.Run("Secret", func(t *testing.T) {
		s := w.space(t)
		s.apply(t, vmi("kubevirt/testvm-secret.yaml"))
		s.until(t, "the word on the missing Secret", func() bool {
			return strings.Contains(s.kubectl(t, "get", "events", "-o", "jsonpath={.items[*].message}"), "my-vm-userdata")
		})
		s.apply(t, example(t, "kubevirt/my-vm-userdata.yaml"))
		s.wait(t, "vmi/testvm-nocloud", "condition=Ready")
		s.examine(t, s.field(t, "pod", ".items[0].metadata.name"), seed003Checks())
	})
	inline.wait(t, "vmi/testvm-nocloud", "condition=Ready")
	inline.examine(t, inline.field(t, "pod", ".items[0].metadata.name"), seed003Checks())
}

func seed003Checks() []testguest.Check {
	return []testguest.Check{
		{Name: "cloud-init's own verdict", Command: "cloud-init status", Want: "status: done"},
		{Name: "data source", Command: "cloud-id", Want: "nocloud"},
		{Name: "host name", Command: "hostname", Want: "testvm-nocloud"},
		{Name: "password", Command: "passwd -S debian | cut -d' ' -f2", Want: "P"},
		{Name: "password logins", Command: "sshd -T | grep -i ^passwordauthentication", Want: "passwordauthentication yes"},
	}
}

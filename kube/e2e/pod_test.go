//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// TestSeed002 is the pod of Virtlet's page on cloud-init, with its real Secrets and ConfigMaps. Its raw device is a disk
// file of the host, and its volume of a Ceph cluster is left out: there is none here.
func TestSeed002(t *testing.T) {
	t.Parallel()
	w := shared(t)
	s := w.space(t)
	// The path of a raw volume is that of a device, so this disk file is where devices are.
	dir, err := os.MkdirTemp("/dev/shm", "vmseed")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	raw := filepath.Join(dir, "raw.img")
	if err := os.WriteFile(raw, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-ec", `truncate -s 64M "$1"; echo ',,L' | sfdisk -q "$1"; mke2fs -q -F -t ext4 -E offset=1048576 "$1" 60M`, "sh", raw).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pod := example(t, "virtlet/pod.yaml", "/dev/mapper/somevg", raw)
	mount, _, _ := strings.Cut(pod, "    # mount a ceph volume")
	_, volumes, _ := strings.Cut(pod, "  volumes:\n")
	volumes, _, _ = strings.Cut(volumes, "  - name: ceph\n")
	pod = mount + "  volumes:\n" + volumes
	s.apply(t, example(t, "virtlet/objects.yaml"), pod)
	// "inactive: true" of the page's user is a warning of cloud-init: it is told, and the pod becomes Ready.
	s.wait(t, "pod/ubuntu-vm", "condition=Ready")
	first := s.field(t, "pod/ubuntu-vm", `.status.conditions[?(@.type=="vmseed.dev/FirstBoot")].message`)
	if !strings.Contains(first, "with warnings: ") {
		t.Errorf("the condition FirstBoot does not tell of the warning: %q", first)
	}
	s.wait(t, "pod/ubuntu-vm", "jsonpath={.status.conditions[?(@.type==\"vmseed.dev/GuestAgent\")].status}=True")
	s.examine(t, "ubuntu-vm", []testguest.Check{
		{Name: "cloud-init's own verdict", Command: "cloud-init status --wait | tail -1", Want: "status: done"},
		{Name: "host name", Command: "hostname", Want: "ubuntu-vm"},
		{Name: "instance id", Command: "cat /var/lib/cloud/data/instance-id", Want: "foobar"},
		{Name: "file of the ConfigMap", Command: "cat /etc/foobar/some-file-from-configmap.conf", Want: "# this is a sample config file\n# taken from a configmap"},
		{Name: "file of the Secret", Command: "cat /etc/baz/a-file-taken-from-secrets.conf", Want: "# some secret content"},
		{Name: "user-data of a ConfigMap", Command: "cat /foobar.txt", Want: "this part is from a configmap specified using VirtletCloudInitUserDataSource"},
		{Name: "user", Command: "getent passwd cloudy | cut -d: -f5", Want: "Magic Cloud App Daemon User"},
		{Name: "volume", Command: "findmnt -n -o FSTYPE /var/lib/docker; findmnt -n -o FSTYPE /var/lib/postgresql", Want: "ext4\next4"},
	})
	// On a busy host systemd may give up waiting for the serial port's device, and start no getty there.
	if log := s.kubectl(t, "logs", "ubuntu-vm"); !regexp.MustCompile(`Cloud-init v\. \S+ finished`).MatchString(log) {
		t.Errorf("kubectl logs shows no console: %.300s", log)
	}
	s.kubectl(t, "delete", "pod", "ubuntu-vm", "--wait", "--timeout", "5m")
}

//go:build e2e && linux && extended

package network

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
)

// debian are the parts of a container that Debian's guest has, which is ready when its SSH server answers at the pod's
// address. That server starts a process for each who asks, which keeps an emulated guest busy for seconds.
const debian = `    image: virtlet.cloud/debian
    resources: {limits: {memory: 768Mi}}
    readinessProbe: {tcpSocket: {port: 22}, periodSeconds: 20, timeoutSeconds: 30}
`

// TestGuests has one guest whose root disk is a claim, which boots twice at different addresses, and beside its first boot one
// that is provisioned by a metadata service.
func TestGuests(t *testing.T) {
	w := shared(t)
	w.tell(t)
	root := pod("root", "", debian+"    volumeDevices: [{name: system, devicePath: /}]\n", "  volumes:\n  - name: system\n    persistentVolumeClaim: {claimName: system}\n")
	cloud := pod("cloud", `    vmseed.dev/datasource: ec2
    VirtletCloudInitUserData: |
      write_files:
      - path: /etc/vmseed-canary
        content: of the cloud
`, debian, "")
	w.apply(t, w.volume(t, "system"), root, cloud)
	first, served := w.ready(t, "root"), w.ready(t, "cloud")
	t.Run("first address", func(t *testing.T) { w.examine(t, "root", rootChecks(first)) })
	t.Run("metadata", func(t *testing.T) { w.metadata(t, served) })
	t.Run("reach", func(t *testing.T) { w.reach(t, first, served) })
	w.kubectl(t, "exec", "root", "--", "/bin/sh", "-c", "hostname >/var/lib/kept && sync")

	// Even an idle guest takes processor time where it is emulated.
	w.remove(t, "root", "cloud")
	w.apply(t, root)
	second := w.ready(t, "root")
	if first[0] == second[0] || first[1] == second[1] {
		t.Fatalf("the pod had the addresses %v and has %v: the plugin did not give it others", first, second)
	}
	t.Run("second address", func(t *testing.T) {
		w.examine(t, "root", append(rootChecks(second), testguest.Check{Name: "the same disk", Command: "cat /var/lib/kept", Want: "root"}))
	})
	t.Run("reach again", func(t *testing.T) { w.called(t, "root", second) })
	w.remove(t, "root")
}

// volume makes a disk with Debian's guest, and documents of a claim that is bound to it.
func (w *world) volume(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(w.dir, name+".img")
	if out, err := exec.Command("cp", "--sparse=always", "--reflink=auto", w.debian, path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata:
  name: %[1]s
spec:
  capacity: {storage: 3Gi}
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  local: {path: %[2]s}
  persistentVolumeReclaimPolicy: Retain
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - {key: kubernetes.io/hostname, operator: In, values: [node1]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: %[1]s
spec:
  storageClassName: ""
  volumeName: %[1]s
  volumeMode: Block
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 3Gi}}
`, name, path)
}

// rootChecks hold that a guest was given its addresses by DHCP and not by its seed.
func rootChecks(ips []netip.Addr) []testguest.Check {
	return []testguest.Check{
		{Name: "cloud-init's own verdict", Command: "cloud-init status --wait | tail -1", Want: "status: done"},
		{Name: "data source", Command: "cloud-id", Want: "nocloud"},
		{Name: "no network-config", Command: "mount -o ro /dev/disk/by-label/cidata /mnt && ls /mnt; umount /mnt", Want: "meta-data\nuser-data\nvendor-data"},
		{Name: "IPv4", Command: "ip -o -4 address show scope global | awk '{print $4}'", Want: ips[0].String() + "/24"},
		{Name: "IPv6", Command: "ip -o -6 address show scope global | awk '{print $4}' | cut -d/ -f1", Want: ips[1].String()},
		{Name: "IPv4 by DHCP", Command: "grep -h ^ADDRESS= /run/systemd/netif/leases/*", Want: "ADDRESS=" + ips[0].String()},
		{Name: "gateway", Command: "ip -4 route show default | cut -d' ' -f3", Want: gateway4},
		{Name: "MTU", Command: "cat /sys/class/net/e*/mtu", Want: mtu},
		{Name: "name server", Command: "grep -h ^DNS= /run/systemd/netif/leases/*", Want: "DNS=" + nameServer},
		{Name: "search list", Command: "grep -h ^DOMAIN_SEARCH_LIST= /run/systemd/netif/leases/* | grep -o '=default.svc.cluster.test svc.cluster.test cluster.test'",
			Want: "=default.svc.cluster.test svc.cluster.test cluster.test"},
	}
}

// fetcher is a program for guests, which says what it gets from the metadata service.
const fetcher = `cat >/run/fetch <<'END'
import sys, urllib.request, urllib.error
method, path = sys.argv[1:3]
request = urllib.request.Request("http://169.254.169.254/" + path, method=method, headers=dict(h.split(": ", 1) for h in sys.argv[3:]))
try:
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as e:
    print(e.code)
except OSError:
    print("no answer")
END`

// metadata holds that a guest is provisioned by the service of its own pod, that it reads of that pod and nothing of
// others, and that the others do not read of it.
func (w *world) metadata(t *testing.T, ips []netip.Addr) {
	get := func(path string) string {
		return `token=$(python3 /run/fetch PUT latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 60' | cut -d' ' -f2)
python3 /run/fetch GET latest/` + path + ` "X-aws-ec2-metadata-token: $token"`
	}
	w.examine(t, "cloud", []testguest.Check{
		{Name: "fetcher", Command: fetcher, Want: ""},
		{Name: "cloud-init's own verdict", Command: "cloud-init status --wait | tail -1", Want: "status: done"},
		{Name: "data source", Command: "cloud-id", Want: "aws"},
		{Name: "user-data", Command: "cat /etc/vmseed-canary", Want: "of the cloud"},
		{Name: "host name", Command: get("meta-data/local-hostname"), Want: "200 cloud"},
		{Name: "instance id", Command: `[ "200 $(cat /var/lib/cloud/data/instance-id)" = "$(` + get("meta-data/instance-id") + `)" ] && echo the same`, Want: "the same"},
		{Name: "address", Command: get("meta-data/local-ipv4"), Want: "200 " + ips[0].String()},
		{Name: "address by DHCP", Command: "ip -o -4 address show scope global | awk '{print $4}'", Want: ips[0].String() + "/24"},
		{Name: "no session, nothing", Command: "python3 /run/fetch GET latest/user-data", Want: "401"},
	})
	w.examine(t, "root", []testguest.Check{
		{Name: "fetcher", Command: fetcher, Want: ""},
		{Name: "nothing of others", Command: "python3 /run/fetch GET latest/meta-data/local-hostname; python3 /run/fetch GET ''", Want: "no answer\nno answer"},
	})
	if n := heard.Load(); n > 0 {
		t.Errorf("guests reached the host's metadata service %d times", n)
	}
}

// ssh begins what every SSH server says first (RFC 4253, section 4.2).
const ssh = "SSH-2.0"

// reach holds that two guests reach each other and the host, and the host and kubectl reach them.
func (w *world) reach(t *testing.T, root, cloud []netip.Addr) {
	call := func(address string, port int) string {
		return fmt.Sprintf("timeout 120 bash -c 'read -r line </dev/tcp/%s/%d; echo ${line:0:7}'", address, port)
	}
	for name, other := range map[string][]netip.Addr{"root": cloud, "cloud": root} {
		w.examine(t, name, []testguest.Check{
			{Name: name + " calls the other", Command: call(other[0].String(), 22), Want: ssh},
			{Name: name + " calls the other by IPv6", Command: call(other[1].String(), 22), Want: ssh},
			{Name: name + " calls the host", Command: call(gateway4, 7), Want: "host"},
			{Name: name + " calls the host by IPv6", Command: call(gateway6, 7), Want: "host"},
		})
	}
	w.called(t, "root", root)
	w.called(t, "cloud", cloud)
}

// called holds that the host and kubectl reach a guest.
func (w *world) called(t *testing.T, pod string, ips []netip.Addr) {
	t.Helper()
	for _, ip := range ips {
		answers(t, netip.AddrPortFrom(ip, 22).String())
	}
	w.forwarded(t, pod)
}

// answers demands that an SSH server answers at an address.
func answers(t *testing.T, address string) {
	t.Helper()
	const patience = 5 * time.Minute
	c, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.HasPrefix(line, ssh) {
		t.Errorf("%s answers %q (%v)", address, line, err)
	}
}

// forwarded demands the same by kubectl port-forward.
func (w *world) forwarded(t *testing.T, pod string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	forward := exec.CommandContext(ctx, w.Kubectl, "--kubeconfig", w.Kubeconfig, "port-forward", pod, ":22")
	forward.Stderr = os.Stderr
	out, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = forward.Wait()
	}()
	var port int
	if _, err := fmt.Fscanf(out, "Forwarding from 127.0.0.1:%d -> 22", &port); err != nil {
		t.Fatalf("kubectl port-forward: %v", err)
	}
	answers(t, fmt.Sprintf("127.0.0.1:%d", port))
}

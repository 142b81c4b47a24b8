//go:build conformance && linux

package podnet

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestBridge(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-br", `[{"subnet": "10.61.0.0/24"}], [{"subnet": "fd61::/64"}]`, `"mtu": 1400,`)})
	if err := n.Usable(context.Background()); err != nil {
		t.Fatal(err)
	}
	one, two := n.setup(t, pod("one")), n.setup(t, pod("two"))
	a, b := boot(t, one), boot(t, two)
	if len(one.IPs) != 2 || !one.IPs[0].Is4() || !one.IPs[1].Is6() {
		t.Errorf("the pod's addresses are %v", one.IPs)
	}
	if nic := a.facts.NICs[0]; nic.MTU != 1400 || nic.Rename != "virtlet-eth0" {
		t.Errorf("the guest's NIC is %+v", nic)
	}
	serve(t, host, ":7", "host")
	serve(t, a.ns, ":7", "one")
	serve(t, b.ns, ":7", "two")
	for _, ip := range two.IPs {
		mustCall(t, "one", a.ns, netip.AddrPortFrom(ip, 7).String(), "two")
		mustCall(t, "host", host, netip.AddrPortFrom(ip, 7).String(), "two")
	}
	mustCall(t, "one", a.ns, "10.61.0.1:7", "host")
	mustCall(t, "two", b.ns, "[fd61::1]:7", "host")
	again := n.setup(t, pod("one"))
	if !bytes.Equal(again.Results, one.Results) || again.Netns != one.Netns {
		t.Error("a second Setup connects the pod otherwise")
	}
	if err := n.check(pod("one").UID); err != nil {
		t.Error(err)
	}
	if err := n.Teardown(context.Background(), pod("one").UID); err != nil {
		t.Fatal(err)
	}
	if err := n.check(pod("one").UID); err == nil {
		t.Error("nobody misses the pod after Teardown")
	}
	clean(t, n, pod("one").UID)
}

// clean demands that nothing of a pod is left on the node.
func clean(t *testing.T, n node, uid string) {
	t.Helper()
	if isNamespace(n.netns(uid)) {
		t.Error("its namespace is still there")
	}
	err := filepath.WalkDir(filepath.Dir(n.cfg.ConfDir), func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, _ := os.ReadFile(path)
		if strings.Contains(path, uid) || bytes.Contains(text, []byte(uid)) {
			t.Errorf("%s is still there", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if rules, err := exec.Command("iptables-save").Output(); err != nil || bytes.Contains(rules, []byte(uid)) {
		t.Errorf("rules of the host still name the pod (%v)", err)
	}
}

// TestTwoNetworks has two networks of the real plugins, of which the annotation names the second, with a name for its
// interface, an address and the default route.
func TestTwoNetworks(t *testing.T) {
	n := newNode(t, map[string]string{
		"10-net.conflist": bridged("cluster", "cni-a", `[{"subnet": "10.62.0.0/24"}]`, ""),
		"20-storage.conflist": `{"cniVersion": "1.0.0", "name": "storage", "vmseed.dev/namespaces": ["default"], "plugins": [{"type": "bridge", "bridge": "cni-b",
			"isGateway": true, "capabilities": {"ips": true}, "ipam": {"type": "static", "routes": [{"dst": "192.0.2.0/24", "gw": "10.63.0.1"}]}},
			{"type": "tuning", "capabilities": {"mac": true}}]}`,
	})
	p := pod("both")
	p.Annotations = map[string]string{NetworksAnnotation: `[{"name": "storage", "namespace": "default", "interface": "san", "ips": ["10.63.0.9/24"],
		"mac": "02:00:5e:00:00:63", "default-route": ["10.63.0.1"]}]`}
	a := n.setup(t, p)
	g := boot(t, a)
	if len(a.Taps) != 2 || a.Networks[1] != "default/storage" || len(a.IPs) != 1 {
		t.Fatalf("attachment %+v", a)
	}
	if nic := g.facts.NICs[1]; nic.Rename != "san" || nic.MAC != "02:00:5e:00:00:63" || nic.Gateway4.String() != "10.63.0.1" || len(nic.Routes) != 1 {
		t.Errorf("the second NIC is %+v", nic)
	}
	if g.facts.NICs[0].Gateway4.IsValid() {
		t.Error("the cluster's network still has the default route")
	}
	serve(t, g.ns, ":7", "both")
	serve(t, host, ":7", "host")
	mustCall(t, "host", host, "10.62.0.2:7", "both")
	mustCall(t, "host", host, "10.63.0.9:7", "both")
	mustCall(t, "both", g.ns, "10.63.0.1:7", "host")

	p = pod("stranger")
	p.Namespace, p.Annotations = "other", map[string]string{NetworksAnnotation: "storage"}
	if _, err := n.Setup(context.Background(), p); err == nil || !strings.Contains(err.Error(), `not for pods of namespace "other"`) {
		t.Errorf("a pod of another namespace: %v", err)
	}
	clean(t, n, p.UID)
}

// TestPtp holds that guests of the plugin ptp reach each other: the plugin's address has the length of the network, but
// nobody of the network is on the link.
func TestPtp(t *testing.T) {
	n := newNode(t, map[string]string{"10-ptp.conf": `{"cniVersion": "0.4.0", "name": "ptp", "type": "ptp", "ipam": {"type": "host-local",
		"dataDir": "$DIR", "subnet": "10.64.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}}`})
	one, two := n.setup(t, pod("one")), n.setup(t, pod("two"))
	a, b := boot(t, one), boot(t, two)
	serve(t, b.ns, ":7", "two")
	mustCall(t, "host", host, netip.AddrPortFrom(two.IPs[0], 7).String(), "two")
	mustCall(t, "one", a.ns, netip.AddrPortFrom(two.IPs[0], 7).String(), "two")
	if got := a.facts.NICs[0].Addrs[0]; !got.IsSingleIP() {
		t.Errorf("the guest thinks that %s is on its link", got)
	}
}

// TestLinkLocalGateway has plugins in the manner of Calico's and of Amazon's, whose result says little: the way out is a
// gateway that nobody has. Calico's host answers for it; Amazon's plugin tells the pod's kernel its MAC, and nobody
// answers.
func TestLinkLocalGateway(t *testing.T) {
	for _, c := range []struct{ name, proxy, permanent, ip string }{
		{"proxy ARP", "1", "", "10.65.0.7"},
		{"a permanent neighbour", "0", `$in neigh add 169.254.1.1 dev $CNI_IFNAME lladdr $mac nud permanent`, "10.65.0.8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, map[string]string{"10-few.conf": `{"cniVersion": "0.3.1", "name": "few", "type": "few"}`})
			n.plugin(t, "few", few(c.proxy, c.permanent, c.ip))
			g := boot(t, n.setup(t, pod("few")))
			if nic := g.facts.NICs[0]; nic.Gateway4.String() != "169.254.1.1" || nic.Addrs[0].String() != c.ip+"/32" {
				t.Errorf("the guest's NIC is %+v", nic)
			}
			if out, err := exec.Command("sh", "-c", "ip link add out type veth peer name outer && ip addr add 198.51.100.1/32 dev out && ip link set out up && ip link set outer up && ip route add default dev out").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Cleanup(func() { exec.Command("ip", "link", "del", "out").Run() })
			serve(t, host, "198.51.100.1:7", "host")
			mustCall(t, "the guest", g.ns, "198.51.100.1:7", "host")
			serve(t, g.ns, ":7", "guest")
			mustCall(t, "host", host, c.ip+":7", "guest")
		})
	}
}

// few is a plugin that reports an address without an interface, and no routes.
func few(proxy, permanent, ip string) string {
	return `case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "0.3.1", "supportedVersions": ["0.3.1"]}' ;;
DEL) ip link del few0 2>/dev/null || : ;;
ADD)
	ip link add few0 type veth peer name few1
	ip link set few0 up
	echo ` + proxy + ` >/proc/sys/net/ipv4/conf/few0/proxy_arp
	mac=$(ip -br link show few0 | awk '{print $3}')
	ip link set few1 netns "$CNI_NETNS"
	in="nsenter --net=$CNI_NETNS ip"
	$in link set few1 name "$CNI_IFNAME"
	$in link set "$CNI_IFNAME" up
	$in addr add ` + ip + `/32 dev "$CNI_IFNAME"
	$in route add 169.254.1.1 dev "$CNI_IFNAME" scope link
	$in route add default via 169.254.1.1 dev "$CNI_IFNAME"
	` + permanent + `
	ip route add ` + ip + `/32 dev few0
	echo '{"cniVersion": "0.3.1", "ips": [{"version": "4", "address": "` + ip + `/32"}]}' ;;
esac
`
}

// TestHostPort has the real plugin portmap lead a port of the host to the guest.
func TestHostPort(t *testing.T) {
	if _, err := exec.LookPath("iptables"); err != nil {
		t.Skip("SKIP-MISSING: the package iptables is not installed")
	}
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-p", `[{"subnet": "10.66.0.0/24"}]`, "")})
	p := pod("server")
	p.Ports = []Port{{Protocol: "tcp", Host: 8066, Guest: 7}}
	g := boot(t, n.setup(t, p))
	other := boot(t, n.setup(t, pod("client")))
	serve(t, g.ns, ":7", "server")
	mustCall(t, "client", other.ns, "10.66.0.1:8066", "server")
	if err := n.Teardown(context.Background(), p.UID); err != nil {
		t.Fatal(err)
	}
	clean(t, n, p.UID)
}

// TestMetadataOfTheHost holds that a guest reaches neither the metadata service of the host nor one behind its gateway.
func TestMetadataOfTheHost(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-m", `[{"subnet": "10.67.0.0/24"}]`, "")})
	g := boot(t, n.setup(t, pod("curious")))
	if out, err := exec.Command("sh", "-c", "ip addr add 169.254.169.254/32 dev lo; ip addr add 203.0.113.9/32 dev lo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() {
		exec.Command("sh", "-c", "ip addr del 169.254.169.254/32 dev lo; ip addr del 203.0.113.9/32 dev lo").Run()
	})
	serve(t, host, "169.254.169.254:80", "metadata")
	serve(t, host, "203.0.113.9:80", "neighbour")
	mustCall(t, "the guest", g.ns, "203.0.113.9:80", "neighbour") // the same way is open to others
	if err := tryOnce(g.ns, "169.254.169.254:80"); err == nil {
		t.Error("the guest reaches the host's metadata service")
	}
}

// TestDelegated has a plugin that reads the annotation with further networks itself, adds an interface for one of them and
// reports the first network only, as Multus does.
func TestDelegated(t *testing.T) {
	n := newNode(t, map[string]string{"00-multus.conf": `{"cniVersion": "0.3.1", "name": "delegated", "type": "multus"}`})
	n.plugin(t, "multus", `case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "0.3.1", "supportedVersions": ["0.3.1"]}' ;;
ADD)
	for i in 0 1; do
		name=net1; [ $i = 0 ] && name=$CNI_IFNAME
		ip link add multus$i type veth peer name peer$i
		ip addr add 10.74.$i.1/24 dev multus$i
		ip link set multus$i up
		ip link set peer$i netns "$CNI_NETNS"
		nsenter --net="$CNI_NETNS" sh -ec "ip link set peer$i name $name; ip addr add 10.74.$i.2/24 dev $name; ip link set $name up"
	done
	nsenter --net="$CNI_NETNS" ip route add default via 10.74.0.1
	echo '{"cniVersion": "0.3.1", "interfaces": [{"name": "'$CNI_IFNAME'", "sandbox": "'$CNI_NETNS'"}], "ips": [{"version": "4", "address": "10.74.0.2/24", "interface": 0}]}' ;;
DEL) ip link del multus0 || :; ip link del multus1 || : ;;
esac
`)
	p := pod("delegating")
	p.Annotations = map[string]string{NetworksAnnotation: "no-file-of-this-node"}
	p.Ports = []Port{{Protocol: "tcp", Host: 8074, Guest: 7}}
	a := n.setup(t, p)
	g := boot(t, a)
	if len(a.Taps) != 2 || g.facts.NICs[1].Rename != "net1" || g.facts.NICs[0].Gateway4.String() != "10.74.0.1" {
		t.Fatalf("%+v\n%s", a, a.Results)
	}
	if len(a.Diagnostics) != 1 || a.Diagnostics[0].Code != CodePorts {
		t.Errorf("nobody maps the host's port, and the diagnostics are: %v", a.Diagnostics)
	}
	serve(t, g.ns, ":7", "delegating")
	mustCall(t, "host", host, "10.74.0.2:7", "delegating")
	mustCall(t, "host", host, "10.74.1.2:7", "delegating")
}

// TestExclusive has a plugin of CNI 1.1.0 collect what it holds for others, but only on a node that says it may.
func TestExclusive(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": `{"cniVersion": "1.1.0", "name": "cluster", "plugins": [{"type": "keeper"}]}`})
	heard := filepath.Join(t.TempDir(), "heard")
	n.plugin(t, "keeper", `case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.1.0"]}' ;;
GC) cat >`+heard+` ;;
ADD)
	ip link add keeper type veth peer name peer
	ip link set peer netns "$CNI_NETNS"
	nsenter --net="$CNI_NETNS" sh -ec "ip link set peer name $CNI_IFNAME; ip addr add 10.75.0.2/24 dev $CNI_IFNAME; ip link set $CNI_IFNAME up"
	echo '{"cniVersion": "1.1.0", "ips": [{"address": "10.75.0.2/24"}]}' ;;
DEL) ip link del keeper || : ;;
esac
`)
	n.setup(t, pod("kept"))
	for _, exclusive := range []bool{false, true} {
		n.cfg.Exclusive = exclusive
		n.restart(t)
		if err := n.collect(pod("kept").UID); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(heard)
		if exclusive != (err == nil) || exclusive && !strings.Contains(string(text), `"cni.dev/valid-attachments":[{"containerID":"`+pod("kept").UID+`","ifname":"virtlet-eth0"}]`) {
			t.Errorf("exclusive %v: the plugin hears %s (%v)", exclusive, text, err)
		}
	}
}

// TestCollectingWaits has plugins collect while one of them adds a pod: the one waits for the other, or the pod's address
// would be given back before it is used.
func TestCollectingWaits(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": `{"cniVersion": "1.1.0", "name": "cluster", "plugins": [{"type": "diary"}]}`})
	n.cfg.Exclusive = true
	n.restart(t)
	dir := t.TempDir()
	diary, fifo := filepath.Join(dir, "diary"), filepath.Join(dir, "go-on")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	n.plugin(t, "diary", `case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "1.1.0", "supportedVersions": ["1.1.0"]}' ;;
GC) echo collected >>`+diary+` ;;
ADD)
	echo >`+fifo+`
	cat `+fifo+` >/dev/null
	echo added >>`+diary+`
	echo '{"code": 100, "msg": "enough"}'
	exit 1 ;;
esac
`)
	added, collected := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := n.Setup(context.Background(), pod("slow"))
		added <- err
	}()
	if _, err := os.ReadFile(fifo); err != nil { // until the plugin is at work
		t.Fatal(err)
	}
	go func() { collected <- n.tellPlugins(context.Background()) }()
	for n.collecting.TryRLock() { // until the other waits
		n.collecting.RUnlock()
		runtime.Gosched()
	}
	if err := os.WriteFile(fifo, []byte("go on"), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-added; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the plugin's own error is: %v", err)
	}
	if err := <-collected; err != nil {
		t.Error(err)
	}
	if text, err := os.ReadFile(diary); err != nil || string(text) != "added\ncollected\n" {
		t.Errorf("%q, %v", text, err)
	}
}

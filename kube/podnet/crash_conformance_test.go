//go:build conformance && linux

package podnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// killedNode carries the configuration of a node process that is killed in the middle of a Setup.
const killedNode = "PODNET_TEST_KILLED_NODE"

// setUpAndWait is that process.
func setUpAndWait(config string) {
	var cfg Config
	err := json.Unmarshal([]byte(config), &cfg)
	if err == nil {
		var m *Manager
		if m, err = New(cfg); err == nil {
			_, err = m.Setup(context.Background(), pod("victim"))
		}
	}
	fmt.Fprintln(os.Stderr, "the plugin should have been waited for:", err)
	os.Exit(1)
}

// TestKilledInTheMiddle kills a node while a plugin is at work, after another has handed out an address. The pod's next
// start must not find the address taken.
func TestKilledInTheMiddle(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": `{"cniVersion": "1.0.0", "name": "cluster", "plugins": [{"type": "bridge", "bridge": "cni-k", "isGateway": true,
		"ipam": {"type": "host-local", "dataDir": "$DIR", "rangeStart": "10.68.0.9", "rangeEnd": "10.68.0.9", "subnet": "10.68.0.0/24"}}, {"type": "slow"}]}`})
	fifo := filepath.Join(t.TempDir(), "at-work")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	slow := func(work string) {
		n.plugin(t, "slow", `case $CNI_COMMAND in
VERSION) echo '{"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}' ;;
ADD) `+work+` sed 's/.*"prevResult":\(.*\),"type":"slow".*/\1/' ;;
esac`)
	}
	slow(`echo >` + fifo + `; read never <` + fifo + `.never;`)
	if err := unix.Mkfifo(fifo+".never", 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := json.Marshal(n.cfg)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), killedNode+"="+string(config))
	cmd.Stderr = os.Stderr
	// The plugin must go with the node, or it would wait for ever: they are a process group.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fifo); err != nil { // until the plugin is at work
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if known, err := n.List(); err != nil || len(known) != 1 {
		t.Fatalf("the pod is not recorded: %v, %v", known, err)
	}
	slow("")
	a := n.setup(t, pod("victim"))
	g := boot(t, a)
	serve(t, g.ns, ":7", "victim")
	mustCall(t, "host", host, "10.68.0.9:7", "victim")

	// A node that was killed while it made the wires leaves a record that says so.
	rec, err := n.records.read(pod("victim").UID)
	if err != nil {
		t.Fatal(err)
	}
	rec.Phase = plugging
	if err := n.records.write(rec); err != nil {
		t.Fatal(err)
	}
	if b := n.setup(t, pod("victim")); b.IPs[0] != a.IPs[0] {
		t.Errorf("the only address was %s and is %s", a.IPs[0], b.IPs[0])
	}

	// One address is all there is.
	_, err = n.Setup(context.Background(), pod("late"))
	if err == nil || !strings.Contains(err.Error(), "no IP addresses available in range set: 10.68.0.9-10.68.0.9") || !strings.Contains(err.Error(), `network "cluster"`) {
		t.Errorf("the range is exhausted, and the error is: %v", err)
	}
	clean(t, n, pod("late").UID)
}

// TestTeardown removes pods whose network has no configuration any more, and whose namespace a reboot has taken.
func TestTeardown(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-t", `[{"subnet": "10.69.0.0/24"}]`, "")})
	p := pod("leaving")
	p.Ports = []Port{{Protocol: "tcp", Host: 8069, Guest: 7}}
	n.setup(t, p)
	if err := os.Remove(filepath.Join(n.cfg.ConfDir, "10-net.conflist")); err != nil {
		t.Fatal(err)
	}
	if err := n.Usable(context.Background()); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("without configuration: %v", err)
	}
	n.restart(t)
	for range 2 { // the second time there is nothing to do
		if err := n.Teardown(context.Background(), p.UID); err != nil {
			t.Fatal(err)
		}
	}
	clean(t, n, p.UID)

	n.configure(t, "10-net.conflist", bridged("cluster", "cni-t", `[{"subnet": "10.69.0.0/24"}]`, ""))
	before := n.setup(t, p)
	// What is left of a namespace after a reboot is the file.
	if err := unix.Unmount(before.Netns, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := n.check(p.UID); err == nil {
		t.Error("nobody misses the namespace")
	}
	after := n.setup(t, p)
	serve(t, boot(t, after).ns, ":7", "leaving")
	mustCall(t, "host", host, after.IPs[0].String()+":7", "leaving")
	if err := unix.Unmount(after.Netns, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := n.Teardown(context.Background(), p.UID); err != nil {
		t.Fatal(err)
	}
	clean(t, n, p.UID)
}

// TestCollect removes pods that nobody knows, and a namespace without a record.
func TestCollect(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-c", `[{"subnet": "10.70.0.0/24"}]`, "")})
	kept := n.setup(t, pod("kept"))
	n.setup(t, pod("unknown"))
	foreign := filepath.Join(n.cfg.NetnsDir, netnsPrefix+"01234567-another-node's")
	if err := errors.Join(createNamespace(n.netns("stray")), createNamespace(foreign)); err != nil {
		t.Fatal(err)
	}
	if err := n.collect(pod("kept").UID); err != nil {
		t.Fatal(err)
	}
	clean(t, n, pod("unknown").UID)
	clean(t, n, "stray")
	if !isNamespace(foreign) {
		t.Error("the namespace of another node is gone")
	}
	if err := removeNamespace(foreign); err != nil {
		t.Error(err)
	}
	if err := n.check(pod("kept").UID); err != nil || !isNamespace(kept.Netns) {
		t.Errorf("the pod that is kept: %v", err)
	}
}

// TestHostDevice lends an interface of the host to a guest: it comes back with its own MAC and name.
func TestHostDevice(t *testing.T) {
	n := newNode(t, map[string]string{"10-dev.conf": `{"cniVersion": "1.0.0", "name": "dev", "type": "host-device", "device": "lent", "ipam": {"type": "static",
		"addresses": [{"address": "10.71.0.2/24"}]}}`})
	const mac = "02:00:5e:00:00:71"
	if out, err := exec.Command("sh", "-c", "ip link add lent address "+mac+" type veth peer name far; ip addr add 10.71.0.1/24 dev far; ip link set far up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	g := boot(t, n.setup(t, pod("device")))
	if g.facts.NICs[0].MAC != mac {
		t.Errorf("the guest's MAC is %s", g.facts.NICs[0].MAC)
	}
	serve(t, g.ns, ":7", "device")
	mustCall(t, "host", host, "10.71.0.2:7", "device")
	if err := n.Teardown(context.Background(), pod("device").UID); err != nil {
		t.Fatal(err)
	}
	back, err := netlink.LinkByName("lent")
	if err != nil || back.Attrs().HardwareAddr.String() != mac || back.Attrs().MasterIndex != 0 {
		t.Errorf("the interface comes back as %+v (%v)", back, err)
	}
}

// TestNotPluggable holds that interfaces which a bridge cannot extend are refused with the reason, and nothing is left.
func TestNotPluggable(t *testing.T) {
	if out, err := exec.Command("sh", "-c", "ip link add lower type veth peer name upper; ip link set lower up; ip link set upper up").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conf := func(more string) map[string]string {
		return map[string]string{"10-mac.conf": `{"cniVersion": "1.0.0", "name": "mac", "type": "macvlan", "master": "lower", ` + more + `
			"ipam": {"type": "static", "addresses": [{"address": "10.72.0.2/24"}]}}`}
	}
	n := newNode(t, conf(""))
	_, err := n.Setup(context.Background(), pod("shared"))
	if err == nil || !strings.Contains(err.Error(), "mode passthru") {
		t.Errorf("macvlan in mode bridge: %v", err)
	}
	clean(t, n, pod("shared").UID)

	n = newNode(t, conf(`"mode": "passthru",`))
	g := boot(t, n.setup(t, pod("alone")))
	if out, err := exec.Command("ip", "addr", "add", "10.72.0.1/24", "dev", "upper").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	serve(t, g.ns, ":7", "alone")
	mustCall(t, "host", host, "10.72.0.2:7", "alone")
}

// TestAtTheSameTime sets up pods all at once, each of them twice.
func TestAtTheSameTime(t *testing.T) {
	n := newNode(t, map[string]string{"10-net.conflist": bridged("cluster", "cni-s", `[{"subnet": "10.76.0.0/24"}]`, "")})
	type answer struct {
		name string
		a    Attachment
		err  error
	}
	answers := make(chan answer)
	const pods, times = 5, 2
	for i := range pods * times {
		go func() {
			name := fmt.Sprintf("pod%d", i/times)
			a, err := n.Setup(context.Background(), pod(name))
			answers <- answer{name, a, err}
		}()
	}
	owner := map[string]string{}
	for range pods * times {
		x := <-answers
		if x.err != nil {
			t.Errorf("%s: %v", x.name, x.err)
			continue
		}
		ip := x.a.IPs[0].String()
		if other, taken := owner[ip]; taken && other != x.name {
			t.Errorf("%s and %s have the address %s", other, x.name, ip)
		}
		owner[ip] = x.name
	}
	if len(owner) != pods {
		t.Errorf("%d pods have %d addresses", pods, len(owner))
	}

	// What somebody takes from a pod's namespace is missed.
	broken := pod("pod0")
	err := within(n.netns(broken.UID), func() error {
		l, err := netlink.LinkByName(tapPrefix + "0")
		return errors.Join(err, netlink.LinkDel(l))
	})
	if err != nil {
		t.Fatal(err)
	}
	_, again := n.Setup(context.Background(), broken)
	for _, err := range []error{n.check(broken.UID), again} {
		if err == nil || !strings.Contains(err.Error(), tapPrefix+"0") {
			t.Errorf("without its tap: %v", err)
		}
	}
}

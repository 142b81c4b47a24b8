//go:build conformance && linux

package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/tap"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// cables are three network namespaces: a host with a bridge for its pods, a pod as a CNI plugin makes it, and a guest. The
// guest's cable ends in a device of the pod that stands for a tap, on a bridge with the pod's own cable to the host.
type cables struct{ host, pod, guest string }

const (
	cableMAC     = "0a:58:0a:f4:01:05"
	cableDevice  = "tap0"
	hostMetadata = "169.254.169.254"
)

// connect makes the namespaces, which end with the test.
func connect(t *testing.T) cables {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP-MISSING: the rights of root, for network namespaces")
	}
	tools(t, "ip iproute2")
	var names []string
	for _, role := range []string{"host", "pod", "guest"} {
		name := fmt.Sprintf("vmseed-%s-%d-%d", role, os.Getpid(), time.Now().UnixNano()%1e6)
		if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
			t.Skipf("SKIP-MISSING: the right to make network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() {
			if out, err := exec.Command("ip", "netns", "delete", name).CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
		names = append(names, name)
	}
	c := cables{names[0], names[1], names[2]}
	for _, line := range []string{
		c.host + ": link set lo up",
		c.host + ": address add 169.254.169.254/32 dev lo",
		c.host + ": address add 169.254.170.2/32 dev lo",
		c.host + ": address add 198.51.100.77/32 dev lo",
		c.host + ": address add fd00:ec2::254/128 dev lo nodad",
		c.host + ": link add cni0 type bridge",
		c.host + ": link add veth0 type veth peer name eth0 netns " + c.pod,
		c.host + ": link set veth0 master cni0 up",
		c.host + ": address add 10.244.1.1/24 dev cni0",
		c.host + ": address add fd00:10:244:1::1/64 dev cni0 nodad",
		c.host + ": link set cni0 up",
		c.pod + ": link add br0 type bridge",
		c.pod + ": link add " + cableDevice + " type veth peer name eth0 address " + cableMAC + " netns " + c.guest,
		c.pod + ": link set eth0 master br0 up",
		c.pod + ": link set " + cableDevice + " master br0 up",
		c.pod + ": link set br0 up",
		c.guest + ": link set lo up",
		c.guest + ": link set eth0 addrgenmode eui64",
	} {
		namespace, command, _ := strings.Cut(line, ": ")
		run(t, "ip", append([]string{"-n", namespace}, strings.Fields(command)...)...)
	}
	// New namespaces take over what the machine does with packets for others.
	for _, namespace := range []string{c.pod, c.guest} {
		in(t, namespace, "sh", "-c", "echo 0 >/proc/sys/net/ipv4/ip_forward; echo 0 >/proc/sys/net/ipv6/conf/all/forwarding")
	}
	// A client for IPv6 needs its link-local address at once.
	in(t, c.guest, "sh", "-c", "echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad")
	run(t, "ip", "-n", c.guest, "link", "set", "eth0", "up")
	return c
}

// tools skips the test where a program is missing. Each is named with its Debian package.
func tools(t *testing.T, wanted ...string) {
	t.Helper()
	for _, w := range wanted {
		program, pkg, _ := strings.Cut(w, " ")
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, pkg)
		}
	}
}

// run runs a program and returns what it says.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := attempt(program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}

func attempt(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(out), err
}

// in runs a program in a namespace.
func in(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	return run(t, "ip", append([]string{"netns", "exec", namespace}, args...)...)
}

// canaries answers at addresses of the host until the test ends.
func (c cables) canaries(t *testing.T, at ...string) {
	t.Helper()
	for _, address := range at {
		cmd := exec.Command("ip", "netns", "exec", c.host, os.Args[0], "canary", address)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		if line, err := io.ReadAll(io.LimitReader(out, 6)); err != nil || string(line) != "ready\n" {
			t.Fatalf("a canary says %q, %v", line, err)
		}
	}
}

// fetches reports which addresses the guest gets an answer from, and which.
func (c cables) fetches(t *testing.T, at ...string) map[string]string {
	t.Helper()
	words := make([]string, len(at))
	var all sync.WaitGroup
	for i, address := range at {
		all.Go(func() {
			text, err := attempt("ip", "netns", "exec", c.guest, os.Args[0], "fetch", address)
			if err != nil {
				t.Errorf("%v: %s", err, text)
			}
			words[i] = strings.TrimSpace(text)
		})
	}
	all.Wait()
	out := map[string]string{}
	for i, address := range at {
		out[address] = words[i]
	}
	return out
}

func config() *autoconf.Config {
	return &autoconf.Config{MTU: 1450,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.244.1.5/24"), netip.MustParsePrefix("fd00:10:244:1::5/64")},
		Gateway4:  netip.MustParseAddr("10.244.1.1"), Gateway6: netip.MustParseAddr("fd00:10:244:1::1"),
		Routes: []autoconf.Route{{To: netip.MustParsePrefix("10.96.0.0/12"), Via: netip.MustParseAddr("10.244.1.1")}},
		DNS:    []netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("fd00:10:96::a")},
		Search: []string{"default.svc.cluster.local", "cluster.local"}}
}

// supervise answers the guest as a supervisor does, until the function that it returns is called.
func (c cables) supervise(t *testing.T, answers *autoconf.Config, word string) (end func()) {
	t.Helper()
	dir := t.TempDir()
	s := &supervisor{dir: dir, log: slog.New(slog.NewTextHandler(io.Discard, nil)), plan: Plan{Namespace: "default", Name: "vm",
		Taps: []Tap{{Name: "virtlet-eth0", MAC: cableMAC, MTU: 1450, Device: cableDevice, Namespace: "/run/netns/" + c.pod, Answers: answers}}}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if word != "" {
		tree := seed.Seed{Machine: seed.Name{Namespace: "default", Name: "vm"},
			Trees: []seed.Tree{{Name: "nocloud", Roots: []string{"nocloud"}, Blobs: []seed.Blob{{Path: "meta-data", Content: secret.New(word)}}}}}
		receipt, err := metadata.New().Deliver(t.Context(), tree, delivery.Target{Path: filepath.Join(dir, "seed.metadata")})
		if err != nil {
			t.Fatal(err)
		}
		s.plan.Metadata = &Metadata{File: receipt.Attachments[0].Path, Listen: netip.MustParseAddrPort(hostMetadata + ":80")}
		if err := s.openService(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.protectTaps(), s.startTaps()); err != nil {
		t.Fatal(err)
	}
	return func() {
		s.cancel()
		s.working.Wait()
	}
}

// Nothing that a guest does at a tap device reaches a metadata service of the host. Without the device's filter, the
// control, all are reached.
func TestTapMetadata(t *testing.T) {
	c := connect(t)
	closed := []string{"169.254.169.254:80", "169.254.169.254:8080", "169.254.170.2:80", "[fd00:ec2::254]:80"}
	all := append(slices.Clone(closed), "198.51.100.77:80")
	c.canaries(t, all...)
	run(t, "ip", "-n", c.guest, "address", "add", "10.244.1.5/24", "dev", "eth0")
	run(t, "ip", "-n", c.guest, "address", "add", "fd00:10:244:1::5/64", "dev", "eth0", "nodad")
	run(t, "ip", "-n", c.guest, "route", "add", "default", "via", "10.244.1.1")
	run(t, "ip", "-n", c.guest, "route", "add", "default", "via", "fd00:10:244:1::1")
	want := map[string]string{}
	for _, address := range all {
		want[address] = "canary"
	}
	same := func(name string) {
		t.Helper()
		for address, got := range c.fetches(t, all...) {
			for try := 0; try < 10 && got == "closed" && want[address] != got; try++ { // slowly, perhaps
				got = c.fetches(t, address)[address]
			}
			if got != want[address] {
				t.Errorf("%s: %s is %q, want %q", name, address, got, want[address])
			}
		}
	}
	same("control")
	if err := tap.Protect(tap.Device{Name: cableDevice, Namespace: "/run/netns/" + c.pod}, tap.Filter{}); err != nil {
		t.Fatal(err)
	}
	for _, address := range closed {
		want[address] = "closed"
	}
	same("nobody answers")
	end := c.supervise(t, nil, "")
	same("without a service")
	end()
	end = c.supervise(t, config(), "instance-id: mine")
	want[closed[0]] = "instance-id: mine"
	same("with a service")
	// As a neighbour the guest finds the service as well, and nothing else.
	run(t, "ip", "-n", c.guest, "route", "add", "169.254.0.0/16", "dev", "eth0")
	same("on the link")
	run(t, "ip", "-n", c.guest, "route", "del", "169.254.0.0/16", "dev", "eth0")
	end()
	want[closed[0]] = "closed"
	same("after the service")
	// Somebody on the pods' network takes the guest's neighbour for the service.
	end = c.supervise(t, config(), "instance-id: mine")
	defer end()
	bridge := strings.Fields(run(t, "ip", "-n", c.pod, "-br", "link", "show", "br0"))[2]
	run(t, "ip", "-n", c.host, "address", "del", "169.254.169.254/32", "dev", "lo")
	run(t, "ip", "-n", c.host, "route", "add", "169.254.169.254/32", "dev", "cni0")
	for _, mac := range []string{bridge, cableMAC, "5a:94:ee:f4:01:05"} {
		run(t, "ip", "-n", c.host, "neigh", "replace", "169.254.169.254", "lladdr", mac, "dev", "cni0")
		if got := strings.TrimSpace(run(t, "ip", "netns", "exec", c.host, os.Args[0], "fetch", "169.254.169.254:80")); got != "closed" {
			t.Errorf("another pod gets %q from %s", got, mac)
		}
	}
}

// facts is what ip(8) says of the guest.
func (c cables) facts(t *testing.T) string {
	t.Helper()
	return run(t, "ip", "-n", c.guest, "address", "show", "dev", "eth0") + run(t, "ip", "-n", c.guest, "route") + run(t, "ip", "-n", c.guest, "-6", "route")
}

func wantAll(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

// script writes a program's hook.
func script(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

// ISC's dhclient, which Debian's cloud-init and ifupdown use.
func TestTapDhclient(t *testing.T) {
	tools(t, "dhclient isc-dhcp-client")
	c := connect(t)
	end := c.supervise(t, config(), "")
	defer func() { end() }()
	ask := func(family string) string {
		dir := t.TempDir()
		out := filepath.Join(dir, "environment")
		hook := script(t, "env | sort >>"+out+"\nexit 0\n")
		lease := filepath.Join(dir, "lease")
		args := []string{"dhclient", family, "-1", "-v", "-lf", lease, "-pf", filepath.Join(dir, "pid"), "-sf", hook, "-cf", dhclientConfig(t), "eth0"}
		said := in(t, c.guest, args...)
		t.Cleanup(func() {
			_, _ = attempt("ip", "netns", "exec", c.guest, "dhclient", family, "-x", "-lf", lease, "-pf", filepath.Join(dir, "pid"), "eth0")
		})
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
		return string(text) + said
	}
	wantAll(t, ask("-4"), "new_ip_address=10.244.1.5", "new_subnet_mask=255.255.255.0", "new_interface_mtu=1450", "new_routers=10.244.1.1",
		"new_rfc3442_classless_static_routes=12 10 96 10 244 1 1 0 10 244 1 1", "new_domain_name_servers=10.96.0.10",
		"new_domain_search=default.svc.cluster.local. cluster.local.", "new_dhcp_lease_time=86400", "new_dhcp_renewal_time=43200",
		"new_dhcp_server_identifier=169.254.169.254")
	end()
	end = c.supervise(t, config(), "") // as after the death of a supervisor
	wantAll(t, ask("-6"), "new_ip6_address=fd00:10:244:1::5", "new_dhcp6_name_servers=fd00:10:96::a",
		"new_dhcp6_domain_search=default.svc.cluster.local. cluster.local.", "new_max_life=86400")
}

func dhclientConfig(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "dhclient.conf")
	text := "option rfc3442-classless-static-routes code 121 = array of unsigned integer 8;\n" +
		"request subnet-mask, routers, domain-name-servers, domain-search, interface-mtu, rfc3442-classless-static-routes,\n" +
		" dhcp-renewal-time, dhcp6.name-servers, dhcp6.domain-search;\ntimeout 60;\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// Busybox's udhcpc, that of small guests.
func TestTapUdhcpc(t *testing.T) {
	tools(t, "busybox busybox")
	c := connect(t)
	end := c.supervise(t, config(), "")
	defer end()
	hook := script(t, `[ "$1" = bound ] && env | sort; exit 0`+"\n")
	wantAll(t, in(t, c.guest, "busybox", "udhcpc", "-i", "eth0", "-f", "-q", "-n", "-O", "search", "-O", "mtu", "-O", "staticroutes", "-s", hook),
		"ip=10.244.1.5", "mask=24", "mtu=1450", "router=10.244.1.1", "dns=10.96.0.10", "search=default.svc.cluster.local cluster.local",
		"staticroutes=10.96.0.0/12 10.244.1.1 0.0.0.0/0 10.244.1.1", "lease=86400", "serverid=169.254.169.254")
	// Another address than the NIC's is refused: a disk may have come here with the lease of another pod.
	said, _ := attempt("ip", "netns", "exec", c.guest, "busybox", "udhcpc", "-i", "eth0", "-f", "-q", "-n", "-r", "10.244.7.9", "-s", hook)
	wantAll(t, said, "ip=10.244.1.5")
}

// Linux takes its router from the advertisements, and reaches it; rdisc6 shows all that they say.
func TestTapRouter(t *testing.T) {
	tools(t, "rdisc6 ndisc6")
	c := connect(t)
	end := c.supervise(t, config(), "")
	defer end()
	c.canaries(t, "[fd00:10:244:1::1]:80")
	run(t, "ip", "-n", c.guest, "address", "add", "fd00:10:244:1::5/128", "dev", "eth0", "nodad")
	// The gateway's own words on the pods' network are not the guest's.
	deadline := time.Now().Add(2 * time.Minute)
	for !strings.Contains(run(t, "ip", "-n", c.guest, "-6", "route"), "default via fe80::5894:eeff:fef4:105") && time.Now().Before(deadline) {
		_, _ = attempt("ip", "netns", "exec", c.guest, "rdisc6", "-1", "-q", "-r", "1", "-w", "2000", "eth0")
	}
	wantAll(t, c.facts(t), "default via fe80::5894:eeff:fef4:105 dev eth0 proto ra", "fd00:10:244:1::/64 dev eth0 proto kernel")
	if mtu := strings.TrimSpace(in(t, c.guest, "cat", "/proc/sys/net/ipv6/conf/eth0/mtu")); mtu != "1450" {
		t.Errorf("MTU %s", mtu)
	}
	told := strings.Join(strings.Fields(in(t, c.guest, "rdisc6", "-1", "eth0")), " ")
	wantAll(t, told, "Stateful address conf. : Yes", "Autonomous address conf.: No", "Recursive DNS server : fd00:10:96::a",
		"DNS search list : default.svc.cluster.local cluster.local", "MTU : 1450 bytes", "Router lifetime : 9000", "from fe80::5894:eeff:fef4:105")
	run(t, "ip", "-n", c.host, "address", "add", "fd00:77::1/128", "dev", "lo", "nodad")
	c.canaries(t, "[fd00:77::1]:80")
	if got := c.fetches(t, "[fd00:77::1]:80"); got["[fd00:77::1]:80"] != "canary" {
		t.Errorf("beyond the router: %v\n%s%s", got, c.facts(t), run(t, "ip", "-n", c.guest, "-6", "neigh"))
	}
}

// A server on the pods' network is not asked, and not heard.
func TestTapForeignServer(t *testing.T) {
	tools(t, "busybox busybox")
	c := connect(t)
	dir := t.TempDir()
	rogue := filepath.Join(dir, "udhcpd.conf")
	if err := os.WriteFile(rogue, []byte("start 10.244.1.200\nend 10.244.1.210\ninterface cni0\nlease_file "+filepath.Join(dir, "leases")+"\npidfile "+filepath.Join(dir, "pid")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := exec.Command("ip", "netns", "exec", c.host, "busybox", "udhcpd", "-f", rogue)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	hook := script(t, `[ "$1" = bound ] && echo "bound to $ip by $serverid"; exit 0`+"\n")
	ask := func() string {
		out, _ := attempt("ip", "netns", "exec", c.guest, "busybox", "udhcpc", "-i", "eth0", "-f", "-q", "-n", "-t", "5", "-s", hook)
		return out
	}
	// The control: without a filter the server answers.
	wantAll(t, ask(), "bound to 10.244.1.2")
	silent := config()
	silent.Addresses = silent.Addresses[1:]
	end := c.supervise(t, silent, "")
	if got := ask(); strings.Contains(got, "bound to") {
		t.Errorf("the guest hears another server: %s", got)
	}
	end()
	end = c.supervise(t, config(), "")
	defer end()
	wantAll(t, ask(), "bound to 10.244.1.5 by 169.254.169.254")
}

// What a plan says of tap devices is understood by later supervisors.
func TestTapPlan(t *testing.T) {
	dir := t.TempDir()
	plan := Plan{Attempts: []Attempt{{}}, Taps: []Tap{{Name: "a", Device: "tap0", Answers: config()}}, SSH: SSH{NIC: -1, Guest: netip.MustParseAddr("10.244.1.5")}}
	if err := plan.Save(dir); err != nil {
		t.Fatal(err)
	}
	read, err := LoadPlan(dir)
	if err != nil || read.Version != tappedPlan {
		t.Fatalf("%+v, %v", read, err)
	}
	plan.Version = tappedPlan
	want, _ := json.Marshal(plan)
	if got, _ := json.Marshal(read); string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// No thread stays in a namespace of a device, where other code would run and the namespace outlive its pod.
func TestTapThreads(t *testing.T) {
	c := connect(t)
	device := tap.Device{Name: cableDevice, Namespace: "/run/netns/" + c.pod}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if _, _, err := tap.Traffic(device); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if err := tap.Protect(tap.Device{Name: "none", Namespace: device.Namespace}, tap.Filter{}); err == nil {
		t.Error("a device that is not there is protected")
	}
	threads, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		if at, err := os.Readlink(thread); err == nil && at != own { // a thread may end meanwhile
			t.Errorf("%s is %s, not %s", thread, at, own)
		}
	}
}

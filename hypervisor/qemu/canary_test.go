//go:build e2e && linux

package qemu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
)

// inNamespace tells the test that it runs in a network namespace of its own.
const inNamespace = "VMSEED_TEST_NAMESPACE"

// The canaries stand where a cloud serves metadata to its VMs, the host's credentials among them. The last stands for
// the rest of the world.
var (
	metadata4 = "tcp!169.254.169.254!80"
	metadata6 = "tcp![fd00:ec2::254]!80"
	world     = "tcp!198.51.100.77!8080"
)

// A guest reaches neither metadata address of its host, in any network mode. Plain slirp, the control, reaches both.
func TestHostMetadataOutOfReach(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		namespace(t)
		return
	}
	for _, target := range []string{"169.254.169.254:80", "[fd00:ec2::254]:80", "198.51.100.77:8080"} {
		canary(t, target)
	}
	open, closed := " canary", " closed"
	nic := machine.NIC{Name: "net", Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.90.5/24")}, Gateway4: netip.MustParseAddr("10.1.90.1")}
	for _, c := range []struct {
		name, mode, address, gateway string
		nic                          machine.NIC
		control                      bool
		want                         []string
	}{
		{"stack", "stack", "10.1.90.5/24", "10.1.90.1", nic, false, []string{metadata4 + closed, metadata6 + closed, world + open}},
		// The gateway of a CNI plugin may be a link-local address itself.
		{"stack, link-local gateway", "stack", "169.254.169.253/16", "169.254.169.1",
			machine.NIC{Name: "net", Addrs: []netip.Prefix{netip.MustParsePrefix("169.254.169.253/32")}, Gateway4: netip.MustParseAddr("169.254.169.1")},
			false, []string{metadata4 + closed, metadata6 + closed, world + open}},
		{"user", "user", "169.254.2.15/16", "169.254.2.2", machine.NIC{Name: "net", DHCP4: true}, false, []string{metadata4 + closed, metadata6 + closed, world + open}},
		{"none", "none", "10.0.2.15/24", "10.0.2.2", machine.NIC{Name: "net"}, false, []string{metadata4 + closed, metadata6 + closed, world + closed}},
		{"control", "none", "10.0.2.15/24", "10.0.2.2", machine.NIC{Name: "net"}, true, []string{metadata4 + open, metadata6 + open, world + open}},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, vm := guest(t, fmt.Sprintf("vmseed.try=%s vmseed.address=%s vmseed.gateway=%s vmseed.stay=1",
				strings.Join([]string{metadata4, metadata6, world}, ","), c.address, c.gateway), "virtio_net")
			vm.Machine.Network.NICs = []machine.NIC{c.nic}
			vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
			vm.Options.Net = c.mode
			client := start(t, q, vm)
			if c.control {
				plainSlirp(t, client)
			}
			if got := firstBoot(t, client).Result.Warnings; !slices.Equal(got, c.want) {
				t.Errorf("the guest found\n%q, want\n%q", got, c.want)
			}
		})
	}
}

// namespace runs the test again where addresses of the host can be made at will.
func namespace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP-MISSING: ip is not installed (Debian package iproute2)")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=30m")
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
	if strings.Contains(string(out), "SKIP-MISSING") {
		t.Skip("SKIP-MISSING: a tool that the guests need; the output above names it")
	}
}

// canary gives the host an address and serves a word there.
func canary(t *testing.T, at string) {
	t.Helper()
	host, _, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	bits := "/32"
	if strings.Contains(host, ":") {
		bits = "/128"
	}
	for _, args := range [][]string{{"link", "set", "lo", "up"}, {"address", "add", host + bits, "dev", "lo"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %v: %v\n%s", args, err, out)
		}
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "canary")
			conn.Close()
		}
	}()
}

// plainSlirp starts the VM again with QEMU's user-mode network as it comes.
func plainSlirp(t *testing.T, c *supervisor.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := c.Stop(ctx, 0); err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	args := plan.Attempts[0].Args
	for i, a := range args {
		var device map[string]any
		if json.Unmarshal([]byte(a), &device) != nil || device["id"] != "dev-net0" {
			continue
		}
		device["netdev"] = "net0"
		text, err := json.Marshal(device)
		if err != nil {
			t.Fatal(err)
		}
		args[i] = string(text)
	}
	plan.Attempts[0].Args = append([]string{"-netdev", "user,id=net0,ipv4=on,ipv6=on"}, args...)
	plan.LinksDown = nil
	if err := plan.Save(c.Dir); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx, false); err != nil {
		t.Fatal(err)
	}
}

//go:build e2e && linux

package qemu_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// inNamespace tells the test that it runs in a network namespace of its own.
const inNamespace = "VMSEED_TEST_NAMESPACE"

// The canaries stand where a cloud serves metadata to its VMs, the host's credentials among them, and beside that. The last
// stands for the rest of the world.
const (
	metadata4 = "http!169.254.169.254!80"
	metadata6 = "tcp![fd00:ec2::254]!80"
	otherPort = "tcp!169.254.169.254!8080"
	neighbour = "tcp!169.254.170.2!80"
	world     = "tcp!198.51.100.77!8080"
)

// A guest reaches no metadata address of its host, in any network mode: with a metadata service of vmseed it reaches that
// instead. Plain slirp, the control, reaches all.
func TestHostMetadataOutOfReach(t *testing.T) {
	if os.Getenv(inNamespace) == "" {
		namespace(t)
		return
	}
	targets := []string{metadata4, metadata6, otherPort, neighbour, world}
	for _, target := range targets {
		_, to, _ := strings.Cut(target, "!")
		canary(t, strings.ReplaceAll(to, "!", ":"))
	}
	found := func(words ...string) (out []string) {
		for i, target := range targets {
			out = append(out, target+" "+words[i])
		}
		return out
	}
	const closed, open, ours = "closed", "canary", "served by vmseed"
	nic := machine.NIC{Name: "net", Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.90.5/24")}, Gateway4: netip.MustParseAddr("10.1.90.1")}
	// The gateway of a CNI plugin may be a link-local address itself.
	local := machine.NIC{Name: "net", Addrs: []netip.Prefix{netip.MustParsePrefix("169.254.169.253/32")}, Gateway4: netip.MustParseAddr("169.254.169.1")}
	for _, c := range []struct {
		name, mode, address, gateway string
		nic                          machine.NIC
		service, control             bool
		want                         []string
	}{
		{"stack", "stack", "10.1.90.5/24", "10.1.90.1", nic, false, false, found(closed, closed, closed, closed, open)},
		{"stack, link-local gateway", "stack", "169.254.169.253/16", "169.254.169.1", local, false, false, found(closed, closed, closed, closed, open)},
		{"stack, service", "stack", "10.1.90.5/24", "10.1.90.1", nic, true, false, found(ours, closed, closed, closed, open)},
		{"stack, link-local gateway, service", "stack", "169.254.169.253/16", "169.254.169.1", local, true, false, found(ours, closed, closed, closed, open)},
		{"user", "user", "169.254.2.15/16", "169.254.2.2", machine.NIC{Name: "net", DHCP4: true}, false, false, found(closed, closed, closed, closed, open)},
		{"none", "none", "10.0.2.15/24", "10.0.2.2", machine.NIC{Name: "net"}, false, false, found(closed, closed, closed, closed, closed)},
		{"control", "none", "10.0.2.15/24", "10.0.2.2", machine.NIC{Name: "net"}, false, true, found(open, open, open, open, open)},
	} {
		t.Run(c.name, func(t *testing.T) {
			q, vm := guest(t, fmt.Sprintf("vmseed.try=%s vmseed.address=%s vmseed.gateway=%s vmseed.stay=1",
				strings.Join(targets, ","), c.address, c.gateway), "virtio_net")
			vm.Machine.Network.NICs = []machine.NIC{c.nic}
			vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
			vm.Options.Net = c.mode
			if c.service {
				vm.Attachments = service(t, vm, ours)
			}
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

// service has the VM's supervisor serve a word as NoCloud's meta-data.
func service(t *testing.T, vm hypervisor.VM, word string) []seed.Attachment {
	t.Helper()
	s := seed.Seed{Machine: seed.Name{Namespace: vm.Machine.Namespace, Name: vm.Machine.Name},
		Trees: []seed.Tree{{Name: "nocloud", Roots: []string{"nocloud"}, Blobs: []seed.Blob{{Path: "meta-data", Content: secret.New(word)}}}}}
	receipt, err := metadata.New().Deliver(t.Context(), s, delivery.Target{Path: filepath.Join(vm.StateDir, "seed.metadata")})
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Attachments
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
	address := []string{"address", "replace", host + "/32", "dev", "lo"}
	if strings.Contains(host, ":") {
		address = []string{"address", "replace", host + "/128", "dev", "lo", "nodad"} // else it cannot be listened on at once
	}
	for _, args := range [][]string{{"link", "set", "lo", "up"}, address} {
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
			go func() {
				defer conn.Close()
				fmt.Fprintln(conn, "canary")
				_ = conn.(*net.TCPConn).CloseWrite()
				_, _ = io.Copy(io.Discard, conn) // a request that is not read would have the word withdrawn
			}()
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

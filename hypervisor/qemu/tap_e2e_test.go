//go:build e2e && linux

package qemu_test

import (
	"context"
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

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/machine"
)

// podMAC is the MAC that a network plugin gave the pod, and gives up to the guest.
const podMAC = "0a:58:0a:f4:01:05"

// dhcpHook applies what busybox's DHCP client learns.
const dhcpHook = `#!/bin/busybox sh
[ "$1" = bound ] || exit 0
/bin/busybox ip address add $ip/$mask dev $interface
/bin/busybox ip link set $interface mtu $mtu
[ -n "$staticroutes" ] || staticroutes="0.0.0.0/0 $router"
set -- $staticroutes
while [ $# -gt 1 ]; do
	if [ "$2" = 0.0.0.0 ]; then /bin/busybox ip route add $1 dev $interface; else /bin/busybox ip route add $1 via $2; fi
	shift 2
done
`

// withBusybox are the files that a guest needs for a DHCP client.
func withBusybox(t *testing.T) testguest.InitramfsConfig {
	t.Helper()
	program, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("SKIP-MISSING: busybox is not installed (Debian package busybox)")
	}
	files := map[string][]byte{"bin/dhcp-hook": []byte(dhcpHook)}
	read := func(inside, path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(inside, "/")] = content
	}
	read("bin/busybox", program)
	libraries, _ := exec.Command("ldd", program).Output() // none of a static one
	for word := range strings.FieldsSeq(string(libraries)) {
		if strings.HasPrefix(word, "/") {
			inside := "/lib64/" + filepath.Base(word)
			read(inside, word)
		}
	}
	return testguest.InitramfsConfig{Modules: []string{"virtio_net"}, Files: files}
}

// pod makes a network namespace as a network plugin and the node make a pod's: a cable to a bridge of this host, on one
// bridge with a tap device. It returns the namespace's path.
func pod(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("vmseed-pod-%d", os.Getpid())
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
	ip("netns add " + name)
	t.Cleanup(func() { ip("netns delete " + name) })
	for _, line := range []string{
		"link add cni0 type bridge",
		"address add 10.244.1.1/24 dev cni0",
		"address add fd00:10:244:1::1/64 dev cni0 nodad",
		"link add veth0 mtu 1450 type veth peer name eth0 netns " + name,
		"link set veth0 master cni0 up",
		"link set cni0 up",
		"-n " + name + " link add br0 type bridge",
		"-n " + name + " tuntap add dev tap0 mode tap",
		"-n " + name + " link set eth0 mtu 1450 master br0 up",
		"-n " + name + " link set tap0 mtu 1450 master br0 up",
		"-n " + name + " link set br0 up",
	} {
		ip(line)
	}
	return "/run/netns/" + name
}

// tapped makes a VM whose only NIC is plugged into a tap device.
func tapped(vm *hypervisor.VM, namespace string, answer bool) {
	vm.Machine.Network.NICs = []machine.NIC{{Name: "virtlet-eth0", MAC: podMAC, MTU: 1450,
		Addrs:    []netip.Prefix{netip.MustParsePrefix("10.244.1.5/24"), netip.MustParsePrefix("fd00:10:244:1::5/64")},
		Gateway4: netip.MustParseAddr("10.244.1.1"), Gateway6: netip.MustParseAddr("fd00:10:244:1::1"),
		DNS: machine.DNS{Servers: []netip.Addr{netip.MustParseAddr("10.96.0.10")}}}}
	vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
	vm.Options.Taps = []hypervisor.Tap{{NIC: "virtlet-eth0", Device: "tap0", Namespace: namespace, Answer: answer}}
}

// A guest at a tap device learns its addresses from its supervisor, finds its own metadata service and never the host's,
// and goes on when its supervisor is another.
func TestTap(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP-MISSING: the rights of root, for tap devices in network namespaces")
	}
	if os.Getenv(inNamespace) == "" {
		namespace(t)
		return
	}
	targets := []string{metadata4, otherPort, neighbour, world}
	for _, target := range append(targets, metadata6) {
		_, to, _ := strings.Cut(target, "!")
		canary(t, strings.ReplaceAll(to, "!", ":"))
	}
	where := pod(t)
	found := func(words ...string) (out []string) {
		for i, target := range targets {
			out = append(out, target+" "+words[i])
		}
		return out
	}
	const closed, reached, ours = "closed", "canary", "served by vmseed"

	t.Run("answered", func(t *testing.T) {
		q, vm := guestWith(t, withBusybox(t), "vmseed.listen=22 vmseed.address=dhcp vmseed.stay=1 vmseed.try="+strings.Join(targets, ","))
		tapped(&vm, where, true)
		vm.Options.Detach = true
		vm.Attachments = service(t, vm, ours)
		client := start(t, q, vm)
		want := append([]string{"10.244.1.5/24 MTU 1450 router fe80::5894:eeff:fef4:105"}, found(ours, closed, closed, reached)...)
		if got := firstBoot(t, client).Result.Warnings; !slices.Equal(got, want) {
			t.Fatalf("the guest found\n%q, want\n%q", got, want)
		}
		atSSH(t, client)
		twice(t, vm)

		ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
		defer cancel()
		if u, err := client.Usage(ctx); err != nil || u.NetworkReceivedBytes == 0 || u.NetworkSentBytes == 0 {
			t.Errorf("it uses %+v, %v", u, err)
		}
		bereave(ctx, t, client, fmt.Sprintf("%q", metadata4+" "+ours))
		atSSH(t, client)

		if err := client.Stop(ctx, 0); err != nil {
			t.Fatal(err)
		}
		if err := client.Wait(ctx); err != nil {
			t.Error(err)
		}
		if err := client.Start(ctx, true); err != nil {
			t.Fatalf("%v\n%s", err, logs(vm.StateDir))
		}
		if got := firstBoot(t, client).Result.Warnings; !slices.Equal(got, want) {
			t.Errorf("after a restart the guest found\n%q, want\n%q", got, want)
		}
	})
	t.Run("told by its seed", func(t *testing.T) {
		q, vm := guest(t, "vmseed.address=10.244.1.5/24 vmseed.gateway=10.244.1.1 vmseed.try="+strings.Join(targets, ","), "virtio_net")
		tapped(&vm, where, false)
		client := start(t, q, vm)
		if got, want := firstBoot(t, client).Result.Warnings, found(closed, closed, closed, reached); !slices.Equal(got, want) {
			t.Errorf("the guest found\n%q, want\n%q", got, want)
		}
	})
}

// bereave kills the supervisor of a VM, and sees what the guest finds under the next one.
func bereave(ctx context.Context, t *testing.T, c *supervisor.Client, finds string) {
	t.Helper()
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	open := func() io.ReadWriteCloser {
		console, err := c.Console(ctx)
		for err != nil && ctx.Err() == nil { // the killed one may have taken the call
			console, err = c.Console(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		return console
	}
	if err := typed(ctx, open(), "hello"); err != nil {
		t.Fatal(err)
	}
	console := open()
	defer console.Close()
	defer context.AfterFunc(ctx, func() { _ = console.Close() })()
	fmt.Fprintln(console, "again")
	expect(t, console, finds)
}

// atSSH reaches the guest by the forward to its SSH server and by its supervisor.
func atSSH(t *testing.T, c *supervisor.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"the forward": func() (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", s.SSHPort))
		},
		"DialGuest": func() (net.Conn, error) { return c.DialGuest(ctx, 22) },
	} {
		conn, err := dial()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		if word, err := io.ReadAll(conn); err != nil || string(word) != "guest\n" {
			t.Errorf("%s: %q, %v", name, word, err)
		}
		stop()
		_ = conn.Close()
	}
}

// twice starts another VM at the tap device of one that runs, which must fail and leave the first alone.
func twice(t *testing.T, first hypervisor.VM) {
	t.Helper()
	q, vm := guest(t, "vmseed.stay=1")
	tapped(&vm, first.Options.Taps[0].Namespace, false)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	h, err := q.Start(ctx, vm)
	if err == nil {
		_ = h.Stop(ctx, 0)
		t.Fatal("two guests have one tap device")
	}
	if !strings.Contains(err.Error(), "tap0") || !strings.Contains(err.Error(), "busy") {
		t.Errorf("the error is %v", err)
	}
}

package qemu

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// tapped is a VM with a NIC on a network of vmseed's own, and two at tap devices.
func tapped(t *testing.T) hypervisor.VM {
	t.Helper()
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	m, list := machine.Place(machine.Machine{Name: "vm", Hardware: machine.Hardware{Arch: "amd64"},
		Boot: machine.Boot{Kernel: "/vmlinuz"},
		Network: machine.Network{DNS: machine.DNS{Servers: []netip.Addr{a("10.96.0.10")}}, NICs: []machine.NIC{
			{Name: "virtlet-eth0", MAC: "0a:58:0a:f4:01:05", MTU: 1450, Addrs: []netip.Prefix{p("fd00::5/64"), p("10.244.1.5/24")}, Gateway4: a("10.244.1.1")},
			{Name: "own", MAC: "52:54:00:00:00:02"},
			{Name: "virtlet-eth1", MAC: "0a:58:0a:f5:01:05", Model: "e1000e", Addrs: []netip.Prefix{p("10.245.1.5/24")}},
		}}}, machine.Facts{})
	if list.HasErrors() {
		t.Fatal(list)
	}
	return hypervisor.VM{Machine: m, StateDir: "/vms/vm", Options: hypervisor.Options{SSHPort: 2222, Taps: []hypervisor.Tap{
		{NIC: "virtlet-eth1", Device: "tap1", Namespace: "/run/netns/pod"},
		{NIC: "virtlet-eth0", Device: "tap0", Namespace: "/run/netns/pod", Answer: true},
	}}}
}

func TestTaps(t *testing.T) {
	vm := tapped(t)
	h := someHost(vm)
	h.VHost = true
	c, list := build(vm, h, "tcg", 0)
	if len(list) > 0 {
		t.Error(list)
	}
	var netdevs []string
	for i, a := range c.args {
		if a == "-netdev" {
			netdevs = append(netdevs, c.args[i+1])
		}
	}
	want := []string{`{"fd":"3","id":"net0","type":"tap","vhost":true}`,
		`{"addr":{"path":"net1.sock","type":"unix"},"id":"net1","server":true,"type":"stream"}`,
		`{"fd":"4","id":"net2","type":"tap"}`}
	if diff := cmp.Diff(want, netdevs); diff != "" {
		t.Error(diff)
	}
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	taps := []supervisor.Tap{
		{Name: "virtlet-eth0", MAC: "0a:58:0a:f4:01:05", MTU: 1450, Device: "tap0", Namespace: "/run/netns/pod", Answers: &autoconf.Config{MTU: 1450,
			Addresses: []netip.Prefix{p("fd00::5/64"), p("10.244.1.5/24")}, Gateway4: a("10.244.1.1"), DNS: []netip.Addr{a("10.96.0.10")}}},
		{Name: "virtlet-eth1", MAC: "0a:58:0a:f5:01:05", Device: "tap1", Namespace: "/run/netns/pod"},
	}
	same := cmp.Options{cmp.Comparer(func(x, y netip.Addr) bool { return x == y }), cmp.Comparer(func(x, y netip.Prefix) bool { return x == y })}
	if diff := cmp.Diff(taps, c.taps, same); diff != "" {
		t.Error(diff)
	}
	if c.ssh != (supervisor.SSH{NIC: -1, Port: 2222, Guest: a("10.244.1.5")}) {
		t.Errorf("SSH %+v", c.ssh)
	}
	if !strings.Contains(strings.Join(c.args, " "), `"host_mtu":1450`) {
		t.Error("the guest is not told the MTU")
	}
	// Without the taps' NICs the own network carries SSH.
	vm.Options.Taps = vm.Options.Taps[:1]
	vm.Machine.Network.NICs[2].LinkDown = true
	vm.Machine.Network.NICs = vm.Machine.Network.NICs[1:]
	if c, _ := build(vm, h, "tcg", 0); c.ssh != (supervisor.SSH{NIC: 0, Port: 2222}) || !slices.Equal(c.down, []string{"dev-net1"}) {
		t.Errorf("SSH %+v, unplugged %q", c.ssh, c.down)
	}
}

// A tap device leads to a network whatever the other NICs have.
func TestTapModes(t *testing.T) {
	for mode, kinds := range map[string]string{"user": "tap user tap", "none": "tap tap"} {
		vm := tapped(t)
		vm.Options.Net = mode
		c, list := build(vm, someHost(vm), "tcg", 0)
		var got []string
		for _, a := range c.args {
			for _, kind := range []string{"tap", "user", "stream"} {
				if strings.Contains(a, `"type":"`+kind+`"`) {
					got = append(got, kind)
				}
			}
		}
		if strings.Join(got, " ") != kinds || list.HasErrors() {
			t.Errorf("--net %s: %q, want %q; %v", mode, got, kinds, list)
		}
		vm.Attachments = []seed.Attachment{{Kind: seed.Endpoint, Value: "http://169.254.169.254/", Path: "/seed"}}
		if c, list := build(vm, someHost(vm), "tcg", 0); list.HasErrors() || c.metadata == nil {
			t.Errorf("--net %s: no metadata service: %v", mode, list)
		}
	}
}

func TestTapErrors(t *testing.T) {
	service := []seed.Attachment{{Kind: seed.Endpoint, Value: "http://169.254.169.254/", Path: "/seed"}}
	for name, c := range map[string]struct {
		change func(*hypervisor.VM)
		code   diag.Code
	}{
		"no such NIC":     {func(vm *hypervisor.VM) { vm.Options.Taps[0].NIC = "eth7" }, CodeBadValue},
		"one for two":     {func(vm *hypervisor.VM) { vm.Options.Taps[0].Device = "tap0" }, CodeBadValue},
		"service nowhere": {func(vm *hypervisor.VM) { vm.Attachments[0].Value = "http://169.254.1.1/" }, CodeNoService},
		"no cable": {func(vm *hypervisor.VM) {
			for i := range vm.Machine.Network.NICs {
				vm.Machine.Network.NICs[i].LinkDown = true
			}
		}, CodeNoService},
	} {
		vm := tapped(t)
		vm.Attachments = slices.Clone(service)
		if _, list := build(vm, someHost(vm), "tcg", 0); list.HasErrors() {
			t.Fatal(list)
		}
		c.change(&vm)
		if _, list := build(vm, someHost(vm), "tcg", 0); !list.HasErrors() || list[len(list)-1].Code != c.code {
			t.Errorf("%s: %v", name, list)
		}
	}
}

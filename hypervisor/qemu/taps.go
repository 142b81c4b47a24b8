package qemu

import (
	"slices"
	"strconv"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/autoconf"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
)

// vhostDevice is that by which Linux carries frames between a tap device and a guest without QEMU.
const vhostDevice = "/dev/vhost-net"

// tapOf finds the tap device that a NIC is plugged into.
func tapOf(taps []hypervisor.Tap, n machine.NIC) (hypervisor.Tap, bool) {
	i := slices.IndexFunc(taps, func(t hypervisor.Tap) bool { return t.NIC == n.Name })
	if i < 0 {
		return hypervisor.Tap{}, false
	}
	return taps[i], true
}

// tapNIC connects a NIC to a tap device, which the supervisor opens.
func (b *builder) tapNIC(path string, n machine.NIC, id string, t hypervisor.Tap) {
	plan := supervisor.Tap{Name: n.Name, MAC: n.MAC, MTU: n.MTU, Device: t.Device, Namespace: t.Namespace}
	if t.Answer {
		config, problems := autoconf.Configure(n, b.vm.Machine.Network.DNS, b.at(path))
		b.list = append(b.list, problems...)
		plan.Answers = &config
	}
	netdev := map[string]any{"type": "tap", "id": id, "fd": strconv.Itoa(supervisor.FirstTap + len(b.taps))}
	if b.host.VHost && nicDrivers[n.Model] == "virtio-net-pci" {
		netdev["vhost"] = true
	}
	b.add("-netdev", encode(netdev))
	b.taps = append(b.taps, plan)
	if n.LinkDown {
		return
	}
	b.plugged++
	for _, is4 := range []bool{true, false} {
		for _, a := range n.Addrs {
			if b.ssh.None && a.Addr().Is4() == is4 && !a.Addr().IsLinkLocalUnicast() {
				b.ssh = supervisor.SSH{NIC: -1, Port: b.vm.Options.SSHPort, Guest: a.Addr()}
			}
		}
	}
}

// strayTaps complains of tap devices that no NIC is plugged into, and of one that two are.
func (b *builder) strayTaps() {
	seen := map[supervisor.Tap]bool{}
	for _, t := range b.taps {
		device := supervisor.Tap{Device: t.Device, Namespace: t.Namespace}
		if seen[device] {
			b.badValue("network.nics", "two NICs are to be plugged into the tap device %s", t.Device)
		}
		seen[device] = true
	}
	for _, t := range b.vm.Options.Taps {
		if !slices.ContainsFunc(b.taps, func(have supervisor.Tap) bool { return have.Name == t.NIC }) {
			b.list.Add(diag.Diagnostic{Code: CodeBadValue, Severity: diag.Error, Range: b.at("network.nics"), Field: "network.nics",
				Summary: "the machine has no NIC " + strconv.Quote(t.NIC) + " for the tap device " + t.Device})
		}
	}
}

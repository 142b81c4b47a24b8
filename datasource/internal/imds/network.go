package imds

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// macs is the directory of the interfaces.
const macs = "network/interfaces/macs/"

// nic is an interface that the tree can tell of: hardware of the machine that has a MAC.
type nic struct {
	machine.NIC
	// index is its place among the machine's NICs, number that among those which are hardware.
	index, number int
	// fixed means that addresses of the definition count.
	fixed bool
}

// nics lists the interfaces that the guest shall use.
func (g Guest) nics() []nic {
	var out []nic
	number := 0
	for i, n := range g.Machine.Network.NICs {
		if !n.Physical() || n.MAC == "" {
			continue
		}
		if n.Match != "name" && !down(n) {
			out = append(out, nic{NIC: n, index: i, number: number, fixed: g.Machine.Network.Mode == ""})
		}
		number++
	}
	return out
}

func down(n machine.NIC) bool { return n.OnBoot != nil && !*n.OnBoot }

// addresses are the IPv4 addresses.
func (n nic) addresses() []netip.Prefix {
	var out []netip.Prefix
	for _, a := range n.Addrs {
		if n.fixed && a.Addr().Is4() {
			out = append(out, a)
		}
	}
	return out
}

// interfaces puts the machine's interfaces into the tree and says what of the network it has no words for. The guest asks
// for a lease on each interface that is named here, and leaves others down.
//
// There is no leaf ipv6s: it makes the guest wait for a lease of DHCPv6.
func (g Guest) interfaces(t leaves) diag.List {
	s := sayer{m: g.Machine}
	if unnamed := s.whole(); unnamed {
		// cloud-init would leave down what it does not find, which may be all there is.
		return s.list
	}
	held := false
	for _, n := range g.Machine.Network.NICs {
		held = held || n.Physical() && down(n)
	}
	nics := g.nics()
	if len(nics) == 0 && held {
		t[macs] = ""
	}
	for _, n := range nics {
		dir := macs + n.MAC + "/"
		g.describe(t, dir, n)
		s.nic(n, len(nics) > 1)
	}
	return s.list
}

func (g Guest) describe(t leaves, dir string, n nic) {
	put := func(name, value string) { t.put(dir+name, value) }
	namespace := g.Machine.Namespace
	put("device-number", strconv.Itoa(n.number))
	put("interface-id", resource("eni", g.Machine.Identity.UUID+"/"+n.Name))
	put("local-hostname", g.Hostname)
	put("mac", n.MAC)
	put("owner-id", account(namespace))
	put("security-group-ids", resource("sg", namespace))
	put("security-groups", "default")
	put("subnet-id", resource("subnet", namespace+"/"+n.Network))
	put("vpc-id", resource("vpc", namespace))
	var list []string
	for _, a := range n.addresses() {
		list = append(list, a.Addr().String())
	}
	if len(list) > 0 {
		block := n.addresses()[0].Masked().String()
		put("local-ipv4s", strings.Join(list, "\n"))
		put("subnet-ipv4-cidr-block", block)
		put("vpc-ipv4-cidr-block", block)
		put("vpc-ipv4-cidr-blocks", block)
	}
}

// sayer says what becomes of a network.
type sayer struct {
	m    machine.Machine
	list diag.List
}

func (s *sayer) lease(path, what string) {
	s.list.Add(diag.Diagnostic{Code: CodeLease, Severity: diag.Note, Range: s.m.Places.Find(path), Field: path,
		Summary: "the guest takes " + what + " from its DHCP lease", Remedy: "let whatever answers DHCP give the same, as the network of vmseed run does"})
}

func (s *sayer) lost(path, why string) {
	s.list.Add(diag.Diagnostic{Code: CodeNetwork, Severity: diag.Warning, Range: s.m.Places.Find(path), Field: path,
		Summary: why, Remedy: "use the data source openstack or nocloud"})
}

// whole says what concerns all interfaces, and reports whether there is one that EC2 has no name for.
func (s *sayer) whole() (unnamed bool) {
	n := s.m.Network
	if n.Mode == "disabled" {
		s.lost("network.mode", "the guest sets up its network, because EC2 cannot tell it to leave that alone")
	}
	if len(n.DNS.Search) > 0 && n.Mode == "" {
		s.lease("network.dns.search", "search domains")
	}
	for i, x := range n.NICs {
		at := fmt.Sprintf("network.nics[%d]", i)
		switch {
		case !x.Physical():
			s.lost(at+".kind", fmt.Sprintf("interface %q is not made: EC2 knows no %s", x.Name, x.Kind))
		case x.MAC == "" || x.Match == "name":
			unnamed = true
			s.lost(at+".match", fmt.Sprintf("interface %q has no MAC that is known here, so the guest is told of none and uses DHCP on the first", x.Name))
		}
	}
	return unnamed
}

// nic says what becomes of one interface.
func (s *sayer) nic(n nic, several bool) {
	at := fmt.Sprintf("network.nics[%d]", n.index)
	if !n.fixed {
		return
	}
	addresses := n.addresses()
	for _, a := range n.Addrs {
		if !a.Addr().Is4() {
			s.lost(at+".addresses", fmt.Sprintf("the guest is not told of %s, because it would wait for a lease of DHCPv6", a))
		}
	}
	for i, a := range addresses {
		if i > 0 && a.Bits() != addresses[0].Bits() {
			s.lost(at+".addresses", fmt.Sprintf("the guest uses %s with a prefix of %d bits, that of the first address", a.Addr(), addresses[0].Bits()))
		}
	}
	switch {
	case n.DHCP4:
	case len(addresses) > 0:
		s.lease(at+".addresses", addresses[0].String())
	case several:
		s.lost(at+".dhcp4", fmt.Sprintf("the guest asks for a lease on interface %q too, because EC2 knows none without", n.Name))
	}
	if n.Gateway4.IsValid() {
		s.lease(at+".gateway4", "the gateway "+n.Gateway4.String())
	}
	if n.MTU != 0 {
		s.lease(at+".mtu", fmt.Sprintf("the MTU %d", n.MTU))
	}
	if len(n.DNS.Search) > 0 {
		s.lease(at+".dns.search", "search domains")
	}
	for i, r := range n.Routes {
		s.route(fmt.Sprintf("%s.routes[%d]", at, i), r)
	}
}

func (s *sayer) route(at string, r machine.Route) {
	what := "to " + r.To.String()
	if r.Via.IsValid() {
		what += " via " + r.Via.String()
	}
	if r.Metric != nil {
		what += fmt.Sprintf(" with metric %d", *r.Metric)
	}
	if r.OnLink {
		what += " on the link"
	}
	if r.To.IsValid() && r.To.Bits() == 0 && r.To.Addr().Is4() && r.Metric == nil && !r.OnLink {
		s.lease(at, "the route "+what)
		return
	}
	s.lost(at, "the guest is not told of the route "+what)
}

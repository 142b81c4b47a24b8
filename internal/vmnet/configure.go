package vmnet

import (
	"fmt"
	"net/netip"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// The diagnostics of this package.
const (
	// CodeIPv6 is for a NIC with IPv6 on a network that has none.
	CodeIPv6 diag.Code = 6200 + iota
	// CodeNoAddress is for a NIC whose addresses leave none for the gateway.
	CodeNoAddress
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeIPv6, Title: "the network has no IPv6",
			Text: "The network inside vmseed carries IPv4 only. The guest still configures its IPv6 addresses, but nothing " +
				"answers. `--net user` gives the guest a network with IPv6 (fd00:ec2::/64, by router advertisement)."},
		{Code: CodeNoAddress, Title: "no address left for the gateway",
			Text: "The network inside vmseed needs an address for its gateway: the one that the definition names as gateway or " +
				"next hop, else the first of the subnet that is not the guest's. This subnet has none. Name a gateway."},
	}
}

// Configure derives the network of a NIC from its definition: the subnet and gateway of its first static IPv4 address,
// else a private subnet of its own. index is the NIC's number among those of the machine, at its place in the user's
// files.
func Configure(n machine.NIC, dns machine.DNS, index int, at diag.Range) (Config, diag.List) {
	var l diag.List
	c := Config{MAC: n.MAC, MTU: n.MTU, Search: append(append([]string(nil), n.DNS.Search...), dns.Search...)}
	if six(n) {
		l.Warnf(CodeIPv6, at, "use --net user for IPv6", "NIC %q has IPv6, which this network does not carry", n.Name)
	}
	for _, a := range n.Addrs {
		if a.Addr().Is4() {
			c.Guest, c.Subnet = a.Addr(), a.Masked()
			break
		}
	}
	if !c.Guest.IsValid() {
		subnet := byte(127 + index%100)
		c.Subnet = netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, subnet, 0}), 24)
		c.Gateway = netip.AddrFrom4([4]byte{192, 168, subnet, 1})
		c.Guest = netip.AddrFrom4([4]byte{192, 168, subnet, 2})
		return c, l
	}
	c.Gateway = gateway(n, c)
	if !c.Gateway.IsValid() {
		l.Errorf(CodeNoAddress, at, "name a gateway", "NIC %q: the subnet %s has no address for a gateway beside %s", n.Name, c.Subnet, c.Guest)
	}
	return c, l
}

func six(n machine.NIC) bool {
	for _, a := range n.Addrs {
		if a.Addr().Is6() {
			return true
		}
	}
	return n.DHCP6 != "" || n.SLAAC || n.Gateway6.IsValid()
}

// gateway finds the gateway of a NIC with a static address: the stated one, the next hop of its default route, of
// another route, or the first free address of the subnet.
func gateway(n machine.NIC, c Config) netip.Addr {
	candidates := []netip.Addr{n.Gateway4}
	for _, r := range n.Routes {
		if r.To.IsValid() && r.To.Bits() == 0 {
			candidates = append(candidates, r.Via)
		}
	}
	for _, r := range n.Routes {
		candidates = append(candidates, r.Via)
	}
	for _, a := range candidates {
		if a.Is4() && a != c.Guest {
			return a
		}
	}
	first := c.Subnet.Addr()
	if c.Subnet.Bits() < 31 {
		first = first.Next()
	}
	for a := first; c.Subnet.Contains(a); a = a.Next() {
		if a != c.Guest {
			return a
		}
	}
	return netip.Addr{}
}

// String describes the network for people.
func (c Config) String() string {
	return fmt.Sprintf("%s: guest %s, gateway %s", c.Subnet, c.Guest, c.Gateway)
}

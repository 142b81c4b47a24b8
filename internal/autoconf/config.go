// Package autoconf tells a guest the addresses of its NIC, where nothing else does: it answers DHCP for IPv4 (RFC 2131)
// and IPv6 (RFC 8415) and advertises the router (RFC 4861), for one NIC, with what a CNI plugin chose for that.
//
// A Responder turns frames of the guest into the frames to answer with. It knows neither sockets nor the time, so what
// carries the frames, and when it advertises, is its user's.
package autoconf

import (
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// The diagnostics of this package.
const (
	// CodeOneAddress is for IPv4 addresses that DHCP has no room for.
	CodeOneAddress diag.Code = 6300 + iota
	// CodeRoute is for a route that no router advertisement can tell.
	CodeRoute
	// CodeNoAddress is for a NIC without an address to tell.
	CodeNoAddress
)

// Codes explains the diagnostics of this package.
func Codes() []diag.Explanation {
	return []diag.Explanation{
		{Code: CodeOneAddress, Title: "DHCP gives one IPv4 address",
			Text: "A lease holds one IPv4 address (RFC 2131, section 4.3.1), and the NIC has several. The guest learns the first. " +
				"Let the guest have a network-config, which names all of them."},
		{Code: CodeRoute, Title: "a route cannot be advertised",
			Text: "A router advertisement tells routes through the router that sends it (RFC 4191), which is the NIC's gateway. " +
				"The route goes through another one, or through one of the other family of addresses. Let the guest have a network-config."},
		{Code: CodeNoAddress, Title: "the NIC has no address to tell",
			Text: "The guest asks for its addresses by DHCP, and the network plugin gave the NIC none. The guest's requests stay " +
				"without an answer. Use a plugin with address management (IPAM), or let the network's own DHCP server answer."},
	}
}

// Config is what a guest is told of a NIC. It is part of the launch plan and holds no secret.
type Config struct {
	MTU int `json:"mtu,omitempty"`
	// Addresses are those of the NIC. Of IPv4 there is one at most.
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Gateway4  netip.Addr     `json:"gateway4,omitzero"`
	Gateway6  netip.Addr     `json:"gateway6,omitzero"`
	// Routes are those beside the default routes.
	Routes []Route `json:"routes,omitempty"`
	// DNS are name servers, Search the search domains.
	DNS    []netip.Addr `json:"dns,omitempty"`
	Search []string     `json:"search,omitempty"`
}

// Route is a route of the guest. Without a router its network is on the link.
type Route struct {
	To  netip.Prefix `json:"to"`
	Via netip.Addr   `json:"via,omitzero"`
}

// Configure derives what a guest is told of a NIC, whose place in the user's files is at. dns is that of the machine.
func Configure(n machine.NIC, dns machine.DNS, at diag.Range) (Config, diag.List) {
	var l diag.List
	c := Config{Gateway4: n.Gateway4, Gateway6: n.Gateway6,
		DNS: slices.Concat(n.DNS.Servers, dns.Servers), Search: domains(slices.Concat(n.DNS.Search, dns.Search))}
	if n.MTU > 0 && n.MTU <= math.MaxUint16 {
		c.MTU = n.MTU
	}
	var first netip.Addr
	for _, a := range n.Addrs {
		switch {
		case !a.Addr().Is4():
		case first.IsValid():
			l.Warnf(CodeOneAddress, at, "let the guest have a network-config", "NIC %q: the guest learns its address %s by DHCP, but not %s",
				n.Name, first, a.Addr())
			continue
		default:
			first = a.Addr()
		}
		c.Addresses = append(c.Addresses, a)
	}
	if len(c.Addresses) == 0 {
		l.Warnf(CodeNoAddress, at, "use a network plugin with IPAM", "NIC %q has no address that the guest could be told", n.Name)
	}
	for _, r := range n.Routes {
		gateway := &c.Gateway4
		if r.To.Addr().Is6() {
			gateway = &c.Gateway6
		}
		switch {
		case !r.To.IsValid():
		case r.Via.IsValid() && r.Via.Is4() != r.To.Addr().Is4():
			l.Warnf(CodeRoute, at, "let the guest have a network-config", "NIC %q: the guest does not learn the route to %s via %s, which is of the other family",
				n.Name, r.To, r.Via)
		case r.To.Bits() == 0 && r.Via.IsValid():
			if !gateway.IsValid() {
				*gateway = r.Via
			}
		default:
			c.Routes = append(c.Routes, Route{r.To.Masked(), r.Via})
		}
	}
	c.Routes = slices.DeleteFunc(c.Routes, func(r Route) bool {
		strange := r.To.Addr().Is6() && r.Via.IsValid() && r.Via != c.Gateway6
		if strange {
			l.Warnf(CodeRoute, at, "let the guest have a network-config", "NIC %q: the guest does not learn the route to %s via %s", n.Name, r.To, r.Via)
		}
		return strange
	})
	return c, l
}

// Address4 is the IPv4 address of the NIC with its network; invalid when it has none.
func (c Config) Address4() netip.Prefix {
	for _, a := range c.Addresses {
		if a.Addr().Is4() {
			return a
		}
	}
	return netip.Prefix{}
}

// addresses6 are the IPv6 addresses.
func (c Config) addresses6() []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(c.Addresses), func(a netip.Prefix) bool { return a.Addr().Is4() })
}

// servers are the name servers of one family.
func (c Config) servers(is4 bool) [][]byte {
	var out [][]byte
	for _, a := range c.DNS {
		if a.Is4() == is4 && !slices.ContainsFunc(out, func(have []byte) bool { return string(have) == string(a.AsSlice()) }) {
			out = append(out, a.AsSlice())
		}
	}
	return out
}

// leading returns the search domains that are at the head of a list and take no more than a number of bytes in a message,
// uncompressed (RFC 1035, section 3.1). A client does without the rest, but not without the message.
func leading(search []string, room int) []string {
	for i, d := range search {
		if room -= len(d) + 2; room < 0 {
			return search[:i]
		}
	}
	return search
}

// domains leaves out of search domains what is none (RFC 1035, section 2.3.4), and repetitions.
func domains(search []string) []string {
	var out []string
	for _, d := range search {
		d = strings.TrimSuffix(d, ".")
		labels := strings.Split(d, ".")
		if len(d) < 254 && !slices.Contains(out, d) && !slices.ContainsFunc(labels, func(l string) bool { return len(l) == 0 || len(l) > 63 }) {
			out = append(out, d)
		}
	}
	return out
}

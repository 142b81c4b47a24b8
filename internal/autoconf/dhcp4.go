package autoconf

import (
	"bytes"
	"cmp"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/insomniacslk/dhcp/rfc1035label"
)

const (
	dhcp4Server, dhcp4Client = 67, 68
	dhcp6Server, dhcp6Client = 547, 546

	// leaseTime is how long an address is the guest's. After renewTime it asks for longer, after rebindTime it asks
	// everybody.
	leaseTime  = 24 * time.Hour
	renewTime  = 12 * time.Hour
	rebindTime = 18 * time.Hour

	// defaultMTU is Ethernet's. minMTU6 is what every link carries of IPv6 (RFC 8200, section 5).
	defaultMTU, minMTU6 = 1500, 1280
)

// dhcp4 answers a message of a DHCP client (RFC 2131).
func (r *Responder) dhcp4(packet []byte) []byte {
	lease := r.config.Address4()
	m, err := dhcpv4.FromBytes(packet)
	if err != nil || !lease.IsValid() || m.OpCode != dhcpv4.OpcodeBootRequest || m.HWType != iana.HWTypeEthernet ||
		!bytes.Equal(m.ClientHWAddr, r.guest) || !m.GatewayIPAddr.Equal(net.IPv4zero) {
		return nil
	}
	if server := m.ServerIdentifier(); server != nil && !server.Equal(Address.AsSlice()) {
		return nil
	}
	has, _ := netip.AddrFromSlice(m.ClientIPAddr.To4())
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		return r.reply4(m, dhcpv4.MessageTypeOffer, lease.Addr())
	case dhcpv4.MessageTypeRequest:
		wanted, stated := netip.AddrFromSlice(m.RequestedIPAddress().To4())
		if !stated {
			wanted = has
		}
		if !wanted.IsUnspecified() && wanted != lease.Addr() {
			return r.reply4(m, dhcpv4.MessageTypeNak, netip.IPv4Unspecified()) // it remembers what a pod before this one had
		}
		return r.reply4(m, dhcpv4.MessageTypeAck, lease.Addr())
	case dhcpv4.MessageTypeInform:
		return r.reply4(m, dhcpv4.MessageTypeAck, netip.IPv4Unspecified())
	}
	return nil
}

// reply4 makes the frame of an answer. An address that is unspecified is not given. No option is empty: cloud-init 22.4
// fails on what dhclient writes down of one.
func (r *Responder) reply4(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, address netip.Addr) []byte {
	out, err := dhcpv4.New(dhcpv4.WithReply(m))
	if err != nil {
		return nil
	}
	options := []dhcpv4.Option{dhcpv4.OptMessageType(kind), dhcpv4.OptServerIdentifier(Address.AsSlice())}
	if id := m.GetOneOption(dhcpv4.OptionClientIdentifier); len(id) > 0 { // RFC 6842
		options = append(options, dhcpv4.OptClientIdentifier(id))
	}
	to := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if kind != dhcpv4.MessageTypeNak {
		out.ClientIPAddr, out.YourIPAddr = m.ClientIPAddr, address.AsSlice()
		if !address.IsUnspecified() {
			options = append(options, dhcpv4.OptIPAddressLeaseTime(leaseTime), dhcpv4.OptRenewTimeValue(renewTime), dhcpv4.OptRebindingTimeValue(rebindTime))
		}
		options = append(options, r.config.options4()...)
		if has, _ := netip.AddrFromSlice(m.ClientIPAddr.To4()); !has.IsUnspecified() {
			to = has
		} else if !m.IsBroadcast() && !address.IsUnspecified() {
			to = address
		}
	}
	for _, o := range options {
		out.UpdateOption(o)
	}
	if kind != dhcpv4.MessageTypeNak {
		room := r.longest4(m) - len(out.ToBytes())
		room -= 2 * (1 + room/255) // the heads of the option's pieces
		if search := leading(r.config.Search, room); len(search) > 0 {
			out.UpdateOption(dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: search}))
		}
	}
	hardware := r.guest
	if to == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		hardware = net.HardwareAddr{255, 255, 255, 255, 255, 255}
	}
	typ, packet := udp(netip.AddrPortFrom(Address, dhcp4Server), netip.AddrPortFrom(to, dhcp4Client), out.ToBytes())
	return ethernet(r.mac, hardware, typ, packet)
}

// longest4 is how many bytes an answer to a client may have: every client takes 576, with the headers of IP and UDP, and
// more when it says so (RFC 2131, section 2; RFC 2132, section 9.10). The NIC sends no fragments.
func (r *Responder) longest4(m *dhcpv4.DHCPv4) int {
	size := dhcpv4.MaxMessageSize
	if stated, err := m.MaxMessageSize(); err == nil {
		size = max(size, int(stated))
	}
	return min(size, cmp.Or(r.config.MTU, defaultMTU)) - ip4Size - udpSize
}

// options4 are what a client is told beside its address and search domains.
func (c *Config) options4() []dhcpv4.Option {
	lease := c.Address4()
	out := []dhcpv4.Option{dhcpv4.OptSubnetMask(net.CIDRMask(lease.Bits(), 32))}
	if c.Gateway4.IsValid() {
		out = append(out, dhcpv4.OptRouter(c.Gateway4.AsSlice()))
	}
	if routes := c.routes4(); len(routes) > 0 {
		out = append(out, dhcpv4.OptClasslessStaticRoute(routes...))
	}
	var servers []net.IP
	for _, s := range c.servers(true) {
		servers = append(servers, s)
	}
	if len(servers) > 0 {
		out = append(out, dhcpv4.OptDNS(servers...))
	}
	if c.MTU > 0 {
		out = append(out, dhcpv4.Option{Code: dhcpv4.OptionInterfaceMTU, Value: dhcpv4.Uint16(c.MTU)})
	}
	return out
}

// routes4 are the classless routes (RFC 3442), none when the router option says it all: a client that reads them ignores
// that option, so the default route is one of them. A router outside the guest's network gets a route of its own before.
func (c *Config) routes4() []*dhcpv4.Route {
	lease := c.Address4()
	var all []Route
	for _, r := range c.Routes {
		if r.To.Addr().Is4() {
			all = append(all, r)
		}
	}
	if c.Gateway4.IsValid() {
		if len(all) == 0 && lease.Contains(c.Gateway4) {
			return nil
		}
		all = append(all, Route{netip.PrefixFrom(netip.IPv4Unspecified(), 0), c.Gateway4})
	}
	var link []Route
	for _, r := range all {
		host := Route{To: netip.PrefixFrom(r.Via, 32)}
		if r.Via.Is4() && !lease.Contains(r.Via) && !slices.Contains(link, host) &&
			!slices.ContainsFunc(all, func(o Route) bool { return !o.Via.IsValid() && o.To.Contains(r.Via) }) {
			link = append(link, host)
		}
	}
	// Clients add the routes in this order, and the kernel refuses one whose router it has no way to yet.
	slices.SortStableFunc(all, func(x, y Route) int { return rank(x) - rank(y) })
	var out []*dhcpv4.Route
	for _, r := range slices.Concat(link, all) {
		via := net.IP(r.Via.AsSlice())
		if !r.Via.IsValid() {
			via = net.IPv4zero.To4() // on the link
		}
		out = append(out, &dhcpv4.Route{Dest: &net.IPNet{IP: r.To.Addr().AsSlice(), Mask: net.CIDRMask(r.To.Bits(), 32)}, Router: via})
	}
	return out
}

// rank puts what is on the link before what is behind a router.
func rank(r Route) int {
	if r.Via.IsValid() {
		return 1
	}
	return 0
}

package autoconf

import (
	"bytes"
	"encoding/binary"
	"net"
	"net/netip"
	"time"

	"github.com/insomniacslk/dhcp/rfc1035label"
)

// Numbers of Neighbor Discovery: messages and options (RFC 4861, section 4; RFC 4191, section 2.3; RFC 8106, section 5).
const (
	routerSolicitation    = 133
	routerAdvertisement   = 134
	neighborSolicitation  = 135
	neighborAdvertisement = 136

	optionSource  = 1
	optionTarget  = 2
	optionPrefix  = 3
	optionMTU     = 5
	optionRoute   = 24
	optionDNS     = 25
	optionDomains = 31

	managed, other = 0x80, 0x40
	onLink         = 0x80
	// isRouter, solicited and override are the flags of a neighbor advertisement.
	isRouter, solicited, override = 0x80, 0x40, 0x20
)

const (
	// AdvertiseEvery is how often a user of a Responder advertises unasked (RFC 4861, section 6.2.1).
	AdvertiseEvery = 10 * time.Minute
	// routerLifetime is the longest that all clients take (RFC 4861, section 4.2). It bridges a time without a process that
	// advertises.
	routerLifetime = 9000 * time.Second
)

var allNodes = netip.MustParseAddr("ff02::1")

// linkLocal is the address of the Responder: that of its MAC (RFC 4291, appendix A).
func (r *Responder) linkLocal() netip.Addr { return linkLocal(r.mac) }

func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5]})
}

// neighbor answers solicitations of the guest: for routers, and for the MAC of the router that was advertised.
func (r *Responder) neighbor(f frame) []byte {
	if f.hops != hopLimit || len(f.payload) < 8 || len(r.config.addresses6()) == 0 {
		return nil
	}
	switch f.payload[0] {
	case routerSolicitation:
		to, mac := f.source, f.from
		if !to.IsLinkLocalUnicast() {
			to, mac = allNodes, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
		}
		return ethernet(r.mac, mac, typeIPv6, r.advertisement(to))
	case neighborSolicitation:
		if len(f.payload) < 24 || netip.AddrFrom16([16]byte(f.payload[8:])) != r.linkLocal() {
			return nil
		}
		// What the guest routes goes to the gateway itself; until that is known it gets nowhere but here.
		mac, flags := r.gateway(), byte(isRouter|override)
		if mac == nil {
			mac = r.mac
		}
		to, hardware := f.source, f.from
		if to.IsUnspecified() {
			to, hardware = allNodes, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
		} else {
			flags |= solicited
		}
		answer := append([]byte{neighborAdvertisement, 0, 0, 0, flags, 0, 0, 0}, f.payload[8:24]...)
		answer = append(append(answer, optionTarget, 1), mac...)
		return ethernet(r.mac, hardware, typeIPv6, icmp6(r.linkLocal(), to, answer))
	}
	return nil
}

// Advertise returns the frame of a router advertisement that the guest did not ask for; nil when it has no IPv6 address, or
// the gateway's MAC is not known: a guest that learned it from an earlier Responder must not lose its router meanwhile.
func (r *Responder) Advertise() []byte {
	if r.config == nil || len(r.config.addresses6()) == 0 || r.sought() && r.gateway() == nil {
		return nil
	}
	return ethernet(r.mac, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}, typeIPv6, r.advertisement(allNodes))
}

// advertisement makes the packet of a router advertisement. It comes from the gateway, when that is link-local: guests
// take the sender for the router. A gateway of another kind is told by its MAC, with an address that stands for it.
func (r *Responder) advertisement(to netip.Addr) []byte {
	c := r.config
	from, lifetime, mac := r.linkLocal(), time.Duration(0), r.gateway()
	switch {
	case c.Gateway6.IsLinkLocalUnicast():
		from, lifetime = c.Gateway6.WithZone(""), routerLifetime
	case mac != nil:
		lifetime = routerLifetime
	}
	m := []byte{routerAdvertisement, 0, 0, 0, 64, managed | other}
	m = binary.BigEndian.AppendUint16(m, seconds16(lifetime))
	m = append(m, make([]byte, 8)...) // no word on times of reachability
	if mac != nil && !c.Gateway6.IsLinkLocalUnicast() {
		m = append(append(m, optionSource, 1), mac...)
	}
	if c.MTU >= minMTU6 {
		m = binary.BigEndian.AppendUint32(append(m, optionMTU, 1, 0, 0), uint32(c.MTU))
	}
	var told []netip.Prefix
	tell := func(p netip.Prefix) {
		if p.Bits() < 128 && !contains(told, p) {
			told = append(told, p)
			m = append(m, prefix(p)...)
		}
	}
	for _, a := range c.addresses6() {
		tell(a.Masked())
	}
	for _, route := range c.Routes {
		switch {
		case route.To.Addr().Is4():
		case !route.Via.IsValid():
			tell(route.To)
		default:
			m = append(m, optionRoute, 3, byte(route.To.Bits()), 0)
			m = binary.BigEndian.AppendUint32(m, uint32(lifetime/time.Second))
			m = append(m, route.To.Addr().AsSlice()...)
		}
	}
	if servers := c.servers(false); len(servers) > 0 {
		m = append(m, optionDNS, byte(1+2*len(servers)), 0, 0)
		m = binary.BigEndian.AppendUint32(m, uint32(routerLifetime/time.Second))
		m = append(m, bytes.Join(servers, nil)...)
	}
	if search := leading(c.Search, minMTU6-ip6Size-len(m)-searchHead-7); len(search) > 0 { // up to 7 zeros fill it up
		m = append(m, searchOption(search)...)
	}
	return icmp6(from, to, m)
}

func contains(list []netip.Prefix, p netip.Prefix) bool {
	for _, x := range list {
		if x == p {
			return true
		}
	}
	return false
}

// prefix tells that a network is on the link. Nobody makes addresses in it: the guest has one by DHCP.
func prefix(p netip.Prefix) []byte {
	o := []byte{optionPrefix, 4, byte(p.Bits()), onLink}
	o = binary.BigEndian.AppendUint32(o, uint32(leaseTime/time.Second))
	o = binary.BigEndian.AppendUint32(o, uint32(leaseTime/time.Second))
	return append(append(o, 0, 0, 0, 0), p.Addr().AsSlice()...)
}

// searchHead is the size of what stands before the names of a searchOption.
const searchHead = 8

// searchOption tells search domains. The names are not compressed, and zeros fill the option up.
func searchOption(search []string) []byte {
	var names []byte
	for _, d := range search {
		names = append(names, (&rfc1035label.Labels{Labels: []string{d}}).ToBytes()...)
	}
	size := (searchHead + len(names) + 7) / 8
	o := binary.BigEndian.AppendUint32([]byte{optionDomains, byte(size), 0, 0}, uint32(routerLifetime/time.Second))
	return append(append(o, names...), make([]byte, 8*size-searchHead-len(names))...)
}

func seconds16(d time.Duration) uint16 { return uint16(d / time.Second) }

func (r *Responder) gateway() net.HardwareAddr {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.router
}

// sought reports whether the guest must be told the MAC of its IPv6 gateway.
func (r *Responder) sought() bool {
	return r.config.Gateway6.Is6() && !r.config.Gateway6.IsLinkLocalUnicast()
}

// Seek returns the frame that asks the network for the MAC of the IPv6 gateway, for a sender of a MAC; nil when the guest
// finds the gateway by itself or has none.
func (r *Responder) Seek(from net.HardwareAddr) []byte {
	if r.config == nil || len(r.config.addresses6()) == 0 || !r.sought() || len(from) != 6 {
		return nil
	}
	target := r.config.Gateway6.As16()
	// The solicited-node address of the gateway (RFC 4291, section 2.7.1), and its MAC (RFC 2464, section 7).
	to := netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: target[13], 14: target[14], 15: target[15]})
	m := append([]byte{neighborSolicitation, 0, 0, 0, 0, 0, 0, 0}, target[:]...)
	m = append(append(m, optionSource, 1), from...)
	return ethernet(from, net.HardwareAddr{0x33, 0x33, 0xff, target[13], target[14], target[15]}, typeIPv6, icmp6(linkLocal(from), to, m))
}

// Learn takes a frame that came in answer to Seek, and reports whether the guest should be told of another MAC.
func (r *Responder) Learn(b []byte) bool {
	f, ok := parse(b)
	if !ok || r.config == nil || f.kind != typeIPv6 || f.protocol != protoICMPv6 || f.hops != hopLimit || len(f.payload) < 24 ||
		f.payload[0] != neighborAdvertisement || netip.AddrFrom16([16]byte(f.payload[8:])) != r.config.Gateway6 {
		return false
	}
	mac := f.from
	for o := f.payload[24:]; len(o) >= 8 && o[1] > 0 && int(o[1])*8 <= len(o); o = o[int(o[1])*8:] {
		if o[0] == optionTarget {
			mac = net.HardwareAddr(o[2:8])
		}
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if bytes.Equal(r.router, mac) || mac[0]&1 != 0 {
		return false
	}
	r.router = bytes.Clone(mac)
	return true
}

package autoconf

import (
	"encoding/binary"
	"net"
	"net/netip"
)

// Types of Ethernet frames, numbers of protocols, and sizes of headers.
const (
	typeIPv4 = 0x0800
	typeARP  = 0x0806
	typeIPv6 = 0x86dd

	protoUDP    = 17
	protoICMPv6 = 58

	etherSize = 14
	ip4Size   = 20
	ip6Size   = 40
	udpSize   = 8

	// hopLimit is that of messages which no router may pass on (RFC 4861, section 6.1).
	hopLimit = 255
)

// frame is an Ethernet frame of the guest, and what of it was understood.
type frame struct {
	from, to net.HardwareAddr
	kind     uint16
	// source and destination are those of the IP packet, protocol is its payload's.
	source, destination netip.Addr
	protocol, hops      byte
	payload             []byte
}

// parse takes a frame apart. It returns false for one that is damaged, a fragment, or has options or headers that no
// client of a link's own services sends.
func parse(b []byte) (frame, bool) {
	if len(b) < etherSize {
		return frame{}, false
	}
	f := frame{to: b[:6], from: b[6:12], kind: binary.BigEndian.Uint16(b[12:]), payload: b[etherSize:]}
	p := f.payload
	switch f.kind {
	case typeIPv4:
		if len(p) < ip4Size || p[0]>>4 != 4 {
			return f, false
		}
		head, size := int(p[0]&15)*4, int(binary.BigEndian.Uint16(p[2:]))
		if head < ip4Size || size < head || size > len(p) || binary.BigEndian.Uint16(p[6:])&0x3fff != 0 {
			return f, false
		}
		f.source, f.destination = netip.AddrFrom4([4]byte(p[12:])), netip.AddrFrom4([4]byte(p[16:]))
		f.hops, f.protocol, f.payload = p[8], p[9], p[head:size]
	case typeIPv6:
		if len(p) < ip6Size || p[0]>>4 != 6 {
			return f, false
		}
		size := int(binary.BigEndian.Uint16(p[4:]))
		if size > len(p)-ip6Size {
			return f, false
		}
		f.source, f.destination = netip.AddrFrom16([16]byte(p[8:])), netip.AddrFrom16([16]byte(p[24:]))
		f.protocol, f.hops, f.payload = p[6], p[7], p[ip6Size:ip6Size+size]
	}
	return f, true
}

// datagram returns the ports and payload of a UDP packet. The checksum is not looked at: a guest leaves it to its NIC.
func (f frame) datagram() (from, to uint16, payload []byte, ok bool) {
	p := f.payload
	if f.protocol != protoUDP || len(p) < udpSize {
		return 0, 0, nil, false
	}
	size := int(binary.BigEndian.Uint16(p[4:]))
	if size < udpSize || size > len(p) {
		return 0, 0, nil, false
	}
	return binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:]), p[udpSize:size], true
}

// ethernet puts a payload into a frame.
func ethernet(from, to net.HardwareAddr, kind uint16, payload []byte) []byte {
	out := append(append(make([]byte, 0, etherSize+len(payload)), to...), from...)
	return append(binary.BigEndian.AppendUint16(out, kind), payload...)
}

// udp makes an IP packet with a UDP payload, and says what type of frame it is for.
func udp(from, to netip.AddrPort, payload []byte) (kind uint16, packet []byte) {
	d := binary.BigEndian.AppendUint16(nil, from.Port())
	d = binary.BigEndian.AppendUint16(d, to.Port())
	d = binary.BigEndian.AppendUint16(d, uint16(udpSize+len(payload)))
	d = append(append(d, 0, 0), payload...)
	c := checksum(from.Addr(), to.Addr(), protoUDP, d)
	if c == 0 {
		c = 0xffff // a checksum of 0 means that there is none
	}
	binary.BigEndian.PutUint16(d[6:], c)
	if from.Addr().Is4() {
		return typeIPv4, ip4(from.Addr(), to.Addr(), protoUDP, d)
	}
	return typeIPv6, ip6(from.Addr(), to.Addr(), protoUDP, d)
}

// icmp6 makes an IPv6 packet with a message of ICMPv6, whose checksum it fills in.
func icmp6(from, to netip.Addr, message []byte) []byte {
	binary.BigEndian.PutUint16(message[2:], checksum(from, to, protoICMPv6, message))
	return ip6(from, to, protoICMPv6, message)
}

func ip4(from, to netip.Addr, protocol byte, payload []byte) []byte {
	h := make([]byte, ip4Size, ip4Size+len(payload))
	h[0], h[8], h[9] = 0x45, 64, protocol
	h[1] = 0xc0 // network control (RFC 4594), as what sets up a network
	binary.BigEndian.PutUint16(h[2:], uint16(ip4Size+len(payload)))
	copy(h[12:], from.AsSlice())
	copy(h[16:], to.AsSlice())
	binary.BigEndian.PutUint16(h[10:], ^fold(sum(0, h)))
	return append(h, payload...)
}

func ip6(from, to netip.Addr, protocol byte, payload []byte) []byte {
	h := make([]byte, ip6Size, ip6Size+len(payload))
	h[0], h[6], h[7] = 0x60, protocol, hopLimit
	binary.BigEndian.PutUint16(h[4:], uint16(len(payload)))
	copy(h[8:], from.AsSlice())
	copy(h[24:], to.AsSlice())
	return append(h, payload...)
}

// checksum is that of UDP and ICMPv6, over a pseudo header and the payload (RFC 768; RFC 8200, section 8.1). The field for
// it must be 0.
func checksum(from, to netip.Addr, protocol byte, payload []byte) uint16 {
	s := sum(0, from.AsSlice())
	s = sum(s, to.AsSlice())
	s += uint32(protocol) + uint32(len(payload))
	return ^fold(sum(s, payload))
}

func sum(s uint32, b []byte) uint32 {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

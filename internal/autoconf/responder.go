package autoconf

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

// Address is what a Responder is found at: that of metadata services, which no guest has itself, and to which its packets
// come whether it takes the address for a neighbour or asks its gateway.
var Address = netip.MustParseAddr("169.254.169.254")

// Responder answers the guest at one NIC. Its methods may be called by several goroutines.
type Responder struct {
	guest, mac net.HardwareAddr
	config     *Config

	mutex sync.Mutex
	// router is the MAC of the IPv6 gateway; nil when it is not known.
	router net.HardwareAddr
}

// New makes the responder of a NIC by its MAC. Without a config it answers ARP for Address alone.
func New(mac string, c *Config) (*Responder, error) {
	guest, err := net.ParseMAC(mac)
	if err != nil || len(guest) != 6 {
		return nil, fmt.Errorf("%q is no MAC of a network interface", mac)
	}
	own := append(net.HardwareAddr{0x5a, 0x94, 0xee}, guest[3:]...)
	if bytes.Equal(own, guest) {
		own[2] ^= 1
	}
	return &Responder{guest: guest, mac: own, config: c}, nil
}

// Frame puts an IPv4 packet for the guest into a frame.
func (r *Responder) Frame(packet []byte) []byte { return ethernet(r.mac, r.guest, typeIPv4, packet) }

// Packet returns the IPv4 packet that the guest has sent to Address; false when the frame holds none.
func (r *Responder) Packet(b []byte) ([]byte, bool) {
	f, ok := parse(b)
	if !ok || f.kind != typeIPv4 || f.destination != Address || !bytes.Equal(f.from, r.guest) {
		return nil, false
	}
	return b[etherSize:], true
}

// Answer returns the frame to answer one of the guest with; nil when it needs no answer.
func (r *Responder) Answer(b []byte) []byte {
	f, ok := parse(b)
	if !ok || !bytes.Equal(f.from, r.guest) {
		return nil // of containers inside the guest, or of others that it switches for
	}
	if f.kind == typeARP {
		return r.arp(f)
	}
	if r.config == nil {
		return nil
	}
	switch _, to, payload, isUDP := f.datagram(); {
	case isUDP && f.kind == typeIPv4 && to == dhcp4Server:
		return r.dhcp4(payload)
	case isUDP && f.kind == typeIPv6 && to == dhcp6Server:
		return r.dhcp6(f, payload)
	case f.kind == typeIPv6 && f.protocol == protoICMPv6:
		return r.neighbor(f)
	}
	return nil
}

// arp answers a question for Address (RFC 826).
func (r *Responder) arp(f frame) []byte {
	p := f.payload
	request := []byte{0, 1, 8, 0, 6, 4, 0, 1} // Ethernet, IPv4, sizes of their addresses, question
	if len(p) < 28 || !bytes.Equal(p[:8], request) || !bytes.Equal(p[24:28], Address.AsSlice()) {
		return nil
	}
	answer := append([]byte{0, 1, 8, 0, 6, 4, 0, 2}, r.mac...)
	answer = append(append(answer, p[24:28]...), p[8:18]...)
	return ethernet(r.mac, f.from, typeARP, answer)
}

package vmnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"strings"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// The protocol: RFC 2131, figure 1 and table 1, and the options of RFC 2132, RFC 3397 (119) and RFC 6842 (61).
const (
	dhcpServerPort = 67
	dhcpClientPort = 68
	dhcpHeader     = 236
	dhcpMinimum    = 300 // what BOOTP clients expect (RFC 1542, section 2.1)
	dhcpCookie     = "\x63\x82\x53\x63"
	leaseTime      = time.Hour
	// maxLeases is how many MACs get an address: the guest's, and those of containers that it puts on the same network.
	maxLeases = 64

	dhcpDiscover = 1
	dhcpOffer    = 2
	dhcpRequest  = 3
	dhcpAck      = 5
	dhcpNak      = 6
	dhcpInform   = 8

	optionPad, optionEnd              = 0, 255
	optionMask, optionRouter          = 1, 3
	optionDNS, optionMTU              = 6, 26
	optionRequested, optionLease      = 50, 51
	optionType, optionServer          = 53, 54
	optionClient, optionDomainSearch  = 61, 119
	offsetFlags, offsetCiaddr         = 10, 12
	offsetYiaddr, offsetGiaddr        = 16, 24
	offsetChaddr, dhcpHardwareAddress = 28, 6
)

// dhcpServer gives the guest its address.
type dhcpServer struct {
	config Config
	leases map[string]netip.Addr // by MAC
}

func newDHCP(c Config) (*dhcpServer, error) {
	mac, err := net.ParseMAC(c.MAC)
	if err != nil {
		return nil, err
	}
	return &dhcpServer{config: c, leases: map[string]netip.Addr{string(mac): c.Guest}}, nil
}

// startDHCP answers on the port of DHCP servers.
func (n *Network) startDHCP() error {
	server, err := newDHCP(n.config)
	if err != nil {
		return err
	}
	var queue waiter.Queue
	endpoint, failed := n.stack.NewEndpoint(udp.ProtocolNumber, ipv4.ProtocolNumber, &queue)
	if failed != nil {
		return errors.New(failed.String())
	}
	endpoint.SocketOptions().SetBroadcast(true)
	if failed := endpoint.Bind(tcpip.FullAddress{NIC: nicID, Port: dhcpServerPort}); failed != nil {
		endpoint.Close()
		return errors.New(failed.String())
	}
	conn := gonet.NewUDPConn(&queue, endpoint)
	n.closers = append(n.closers, conn)
	n.serve("DHCP", func() error {
		packet := make([]byte, maxUDP)
		for {
			size, _, err := conn.ReadFrom(packet)
			if err != nil {
				return err
			}
			if answer, to := server.answer(packet[:size]); answer != nil {
				// One that cannot be sent is lost, as packets are; the client asks again.
				_, _ = conn.WriteTo(answer, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, dhcpClientPort)))
			}
		}
	})
	return nil
}

// dhcpMessage is what counts of a client's message.
type dhcpMessage struct {
	kind              byte
	header            []byte
	ciaddr            netip.Addr
	requested, server netip.Addr
	client            []byte
}

// parseDHCP reads a message of a client on this very network.
func parseDHCP(p []byte) (m dhcpMessage, ok bool) {
	if len(p) < dhcpHeader+len(dhcpCookie) || string(p[dhcpHeader:][:len(dhcpCookie)]) != dhcpCookie ||
		p[0] != 1 || p[1] != 1 || p[2] != dhcpHardwareAddress || !bytes.Equal(p[offsetGiaddr:offsetGiaddr+4], make([]byte, 4)) {
		return m, false
	}
	m.header = p[:dhcpHeader]
	m.ciaddr, _ = netip.AddrFromSlice(p[offsetCiaddr : offsetCiaddr+4])
	for rest := p[dhcpHeader+len(dhcpCookie):]; len(rest) > 0 && rest[0] != optionEnd; {
		if rest[0] == optionPad {
			rest = rest[1:]
			continue
		}
		if len(rest) < 2 || len(rest) < 2+int(rest[1]) {
			return m, false
		}
		value := rest[2 : 2+int(rest[1])]
		switch rest[0] {
		case optionType:
			if len(value) == 1 {
				m.kind = value[0]
			}
		case optionRequested:
			m.requested, _ = netip.AddrFromSlice(value)
		case optionServer:
			m.server, _ = netip.AddrFromSlice(value)
		case optionClient:
			m.client = value
		}
		rest = rest[2+len(value):]
	}
	return m, m.kind != 0
}

// answer returns what to send to a client's message, and where; nil is for nothing.
func (s *dhcpServer) answer(packet []byte) ([]byte, netip.Addr) {
	everybody := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	m, ok := parseDHCP(packet)
	if !ok || m.server.IsValid() && m.server != s.config.Gateway {
		return nil, everybody
	}
	lease, ok := s.lease(string(m.header[offsetChaddr : offsetChaddr+dhcpHardwareAddress]))
	to := everybody
	if !m.ciaddr.IsUnspecified() {
		to = m.ciaddr
	}
	switch m.kind {
	case dhcpDiscover:
		if ok {
			return s.reply(m, dhcpOffer, lease), everybody
		}
	case dhcpRequest:
		wanted := m.requested
		if !wanted.IsValid() && !m.ciaddr.IsUnspecified() {
			wanted = m.ciaddr
		}
		switch {
		case !ok:
		case wanted.IsValid() && wanted != lease:
			return s.reply(m, dhcpNak, netip.IPv4Unspecified()), everybody
		default:
			return s.reply(m, dhcpAck, lease), to
		}
	case dhcpInform:
		return s.reply(m, dhcpAck, netip.IPv4Unspecified()), to
	}
	return nil, everybody
}

// lease returns the address of a MAC: the same each time.
func (s *dhcpServer) lease(mac string) (netip.Addr, bool) {
	if a, ok := s.leases[mac]; ok {
		return a, true
	}
	taken := map[netip.Addr]bool{s.config.Gateway: true}
	for _, a := range s.leases {
		taken[a] = true
	}
	// Neither the first address of a subnet nor its last is a host's.
	for a := s.config.Subnet.Masked().Addr().Next(); len(s.leases) < maxLeases && s.config.Subnet.Contains(a.Next()); a = a.Next() {
		if !taken[a] {
			s.leases[mac] = a
			return a, true
		}
	}
	return netip.Addr{}, false
}

// reply makes an answer. An address that is unspecified is not given.
func (s *dhcpServer) reply(m dhcpMessage, kind byte, address netip.Addr) []byte {
	out := make([]byte, dhcpHeader, dhcpMinimum)
	copy(out, m.header[:8]) // with the transaction
	out[0], out[3] = 2, 0
	copy(out[offsetFlags:], m.header[offsetFlags:offsetFlags+2])
	copy(out[offsetChaddr:], m.header[offsetChaddr:offsetChaddr+16])
	out = append(out, dhcpCookie...)
	option := func(code byte, value ...byte) {
		for ; len(value) > 255; value = value[255:] { // RFC 3396
			out = append(append(out, code, 255), value[:255]...)
		}
		if len(value) > 0 { // cloud-init 22.4 fails on what dhclient writes down of an empty option
			out = append(append(out, code, byte(len(value))), value...)
		}
	}
	gateway := s.config.Gateway.AsSlice()
	option(optionType, kind)
	option(optionServer, gateway...)
	if kind != dhcpNak {
		copy(out[offsetCiaddr:], m.header[offsetCiaddr:offsetCiaddr+4])
		copy(out[offsetYiaddr:], address.AsSlice())
		if !address.IsUnspecified() {
			option(optionLease, binary.BigEndian.AppendUint32(nil, uint32(leaseTime/time.Second))...)
		}
		option(optionMask, net.CIDRMask(s.config.Subnet.Bits(), 32)...)
		option(optionRouter, gateway...)
		option(optionDNS, gateway...)
		if s.config.MTU > 0 && s.config.MTU <= math.MaxUint16 {
			option(optionMTU, binary.BigEndian.AppendUint16(nil, uint16(s.config.MTU))...)
		}
		option(optionDomainSearch, searchList(s.config.Search)...)
	}
	option(optionClient, m.client...)
	out = append(out, optionEnd)
	for len(out) < dhcpMinimum {
		out = append(out, optionPad)
	}
	return out
}

// searchList encodes domains as RFC 1035, section 3.1, does. What is no domain is left out.
func searchList(domains []string) []byte {
	var out []byte
	for _, d := range domains {
		name, err := domainName(d)
		if err == nil {
			out = append(out, name...)
		}
	}
	return out
}

func domainName(domain string) ([]byte, error) {
	var out []byte
	for _, label := range strings.Split(strings.TrimSuffix(domain, "."), ".") {
		if len(label) == 0 || len(label) > 63 {
			return nil, fmt.Errorf("%q is no domain", domain)
		}
		out = append(append(out, byte(len(label))), label...)
	}
	if out = append(out, 0); len(out) > 255 {
		return nil, fmt.Errorf("%q is no domain", domain)
	}
	return out, nil
}

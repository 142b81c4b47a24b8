package vmnet

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/iana"
	"github.com/insomniacslk/dhcp/rfc1035label"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// The server of RFC 2131 answers at a port of its own, and asks of an Ethernet address no more than its 6 bytes.
const (
	dhcpServerPort = dhcpv4.ServerPort
	dhcpClientPort = dhcpv4.ClientPort
	leaseTime      = time.Hour
	// maxLeases is how many MACs get an address: the guest's, and those of containers that it puts on the same network.
	maxLeases = 64
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

// answer returns what to send to a client's message, and where; nil is for nothing.
func (s *dhcpServer) answer(packet []byte) ([]byte, netip.Addr) {
	everybody := netip.AddrFrom4([4]byte{255, 255, 255, 255})
	m, err := dhcpv4.FromBytes(packet)
	if err != nil || m.OpCode != dhcpv4.OpcodeBootRequest || m.HWType != iana.HWTypeEthernet || len(m.ClientHWAddr) != 6 ||
		!m.GatewayIPAddr.Equal(net.IPv4zero) {
		return nil, everybody // not of a client on this very network
	}
	if server := m.ServerIdentifier(); server != nil && !server.Equal(s.config.Gateway.AsSlice()) {
		return nil, everybody
	}
	lease, ok := s.lease(string(m.ClientHWAddr))
	to := everybody
	has, _ := netip.AddrFromSlice(m.ClientIPAddr.To4())
	if !has.IsUnspecified() {
		to = has
	}
	switch m.MessageType() {
	case dhcpv4.MessageTypeDiscover:
		if ok {
			return s.reply(m, dhcpv4.MessageTypeOffer, lease), everybody
		}
	case dhcpv4.MessageTypeRequest:
		wanted, stated := netip.AddrFromSlice(m.RequestedIPAddress().To4())
		if !stated {
			wanted = has
		}
		switch {
		case !ok:
		case !wanted.IsUnspecified() && wanted != lease:
			return s.reply(m, dhcpv4.MessageTypeNak, netip.IPv4Unspecified()), everybody
		default:
			return s.reply(m, dhcpv4.MessageTypeAck, lease), to
		}
	case dhcpv4.MessageTypeInform:
		return s.reply(m, dhcpv4.MessageTypeAck, netip.IPv4Unspecified()), to
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

// reply makes an answer. An address that is unspecified is not given. No option is empty: cloud-init 22.4 fails on what
// dhclient writes down of one.
func (s *dhcpServer) reply(m *dhcpv4.DHCPv4, kind dhcpv4.MessageType, address netip.Addr) []byte {
	gateway := net.IP(s.config.Gateway.AsSlice())
	options := []dhcpv4.Option{dhcpv4.OptMessageType(kind), dhcpv4.OptServerIdentifier(gateway)}
	if id := m.GetOneOption(dhcpv4.OptionClientIdentifier); len(id) > 0 { // RFC 6842
		options = append(options, dhcpv4.OptClientIdentifier(id))
	}
	out, err := dhcpv4.New(dhcpv4.WithReply(m))
	if err != nil {
		return nil
	}
	if kind != dhcpv4.MessageTypeNak {
		out.ClientIPAddr, out.YourIPAddr = m.ClientIPAddr, address.AsSlice()
		if !address.IsUnspecified() {
			options = append(options, dhcpv4.OptIPAddressLeaseTime(leaseTime))
		}
		options = append(options, dhcpv4.OptSubnetMask(net.CIDRMask(s.config.Subnet.Bits(), 32)), dhcpv4.OptRouter(gateway), dhcpv4.OptDNS(gateway))
		if s.config.MTU > 0 && s.config.MTU <= math.MaxUint16 {
			options = append(options, dhcpv4.Option{Code: dhcpv4.OptionInterfaceMTU, Value: dhcpv4.Uint16(s.config.MTU)})
		}
		if search := domains(s.config.Search); len(search) > 0 {
			options = append(options, dhcpv4.OptDomainSearch(&rfc1035label.Labels{Labels: search}))
		}
	}
	for _, o := range options {
		out.UpdateOption(o)
	}
	return out.ToBytes()
}

// domains leaves out of search domains what is none (RFC 1035, section 2.3.4).
func domains(search []string) []string {
	var out []string
	for _, d := range search {
		d = strings.TrimSuffix(d, ".")
		labels := strings.Split(d, ".")
		if len(d) < 254 && !slices.ContainsFunc(labels, func(l string) bool { return len(l) == 0 || len(l) > 63 }) {
			out = append(out, d)
		}
	}
	return out
}

// Package vmnet is a network for one NIC of a guest, inside the process that calls it and without any right of the host:
// a gateway with DHCP and DNS that carries the guest's TCP and UDP to the host's network, and connections from the host
// to the guest. It is IPv4 only.
//
// A guest reaches what the host's user reaches, with exceptions that no option lifts: the host's own loopback, and the
// addresses at which clouds serve metadata, credentials among them, to the host (see Reachable).
package vmnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/containers/gvisor-tap-vsock/pkg/services/dns"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

const (
	// nicID is the number of the only interface of the stack, the gateway's.
	nicID = 1
	// DefaultMTU is the MTU of a network whose NIC names none, in bytes.
	DefaultMTU = 1500
	dnsPort    = 53
	// queued is how many frames may wait for the guest before more are dropped.
	queued = 1024
)

// Config describes the network of a NIC. It is part of the launch plan and holds no secret.
type Config struct {
	// MAC is the guest's, in lower case with colons.
	MAC string `json:"mac"`
	MTU int    `json:"mtu,omitempty"`
	// Subnet holds the guest's address; Gateway need not be in it.
	Subnet  netip.Prefix `json:"subnet"`
	Gateway netip.Addr   `json:"gateway"`
	// Guest is what the guest gets by DHCP, or has by its own configuration.
	Guest netip.Addr `json:"guest"`
	// Search are search domains, told by DHCP.
	Search []string `json:"search,omitempty"`
}

// Network is a running network.
type Network struct {
	config Config
	mac    tcpip.LinkAddress
	stack  *stack.Stack
	link   *channel.Endpoint
	dial   net.Dialer
	log    *slog.Logger

	mutex   sync.Mutex
	closers []io.Closer
	// own are the addresses beside the gateway's that the network has for itself; see Listen.
	own map[netip.Addr]bool

	cancel  context.CancelFunc
	context context.Context
	// flows bounds the connections that are carried at one time, and with them the file descriptors.
	flows   chan struct{}
	working sync.WaitGroup

	// toGuest and fromGuest count bytes of frames.
	toGuest, fromGuest atomic.Int64
}

// New makes a network. It has no guest until Serve is called. The caller closes it.
func New(c Config, log *slog.Logger) (*Network, error) {
	if c.MTU == 0 {
		c.MTU = DefaultMTU
	}
	mac, err := gatewayMAC(c.MAC)
	if err != nil {
		return nil, err
	}
	n := &Network{config: c, mac: mac, log: log, own: map[netip.Addr]bool{}, flows: make(chan struct{}, maxFlows)}
	n.dial.Timeout = dialTimeout
	n.context, n.cancel = context.WithCancel(context.Background())
	n.link = channel.New(queued, uint32(c.MTU+headerSize), mac)
	n.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4},
	})
	if err := n.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("network of %s: %w", c.MAC, err), n.Close())
	}
	return n, nil
}

// start sets up addresses, routes and services.
func (n *Network) start() error {
	if err := n.stack.CreateNIC(nicID, ethernet.New(n.link)); err != nil {
		return errors.New(err.String())
	}
	gateway := tcpip.AddrFrom4(n.config.Gateway.As4())
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: gateway.WithPrefix()}
	if err := n.stack.AddProtocolAddress(nicID, address, stack.AddressProperties{}); err != nil {
		return errors.New(err.String())
	}
	// The gateway stands in for every address: it takes packets for all of them and answers in their names.
	n.stack.SetSpoofing(nicID, true)
	n.stack.SetPromiscuousMode(nicID, true)
	n.stack.SetRouteTable([]tcpip.Route{{Destination: tcpip.Subnet(everywhere()), NIC: nicID}})
	n.stack.SetTransportProtocolHandler(tcp.ProtocolNumber,
		tcp.NewForwarder(n.stack, 0, maxFlows, n.forwardTCP).HandlePacket)
	n.stack.SetTransportProtocolHandler(udp.ProtocolNumber, udp.NewForwarder(n.stack, n.forwardUDP).HandlePacket)
	return errors.Join(n.startDNS(gateway), n.startDHCP())
}

func everywhere() tcpip.Subnet {
	subnet, _ := tcpip.NewSubnet(tcpip.AddrFrom4([4]byte{}), tcpip.MaskFromBytes(make([]byte, 4)))
	return subnet
}

func (n *Network) startDNS(gateway tcpip.Address) error {
	at := tcpip.FullAddress{NIC: nicID, Addr: gateway, Port: dnsPort}
	packets, err := gonet.DialUDP(n.stack, &at, nil, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, packets)
	listener, err := gonet.ListenTCP(n.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		return err
	}
	n.closers = append(n.closers, listener)
	server, err := dns.New(packets, listener, nil)
	if err != nil {
		return err
	}
	n.serve("DNS over UDP", server.Serve)
	n.serve("DNS over TCP", server.ServeTCP)
	return nil
}

// serve runs a service until its socket is closed.
func (n *Network) serve(what string, run func() error) {
	n.working.Go(func() {
		if err := run(); err != nil && n.context.Err() == nil {
			n.log.Warn("a network service ended", "service", what, "error", err)
		}
	})
}

// Dial connects to a TCP port of the guest.
func (n *Network) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	at := tcpip.FullAddress{NIC: nicID, Addr: tcpip.AddrFrom4(n.config.Guest.As4()), Port: port}
	conn, err := gonet.DialContextTCP(ctx, n.stack, at, ipv4.ProtocolNumber)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Forward carries connections to l to a TCP port of the guest until l or the network is closed. It takes l over.
func (n *Network) Forward(l net.Listener, port uint16) {
	n.working.Go(func() {
		stop := context.AfterFunc(n.context, func() { _ = l.Close() })
		defer stop()
		for {
			outside, err := l.Accept()
			if err != nil {
				return
			}
			n.carry(func() {
				defer outside.Close()
				ctx, cancel := context.WithTimeout(n.context, dialTimeout)
				defer cancel()
				inside, err := n.Dial(ctx, port)
				if err != nil {
					return
				}
				n.join(outside, inside)
			})
		}
	})
}

// Close ends the network and every connection in it.
func (n *Network) Close() error {
	n.cancel()
	n.mutex.Lock()
	closers := n.closers
	n.mutex.Unlock()
	return shut(closers, n.stack, n.link, &n.working)
}

// shut closes what a stack serves, the stack and its link, and returns when nobody works on them any more.
func shut[C io.Closer](closers []C, s *stack.Stack, link *channel.Endpoint, working *sync.WaitGroup) error {
	var errs []error
	for _, c := range closers {
		errs = append(errs, c.Close())
	}
	s.Close()
	s.RemoveNIC(nicID)
	link.Close()
	working.Wait()
	s.Wait()
	return errors.Join(errs...)
}

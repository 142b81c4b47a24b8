package vmnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// Local is one IPv4 address, such as 169.254.169.254, that a guest finds beside a network which somebody else provides.
// It forwards nothing: it takes packets for that address and answers them.
type Local struct {
	address netip.Addr
	stack   *stack.Stack
	link    *channel.Endpoint
	cancel  context.CancelFunc
	working sync.WaitGroup

	mutex     sync.Mutex
	listeners []net.Listener
}

// NewLocal makes the address, for a NIC with an MTU; 0 is DefaultMTU. send gets the packets for the guest, one at a time.
// The caller closes the result.
func NewLocal(address netip.Addr, mtu int, send func(packet []byte)) (*Local, error) {
	if !address.Is4() {
		return nil, fmt.Errorf("%s is no IPv4 address", address)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Local{address: address, cancel: cancel, link: channel.New(queued, uint32(cmp.Or(mtu, DefaultMTU)), "")}
	// A guest's NIC on this host leaves checksums to the hardware that there is none of.
	l.link.LinkEPCapabilities |= stack.CapabilityRXChecksumOffload
	l.stack = stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, icmp.NewProtocol4},
	})
	failed := l.stack.CreateNIC(nicID, l.link)
	if failed == nil {
		failed = l.stack.AddProtocolAddress(nicID, tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
			AddressWithPrefix: tcpip.AddrFrom4(address.As4()).WithPrefix()}, stack.AddressProperties{})
	}
	if failed != nil {
		return nil, errors.Join(errors.New(failed.String()), l.Close())
	}
	l.stack.SetRouteTable([]tcpip.Route{{Destination: everywhere(), NIC: nicID}})
	l.working.Go(func() {
		for {
			packet := l.link.ReadContext(ctx)
			if packet == nil {
				return
			}
			bytes := packet.ToView().AsSlice()
			packet.DecRef()
			send(bytes)
		}
	})
	return l, nil
}

// Receive takes an IPv4 packet of the guest.
func (l *Local) Receive(packet []byte) {
	p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(packet)})
	l.link.InjectInbound(ipv4.ProtocolNumber, p)
	p.DecRef()
}

// Listen returns a listener at a TCP port, as that of Network.
func (l *Local) Listen(port uint16) (net.Listener, error) {
	listener, err := listenIn(l.stack, netip.AddrPortFrom(l.address, port))
	if err != nil {
		return nil, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.listeners = append(l.listeners, listener)
	return listener, nil
}

// Close ends the address, its listeners and every connection to it.
func (l *Local) Close() error {
	l.cancel()
	l.mutex.Lock()
	listeners := l.listeners
	l.mutex.Unlock()
	return shut(listeners, l.stack, l.link, &l.working)
}

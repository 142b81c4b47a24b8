// Package vmnettest is the other end of a network's cable: a guest that consists of a network stack alone, for tests of
// networks and of those who have them.
package vmnettest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/link/ethernet"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"github.com/vmseed/vmseed/internal/vmnet"
)

const (
	nicID = 1
	mtu   = 1514
	// queued is how many frames may wait to be sent.
	queued = 64
)

// Guest is a network stack with the address of a guest. The caller closes it.
type Guest struct {
	// Stack may be changed as a test needs it.
	Stack *stack.Stack

	conn   net.Conn
	link   *channel.Endpoint
	cancel context.CancelFunc
	see    atomic.Pointer[func([]byte)]
	ends   sync.WaitGroup
}

// New makes the guest of a network at a connection like QEMU's stream netdev, which it takes over.
func New(conn net.Conn, c vmnet.Config) (*Guest, error) {
	mac, err := net.ParseMAC(c.MAC)
	if err != nil {
		return nil, err
	}
	g := &Guest{conn: conn, link: channel.New(queued, mtu, tcpip.LinkAddress(mac)), Stack: stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{tcp.NewProtocol, udp.NewProtocol},
	})}
	if err := g.Stack.CreateNIC(nicID, ethernet.New(g.link)); err != nil {
		return nil, errors.New(err.String())
	}
	address := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{Address: tcpip.AddrFrom4(c.Guest.As4()), PrefixLen: c.Subnet.Bits()}}
	if err := g.Stack.AddProtocolAddress(nicID, address, stack.AddressProperties{}); err != nil {
		return nil, errors.New(err.String())
	}
	everywhere, err := tcpip.NewSubnet(tcpip.AddrFrom4([4]byte{}), tcpip.MaskFromBytes(make([]byte, 4)))
	if err != nil {
		return nil, err
	}
	g.Stack.SetRouteTable([]tcpip.Route{{Destination: everywhere, Gateway: tcpip.AddrFrom4(c.Gateway.As4()), NIC: nicID}})
	var ctx context.Context
	ctx, g.cancel = context.WithCancel(context.Background())
	g.ends.Go(g.receive)
	g.ends.Go(func() { g.send(ctx) })
	return g, nil
}

// Watch has every frame that comes in shown to f, which is called by one goroutine, before the stack gets it.
func (g *Guest) Watch(f func(frame []byte)) { g.see.Store(&f) }

func (g *Guest) receive() {
	var size [4]byte
	for {
		if _, err := io.ReadFull(g.conn, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(g.conn, frame); err != nil {
			return
		}
		if see := g.see.Load(); see != nil {
			(*see)(frame)
		}
		p := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(frame)})
		g.link.InjectInbound(0, p)
		p.DecRef()
	}
}

func (g *Guest) send(ctx context.Context) {
	for p := g.link.ReadContext(ctx); p != nil; p = g.link.ReadContext(ctx) {
		frame := p.ToView().AsSlice()
		p.DecRef()
		if _, err := g.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
			return
		}
	}
}

// Dial connects to an address and port of IPv4.
func (g *Guest) Dial(ctx context.Context, to string) (net.Conn, error) {
	a, err := netip.ParseAddrPort(to)
	if err != nil {
		return nil, err
	}
	return gonet.DialContextTCP(ctx, g.Stack, tcpip.FullAddress{Addr: tcpip.AddrFrom4(a.Addr().As4()), Port: a.Port()}, ipv4.ProtocolNumber)
}

// Client is an HTTP client in the guest, with a connection for each request.
func (g *Guest) Client() *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return g.Dial(ctx, address) }}}
}

// Close pulls the cable and ends the guest.
func (g *Guest) Close() {
	g.cancel()
	g.conn.Close()
	g.ends.Wait()
	g.Stack.Close()
	g.Stack.RemoveNIC(nicID)
	g.link.Close()
	g.Stack.Wait()
}

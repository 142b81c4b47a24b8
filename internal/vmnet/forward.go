package vmnet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// maxFlows is how many connections, and exchanges of UDP packets, are carried at one time.
	maxFlows    = 1024
	dialTimeout = 30 * time.Second
	// udpIdle ends an exchange of UDP packets. RFC 4787, section 4.3, asks a translator for two minutes at least.
	udpIdle = 2 * time.Minute
	maxUDP  = 64 << 10
)

// closedNetworks are what no guest reaches. The host would take an address of 0.0.0.0/8 for its own loopback, and
// 169.254.0.0/16 holds the metadata services of most clouds. The last three are those of Azure, Alibaba Cloud and Oracle
// Cloud outside that network.
var closedNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"),
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

// Reachable reports whether the network carries a guest's packets to an address of the host's network.
func Reachable(a netip.Addr) bool {
	a = a.Unmap()
	if !a.Is4() {
		return false
	}
	for _, closed := range closedNetworks {
		if closed.Contains(a) {
			return false
		}
	}
	return true
}

// target is the address on the host's network that a guest's packets go to, and whether they may.
func (n *Network) target(address tcpip.Address, port uint16) (netip.AddrPort, bool) {
	a, ok := netip.AddrFromSlice(address.AsSlice())
	return netip.AddrPortFrom(a, port), ok && a != n.config.Gateway && Reachable(a)
}

// carry runs f beside the others, or not at all when too many run.
func (n *Network) carry(f func()) bool {
	select {
	case n.flows <- struct{}{}:
	default:
		n.log.Warn("too many connections at one time", "limit", maxFlows)
		return false
	}
	n.working.Go(func() {
		defer func() { <-n.flows }()
		f()
	})
	return true
}

// forwardTCP answers a guest's connection to an address outside. The stack calls it in a goroutine of its own.
func (n *Network) forwardTCP(r *tcp.ForwarderRequest) {
	to, ok := n.target(r.ID().LocalAddress, r.ID().LocalPort)
	if !ok || n.context.Err() != nil {
		r.Complete(true)
		return
	}
	outside, err := n.dial.DialContext(n.context, "tcp4", to.String())
	if err != nil {
		r.Complete(true)
		return
	}
	var queue waiter.Queue
	endpoint, failed := r.CreateEndpoint(&queue)
	r.Complete(false)
	if failed != nil {
		_ = outside.Close()
		return
	}
	inside := gonet.NewTCPConn(&queue, endpoint)
	if !n.carry(func() { n.join(inside, outside) }) {
		_ = inside.Close()
		_ = outside.Close()
	}
}

// join copies both ways until both sides have ended, and closes both.
func (n *Network) join(a, b net.Conn) {
	closeBoth := func() {
		_ = a.Close()
		_ = b.Close()
	}
	defer context.AfterFunc(n.context, closeBoth)()
	defer closeBoth()
	var both sync.WaitGroup
	half := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if closer, ok := to.(interface{ CloseWrite() error }); !ok || err != nil || closer.CloseWrite() != nil {
			closeBoth()
		}
	}
	both.Go(func() { half(a, b) })
	both.Go(func() { half(b, a) })
	both.Wait()
}

// forwardUDP carries a guest's packets to one address and port outside, and the answers. The stack calls it for the
// first packet.
func (n *Network) forwardUDP(r *udp.ForwarderRequest) {
	to, ok := n.target(r.ID().LocalAddress, r.ID().LocalPort)
	if !ok || n.context.Err() != nil {
		return
	}
	var queue waiter.Queue
	endpoint, failed := r.CreateEndpoint(&queue)
	if failed != nil {
		return
	}
	inside := gonet.NewUDPConn(&queue, endpoint)
	if !n.carry(func() { n.exchange(inside, to) }) {
		_ = inside.Close()
	}
}

func (n *Network) exchange(inside net.Conn, to netip.AddrPort) {
	defer inside.Close()
	outside, err := n.dial.DialContext(n.context, "udp4", to.String())
	if err != nil {
		return
	}
	defer outside.Close()
	closeBoth := func() {
		_ = inside.Close()
		_ = outside.Close()
	}
	defer context.AfterFunc(n.context, closeBoth)()
	var both sync.WaitGroup
	var last atomic.Int64
	half := func(to, from net.Conn) {
		defer closeBoth()
		packet := make([]byte, maxUDP)
		for {
			_ = from.SetReadDeadline(time.Now().Add(udpIdle))
			size, err := from.Read(packet)
			switch idle := time.Since(time.Unix(0, last.Load())) > udpIdle; {
			case err == nil:
				last.Store(time.Now().UnixNano())
				// A packet that cannot be sent is lost, as packets are.
				_, _ = to.Write(packet[:size])
			case errors.Is(err, os.ErrDeadlineExceeded) && !idle:
			case errors.Is(err, syscall.ECONNREFUSED):
			default:
				return
			}
		}
	}
	both.Go(func() { half(inside, outside) })
	both.Go(func() { half(outside, inside) })
	both.Wait()
}

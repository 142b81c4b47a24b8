package vmnet

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// maxServed is how many connections a listener serves at one time. More wait until one of them has ended.
	maxServed = 128
	// backlog is how many connections may wait.
	backlog = 128
)

// Listen returns a listener for the guest's connections to a TCP port of an address that this network then has for its
// own, such as 169.254.169.254:80. The guest may reach that address through the gateway or take it for a neighbour; the
// host's network is never asked for it, neither on this port nor on another that is closed to guests. Its connections
// have the method SetHopLimit(int) error. The network closes the listener when it is closed itself.
func (n *Network) Listen(at netip.AddrPort) (net.Listener, error) {
	switch {
	case !at.Addr().Is4():
		return nil, fmt.Errorf("listen on %s: the network carries IPv4 alone", at)
	case at.Addr() == n.config.Guest:
		return nil, fmt.Errorf("listen on %s: the guest has this address itself", at)
	}
	l, err := listenIn(n.stack, at)
	if err != nil {
		return nil, err
	}
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.closers = append(n.closers, l)
	n.own[at.Addr()] = true
	return l, nil
}

// listenIn makes a listener at an address of a stack.
func listenIn(in *stack.Stack, at netip.AddrPort) (*listener, error) {
	l := &listener{at: at, slots: make(chan struct{}, maxServed), closed: make(chan struct{})}
	endpoint, failed := in.NewEndpoint(tcp.ProtocolNumber, ipv4.ProtocolNumber, &l.queue)
	if failed != nil {
		return nil, fmt.Errorf("listen on %s: %s", at, failed)
	}
	l.endpoint = endpoint
	if failed = endpoint.Bind(tcpip.FullAddress{NIC: nicID, Addr: tcpip.AddrFrom4(at.Addr().As4()), Port: at.Port()}); failed == nil {
		failed = endpoint.Listen(backlog)
	}
	if failed != nil {
		endpoint.Close()
		return nil, fmt.Errorf("listen on %s: %s", at, failed)
	}
	return l, nil
}

// owns reports whether the network has an address for its own.
func (n *Network) owns(a tcpip.Address) bool {
	address, ok := netip.AddrFromSlice(a.AsSlice())
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return ok && (address == n.config.Gateway || n.own[address])
}

// listener accepts connections of the guest.
type listener struct {
	at       netip.AddrPort
	endpoint tcpip.Endpoint
	queue    waiter.Queue
	slots    chan struct{}
	closed   chan struct{}
	once     sync.Once
}

// Addr is the address that the guest connects to.
func (l *listener) Addr() net.Addr { return net.TCPAddrFromAddrPort(l.at) }

// Close ends the accepting. Connections that were accepted stay.
func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.endpoint.Close()
	})
	return nil
}

// Accept waits for the next connection, and before that for the end of another where there are too many.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.closed:
		return nil, l.failed(net.ErrClosed)
	}
	release := func() { <-l.slots }
	entry, ready := waiter.NewChannelEntry(waiter.ReadableEvents)
	l.queue.EventRegister(&entry)
	defer l.queue.EventUnregister(&entry)
	for {
		endpoint, queue, err := l.endpoint.Accept(nil)
		if err == nil {
			return &conn{TCPConn: gonet.NewTCPConn(queue, endpoint), endpoint: endpoint, release: sync.OnceFunc(release)}, nil
		}
		if _, waiting := err.(*tcpip.ErrWouldBlock); !waiting {
			release()
			return nil, l.failed(l.reason(err))
		}
		select {
		case <-ready:
		case <-l.closed:
			release()
			return nil, l.failed(net.ErrClosed)
		}
	}
}

// reason is an error of the stack, or that the listener was closed.
func (l *listener) reason(err tcpip.Error) error {
	select {
	case <-l.closed:
		return net.ErrClosed
	default:
		return errors.New(err.String())
	}
}

func (l *listener) failed(err error) error {
	return &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: err}
}

// conn is a connection of the guest.
type conn struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
	release  func()
}

// SetHopLimit sets the time to live of the packets that are sent from now on, retransmissions among them; 0 is the
// network's default.
func (c *conn) SetHopLimit(hops int) error {
	if hops < 0 || hops > 255 {
		return fmt.Errorf("a time to live of %d", hops)
	}
	if err := c.endpoint.SetSockOptInt(tcpip.IPv4TTLOption, hops); err != nil {
		return errors.New(err.String())
	}
	return nil
}

// Close ends the connection.
func (c *conn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}

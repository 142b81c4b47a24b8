package vmnet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"github.com/vmseed/vmseed/internal/vmnet"
)

var metadata = netip.MustParseAddrPort("169.254.169.254:80")

// serve answers the guest at the metadata address until the test ends.
func serve(t *testing.T, n *vmnet.Network, h http.HandlerFunc) {
	t.Helper()
	l, err := n.Listen(metadata)
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	server := &http.Server{Handler: h, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		if err := c.(interface{ SetHopLimit(int) error }).SetHopLimit(1); err != nil {
			t.Error(err)
		}
		return context.WithValue(ctx, key{}, c)
	}}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving: %v", err)
		}
	})
}

// The guest reads what its gateway serves at the metadata address, whether it asks the gateway or, as with a route for
// all of 169.254.0.0/16, the address itself. No packet of an answer lives longer than was said.
func TestListen(t *testing.T) {
	for _, neighbour := range []bool{false, true} {
		n, g := cable(t)
		from := make(chan string, 1)
		large := strings.Repeat("x", 100_000)
		serve(t, n, func(w http.ResponseWriter, r *http.Request) {
			from <- r.RemoteAddr
			io.WriteString(w, large)
		})
		if neighbour {
			routes := []tcpip.Route{{Destination: subnet(t, "169.254.0.0/16"), NIC: 1}}
			g.Stack.SetRouteTable(append(routes, g.Stack.GetRouteTable()...))
		}
		var mutex sync.Mutex
		lives, arp := []uint8{}, false
		see := func(frame []byte) {
			mutex.Lock()
			defer mutex.Unlock()
			switch e := header.Ethernet(frame); e.Type() {
			case header.IPv4ProtocolNumber:
				ip := header.IPv4(frame[header.EthernetMinimumSize:])
				if segment := header.TCP(ip.Payload()); ip.SourceAddress() == tcpip.AddrFrom4(metadata.Addr().As4()) && len(segment.Payload()) > 0 {
					lives = append(lives, ip.TTL())
				}
			case header.ARPProtocolNumber:
				a := header.ARP(frame[header.EthernetMinimumSize:])
				arp = arp || a.Op() == header.ARPReply && tcpip.AddrFromSlice(a.ProtocolAddressSender()) == tcpip.AddrFrom4(metadata.Addr().As4())
			}
		}
		g.Watch(see)
		answer, err := g.Client().Get("http://" + metadata.String() + "/latest/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || string(body) != large {
			t.Errorf("neighbour %t: the guest reads %d bytes, %v", neighbour, len(body), err)
		}
		if host, _, _ := net.SplitHostPort(<-from); host != config.Guest.String() {
			t.Errorf("neighbour %t: the request is from %s", neighbour, host)
		}
		mutex.Lock()
		if len(lives) < 60 || slices.Max(lives) != 1 {
			t.Errorf("neighbour %t: the packets of the answer have the lives %v", neighbour, lives)
		}
		if arp != neighbour {
			t.Errorf("neighbour %t: an ARP answer for the metadata address: %t", neighbour, arp)
		}
		mutex.Unlock()
	}
}

func subnet(t *testing.T, prefix string) tcpip.Subnet {
	t.Helper()
	p := netip.MustParsePrefix(prefix)
	s, err := tcpip.NewSubnet(tcpip.AddrFrom4(p.Addr().As4()), tcpip.MaskFromBytes(net.CIDRMask(p.Bits(), 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Beside the port that is served the address stays closed, and so does every other one of the link-local network.
func TestListenAlone(t *testing.T) {
	n, g := cable(t)
	serve(t, n, func(http.ResponseWriter, *http.Request) {})
	for _, to := range []string{"169.254.169.254:81", "169.254.169.253:80", "169.254.170.2:80"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if conn, err := g.Dial(ctx, to); err == nil || ctx.Err() != nil {
			t.Errorf("%s: %v, %v", to, conn, err)
		}
		cancel()
	}
	if _, err := n.Listen(metadata); err == nil {
		t.Error("the same address twice")
	}
	for at, want := range map[string]string{config.Guest.String() + ":80": "the guest has this address", "[fd00:ec2::254]:80": "IPv4"} {
		if _, err := n.Listen(netip.MustParseAddrPort(at)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// The gateway answers ARP requests for the addresses that are its own, and no others.
func TestListenARP(t *testing.T) {
	n, err := vmnet.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if _, err := n.Listen(metadata); err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- n.Serve(here) }()
	asked := []string{"169.254.169.253", "10.1.90.9", "10.1.90.5", "169.254.169.254", "10.1.90.1"}
	go func() {
		for _, address := range asked {
			target := netip.MustParseAddr(address).As4()
			frame := []byte("\xff\xff\xff\xff\xff\xff" + guestMAC + "\x08\x06\x00\x01\x08\x00\x06\x04\x00\x01" + guestMAC)
			frame = append(append(frame, make([]byte, 10)...), target[:]...)
			if _, err := there.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
				return
			}
		}
	}()
	var answers []string
	for !slices.Contains(answers, "10.1.90.1") {
		var size [4]byte
		if _, err := io.ReadFull(there, size[:]); err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(there, frame); err != nil {
			t.Fatal(err)
		}
		if a := header.ARP(frame[header.EthernetMinimumSize:]); header.Ethernet(frame).Type() == header.ARPProtocolNumber && a.Op() == header.ARPReply {
			answers = append(answers, net.IP(a.ProtocolAddressSender()).String())
		}
	}
	if want := asked[3:]; !slices.Equal(answers, want) {
		t.Errorf("answers for %v, want %v", answers, want)
	}
	there.Close()
	<-served
}

// A guest that opens connections and leaves them keeps no more than the bound busy; when one ends the next is served.
func TestListenBound(t *testing.T) {
	n, g := cable(t)
	l, err := n.Listen(metadata)
	if err != nil {
		t.Fatal(err)
	}
	const bound = 128
	accepted := make(chan net.Conn, bound+1)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	dial := func() net.Conn {
		c, err := g.Dial(t.Context(), metadata.String())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for range bound {
		defer dial().Close()
	}
	var first net.Conn
	for range bound {
		first = <-accepted
	}
	waiting := dial()
	defer waiting.Close()
	select {
	case <-accepted:
		t.Errorf("more than %d connections", bound)
	default:
	}
	first.Close()
	first.Close() // twice is once
	next := <-accepted
	fmt.Fprint(next, "hello")
	hello := make([]byte, 5)
	if _, err := io.ReadFull(waiting, hello); err != nil || string(hello) != "hello" {
		t.Errorf("%q, %v", hello, err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if c, open := <-accepted; open {
		t.Errorf("accepted %v after the end", c.RemoteAddr())
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepting after the end: %v", err)
	}
}

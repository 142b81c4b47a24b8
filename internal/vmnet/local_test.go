package vmnet

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
)

// The guest has a stack as the address has, so the test is about what passes between them.
func TestLocal(t *testing.T) {
	var service, guest *Local
	deliver := func(to **Local) func([]byte) {
		return func(packet []byte) {
			// The checksum of a segment is for a NIC to fill in, which this one has not done.
			packet[20+16] ^= 0x55
			(*to).Receive(packet)
		}
	}
	address := netip.MustParseAddr("169.254.169.254")
	var err error
	if service, err = NewLocal(address, 1450, deliver(&guest)); err != nil {
		t.Fatal(err)
	}
	if guest, err = NewLocal(netip.MustParseAddr("10.244.1.5"), 1450, deliver(&service)); err != nil {
		t.Fatal(err)
	}
	l, err := service.Listen(80)
	if err != nil {
		t.Fatal(err)
	}
	if l.Addr().String() != "169.254.169.254:80" {
		t.Errorf("it listens on %s", l.Addr())
	}
	if _, err := service.Listen(80); err == nil {
		t.Error("a port can be listened on twice")
	}
	const size = 300 << 10 // many segments
	served := make(chan error, 1)
	go func() {
		served <- http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("From", r.RemoteAddr)
			_, _ = w.Write(make([]byte, size))
		}))
	}()
	dial := func(port uint16) (*gonet.TCPConn, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return gonet.DialContextTCP(ctx, guest.stack, tcpip.FullAddress{NIC: nicID, Addr: tcpip.AddrFrom4(address.As4()), Port: port}, ipv4.ProtocolNumber)
	}
	conn, err := dial(80)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || len(answer) < size {
		t.Errorf("%d bytes, %v", len(answer), err)
	}
	_ = conn.Close()
	if _, err := dial(8080); err == nil {
		t.Error("a port that nobody listens on answers")
	}
	service.Receive(nil)
	service.Receive([]byte{0x45, 0, 0, 1})
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err == nil {
		t.Error("the listener outlives its address")
	}
	service.Receive(make([]byte, 40))
	if err := guest.Close(); err != nil {
		t.Error(err)
	}
	if _, err := NewLocal(netip.MustParseAddr("fd00:ec2::254"), 0, func([]byte) {}); err == nil {
		t.Error("an IPv6 address is taken")
	}
}

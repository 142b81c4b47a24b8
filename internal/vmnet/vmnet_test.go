package vmnet_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/vmnet"
	"github.com/vmseed/vmseed/internal/vmnet/vmnettest"
	"github.com/vmseed/vmseed/machine"
)

func TestReachable(t *testing.T) {
	for address, want := range map[string]bool{
		"192.0.2.1": true, "10.0.0.1": true, "8.8.8.8": true, "169.253.255.255": true, "169.255.0.0": true,
		"169.254.169.254": false, "169.254.0.1": false, "::ffff:169.254.169.254": false, "fd00:ec2::254": false,
		"127.0.0.1": false, "127.255.255.255": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false,
		"224.0.0.251": false, "255.255.255.255": false, "168.63.129.16": false, "100.100.100.200": false, "192.0.0.192": false,
	} {
		if got := vmnet.Reachable(netip.MustParseAddr(address)); got != want {
			t.Errorf("Reachable(%s) = %v, want %v", address, got, want)
		}
	}
}

func TestConfigure(t *testing.T) {
	prefix, addr := netip.MustParsePrefix, netip.MustParseAddr
	for _, c := range []struct {
		name string
		nic  machine.NIC
		want vmnet.Config
		code diag.Code
	}{
		{"DHCP", machine.NIC{DHCP4: true}, vmnet.Config{Subnet: prefix("192.168.130.0/24"), Gateway: addr("192.168.130.1"), Guest: addr("192.168.130.2")}, 0},
		{"gateway", machine.NIC{Addrs: []netip.Prefix{prefix("10.1.90.5/24")}, Gateway4: addr("10.1.90.254")},
			vmnet.Config{Subnet: prefix("10.1.90.0/24"), Gateway: addr("10.1.90.254"), Guest: addr("10.1.90.5")}, 0},
		{"default route", machine.NIC{Addrs: []netip.Prefix{prefix("10.1.90.5/32")}, Routes: []machine.Route{
			{To: prefix("10.0.0.0/8"), Via: addr("10.1.1.1")}, {To: prefix("0.0.0.0/0"), Via: addr("169.254.1.1")}}},
			vmnet.Config{Subnet: prefix("10.1.90.5/32"), Gateway: addr("169.254.1.1"), Guest: addr("10.1.90.5")}, 0},
		{"first free", machine.NIC{Addrs: []netip.Prefix{prefix("10.1.90.1/30")}},
			vmnet.Config{Subnet: prefix("10.1.90.0/30"), Gateway: addr("10.1.90.2"), Guest: addr("10.1.90.1")}, 0},
		{"none left", machine.NIC{Addrs: []netip.Prefix{prefix("10.1.90.1/32")}},
			vmnet.Config{Subnet: prefix("10.1.90.1/32"), Guest: addr("10.1.90.1")}, vmnet.CodeNoAddress},
		{"IPv6", machine.NIC{SLAAC: true, DHCP4: true}, vmnet.Config{Subnet: prefix("192.168.130.0/24"), Gateway: addr("192.168.130.1"), Guest: addr("192.168.130.2")}, vmnet.CodeIPv6},
	} {
		got, list := vmnet.Configure(c.nic, machine.DNS{}, 3, diag.Range{})
		if diff := cmp.Diff(c.want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
		if c.code == 0 && len(list) > 0 || c.code != 0 && (len(list) != 1 || list[0].Code != c.code) {
			t.Errorf("%s: diagnostics %v, want %v", c.name, list, c.code)
		}
	}
}

const guestMAC = "\x52\x54\x00\x00\x00\x01"

var config = vmnet.Config{MAC: "52:54:00:00:00:01", Subnet: netip.MustParsePrefix("10.1.90.0/24"),
	Gateway: netip.MustParseAddr("10.1.90.1"), Guest: netip.MustParseAddr("10.1.90.5")}

// cable makes a network with a guest on it.
func cable(t *testing.T) (*vmnet.Network, *vmnettest.Guest) {
	t.Helper()
	n, err := vmnet.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- n.Serve(here) }()
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		<-served
	})
	g, err := vmnettest.New(there, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return n, g
}

// The host's connections reach the guest, with the end of each direction for itself.
func TestForward(t *testing.T) {
	n, g := cable(t)
	inside, err := gonet.ListenTCP(g.Stack, tcpip.FullAddress{Port: 22}, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	go func() {
		conn, err := inside.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		words, _ := io.ReadAll(conn) // until the host has ended its half
		fmt.Fprintf(conn, "guest heard %s", words)
	}()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.Forward(l, 22)
	conn, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "hello")
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "guest heard hello" {
		t.Errorf("the guest said %q, %v", got, err)
	}
}

// A guest reaches no address of the host's own, under whichever name.
func TestHostClosed(t *testing.T) {
	_, g := cable(t)
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "host")
			conn.Close()
		}
	}()
	port := l.Addr().(*net.TCPAddr).Port
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "0.0.0.1", "10.1.90.1", "169.254.169.254"} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		conn, err := g.Dial(ctx, fmt.Sprintf("%s:%d", host, port))
		if err == nil {
			word, _ := bufio.NewReader(conn).ReadString('\n')
			conn.Close()
			if word != "" {
				t.Errorf("the guest reaches the host at %s", host)
			}
		}
		cancel()
	}
}

// Frames that no guest should send end at most the connection, never the process.
func TestHostileFrames(t *testing.T) {
	n, err := vmnet.New(config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	for _, frame := range [][]byte{{}, {1}, make([]byte, 13), make([]byte, 14), make([]byte, 15), append([]byte("\xff\xff\xff\xff\xff\xff"+guestMAC+"\x08\x06"), 0, 1),
		append([]byte("\xff\xff\xff\xff\xff\xff"+guestMAC+"\x08\x00"), 0x45, 0, 0, 9)} {
		here, there := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- n.Serve(here) }()
		go io.Copy(io.Discard, there)
		if _, err := there.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)); err != nil {
			t.Errorf("a frame of %d bytes ended the connection: %v", len(frame), err)
		}
		there.Close()
		<-served
	}
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- n.Serve(here) }()
	if _, err := there.Write([]byte{0xff, 0xff, 0xff, 0xff}); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err == nil {
		t.Error("a frame of 4 GiB is no error")
	}
}

// Networks leave no goroutine behind.
func TestCloseLeaksNothing(t *testing.T) {
	round := func() {
		n, err := vmnet.New(config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		here, there := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- n.Serve(here) }()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
		<-served
		there.Close()
	}
	round()
	before := runtime.NumGoroutine()
	for range 50 {
		round()
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+5; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines before, %d after 50 networks\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
		}
	}
}

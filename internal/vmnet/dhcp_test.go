package vmnet

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// The parts of a message that the tests make and read by themselves (RFC 2131, figure 1; RFC 2132).
const (
	dhcpHeader, dhcpMinimum, dhcpCookie                = 236, 300, "\x63\x82\x53\x63"
	offsetFlags, offsetCiaddr, offsetYiaddr            = 10, 12, 16
	offsetGiaddr, offsetChaddr                         = 24, 28
	optionPad, optionRequested, optionType             = 0, 50, 53
	optionServer, optionClient, optionEnd              = 54, 61, 255
	dhcpDiscover, dhcpRequest, dhcpRelease, dhcpInform = 1, 3, 7, 8
)

// ask makes a client's message; each option is its code and value.
func ask(mac string, kind byte, ciaddr string, options ...[]byte) []byte {
	p := make([]byte, dhcpHeader)
	p[0], p[1], p[2] = 1, 1, 6
	copy(p[4:], "\xde\xad\xbe\xef")
	p[offsetFlags] = 0x80
	if ciaddr != "" {
		copy(p[offsetCiaddr:], netip.MustParseAddr(ciaddr).AsSlice())
	}
	hardware, _ := net.ParseMAC(mac)
	copy(p[offsetChaddr:], hardware)
	p = append(p, dhcpCookie...)
	p = append(p, optionPad, optionType, 1, kind)
	for _, o := range options {
		p = append(append(p, o[0], byte(len(o)-1)), o[1:]...)
	}
	return append(p, optionEnd, 0xff, 0xff) // what follows the end counts for nothing
}

func address(code byte, a string) []byte {
	return append([]byte{code}, netip.MustParseAddr(a).AsSlice()...)
}

// said describes an answer: its kind, the address that it gives, where it goes, and its other options.
func said(t *testing.T, answer []byte, to netip.Addr) string {
	t.Helper()
	if answer == nil {
		return "nothing"
	}
	if len(answer) < dhcpMinimum || answer[0] != 2 || string(answer[4:8]) != "\xde\xad\xbe\xef" || answer[offsetFlags] != 0x80 {
		t.Errorf("the header is %x", answer[:dhcpHeader])
	}
	given, _ := netip.AddrFromSlice(answer[offsetYiaddr : offsetYiaddr+4])
	out := fmt.Sprintf("gives %s to %s", given, to)
	for rest := answer[dhcpHeader+4:]; rest[0] != optionEnd; {
		size := int(rest[1])
		if size == 0 {
			t.Errorf("option %d is empty", rest[0])
		}
		out += fmt.Sprintf(" %d=%s", rest[0], hex.EncodeToString(rest[2:2+size]))
		rest = rest[2+size:]
	}
	return out
}

func TestDHCP(t *testing.T) {
	const guest, other = "52:54:00:00:00:01", "52:54:00:00:00:02"
	const all = "1=ffffff00 3=0a015a01 6=0a015a01 26=05dc "
	c := Config{MAC: guest, MTU: 1500, Subnet: netip.MustParsePrefix("10.1.90.0/24"), Gateway: netip.MustParseAddr("10.1.90.1"), Guest: netip.MustParseAddr("10.1.90.5")}
	s, err := newDHCP(c)
	if err != nil {
		t.Fatal(err)
	}
	relayed := ask(guest, dhcpDiscover, "")
	relayed[offsetGiaddr] = 10
	for _, q := range []struct {
		name string
		ask  []byte
		want string
	}{
		{"discover", ask(guest, dhcpDiscover, ""), "gives 10.1.90.5 to 255.255.255.255 " + all + "51=00000e10 53=02 54=0a015a01"},
		{"request", ask(guest, dhcpRequest, "", address(optionServer, "10.1.90.1"), address(optionRequested, "10.1.90.5")),
			"gives 10.1.90.5 to 255.255.255.255 " + all + "51=00000e10 53=05 54=0a015a01"},
		{"client id", ask(guest, dhcpDiscover, "", []byte{optionClient, 1, 2, 3}), "gives 10.1.90.5 to 255.255.255.255 " + all + "51=00000e10 53=02 54=0a015a01 61=010203"},
		{"renew", ask(guest, dhcpRequest, "10.1.90.5"), "gives 10.1.90.5 to 10.1.90.5 " + all + "51=00000e10 53=05 54=0a015a01"},
		{"another address", ask(guest, dhcpRequest, "", address(optionRequested, "10.1.90.9")), "gives 0.0.0.0 to 255.255.255.255 53=06 54=0a015a01"},
		{"another network's", ask(guest, dhcpRequest, "192.0.2.9"), "gives 0.0.0.0 to 255.255.255.255 53=06 54=0a015a01"},
		{"another server's", ask(guest, dhcpRequest, "", address(optionServer, "10.1.90.7"), address(optionRequested, "10.1.90.5")), "nothing"},
		{"inform", ask(guest, dhcpInform, "10.1.90.5"), "gives 0.0.0.0 to 10.1.90.5 " + all + "53=05 54=0a015a01"},
		{"another MAC", ask(other, dhcpDiscover, ""), "gives 10.1.90.2 to 255.255.255.255 " + all + "51=00000e10 53=02 54=0a015a01"},
		{"the same", ask(other, dhcpRequest, "", address(optionRequested, "10.1.90.2")), "gives 10.1.90.2 to 255.255.255.255 " + all + "51=00000e10 53=05 54=0a015a01"},
		{"release", ask(guest, dhcpRelease, "10.1.90.5"), "nothing"},
		{"relayed", relayed, "nothing"},
		{"no kind", ask(guest, 0, ""), "nothing"},
		{"short", relayed[:100], "nothing"},
		{"cut off", ask(guest, dhcpDiscover, "", []byte{optionClient, 1, 2, 3})[:dhcpHeader+10], "nothing"},
	} {
		if got := said(t, first(s.answer(q.ask)), second(s.answer(q.ask))); got != q.want {
			t.Errorf("%s: %s\nwant %s", q.name, got, q.want)
		}
	}
	full := 0
	for i := range 100 {
		if answer, _ := s.answer(ask(fmt.Sprintf("52:54:00:00:01:%02x", i), dhcpDiscover, "")); answer == nil {
			full++
		}
	}
	if full != 100-(maxLeases-2) {
		t.Errorf("%d of 100 MACs get nothing", full)
	}
}

func first(answer []byte, _ netip.Addr) []byte  { return answer }
func second(_ []byte, to netip.Addr) netip.Addr { return to }

// A guest whose subnet has no other address gets its own all the same, and search domains arrive as they are written.
func TestDHCPAlone(t *testing.T) {
	long := strings.Repeat("x", 60) + ".example.net"
	s, err := newDHCP(Config{MAC: "52:54:00:00:00:01", Subnet: netip.MustParsePrefix("10.1.90.5/32"), Gateway: netip.MustParseAddr("169.254.1.1"),
		Guest: netip.MustParseAddr("10.1.90.5"), Search: []string{"a.example.org", "b.", "no..domain", strings.Repeat("y", 64), long, long, long, long}})
	if err != nil {
		t.Fatal(err)
	}
	got := said(t, first(s.answer(ask("52:54:00:00:00:01", dhcpDiscover, ""))), netip.Addr{})
	if !strings.HasPrefix(got, "gives 10.1.90.5") || !strings.Contains(got, " 1=ffffffff 3=a9fe0101 ") ||
		strings.Count(got, " 119=") != 2 || !strings.Contains(got, " 119="+hex.EncodeToString([]byte("\x01a\x07example\x03org\x00\x01b\x00\x3cxxx"))) {
		t.Error(got)
	}
	if answer, _ := s.answer(ask("52:54:00:00:00:02", dhcpDiscover, "")); answer != nil {
		t.Error("another MAC gets an address that there is not")
	}
}

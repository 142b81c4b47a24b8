package autoconf

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

const guestMAC = "0a:58:0a:f4:01:05"

var guest, _ = net.ParseMAC(guestMAC)

func pod() *Config {
	return &Config{MTU: 1450,
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.244.1.5/24"), netip.MustParsePrefix("fd00:10:244:1::5/64")},
		Gateway4:  netip.MustParseAddr("10.244.1.1"), Gateway6: netip.MustParseAddr("fd00:10:244:1::1"),
		DNS:    []netip.Addr{netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("fd00:10:96::a")},
		Search: []string{"default.svc.cluster.local", "svc.cluster.local"}}
}

func responder(t *testing.T, c *Config) *Responder {
	t.Helper()
	r, err := New(guestMAC, c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// udpFrame is what the guest sends: like a NIC with checksum offload it leaves the checksum wrong.
func udpFrame(from, to string, payload []byte) []byte {
	kind, packet := udp(netip.MustParseAddrPort(from), netip.MustParseAddrPort(to), payload)
	at := ip4Size + 6
	if kind == typeIPv6 {
		at = ip6Size + 6
	}
	packet[at] ^= 0x55
	return ethernet(guest, net.HardwareAddr{255, 255, 255, 255, 255, 255}, kind, packet)
}

// sound checks the checksums of an answer and returns its parts.
func sound(t *testing.T, b []byte) frame {
	t.Helper()
	f, ok := parse(b)
	if !ok {
		t.Fatalf("no frame: %x", b)
	}
	if f.kind == typeIPv4 && fold(sum(0, b[etherSize:etherSize+ip4Size])) != 0xffff {
		t.Error("the checksum of the IPv4 header is wrong")
	}
	s := sum(0, f.source.AsSlice())
	s = sum(s, f.destination.AsSlice()) + uint32(f.protocol) + uint32(len(f.payload))
	if fold(sum(s, f.payload)) != 0xffff {
		t.Error("the checksum of the payload is wrong")
	}
	return f
}

func TestARP(t *testing.T) {
	r := responder(t, nil)
	ask := func(target string) []byte {
		return unhex(t, "ffffffffffff 0a580af40105 0806 0001 0800 06 04 0001 0a580af40105 0af40105 000000000000 "+target)
	}
	want := unhex(t, "0a580af40105 5a94eef40105 0806 0001 0800 06 04 0002 5a94eef40105 a9fea9fe 0a580af40105 0af40105")
	if got := r.Answer(ask("a9fea9fe")); !bytes.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if got := r.Answer(ask("0af40101")); got != nil {
		t.Errorf("it answers for the gateway: %x", got)
	}
	other := ask("a9fea9fe")
	other[11]++
	if got := r.Answer(other); got != nil {
		t.Errorf("it answers another MAC: %x", got)
	}
}

func dhcp4Ask(t *testing.T, r *Responder, kind dhcpv4.MessageType, change func(*dhcpv4.DHCPv4)) (frame, *dhcpv4.DHCPv4) {
	t.Helper()
	m, err := dhcpv4.New(dhcpv4.WithHwAddr(guest), dhcpv4.WithMessageType(kind))
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(m)
	}
	b := r.Answer(udpFrame("0.0.0.0:68", "255.255.255.255:67", m.ToBytes()))
	if b == nil {
		return frame{}, nil
	}
	f := sound(t, b)
	from, to, payload, ok := f.datagram()
	if !ok || from != 67 || to != 68 || f.source != Address {
		t.Fatalf("answer %+v", f)
	}
	out, err := dhcpv4.FromBytes(payload)
	if err != nil {
		t.Fatal(err)
	}
	if out.TransactionID != m.TransactionID {
		t.Error("another transaction")
	}
	return f, out
}

func TestDHCP4(t *testing.T) {
	r := responder(t, pod())
	f, offer := dhcp4Ask(t, r, dhcpv4.MessageTypeDiscover, nil)
	if offer == nil || offer.MessageType() != dhcpv4.MessageTypeOffer {
		t.Fatalf("no offer: %v", offer)
	}
	if f.destination.String() != "10.244.1.5" || !bytes.Equal(f.to, guest) {
		t.Errorf("the offer goes to %s at %s", f.destination, f.to)
	}
	want := map[dhcpv4.OptionCode]string{
		dhcpv4.OptionSubnetMask:           "ffffff00",
		dhcpv4.OptionRouter:               "0af40101",
		dhcpv4.OptionDomainNameServer:     "0a60000a",
		dhcpv4.OptionInterfaceMTU:         "05aa",
		dhcpv4.OptionIPAddressLeaseTime:   "00015180",
		dhcpv4.OptionRenewTimeValue:       "0000a8c0",
		dhcpv4.OptionRebindingTimeValue:   "0000fd20",
		dhcpv4.OptionServerIdentifier:     "a9fea9fe",
		dhcpv4.OptionDHCPMessageType:      "02",
		dhcpv4.OptionDNSDomainSearchList:  hex.EncodeToString([]byte("\x07default\x03svc\x07cluster\x05local\x00\x03svc\x07cluster\x05local\x00")),
		dhcpv4.OptionClasslessStaticRoute: "",
	}
	for code, value := range want {
		if got := hex.EncodeToString(offer.Options.Get(code)); got != value {
			t.Errorf("%s: %s, want %s", code, got, value)
		}
	}
	if len(offer.Options) != len(want)-1 {
		t.Errorf("further options in %s", offer.Options)
	}
	f, ack := dhcp4Ask(t, r, dhcpv4.MessageTypeRequest, func(m *dhcpv4.DHCPv4) {
		m.SetBroadcast()
		m.UpdateOption(dhcpv4.OptRequestedIPAddress(net.IPv4(10, 244, 1, 5)))
		m.UpdateOption(dhcpv4.OptServerIdentifier(Address.AsSlice()))
		m.UpdateOption(dhcpv4.OptClientIdentifier([]byte("me")))
	})
	if ack.MessageType() != dhcpv4.MessageTypeAck || !ack.YourIPAddr.Equal(net.IPv4(10, 244, 1, 5)) || f.destination.String() != "255.255.255.255" ||
		f.to.String() != "ff:ff:ff:ff:ff:ff" || string(ack.GetOneOption(dhcpv4.OptionClientIdentifier)) != "me" {
		t.Errorf("to %s: %v", f.destination, ack)
	}
}

// A guest that moved with its disk asks for the address it had.
func TestDHCP4OtherAddress(t *testing.T) {
	r := responder(t, pod())
	if _, m := dhcp4Ask(t, r, dhcpv4.MessageTypeRequest, func(m *dhcpv4.DHCPv4) {
		m.UpdateOption(dhcpv4.OptRequestedIPAddress(net.IPv4(10, 244, 7, 9)))
	}); m.MessageType() != dhcpv4.MessageTypeNak || len(m.Options.Get(dhcpv4.OptionRouter)) > 0 {
		t.Errorf("%v", m)
	}
	f, m := dhcp4Ask(t, r, dhcpv4.MessageTypeRequest, func(m *dhcpv4.DHCPv4) { m.ClientIPAddr = net.IPv4(10, 244, 1, 5) })
	if m.MessageType() != dhcpv4.MessageTypeAck || f.destination.String() != "10.244.1.5" {
		t.Errorf("renewal: to %s %v", f.destination, m)
	}
	_, m = dhcp4Ask(t, r, dhcpv4.MessageTypeInform, func(m *dhcpv4.DHCPv4) { m.ClientIPAddr = net.IPv4(10, 244, 1, 77) })
	if m.MessageType() != dhcpv4.MessageTypeAck || !m.YourIPAddr.IsUnspecified() || len(m.Options.Get(dhcpv4.OptionIPAddressLeaseTime)) > 0 {
		t.Errorf("inform: %v", m)
	}
}

func TestDHCP4Silent(t *testing.T) {
	six := pod()
	six.Addresses = six.Addresses[1:]
	for name, c := range map[string]struct {
		config *Config
		change func(*dhcpv4.DHCPv4)
	}{
		"another client": {pod(), func(m *dhcpv4.DHCPv4) { m.ClientHWAddr[5]++ }},
		"another server": {pod(), func(m *dhcpv4.DHCPv4) { m.UpdateOption(dhcpv4.OptServerIdentifier(net.IPv4(10, 244, 1, 1))) }},
		"a relay":        {pod(), func(m *dhcpv4.DHCPv4) { m.GatewayIPAddr = net.IPv4(10, 0, 0, 1) }},
		"no IPv4":        {six, nil},
		"no config":      {nil, nil},
	} {
		change := c.change
		if _, m := dhcp4Ask(t, responder(t, c.config), dhcpv4.MessageTypeDiscover, func(m *dhcpv4.DHCPv4) {
			m.ClientHWAddr = slices.Clone(m.ClientHWAddr)
			if change != nil {
				change(m)
			}
		}); m != nil {
			t.Errorf("%s gets %v", name, m)
		}
	}
}

func TestClasslessRoutes(t *testing.T) {
	p := netip.MustParsePrefix
	gw := netip.MustParseAddr("10.244.1.1")
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"the router alone": {Config{Addresses: []netip.Prefix{p("10.244.1.5/24")}, Gateway4: gw}, ""},
		"a router off the link": {Config{Addresses: []netip.Prefix{p("10.244.1.5/32")}, Gateway4: netip.MustParseAddr("169.254.1.1")},
			"169.254.1.1/32 via 0.0.0.0, 0.0.0.0/0 via 169.254.1.1"},
		"another network": {Config{Addresses: []netip.Prefix{p("10.244.1.5/24")}, Gateway4: gw, Routes: []Route{{p("10.96.0.0/12"), gw}}},
			"10.96.0.0/12 via 10.244.1.1, 0.0.0.0/0 via 10.244.1.1"},
		"on the link": {Config{Addresses: []netip.Prefix{p("10.244.1.5/24")},
			Routes: []Route{{p("10.8.0.0/16"), netip.MustParseAddr("10.7.0.1")}, {To: p("10.7.0.0/16")}}},
			"10.7.0.0/16 via 0.0.0.0, 10.8.0.0/16 via 10.7.0.1"},
	} {
		var got []string
		for _, r := range c.config.routes4() {
			got = append(got, r.Dest.String()+" via "+r.Router.String())
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

func dhcp6Ask(t *testing.T, r *Responder, kind dhcpv6.MessageType, options ...dhcpv6.Option) *dhcpv6.Message {
	t.Helper()
	m := &dhcpv6.Message{MessageType: kind, TransactionID: dhcpv6.TransactionID{1, 2, 3}}
	for _, o := range options {
		m.AddOption(o)
	}
	b := r.Answer(udpFrame("[fe80::858:aff:fef4:105]:546", "[ff02::1:2]:547", m.ToBytes()))
	if b == nil {
		return nil
	}
	f := sound(t, b)
	_, to, payload, ok := f.datagram()
	if !ok || to != 546 || f.destination.String() != "fe80::858:aff:fef4:105" || f.source.String() != "fe80::5894:eeff:fef4:105" {
		t.Fatalf("%+v", f)
	}
	out, err := dhcpv6.MessageFromBytes(payload)
	if err != nil || out.TransactionID != m.TransactionID {
		t.Fatalf("%v %v", out, err)
	}
	return out
}

func TestDHCP6(t *testing.T) {
	r := responder(t, pod())
	client := dhcpv6.OptClientID(&dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: guest})
	server := dhcpv6.OptServerID(r.duid())
	asked := &dhcpv6.OptIANA{IaId: [4]byte{9, 9, 9, 9}}
	old := &dhcpv6.OptIANA{IaId: [4]byte{9, 9, 9, 9}}
	old.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP("fd00:10:244:7::9"), PreferredLifetime: time.Hour, ValidLifetime: time.Hour})
	for _, c := range []struct {
		name    string
		kind    dhcpv6.MessageType
		options []dhcpv6.Option
		want    dhcpv6.MessageType
		address string
		status  iana.StatusCode
	}{
		{"solicit", dhcpv6.MessageTypeSolicit, []dhcpv6.Option{client, asked}, dhcpv6.MessageTypeAdvertise, "fd00:10:244:1::5/24h0m0s", 0},
		{"rapid commit", dhcpv6.MessageTypeSolicit, []dhcpv6.Option{client, asked, &dhcpv6.OptionGeneric{OptionCode: dhcpv6.OptionRapidCommit}},
			dhcpv6.MessageTypeReply, "fd00:10:244:1::5/24h0m0s", 0},
		{"request", dhcpv6.MessageTypeRequest, []dhcpv6.Option{client, server, asked}, dhcpv6.MessageTypeReply, "fd00:10:244:1::5/24h0m0s", 0},
		{"renewal of an old address", dhcpv6.MessageTypeRenew, []dhcpv6.Option{client, server, old}, dhcpv6.MessageTypeReply,
			"fd00:10:244:1::5/24h0m0s fd00:10:244:7::9/0s", 0},
		{"confirm an old address", dhcpv6.MessageTypeConfirm, []dhcpv6.Option{client, old}, dhcpv6.MessageTypeReply, "", iana.StatusNotOnLink},
		{"release", dhcpv6.MessageTypeRelease, []dhcpv6.Option{client, server, asked}, dhcpv6.MessageTypeReply, "", 0},
		{"information without an identity", dhcpv6.MessageTypeInformationRequest, nil, dhcpv6.MessageTypeReply, "", 0},
	} {
		m := dhcp6Ask(t, r, c.kind, c.options...)
		if m == nil || m.MessageType != c.want || !m.Options.ServerID().Equal(r.duid()) {
			t.Errorf("%s: %v", c.name, m)
			continue
		}
		var addresses []string
		if ia := m.Options.OneIANA(); ia != nil {
			for _, a := range ia.Options.Addresses() {
				addresses = append(addresses, a.IPv6Addr.String()+"/"+a.ValidLifetime.String())
			}
		}
		if got := strings.Join(addresses, " "); got != c.address {
			t.Errorf("%s gives %q, want %q", c.name, got, c.address)
		}
		if s := m.Options.Status(); s != nil && s.StatusCode != c.status || s == nil && c.status != 0 {
			t.Errorf("%s: status %v", c.name, s)
		}
		if dns := m.Options.DNS(); len(dns) != 1 || dns[0].String() != "fd00:10:96::a" || m.Options.DomainSearchList() == nil {
			t.Errorf("%s: DNS %v, search %v", c.name, dns, m.Options.DomainSearchList())
		}
	}
	four := pod()
	four.Addresses = four.Addresses[:1]
	if m := dhcp6Ask(t, responder(t, four), dhcpv6.MessageTypeSolicit, client, asked); m != nil {
		t.Errorf("a network without IPv6 says %v", m)
	}
	if m := dhcp6Ask(t, r, dhcpv6.MessageTypeRequest, client, asked, dhcpv6.OptServerID(&dhcpv6.DUIDLL{HWType: 1, LinkLayerAddr: guest})); m != nil {
		t.Errorf("another server's client gets %v", m)
	}
}

// solicit is a frame of Neighbor Discovery from the guest.
func solicit(message string, t *testing.T) []byte {
	t.Helper()
	return ethernet(guest, net.HardwareAddr{0x33, 0x33, 0, 0, 0, 2}, typeIPv6,
		icmp6(netip.MustParseAddr("fe80::858:aff:fef4:105"), netip.MustParseAddr("ff02::2"), unhex(t, message)))
}

func TestRouterAdvertisement(t *testing.T) {
	c := pod()
	c.Routes = []Route{{netip.MustParsePrefix("fd00:99::/32"), c.Gateway6}, {To: netip.MustParsePrefix("fd00:77::/64")}}
	r := responder(t, c)
	ask := solicit("85000000 00000000", t)
	first := sound(t, r.Answer(ask))
	if first.hops != 255 || first.payload[0] != 134 || first.payload[5] != 0xc0 || binary.BigEndian.Uint16(first.payload[6:]) != 0 {
		t.Errorf("before the gateway is known: %x", first.payload)
	}
	if b := r.Advertise(); b != nil {
		t.Errorf("a guest that has its router loses it: %x", b)
	}
	// The gateway answers.
	question := r.Seek(net.HardwareAddr{2, 0, 0, 0, 0, 1})
	q := sound(t, question)
	if q.destination.String() != "ff02::1:ff00:1" || q.to.String() != "33:33:ff:00:00:01" || q.source.String() != "fe80::ff:fe00:1" {
		t.Errorf("question %+v", q)
	}
	gateway := c.Gateway6.As16()
	answer := ethernet(net.HardwareAddr{2, 0, 0, 0, 0, 9}, q.from, typeIPv6, icmp6(netip.MustParseAddr("fe80::9"), q.source,
		slices.Concat([]byte{136, 0, 0, 0, 0xe0, 0, 0, 0}, gateway[:], []byte{2, 1, 2, 0, 0, 0, 0, 9})))
	if !r.Learn(answer) || r.Learn(answer) {
		t.Error("a gateway is new once")
	}
	f := sound(t, r.Answer(ask))
	if told := sound(t, r.Advertise()); told.destination != allNodes || !bytes.Equal(told.payload[4:], f.payload[4:]) {
		t.Errorf("unasked %+v", told)
	}
	want := unhex(t, `86000000 40c02328 00000000 00000000 0101 020000000009 05010000000005aa
		03044080 00015180 00015180 00000000 fd0000100244000100000000 00000000
		1803 2000 00002328 fd000099000000000000000000000000
		03044080 00015180 00015180 00000000 fd000077000000000000000000000000
		1903 0000 00002328 fd00001000960000000000000000000a
		1f070000 00002328`+hex.EncodeToString([]byte("\x07default\x03svc\x07cluster\x05local\x00\x03svc\x07cluster\x05local\x00\x00\x00")))
	copy(f.payload[2:4], []byte{0, 0})
	if diff := cmp.Diff(hex.EncodeToString(want), hex.EncodeToString(f.payload)); diff != "" {
		t.Error(diff)
	}
	// Who takes the advertisement's sender for the router finds the gateway there.
	own := r.linkLocal().As16()
	neighbor := sound(t, r.Answer(solicit("87000000 00000000"+hex.EncodeToString(own[:]), t)))
	if neighbor.payload[0] != 136 || neighbor.payload[4] != 0xe0 || !bytes.Equal(neighbor.payload[24:], []byte{2, 1, 2, 0, 0, 0, 0, 9}) {
		t.Errorf("%x", neighbor.payload)
	}
	if b := r.Answer(solicit("87000000 00000000"+hex.EncodeToString(gateway[:]), t)); b != nil {
		t.Errorf("it answers for the gateway: %x", b)
	}
}

// A gateway that is link-local is the router itself.
func TestLinkLocalGateway(t *testing.T) {
	c := pod()
	c.Gateway6 = netip.MustParseAddr("fe80::1")
	r := responder(t, c)
	f := sound(t, r.Advertise())
	if f.source != c.Gateway6 || binary.BigEndian.Uint16(f.payload[6:]) != 9000 || f.payload[16] == optionSource || r.Seek(guest) != nil {
		t.Errorf("%+v", f)
	}
}

func TestConfigure(t *testing.T) {
	p, a := netip.MustParsePrefix, netip.MustParseAddr
	n := machine.NIC{Name: "virtlet-eth0", MTU: 1450, Addrs: []netip.Prefix{p("10.1.0.5/24"), p("10.1.0.6/24"), p("fd00::5/64")}, Gateway4: a("10.1.0.1"),
		Routes: []machine.Route{{To: p("::/0"), Via: a("fd00::1")}, {To: p("10.2.0.0/16"), Via: a("10.1.0.2")}, {To: p("fd01::/64"), Via: a("fd00::2")},
			{To: p("10.3.0.0/16"), Via: a("fd00::1")}},
		DNS: machine.DNS{Search: []string{"a.example", "bad..example"}}}
	c, list := Configure(n, machine.DNS{Servers: []netip.Addr{a("10.96.0.10")}, Search: []string{"a.example.", "b.example"}}, diag.Range{})
	want := Config{MTU: 1450, Addresses: []netip.Prefix{p("10.1.0.5/24"), p("fd00::5/64")}, Gateway4: a("10.1.0.1"), Gateway6: a("fd00::1"),
		Routes: []Route{{p("10.2.0.0/16"), a("10.1.0.2")}}, DNS: []netip.Addr{a("10.96.0.10")}, Search: []string{"a.example", "b.example"}}
	same := cmp.Options{cmp.Comparer(func(x, y netip.Addr) bool { return x == y }), cmp.Comparer(func(x, y netip.Prefix) bool { return x == y })}
	if diff := cmp.Diff(want, c, same); diff != "" {
		t.Error(diff)
	}
	var codes []diag.Code
	for _, d := range list {
		codes = append(codes, d.Code)
	}
	if !slices.Equal(codes, []diag.Code{CodeOneAddress, CodeRoute, CodeRoute}) {
		t.Error(list)
	}
	if _, list := Configure(machine.NIC{Name: "x"}, machine.DNS{}, diag.Range{}); len(list) != 1 || list[0].Code != CodeNoAddress {
		t.Error(list)
	}
}

// A guest is not trusted: whatever it sends is answered or not, and nothing else happens.
func FuzzAnswer(f *testing.F) {
	m, _ := dhcpv4.New(dhcpv4.WithHwAddr(guest), dhcpv4.WithMessageType(dhcpv4.MessageTypeDiscover))
	f.Add(udpFrame("0.0.0.0:68", "255.255.255.255:67", m.ToBytes()))
	f.Add(udpFrame("[fe80::1]:546", "[ff02::1:2]:547", []byte{1, 1, 2, 3, 0, 1, 0, 4, 0, 3, 0, 1}))
	f.Add(ethernet(guest, guest, typeIPv6, icmp6(netip.MustParseAddr("fe80::1"), allNodes, make([]byte, 24))))
	r, err := New(guestMAC, pod())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if out := r.Answer(b); out != nil && !bytes.Equal(b[6:12], guest) {
			t.Errorf("%x is answered with %x", b, out)
		}
		r.Learn(b)
		r.Packet(b)
	})
}

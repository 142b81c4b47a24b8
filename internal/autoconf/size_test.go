package autoconf

import (
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv6"
	"github.com/insomniacslk/dhcp/iana"
)

// domainsOf are as many search domains of 30 bytes as asked for.
func domainsOf(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("n%02d.abcdefghijklmnopqrst.test", i))
	}
	return out
}

// Search domains that have no room are left out, and the guest has its address all the same.
func TestSizes(t *testing.T) {
	for _, mtu := range []int{0, 1450} {
		c := pod()
		c.MTU, c.Search = mtu, domainsOf(64)
		r := responder(t, c)
		for stated, bounds := range map[uint16][2]int{0: {530, 576}, 300: {530, 576}, 1000: {950, 1000}, 65535: {1400, 1450}} {
			if mtu == 0 && stated == 65535 {
				bounds = [2]int{1450, 1500}
			}
			m, err := dhcpv4.New(dhcpv4.WithHwAddr(guest), dhcpv4.WithMessageType(dhcpv4.MessageTypeDiscover))
			if err != nil {
				t.Fatal(err)
			}
			if stated > 0 {
				m.UpdateOption(dhcpv4.OptMaxMessageSize(stated))
			}
			b := r.Answer(udpFrame("0.0.0.0:68", "255.255.255.255:67", m.ToBytes()))
			f := sound(t, b)
			if size := len(b) - etherSize; size < bounds[0] || size > bounds[1] {
				t.Errorf("MTU %d, a client that takes %d gets %d", mtu, stated, size)
			}
			_, _, payload, _ := f.datagram()
			offer, err := dhcpv4.FromBytes(payload)
			if err != nil {
				t.Fatal(err)
			}
			if got := offer.DomainSearch(); got == nil || !slices.Equal(got.Labels, c.Search[:len(got.Labels)]) {
				t.Errorf("MTU %d, a client that takes %d searches %v", mtu, stated, got)
			}
		}
	}
	c := pod()
	c.Search = domainsOf(64)
	r := responder(t, c)
	if size := len(r.Answer(solicit("85000000 00000000", t))) - etherSize; size > 1280 || size < 1240 {
		t.Errorf("an advertisement has %d", size)
	}
	client := dhcpv6.OptClientID(&dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: guest})
	m := dhcp6Ask(t, r, dhcpv6.MessageTypeSolicit, client, &dhcpv6.OptIANA{})
	if size := len(m.ToBytes()) + ip6Size + udpSize; size > 1280 || size < 1240 || m.Options.OneIANA() == nil {
		t.Errorf("an answer of DHCP for IPv6 has %d", size)
	}
	// One name that has no room alone.
	c.Search = []string{domainsOf(1)[0]}
	if got := leading(c.Search, 30); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := leading(c.Search, 31); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// Messages that RFC 8415 tells servers to discard.
func TestDHCP6Discarded(t *testing.T) {
	r := responder(t, pod())
	client := dhcpv6.OptClientID(&dhcpv6.DUIDLL{HWType: iana.HWTypeEthernet, LinkLayerAddr: guest})
	server, empty := dhcpv6.OptServerID(r.duid()), &dhcpv6.OptIANA{}
	own := &dhcpv6.OptIANA{}
	own.Options.Add(&dhcpv6.OptIAAddress{IPv6Addr: net.ParseIP("fd00:10:244:1::5")})
	for _, c := range []struct {
		kind     dhcpv6.MessageType
		options  []dhcpv6.Option
		answered bool
	}{
		{dhcpv6.MessageTypeSolicit, []dhcpv6.Option{client, empty}, true},
		{dhcpv6.MessageTypeSolicit, []dhcpv6.Option{client, empty, server}, false},
		{dhcpv6.MessageTypeSolicit, []dhcpv6.Option{empty}, false},
		{dhcpv6.MessageTypeRequest, []dhcpv6.Option{client, empty, server}, true},
		{dhcpv6.MessageTypeRequest, []dhcpv6.Option{client, empty}, false},
		{dhcpv6.MessageTypeRenew, []dhcpv6.Option{client, empty}, false},
		{dhcpv6.MessageTypeRebind, []dhcpv6.Option{client, empty}, true},
		{dhcpv6.MessageTypeRebind, []dhcpv6.Option{client, empty, server}, false},
		{dhcpv6.MessageTypeRelease, []dhcpv6.Option{client, empty}, false},
		{dhcpv6.MessageTypeDecline, []dhcpv6.Option{client, empty, server}, true},
		{dhcpv6.MessageTypeConfirm, []dhcpv6.Option{client, own}, true},
		{dhcpv6.MessageTypeConfirm, []dhcpv6.Option{client, own, server}, false},
		{dhcpv6.MessageTypeConfirm, []dhcpv6.Option{client, empty}, false},
		{dhcpv6.MessageTypeReply, []dhcpv6.Option{client, server}, false},
	} {
		if m := dhcp6Ask(t, r, c.kind, c.options...); (m != nil) != c.answered {
			t.Errorf("%s with %v gets %v", c.kind, c.options, m)
		}
	}
}

package netconfig

import (
	"net/netip"
	"strings"
	"testing"
)

// TestOVirtForm has the cases of oVirt's own tests, and those that it refuses.
func TestOVirtForm(t *testing.T) {
	four := func(l *Link) {
		l.Addresses, l.Gateway4 = prefixes("192.0.2.7/25"), netip.MustParseAddr("192.0.2.1")
	}
	six := func(l *Link) {
		l.Addresses, l.Gateway6 = append(l.Addresses, prefixes("2001:db8::7/64")...), netip.MustParseAddr("2001:db8::1")
	}
	dns := DNS{Servers: addrs("9.9.9.9", "2620:fe::fe", "149.112.112.112"), Search: []string{"example.org"}}
	const (
		link   = `"links":[{"id":"eth0","type":"vif","name":"eth0"}]`
		static = `{"id":"eth0","link":"eth0","type":"ipv4","ip_address":"192.0.2.7","netmask":"255.255.255.128","gateway":"192.0.2.1"`
		fixed6 = `{"id":"eth0","link":"eth0","type":"ipv6","ip_address":"2001:db8::7","netmask":"64","gateway":"2001:db8::1"`
		served = `"services":[{"type":"dns","address":"9.9.9.9"},{"type":"dns","address":"2620:fe::fe"},{"type":"dns","address":"149.112.112.112"}]`
		listed = `,"dns_nameservers":["9.9.9.9","2620:fe::fe","149.112.112.112"],"dns_search":["example.org"]`
	)
	for _, tt := range []struct {
		name, want string
		dns        DNS
		change     func(l *Link)
	}{
		{"static IPv4", `{` + link + `,"networks":[` + static + `}]}`, DNS{}, four},
		{"static IPv6", `{` + link + `,"networks":[` + fixed6 + `}]}`, DNS{}, six},
		{"both", `{` + link + `,"networks":[` + static + `},` + fixed6 + `}]}`, DNS{}, func(l *Link) { six(l); l.Addresses = nil; four(l); six(l) }},
		{"DHCPv4", `{` + link + `,"networks":[{"id":"eth0","link":"eth0","type":"ipv4_dhcp"}]}`, DNS{}, func(l *Link) { l.DHCP4 = true }},
		{"DHCPv6", `{` + link + `,"networks":[{"id":"eth0","link":"eth0","type":"ipv6_dhcp"}]}`, DNS{}, func(l *Link) { l.DHCP6 = Stateful }},
		{"stateless DHCPv6", `{` + link + `,"networks":[{"id":"eth0","link":"eth0","type":"ipv6_dhcpv6-stateless"}]}`, DNS{}, func(l *Link) { l.DHCP6 = Stateless }},
		{"SLAAC", `{` + link + `,"networks":[{"id":"eth0","link":"eth0","type":"ipv6_slaac"}]}`, DNS{}, func(l *Link) { l.SLAAC = true }},
		{"resolvers", `{` + link + `,"networks":[` + static + listed + `}],` + served + `}`, dns, four},
		{"resolvers alone", `{` + served + `}`, dns, nil},
		{"nothing", "", DNS{}, nil},
		{"with a MAC and another name than the ID", `{"links":[{"id":"eth0","type":"vif","ethernet_mac_address":"52:54:00:aa:00:00","name":"eth0"}],` +
			`"networks":[{"id":"eth0","link":"eth0","type":"ipv4_dhcp"}]}`, DNS{}, func(l *Link) { l.ID, l.MAC, l.DHCP4 = "nic1", "52:54:00:aa:00:00", true }},
	} {
		c := Config{DNS: tt.dns}
		if tt.change != nil {
			c.Links = []Link{{ID: "eth0", Name: "eth0"}}
			tt.change(&c.Links[0])
		}
		got, l := EncodeOVirt(c)
		if l.HasErrors() {
			t.Errorf("%s: %v", tt.name, l.Err())
		}
		flat := strings.NewReplacer("\n", "", "  ", "", `": `, `":`).Replace(string(got))
		if flat != tt.want {
			t.Errorf("%s:\n%s, want\n%s", tt.name, flat, tt.want)
		}
	}
}

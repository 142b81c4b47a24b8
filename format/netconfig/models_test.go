package netconfig

import (
	"net/netip"
	"testing"
)

func addrs(list ...string) []netip.Addr {
	var out []netip.Addr
	for _, s := range list {
		out = append(out, netip.MustParseAddr(s))
	}
	return out
}

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func route(to, via string, metric int) Route {
	return Route{To: netip.MustParsePrefix(to), Via: netip.MustParseAddr(via), Metric: metric}
}

// nic returns the NIC of a number: eth<n> with the MAC 52:54:00:aa:00:<n>.
func nic(n string, change func(l *Link)) Link {
	l := Link{ID: "nic" + n, Kind: Physical, Name: "eth" + n, MAC: "52:54:00:aa:00:0" + n}
	if change != nil {
		change(&l)
	}
	return l
}

// model is a network with a name.
type model struct {
	name   string
	config Config
}

func one(change func(l *Link)) Config { return Config{Links: []Link{nic("0", change)}} }

// static4 gives a link the address, router and resolver that most models share.
func static4(l *Link) {
	l.Addresses = prefixes("10.1.0.4/24")
	l.Gateway4 = netip.MustParseAddr("10.1.0.1")
	l.DNS = DNS{Servers: addrs("10.1.0.53"), Search: []string{"example.org"}}
}

// models are the networks that goldens and judges share.
func models() []model {
	gateway6 := netip.MustParseAddr("fd00:1::1")
	return []model{
		{"static4", one(static4)},
		{"static6", one(func(l *Link) {
			l.Addresses, l.Gateway6 = prefixes("fd00:1::4/64"), gateway6
			l.DNS = DNS{Servers: addrs("fd00:1::53")}
		})},
		{"dual", one(func(l *Link) {
			static4(l)
			l.Addresses, l.Gateway6 = prefixes("10.1.0.4/24", "fd00:1::4/64"), gateway6
			l.DNS.Servers = addrs("10.1.0.53", "fd00:1::53")
		})},
		{"linklocal-router", one(func(l *Link) {
			l.Addresses, l.Gateway6 = prefixes("fd00:1::4/64"), netip.MustParseAddr("fe80::1")
		})},
		{"aliases", one(func(l *Link) {
			static4(l)
			l.Addresses = prefixes("10.1.0.4/24", "10.1.0.5/24", "172.16.5.1/20")
		})},
		{"dhcp4", one(func(l *Link) { l.DHCP4 = true })},
		{"dhcp6", one(func(l *Link) { l.DHCP6 = Stateful })},
		{"dhcp6-stateless", one(func(l *Link) { l.DHCP6 = Stateless })},
		{"slaac", one(func(l *Link) { l.DHCP4, l.SLAAC = true, true })},
		{"dhcp-metric", one(func(l *Link) { l.DHCP4, l.DHCP4Overrides.RouteMetric = true, 200 })},
		{"mtu", one(func(l *Link) { static4(l); l.MTU = 1450 })},
		{"routes", one(func(l *Link) {
			static4(l)
			l.Addresses = prefixes("10.1.0.4/24", "fd00:1::4/64")
			l.Routes = []Route{route("10.8.0.0/16", "10.1.0.254", 0), route("192.168.7.9/32", "10.1.0.253", 70), route("fd00:8::/32", "fd00:1::fe", 0)}
		})},
		{"global-dns", Config{DNS: DNS{Servers: addrs("9.9.9.9", "2620:fe::fe"), Search: []string{"example.org", "corp.example.org"}},
			Links: []Link{nic("0", func(l *Link) { l.Addresses = prefixes("10.1.0.4/24") }), nic("1", func(l *Link) { l.DHCP4 = true })}}},
		{"multi", Config{Links: []Link{nic("0", static4), nic("1", func(l *Link) { l.Addresses = prefixes("10.2.0.4/16") }),
			nic("2", func(l *Link) { l.DHCP4 = true })}}},
		{"unconfigured", Config{Links: []Link{nic("0", static4), nic("1", nil)}}},
		{"bond", Config{Links: []Link{nic("0", nil), nic("1", nil), {ID: "b", Kind: Bond, Name: "bond0", MTU: 9000,
			Bond: &BondSpec{Links: []string{"nic0", "nic1"}, Mode: "802.3ad", Params: map[string]string{
				"lacp-rate": "fast", "mii-monitor-interval": "100", "transmit-hash-policy": "layer3+4"}},
			Addresses: prefixes("10.1.0.4/24"), Gateway4: netip.MustParseAddr("10.1.0.1")}}}},
		{"bond-backup", Config{Links: []Link{nic("0", nil), nic("1", nil), {ID: "b", Kind: Bond, Name: "bond0",
			Bond: &BondSpec{Links: []string{"nic0", "nic1"}, Mode: "active-backup", Params: map[string]string{
				"primary": "nic1", "up-delay": "200", "down-delay": "200"}}, DHCP4: true}}}},
		{"vlan", Config{Links: []Link{nic("0", static4), {ID: "v", Kind: VLAN, Name: "eth0.101", VLAN: &VLANSpec{Parent: "nic0", ID: 101},
			Addresses: prefixes("10.101.0.4/24")}}}},
		{"bridge", Config{Links: []Link{nic("0", nil), {ID: "br0", Kind: Bridge, Bridge: &BridgeSpec{Links: []string{"nic0"},
			Params: map[string]string{"stp": "false", "forward-delay": "4"}},
			Addresses: prefixes("10.1.0.4/24"), Gateway4: netip.MustParseAddr("10.1.0.1")}}}},
		{"vlan-on-bond", Config{Links: []Link{nic("0", nil), nic("1", nil),
			{ID: "b", Kind: Bond, Name: "bond0", Bond: &BondSpec{Links: []string{"nic0", "nic1"}, Mode: "balance-rr"}},
			{ID: "v", Kind: VLAN, Name: "bond0.7", VLAN: &VLANSpec{Parent: "b", ID: 7}, DHCP4: true}}}},
		{"unnamed", one(func(l *Link) { l.Name = ""; static4(l) })},
		{"rename", one(func(l *Link) { l.Name = "uplink0"; static4(l) })},
	}
}

// TestModelsAreValid keeps the models honest: nothing in them may rely on a lenient encoder.
func TestModelsAreValid(t *testing.T) {
	for _, m := range models() {
		if l := m.config.Validate(); len(l) > 0 {
			t.Errorf("%s: %v", m.name, l)
		}
	}
}

package netconfig

import (
	"net/netip"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

func TestValidate(t *testing.T) {
	two := func(change func(a, b *Link)) Config {
		c := Config{Links: []Link{nic("0", nil), nic("1", nil)}}
		change(&c.Links[0], &c.Links[1])
		return c
	}
	with := func(l Link) Config { return Config{Links: []Link{nic("0", nil), l}} }
	bond := func(b BondSpec) Config { return with(Link{ID: "b", Kind: Bond, Name: "bond0", Bond: &b}) }
	bridge := func(params map[string]string) Config {
		return with(Link{ID: "br0", Kind: Bridge, Bridge: &BridgeSpec{Links: []string{"nic0"}, Params: params}})
	}
	vlan := func(v VLANSpec) Config { return with(Link{ID: "v", Kind: VLAN, Name: "v", VLAN: &v}) }
	addr := netip.MustParseAddr
	tests := []struct {
		name     string
		config   Config
		severity diag.Severity
		code     diag.Code
		field    string
	}{
		{"disabled with links", Config{Disabled: true, Links: []Link{nic("0", nil)}}, diag.Error, CodeModel, ""},
		{"no ID", one(func(l *Link) { l.ID = "" }), diag.Error, CodeModel, "links[].id"},
		{"ID with a line break", one(func(l *Link) { l.ID = "a\nb" }), diag.Error, CodeModel, "links[a\nb].id"},
		{"same ID", two(func(a, b *Link) { b.ID = a.ID }), diag.Error, CodeModel, "links[nic0].id"},
		{"unknown kind", one(func(l *Link) { l.Kind = "tunnel" }), diag.Error, CodeModel, "links[nic0].kind"},
		{"bond without its part", with(Link{ID: "b", Kind: Bond}), diag.Error, CodeModel, "links[b].bond"},
		{"NIC with a bond's part", two(func(a, _ *Link) { a.Bond = &BondSpec{Links: []string{"nic1"}} }), diag.Error, CodeModel, "links[nic0].bond"},
		{"nothing to find the NIC by", one(func(l *Link) { l.MAC, l.Name = "", "" }), diag.Error, CodeModel, "links[nic0].mac"},
		{"long name", one(func(l *Link) { l.Name = "sixteencharacter" }), diag.Error, CodeName, "links[nic0].name"},
		{"name with a slash", one(func(l *Link) { l.Name = "a/b" }), diag.Error, CodeName, "links[nic0].name"},
		{"name of the loopback", one(func(l *Link) { l.Name = "lo" }), diag.Error, CodeName, "links[nic0].name"},
		{"same name", two(func(a, b *Link) { b.Name = a.Name }), diag.Error, CodeName, "links[nic1].name"},
		{"not a MAC", one(func(l *Link) { l.MAC = "52:54:00" }), diag.Error, CodeMAC, "links[nic0].mac"},
		{"not hexadecimal", one(func(l *Link) { l.MAC = "52:54:00:aa:00:0g" }), diag.Error, CodeMAC, "links[nic0].mac"},
		{"group MAC", one(func(l *Link) { l.MAC = "01:00:5e:00:00:01" }), diag.Error, CodeMAC, "links[nic0].mac"},
		{"zero MAC", one(func(l *Link) { l.MAC = "00:00:00:00:00:00" }), diag.Error, CodeMAC, "links[nic0].mac"},
		{"same MAC in other letters", two(func(a, b *Link) { b.MAC = "52-54-00-AA-00-00" }), diag.Error, CodeMAC, "links[nic1].mac"},
		{"tiny MTU", one(func(l *Link) { l.MTU = 60 }), diag.Error, CodeMTU, "links[nic0].mtu"},
		{"huge MTU", one(func(l *Link) { l.MTU = 70000 }), diag.Error, CodeMTU, "links[nic0].mtu"},
		{"MTU below IPv6's", one(func(l *Link) { l.MTU, l.SLAAC = 1200, true }), diag.Warning, CodeMTU, "links[nic0].mtu"},
		{"no prefix", one(func(l *Link) { l.Addresses = []netip.Prefix{{}} }), diag.Error, CodeAddress, "links[nic0].addresses[0]"},
		{"mapped", one(func(l *Link) { l.Addresses = prefixes("::ffff:10.0.0.1/120") }), diag.Error, CodeAddress, "links[nic0].addresses[0]"},
		{"multicast", one(func(l *Link) { l.Addresses = prefixes("224.0.0.1/24") }), diag.Error, CodeAddress, "links[nic0].addresses[0]"},
		{"whole Internet", one(func(l *Link) { l.Addresses = prefixes("10.0.0.1/0") }), diag.Error, CodeAddress, "links[nic0].addresses[0]"},
		{"twice", one(func(l *Link) { l.Addresses = prefixes("10.0.0.1/24", "10.0.0.1/16") }), diag.Error, CodeAddress, "links[nic0].addresses[1]"},
		{"network address", one(func(l *Link) { l.Addresses = prefixes("10.0.0.0/24") }), diag.Warning, CodeAddress, "links[nic0].addresses[0]"},
		{"gateway of the other family", one(func(l *Link) { l.Addresses, l.Gateway4 = prefixes("10.0.0.1/24"), addr("fd00::1") }), diag.Error, CodeGateway, "links[nic0].gateway4"},
		{"gateway is oneself", one(func(l *Link) { l.Addresses, l.Gateway4 = prefixes("10.0.0.1/24"), addr("10.0.0.1") }), diag.Error, CodeGateway, "links[nic0].gateway4"},
		{"gateway without address", one(func(l *Link) { l.Gateway6 = addr("fd00::1") }), diag.Error, CodeGateway, "links[nic0].gateway6"},
		{"gateway off the link", one(func(l *Link) { l.Addresses, l.Gateway4 = prefixes("10.0.0.5/32"), addr("10.0.0.1") }), diag.Warning, CodeGateway, "links[nic0].gateway4"},
		{"two gateways", two(func(a, b *Link) {
			a.Addresses, a.Gateway4 = prefixes("10.0.0.5/24"), addr("10.0.0.1")
			b.Addresses, b.Gateway4 = prefixes("10.1.0.5/24"), addr("10.1.0.1")
		}), diag.Warning, CodeGateway, "links[nic1].gateway4"},
		{"route to a host bit", one(func(l *Link) { l.DHCP4, l.Routes = true, []Route{route("10.8.0.1/16", "10.0.0.1", 0)} }), diag.Error, CodeRoute, "links[nic0].routes[0].to"},
		{"route without router", one(func(l *Link) { l.DHCP4, l.Routes = true, []Route{{To: netip.MustParsePrefix("10.8.0.0/16")}} }), diag.Error, CodeRoute, "links[nic0].routes[0].via"},
		{"route across families", one(func(l *Link) { l.DHCP4, l.Routes = true, []Route{route("10.8.0.0/16", "fd00::1", 0)} }), diag.Error, CodeRoute, "links[nic0].routes[0].via"},
		{"negative metric", one(func(l *Link) { l.DHCP4, l.Routes = true, []Route{route("10.8.0.0/16", "10.0.0.1", -1)} }), diag.Error, CodeRoute, "links[nic0].routes[0].metric"},
		{"route off the link", one(func(l *Link) {
			l.Addresses, l.Routes = prefixes("10.0.0.5/24"), []Route{route("10.8.0.0/16", "10.9.0.1", 0)}
		}), diag.Warning, CodeRoute, "links[nic0].routes[0].via"},
		{"resolver", one(func(l *Link) { l.DNS.Servers = addrs("0.0.0.0") }), diag.Error, CodeDNS, "links[nic0].dns.servers[0]"},
		{"search domain", one(func(l *Link) { l.DNS.Search = []string{"ok.example", "no good"} }), diag.Error, CodeDNS, "links[nic0].dns.search[1]"},
		{"search domain of the guest", Config{DNS: DNS{Search: []string{"-x"}}}, diag.Error, CodeDNS, "links[*].dns.search[0]"},
		{"unknown DHCPv6", one(func(l *Link) { l.DHCP6 = "both" }), diag.Error, CodeModel, "links[nic0].dhcp6"},
		{"SLAAC without RA", one(func(l *Link) { l.SLAAC, l.AcceptRA = true, Off }), diag.Error, CodeModel, "links[nic0].acceptRA"},
		{"overrides without DHCP", one(func(l *Link) { l.DHCP4Overrides.UseDNS = Off }), diag.Warning, CodeModel, "links[nic0].dhcp4Overrides"},
		{"unknown bonding mode", bond(BondSpec{Links: []string{"nic0"}, Mode: "lacp"}), diag.Error, CodeParam, "links[b].bond.mode"},
		{"unknown bond parameter", bond(BondSpec{Links: []string{"nic0"}, Params: map[string]string{"miimon": "1"}}), diag.Error, CodeParam, "links[b].params.miimon"},
		{"parameter is no number", bond(BondSpec{Links: []string{"nic0"}, Params: map[string]string{"min-links": "many"}}), diag.Error, CodeParam, "links[b].params.min-links"},
		{"parameter is no such word", bond(BondSpec{Links: []string{"nic0"}, Params: map[string]string{"lacp-rate": "medium"}}), diag.Error, CodeParam, "links[b].params.lacp-rate"},
		{"primary is no member", bond(BondSpec{Links: []string{"nic0"}, Params: map[string]string{"primary": "nic1"}}), diag.Error, CodeParam, "links[b].params.primary"},
		{"port cost of a stranger", bridge(map[string]string{"path-cost": "nic9=4"}), diag.Error, CodeParam, "links[br0].params.path-cost"},
		{"port cost is no number", bridge(map[string]string{"path-cost": "nic0"}), diag.Error, CodeParam, "links[br0].params.path-cost"},
		{"stp is no truth", bridge(map[string]string{"stp": "off"}), diag.Error, CodeParam, "links[br0].params.stp"},
		{"unknown member", bond(BondSpec{Links: []string{"nic7"}}), diag.Error, CodeReference, "links[b].bond.links"},
		{"no members", bond(BondSpec{}), diag.Warning, CodeReference, "links[b].bond.links"},
		{"unknown parent", vlan(VLANSpec{Parent: "nic7", ID: 5}), diag.Error, CodeReference, "links[v].vlan.parent"},
		{"tag out of range", vlan(VLANSpec{Parent: "nic0", ID: 4095}), diag.Error, CodeParam, "links[v].vlan.id"},
		{"own parent", vlan(VLANSpec{Parent: "v", ID: 5}), diag.Error, CodeReference, "links[v].vlan"},
		{"two masters", Config{Links: []Link{nic("0", nil), {ID: "b", Kind: Bond, Bond: &BondSpec{Links: []string{"nic0"}}},
			{ID: "c", Kind: Bridge, Bridge: &BridgeSpec{Links: []string{"nic0"}}}}}, diag.Error, CodeReference, "links[c].bridge.links"},
		{"same tag twice", Config{Links: []Link{nic("0", nil), {ID: "v", Kind: VLAN, VLAN: &VLANSpec{Parent: "nic0", ID: 5}},
			{ID: "w", Kind: VLAN, VLAN: &VLANSpec{Parent: "nic0", ID: 5}}}}, diag.Error, CodeParam, "links[w].vlan.id"},
		{"member with an address", Config{Links: []Link{nic("0", static4), {ID: "br0", Kind: Bridge, Bridge: &BridgeSpec{Links: []string{"nic0"}}}}},
			diag.Warning, CodeReference, "links[nic0].addresses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := tt.config.Validate()
			if len(list) != 1 {
				t.Fatalf("want one diagnostic, got %v", []diag.Diagnostic(list))
			}
			if d := list[0]; d.Severity != tt.severity || d.Code != tt.code || d.Field != tt.field {
				t.Errorf("got %v, want %v %v %s", d, tt.severity, tt.code, tt.field)
			}
			for _, f := range Formats() {
				if data, list := Encode(f, tt.config); (data == nil) != list.HasErrors() {
					t.Errorf("%s: %d bytes beside %v", f, len(data), list)
				}
			}
		})
	}
}

// TestKindDefaults shows that a link without a kind is a NIC whose ID is no name.
func TestKindDefaults(t *testing.T) {
	c := Config{Links: []Link{{ID: "first-network-interface", MAC: "52:54:00:aa:00:01", DHCP4: true}}}
	if list := c.Validate(); len(list) > 0 {
		t.Errorf("%v", list)
	}
	if data, list := EncodeV2(c); list.HasErrors() || len(data) == 0 {
		t.Errorf("%v", list)
	}
	if data, list := EncodeV1(c); !list.HasErrors() || data != nil {
		t.Errorf("version 1 has no name for the NIC, but wrote %s", data)
	}
}

func TestParseMAC(t *testing.T) {
	for in, want := range map[string]string{
		"52:54:00:AB:cd:01": "52:54:00:ab:cd:01", "52-54-00-AB-CD-01": "52:54:00:ab:cd:01",
		"": "", "525400abcd01": "", "52:54:00:ab:cd": "", "52:54:00:ab:cd:0": "", "52:54:00:ab:cd:0x": "", "5254:00:ab:cd:0:1": "",
	} {
		if got, ok := ParseMAC(in); got != want || ok != (want != "") {
			t.Errorf("%q gives %q, %v", in, got, ok)
		}
	}
}

// TestPlaces shows that diagnostics about a link that was read point at it.
func TestPlaces(t *testing.T) {
	_, list := ConvertForOpenStack("net.yaml", []byte("version: 2\nethernets:\n  a: {match: {macaddress: '52:54:00:ab:00:01'}}\n  b: {match: {macaddress: '52:54:00:ab:00:01'}}\n"))
	for _, d := range list {
		if d.Code == CodeMAC && d.Range.String() == "net.yaml:4:3" {
			return
		}
	}
	t.Errorf("%v", list)
}

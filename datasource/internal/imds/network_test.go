package imds

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

func prefixes(texts ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, p := range texts {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// TestNetwork looks at which fields of a network reach the guest, and at the severity with which the others are spoken of.
func TestNetwork(t *testing.T) {
	yes, no, metric := true, false, 7
	const first, second = "52:54:00:00:00:01", "52:54:00:00:00:02"
	static := machine.NIC{MAC: first, Addrs: prefixes("192.0.2.5/24")}
	with := func(change func(*machine.NIC)) []machine.NIC {
		n := static
		n.Addrs = slices.Clone(n.Addrs)
		change(&n)
		return []machine.NIC{n}
	}
	for _, tt := range []struct {
		name string
		net  machine.Network
		want []string // paths below macs, with = and the value where it matters
		said string
	}{
		{"none", machine.Network{}, nil, ""},
		{"DHCP", machine.Network{NICs: []machine.NIC{{MAC: first, DHCP4: true}}}, []string{first + "/device-number=0"}, ""},
		{"static", machine.Network{NICs: []machine.NIC{static}}, []string{first + "/local-ipv4s=192.0.2.5", first + "/subnet-ipv4-cidr-block=192.0.2.0/24"},
			"note network.nics[0].addresses"},
		{"further addresses", machine.Network{NICs: with(func(n *machine.NIC) { n.DHCP4 = true; n.Addrs = prefixes("192.0.2.5/24", "192.0.2.6/24") })},
			[]string{first + "/local-ipv4s=192.0.2.5\n192.0.2.6"}, ""},
		{"another prefix", machine.Network{NICs: with(func(n *machine.NIC) { n.DHCP4 = true; n.Addrs = prefixes("192.0.2.5/24", "192.0.2.6/32") })},
			[]string{first + "/subnet-ipv4-cidr-block=192.0.2.0/24"}, "warning network.nics[0].addresses"},
		{"IPv6", machine.Network{NICs: with(func(n *machine.NIC) { n.Addrs = prefixes("2001:db8::1/64") })}, []string{first + "/mac"},
			"warning network.nics[0].addresses"},
		{"by the lease", machine.Network{DNS: machine.DNS{Search: []string{"a"}}, NICs: with(func(n *machine.NIC) {
			n.DHCP4, n.MTU, n.Gateway4, n.DNS.Search = true, 1400, netip.MustParseAddr("192.0.2.1"), []string{"b"}
			n.Routes = []machine.Route{{To: netip.MustParsePrefix("0.0.0.0/0"), Via: n.Gateway4}}
		})}, []string{first + "/mac"}, "note network.dns.search note network.nics[0].gateway4 note network.nics[0].mtu note network.nics[0].dns.search note network.nics[0].routes[0]"},
		{"routes", machine.Network{NICs: with(func(n *machine.NIC) {
			n.DHCP4 = true
			n.Routes = []machine.Route{{To: netip.MustParsePrefix("198.51.100.0/24"), Via: netip.MustParseAddr("192.0.2.1")},
				{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("192.0.2.1"), Metric: &metric}}
		})}, []string{first + "/mac"}, "warning network.nics[0].routes[0] warning network.nics[0].routes[1]"},
		{"held down", machine.Network{NICs: []machine.NIC{{MAC: first, OnBoot: &no}, {MAC: second, OnBoot: &yes}}}, []string{second + "/device-number=1"}, ""},
		{"all held down", machine.Network{NICs: []machine.NIC{{MAC: first, OnBoot: &no}}}, []string{"="}, ""},
		{"without an address", machine.Network{NICs: []machine.NIC{{MAC: first, DHCP4: true}, {MAC: second}}}, []string{first + "/mac", second + "/mac"},
			"warning network.nics[1].dhcp4"},
		{"by name", machine.Network{NICs: []machine.NIC{{MAC: first, DHCP4: true}, {Name: "eth1", Match: "name"}}}, nil, "warning network.nics[1].match"},
		{"made by the guest", machine.Network{NICs: []machine.NIC{{MAC: first, DHCP4: true}, {Name: "br0", Kind: "bridge"}}}, []string{first + "/mac"},
			"warning network.nics[1].kind"},
		{"mode dhcp", machine.Network{Mode: "dhcp", NICs: []machine.NIC{static}}, []string{first + "/mac"}, ""},
		{"mode disabled", machine.Network{Mode: "disabled", NICs: []machine.NIC{static}}, []string{first + "/mac"}, "warning network.mode"},
	} {
		got, l := full(t, machine.Machine{Network: tt.net})
		there := 0
		for path := range got {
			if strings.HasPrefix(path, "meta-data/"+macs) {
				there++
			}
			if strings.Contains(path, "ipv6") {
				t.Errorf("%s: %s makes the guest wait for DHCPv6", tt.name, path)
			}
		}
		if len(tt.want) == 0 && there > 0 {
			t.Errorf("%s: the guest is told of its interfaces", tt.name)
		}
		for _, want := range tt.want {
			path, value, compare := strings.Cut(want, "=")
			if have, ok := got["meta-data/"+macs+path]; !ok || compare && have != value {
				t.Errorf("%s: %s is %q (there: %t), want %q", tt.name, path, have, ok, value)
			}
		}
		if said := saidOf(l); said != tt.said {
			t.Errorf("%s: said %q, want %q", tt.name, said, tt.said)
		}
	}
}

// saidOf shows severity and field of each diagnostic.
func saidOf(l diag.List) string {
	var out []string
	for _, d := range l {
		out = append(out, fmt.Sprint(d.Severity)+" "+d.Field)
	}
	return strings.Join(out, " ")
}

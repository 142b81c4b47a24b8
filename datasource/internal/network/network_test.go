package network

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

func of[T any](v T) *T { return &v }

// TestConfig converts a machine in which every field of the network is set.
func TestConfig(t *testing.T) {
	c, ok, l := Config(machinetest.Generated())
	if !ok || len(l) > 0 {
		t.Fatalf("%v, %v", ok, l)
	}
	addr, prefix := netip.MustParseAddr, netip.MustParsePrefix
	dns := func(host, name string) netconfig.DNS {
		return netconfig.DNS{Servers: []netip.Addr{addr("192.0.2." + host), addr("2001:db8::53")}, Search: []string{name + "-search.example.org"}}
	}
	want := netconfig.Config{DNS: dns("53", "network-dns"), Links: []netconfig.Link{
		{ID: "nics-name", Kind: netconfig.Physical, Name: "nicsrename0", MAC: "52:54:00:aa:bb:01", MTU: 1437, DHCP6: "stateless", SLAAC: true,
			AcceptRA:  netconfig.SwitchOf(true),
			Addresses: []netip.Prefix{prefix("198.51.100.17/24"), prefix("2001:db8:1::17/64")},
			Gateway4:  addr("198.51.100.1"), Gateway6: addr("2001:db8:1::1"),
			Routes: []netconfig.Route{
				{To: prefix("203.0.113.0/25"), Via: addr("198.51.100.9"), Metric: 271, OnLink: true},
				{To: prefix("2001:db8:2::/48"), Via: addr("2001:db8:1::9")}},
			DNS: dns("54", "nics-dns")},
		{ID: "nics-second", Kind: netconfig.Physical, MAC: "52:54:00:aa:bb:02", DHCP4: true},
		{ID: "nics-third", Kind: netconfig.Physical, MAC: "52:54:00:aa:bb:03"},
		{ID: "bond0", Kind: netconfig.Bond, Addresses: []netip.Prefix{prefix("192.0.2.129/28")},
			Bond: &netconfig.BondSpec{Links: []string{"nics-third"}, Mode: "active-backup", Params: map[string]string{"mii-monitor-interval": "113"}}},
		{ID: "vlan42", Kind: netconfig.VLAN, VLAN: &netconfig.VLANSpec{Parent: "nics-name", ID: 42}},
		{ID: "br0", Kind: netconfig.Bridge, Addresses: []netip.Prefix{prefix("192.0.2.193/28")},
			Bridge: &netconfig.BridgeSpec{Links: []string{"vlan42"}, Params: map[string]string{"stp": "false"}}},
	}}
	options := []cmp.Option{cmpopts.IgnoreFields(netconfig.Link{}, "Place"), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
	if diff := cmp.Diff(want, c, options...); diff != "" {
		t.Error(diff)
	}
}

// TestUntold leaves a NIC that nothing is said of out of what a guest of oVirt reads, unless another one is built upon it.
func TestUntold(t *testing.T) {
	dhcp, silent, member := machine.NIC{Name: "a", DHCP4: true}, machine.NIC{Name: "b"}, machine.NIC{Name: "c"}
	bond := machine.NIC{Name: "bond0", Kind: "bond", Bond: machine.Bond{Links: []string{"c"}}}
	down := machine.NIC{Name: "d", OnBoot: of(false)}
	for compat, want := range map[string]string{"ovirt": "a c bond0 d", "": "a b c bond0 d"} {
		m := machine.Machine{Compat: compat, Network: machine.Network{NICs: []machine.NIC{dhcp, silent, member, bond, down}}}
		c, ok, _ := Whole(m)
		var ids []string
		for _, l := range c.Links {
			ids = append(ids, l.ID)
		}
		if got := strings.Join(ids, " "); !ok || got != want {
			t.Errorf("%q: %s, want %s", compat, got, want)
		}
	}
}

// TestSaid lists what has no place in a network document, and what is said about it.
func TestSaid(t *testing.T) {
	static := machine.NIC{Name: "a", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/24")}}
	dns := machine.DNS{Servers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}
	for _, tt := range []struct {
		name string
		n    machine.Network
		ok   bool
		want []string
	}{
		{"nothing", machine.Network{}, false, nil},
		{"a NIC without a word", machine.Network{NICs: []machine.NIC{{Name: "a"}}}, false, nil},
		{"a static NIC", machine.Network{NICs: []machine.NIC{static}, DNS: dns}, true, nil},
		{"name servers alone", machine.Network{NICs: []machine.NIC{{Name: "a"}}, DNS: dns}, false, []string{"warning[VS4061]"}},
		{"a NIC that stays down", machine.Network{NICs: []machine.NIC{static, {Name: "b", DHCP4: true, OnBoot: of(false)}}}, true, []string{`note[VS4060]: NIC "b"`}},
		{"all NICs stay down", machine.Network{NICs: []machine.NIC{{Name: "b", DHCP4: true, OnBoot: of(false)}}}, true, []string{`note[VS4060]: NIC "b"`}},
		{"one stays down, the others are the guest's", machine.Network{NICs: []machine.NIC{{Name: "a"}, {Name: "b", DHCP4: true, OnBoot: of(false)}}}, false,
			[]string{`note[VS4060]: NIC "b"`}},
		{"DHCP for all", machine.Network{Mode: "dhcp", NICs: []machine.NIC{static, {Name: "b"}}, DNS: dns}, false,
			[]string{`note[VS4061]: how NIC "a"`, "note[VS4061]: the name servers"}},
		{"no network", machine.Network{Mode: "disabled", NICs: []machine.NIC{static}}, true, []string{`note[VS4061]: how NIC "a"`}},
	} {
		c, ok, l := Config(machine.Machine{Network: tt.n})
		if ok != tt.ok || len(l) != len(tt.want) || c.Disabled != (tt.n.Mode == "disabled") {
			t.Errorf("%s: ok %v, %v, %+v", tt.name, ok, l, c)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(l[i].Error(), want) {
				t.Errorf("%s: %v, want %s", tt.name, l[i], want)
			}
		}
	}
}

// TestWhole keeps NICs that stay down for files that can say so, without a word about those of which nothing is said.
func TestWhole(t *testing.T) {
	m := machine.Machine{Network: machine.Network{NICs: []machine.NIC{{Name: "a"}, {Name: "b", DHCP4: true, OnBoot: of(false)}}}}
	if c, ok, l := Whole(m); !ok || len(l) > 0 || len(c.Links) != 1 || !c.Links[0].Manual || !c.Links[0].DHCP4 {
		t.Errorf("%+v %v %v", c, ok, l)
	}
	if down := LeftDown(m); len(down) != 1 || down[0].Name != "b" {
		t.Errorf("left down: %v", down)
	}
	m.Network.Mode = "dhcp"
	if down := LeftDown(m); len(down) > 0 {
		t.Errorf("left down although the guest does as it likes: %v", down)
	}
	m = machine.Machine{Network: machine.Network{NICs: []machine.NIC{{Name: "a", Rename: "eth0", MAC: "52:54:00:00:00:01", Match: "name", DHCP4: true}}}}
	if c, _, _ := Config(m); c.Links[0].Name != "eth0" || c.Links[0].MAC != "" {
		t.Errorf("found by its name: %+v", c.Links[0])
	}
}

func TestDocument(t *testing.T) {
	m := machine.Machine{Network: machine.Network{Document: machine.Layer{Data: secret.New("version: 2\n"), Origin: diag.Origin{Whole: diag.At("f", 3, 1)}}}}
	if doc, ok, l := Document(m); !ok || doc.Data.Reveal() != "version: 2\n" || len(l) > 0 {
		t.Errorf("%q %v %v", doc.Data.Reveal(), ok, l)
	}
	m.Network.Mode = "dhcp"
	if _, ok, l := Document(m); ok || len(l) != 1 || !strings.HasPrefix(l[0].Error(), "f:3:1: warning[VS4061]") {
		t.Errorf("%v %v", ok, l)
	}
	if _, ok, l := Document(machine.Machine{}); ok || len(l) > 0 {
		t.Errorf("%v %v", ok, l)
	}
}

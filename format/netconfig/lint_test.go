package netconfig

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

// lintCase is a document with what Lint says about it: CODE at LINE:COL, one a line, sorted by place.
type lintCase struct {
	name, doc string
	guest     Release
	want      string
}

const nicV1 = "version: 1\nconfig:\n- type: physical\n  name: eth0\n"

func lintCases() []lintCase {
	return []lintCase{
		{"clean v1", nicV1 + "  mac_address: \"52:54:00:12:34:56\"\n  subnets: [{type: dhcp4}]\n", Release{}, ""},
		{"clean v2", "version: 2\nethernets:\n  eth0: {dhcp4: true}\n", Release{}, ""},
		{"clean wrapper", "network:\n  version: 2\n  ethernets:\n    eth0: {dhcp4: yes}\n", Release{}, ""},
		{"disabled", "network: {config: disabled}\n", Release{}, ""},
		{"no version v2", "ethernets:\n  eth0: {dhcp4: true}\n", Release{}, "VS3212 1:1"},
		{"no version v1", "config:\n- type: physical\n", Release{}, "VS3212 1:1"},
		{"version as text", "version: \"3\"\nethernets: {}\n", Release{}, "VS3212 1:10"},
		{"neither", "hostname: web\n", Release{}, "VS3212 1:1"},
		{"empty", "# nothing\n", Release{}, "VS3217 1:1"},
		{"two documents", "version: 2\n---\nversion: 1\n", Release{}, "VS3213 3:1"},
		{"bare MAC of digits", nicV1 + "  mac_address: 52:54:00:12:34:56\n", Release{}, "VS3218 5:16"},
		{"bare MAC with letters", nicV1 + "  mac_address: 52:54:00:12:34:ab\n", Release{}, ""},
		{"upper-case MAC", nicV1 + "  mac_address: \"52:54:00:AB:34:56\"\n", Release{}, "VS3216 5:16"},
		{"no MAC at all", nicV1 + "  mac_address: \"eth0\"\n", Release{}, "VS3203 5:16"},
		{"upper-case match", "version: 2\nethernets:\n  nic:\n    match: {macaddress: '52:54:00:AB:00:01'}\n    dhcp4: true\n", Release{}, ""},
		{"upper-case match with set-name", "version: 2\nethernets:\n  nic:\n    match: {macaddress: '52:54:00:AB:00:01'}\n    set-name: lan0\n", Release{}, "VS3216 4:25"},
		{"bare match", "version: 2\nethernets:\n  nic:\n    match: {macaddress: 52:54:00:11:00:01}\n", Release{}, "VS3218 4:25"},
		{"unknown type", "version: 1\nconfig:\n- type: wifi\n  name: w0\n", Release{}, "VS3216 3:9"},
		{"no type", "version: 1\nconfig:\n- name: w0\n", Release{}, "VS3216 3:3"},
		{"subnet without type", nicV1 + "  subnets:\n  - address: 10.0.0.5/24\n", Release{}, "VS3216 6:5"},
		{"unknown subnet type", nicV1 + "  subnets:\n  - type: dhcp5\n", Release{}, "VS3217 6:11"},
		{"static without address", nicV1 + "  subnets:\n  - type: static\n", Release{}, "VS3216 6:5"},
		{"no prefix length", nicV1 + "  subnets:\n  - {type: static, address: 10.0.0.5}\n", Release{}, "VS3218 6:29"},
		{"netmask is one", nicV1 + "  subnets:\n  - {type: static, address: 10.0.0.5, netmask: 255.255.255.0}\n", Release{}, ""},
		{"wrong netmask", nicV1 + "  subnets:\n  - {type: static, address: 10.0.0.5, netmask: 255.0.255.0}\n", Release{}, "VS3205 6:29"},
		{"bond without params", "version: 1\nconfig:\n- type: bond\n  name: bond0\n  bond_interfaces: [eth0]\n", Release{}, "VS3217 3:3"},
		{"bridge without ports", "version: 1\nconfig:\n- type: bridge\n  name: br0\n", Release{}, "VS3217 3:3"},
		{"misspelt key", nicV1 + "  mac-address: \"52:54:00:12:34:56\"\n", Release{}, "VS3214 5:3"},
		{"top-level route", nicV1 + "- type: route\n  destination: 10.8.0.0/16\n  gateway: 10.0.0.1\n", Release{}, "VS3217 5:3"},
		{"top-level route by network", nicV1 + "- type: route\n  network: 10.8.0.0/16\n  gateway: 10.0.0.1\n", Release{}, "VS3217 5:3\nVS3217 5:3"},
		{"resolver of an interface", nicV1 + "- type: nameserver\n  interface: eth0\n  address: 9.9.9.9\n", Release{}, "VS3217 5:3"},
		{"resolver of no interface", nicV1 + "- type: nameserver\n  interface: eth7\n  address: 9.9.9.9\n", Release{}, "VS3217 5:3\nVS3216 6:14"},
		{"search without resolver", nicV1 + "- type: nameserver\n  search: [example.org]\n", Release{}, "VS3217 5:3"},
		{"long name", "version: 1\nconfig:\n- type: physical\n  name: averylongname0123\n", Release{}, "VS3202 3:3"},
		{"text no", "version: 2\nethernets:\n  eth0:\n    dhcp4: \"no\"\n", Release{}, "VS3218 4:12"},
		{"word no", "version: 2\nethernets:\n  eth0:\n    dhcp4: no\n", Release{}, ""},
		{"not a truth", "version: 2\nethernets:\n  eth0:\n    dhcp4: maybe\n", Release{}, "VS3213 4:12"},
		{"default route", v2Default, Release{}, "VS3216 5:19"},
		{"default route, old guest", v2Default, Release{22, 4}, "VS3216 5:19"},
		{"default route, new guest", v2Default, Release{25, 3}, ""},
		{"IPv6 default", v2Default6, Release{}, "VS3218 5:19"},
		{"IPv6 default, 25.1", v2Default6, Release{25, 1}, ""},
		{"gateway4", "version: 2\nethernets:\n  eth0:\n    addresses: [10.0.0.5/24]\n    gateway4: 10.0.0.1\n", Release{}, "VS3219 5:5"},
		{"gateway of the other family", "version: 2\nethernets:\n  eth0:\n    addresses: [10.0.0.5/24]\n    gateway6: 10.0.0.1\n", Release{}, "VS3206 5:15"},
		{"tunnels", "version: 2\ntunnels:\n  t0: {mode: gre}\n", Release{}, "VS3216 2:1"},
		{"wifis", "version: 2\nwifis:\n  w0: {dhcp4: true}\n", Release{}, "VS3217 2:1"},
		{"match by pattern", "version: 2\nethernets:\n  all:\n    match: {name: 'en*'}\n    dhcp4: true\n", Release{}, "VS3218 4:13"},
		{"match by driver", "version: 2\nethernets:\n  all:\n    match: {driver: virtio_net}\n    dhcp4: true\n", Release{}, "VS3218 4:13"},
		{"bond parameter cloud-init lacks", v2Bond + "{mode: active-backup, arp-ip-targets: [10.0.0.1]}\n", Release{}, "VS3216 7:39"},
		{"bond parameter nobody has", v2Bond + "{mode: active-backup, miimon: 100}\n", Release{}, "VS3216 7:39"},
		{"bond parameters", v2Bond + "{mode: 802.3ad, lacp-rate: fast}\n", Release{}, ""},
		{"unknown member", "version: 2\nbonds:\n  b0:\n    interfaces: [eth8]\n", Release{}, "VS3201 3:3"},
		{"VLAN without link", "version: 2\nvlans:\n  v5: {id: 5}\n", Release{}, "VS3209 3:3"},
		{"unknown key", "version: 2\nethernets:\n  eth0:\n    dhcp-4: true\n", Release{}, "VS3214 4:5"},
		{"key of netplan's", "version: 2\nethernets:\n  eth0:\n    dhcp4: true\n    routing-policy: [{from: 10.0.0.0/8, table: 7}]\n", Release{}, "VS3217 5:5"},
		{"routes without addresses", "version: 2\nethernets:\n  eth0:\n    routes: [{to: 10.0.0.0/8, via: 10.1.1.1}]\n", Release{}, "VS3217 4:13"},
		{"search without addresses", "version: 2\nethernets:\n  eth0:\n    dhcp4: true\n    nameservers: {search: [example.org]}\n", Release{}, "VS3217 5:18"},
		{"link without settings", "version: 2\nethernets:\n  eth0:\n", Release{}, "VS3216 3:8"},
		{"list of links", "version: 2\nethernets:\n- eth0\n", Release{}, "VS3213 3:1"},
		{"address with a label", "version: 2\nethernets:\n  eth0:\n    addresses: [{10.0.0.5/24: {label: a}}]\n", Release{}, "VS3216 4:17"},
		{"same MAC twice", "version: 2\nethernets:\n  a: {match: {macaddress: '52:54:00:ab:00:01'}}\n  b: {match: {macaddress: '52:54:00:ab:00:01'}}\n", Release{}, "VS3203 4:3"},
		{"clean network_data", `{"links":[{"id":"a","type":"phy","ethernet_mac_address":"52:54:00:AA:00:01"}],"networks":[{"id":"n","link":"a","type":"ipv4_dhcp"}],"services":[]}`, Release{}, ""},
		{"link without id", `{"links":[{"type":"phy","ethernet_mac_address":"52:54:00:aa:00:01"}]}`, Release{}, "VS3216 1:11"},
		{"VLAN without MAC", `{"links":[{"id":"v","type":"vlan","vlan_link":"a","vlan_id":3}]}`, Release{}, "VS3216 1:11\nVS3201 1:11"},
		{"dangling network", `{"links":[],"networks":[{"id":"n","link":"a","type":"ipv4_dhcp"}]}`, Release{}, "VS3201 1:42"},
		{"unknown network type", `{"links":[{"id":"a","type":"phy","ethernet_mac_address":"52:54:00:aa:00:01"}],"networks":[{"link":"a","type":"ipv5"}]}`, Release{}, "VS3216 1:110"},
		{"network_data as YAML", "links:\n- {id: a, type: phy, ethernet_mac_address: '52:54:00:aa:00:01'}\n", Release{}, "VS1204 1:1"},
		{"interfaces(5)", "auto lo\niface lo inet loopback\n", Release{}, "VS3219 1:1"},
	}
}

const (
	v2Default  = "version: 2\nethernets:\n  eth0:\n    addresses: [10.0.0.5/24]\n    routes: [{to: default, via: 10.0.0.1}]\n"
	v2Default6 = "version: 2\nethernets:\n  eth0:\n    addresses: ['fd00::5/64']\n    routes: [{to: '::/0', via: 'fd00::1'}]\n"
	v2Bond     = "version: 2\nethernets:\n  eth0: {}\nbonds:\n  b0:\n    interfaces: [eth0]\n    parameters: "
)

func TestLint(t *testing.T) {
	for _, c := range lintCases() {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, d := range Lint("f", []byte(c.doc), c.guest) {
				got = append(got, d.Code.String()+" "+strings.TrimPrefix(d.Range.String(), "f:"))
				if d.Range.File != "f" || d.Range.Start.Line == 0 {
					t.Errorf("no place: %v", d)
				}
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("got\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), c.want, Lint("f", []byte(c.doc), c.guest))
			}
		})
	}
}

// TestSexagesimal checks the number that the message names against the one that PyYAML reads.
func TestSexagesimal(t *testing.T) {
	list := Lint("f", []byte(nicV1+"  mac_address: 52:54:00:12:34:56\n"), Release{})
	if len(list) != 1 || !strings.Contains(list[0].Summary, "41135085296") {
		t.Errorf("%v", list)
	}
}

func TestDetect(t *testing.T) {
	for doc, want := range map[string]Format{
		"version: 1\nconfig: []\n":                     V1,
		"network:\n  version: 2\n":                     V2,
		`{"network": {"version": 2}}`:                  V2,
		"config: disabled":                             Disabled,
		`{"links": [], "networks": []}`:                OpenStack,
		"# comment\n\nauto eth0\niface eth0 inet dhcp": ENI,
		"iface eth0 inet dhcp\n":                       ENI,
		"":                                             Unknown,
		"{":                                            Unknown,
		"version: 3":                                   Unknown,
		"#cloud-config\nusers: []\n":                   Unknown,
		"- a\n- b\n":                                   Unknown,
		"autumn leaves":                                Unknown,
	} {
		if got := Detect([]byte(doc)); got != want {
			t.Errorf("%q is %q, want %q", doc, got, want)
		}
	}
}

func TestConvertForOpenStack(t *testing.T) {
	codes := func(list diag.List) string {
		var out []string
		for _, d := range list {
			out = append(out, d.Severity.String()+" "+d.Code.String()+" "+strings.TrimPrefix(d.Range.String(), "f:"))
		}
		return strings.Join(out, "\n")
	}
	netplan := "network:\n  version: 2\n  ethernets:\n    eth0:\n      match: {macaddress: '52:54:00:AB:00:01'}\n      addresses: [10.0.0.5/24]\n" +
		"      gateway4: 10.0.0.1\n      nameservers: {addresses: [10.0.0.53]}\n"
	data, list := ConvertForOpenStack("f", []byte(netplan))
	if codes(list) != "note VS3220 1:1" {
		t.Errorf("%v", list)
	}
	c, form, list := Parse("f", data)
	if form != OpenStack || len(list) > 0 || len(c.Links) != 1 || c.Links[0].MAC != "52:54:00:ab:00:01" ||
		c.Links[0].Gateway4.String() != "10.0.0.1" || !slices.Equal(strs(c.Links[0].DNS.Servers), []string{"10.0.0.53"}) {
		t.Errorf("%v %v\n%s", c, list, data)
	}

	same := []byte(`{"links":[],"networks":[],"services":[]}`)
	if data, list := ConvertForOpenStack("f", same); string(data) != string(same) || len(list) > 0 {
		t.Errorf("a document in the right form was changed: %s %v", data, list)
	}
	for doc, want := range map[string]string{
		"version: 2\nbridges:\n  br0: {dhcp4: true}\n":                        "note VS3220 1:1\nerror VS3210 3:3",
		"version: 2\ntunnels:\n  t0: {mode: gre}\n":                           "error VS3215 2:1",
		"version: 2\nethernets:\n  all: {match: {name: 'e*'}, dhcp4: true}\n": "warning VS3215 3:17\nnote VS3220 1:1\nerror VS3200 3:3",
		"config: disabled\n": "note VS3220 1:1\nerror VS3210 1:1",
		"version: 2\nethernets:\n  eth0: {wakeonlan: true, dhcp4: true, optional: true}\n": "warning VS3215 3:10\nnote VS3220 1:1\nwarning VS3210 3:3",
		"auto eth0\niface eth0 inet dhcp\n":                                                "error VS3212 1:1",
		"version: 1\nconfig: [{type: physical, name: eth0, subnets: [{type: static}]}]\n":  "error VS3216 2:49",
		"hello\n": "error VS3212 1:1",
	} {
		data, list := ConvertForOpenStack("f", []byte(doc))
		got := strings.TrimSuffix(codes(list), "\nerror VS3220 1:1")
		if got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", doc, codes(list), want)
		}
		if (data == nil) != list.HasErrors() {
			t.Errorf("%q: %d bytes beside %v", doc, len(data), list)
		}
	}
}

package cniresult_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/machine"
)

// brief writes facts in a few words: name, renaming, MAC, MTU, DHCP, addresses, gateways, routes.
func brief(f machine.Facts) string {
	var b strings.Builder
	for _, n := range f.NICs {
		fmt.Fprintf(&b, "%s as %q mac=%s", n.Name, n.Rename, n.MAC)
		if n.MTU != 0 {
			fmt.Fprintf(&b, " mtu=%d", n.MTU)
		}
		if n.DHCP4 {
			b.WriteString(" dhcp4")
		}
		for _, a := range n.Addrs {
			fmt.Fprintf(&b, " %s", a)
		}
		if n.Gateway4.IsValid() {
			fmt.Fprintf(&b, " gw4=%s", n.Gateway4)
		}
		if n.Gateway6.IsValid() {
			fmt.Fprintf(&b, " gw6=%s", n.Gateway6)
		}
		for _, r := range n.Routes {
			fmt.Fprintf(&b, " %s->%s", r.To, r.Via)
			if r.Metric != nil {
				fmt.Fprintf(&b, " metric %d", *r.Metric)
			}
			if r.OnLink {
				b.WriteString(" onlink")
			}
		}
		b.WriteByte('\n')
	}
	if d := f.DNS; len(d.Servers)+len(d.Search)+len(d.Options) > 0 {
		fmt.Fprintf(&b, "dns %v %v %v\n", d.Servers, d.Search, d.Options)
	}
	return b.String()
}

// codes writes diagnostics as file:line:col: severity[code], one a line.
func codes(l diag.List) string {
	var b strings.Builder
	for _, d := range l.Sorted() {
		fmt.Fprintf(&b, "%s: %s[%s]\n", d.Range, d.Severity, d.Code)
	}
	return b.String()
}

const head = `{"cniVersion": "1.0.0", "interfaces": [{"name": "virtlet-eth0", "mac": "0A:58:0A:01:5A:07", "sandbox": "/run/netns/a"}],` + "\n"

const twoNICs = `{"cniVersion": "0.3.1", "interfaces": [
 {"name": "virtlet-eth0", "mac": "42:a4:a6:22:80:2e", "sandbox": "/var/run/netns/bae464f1"},
 {"name": "virtlet-eth1", "mac": "42:a4:a6:22:80:2f", "sandbox": "/var/run/netns/bae464f1"}],
`

func TestRead(t *testing.T) {
	for _, c := range []struct{ name, in, want, diags string }{
		{"upstream: host interface skipped, default by the address's gateway", `{"cniVersion": "0.3.1", "interfaces": [
 {"name": "cni0", "mac": "00:11:22:33:44:55"},
 {"name": "virtlet-eth0", "mac": "00:11:22:33:ab:cd", "sandbox": "/var/run/netns/bae464f1"}],
"ips": [{"version": "4", "address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 1}],
"routes": [{"dst": "0.0.0.0/0"}],
"dns": {"nameservers": ["1.2.3.4"], "search": ["some", "search"]}}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=00:11:22:33:ab:cd 10.1.90.5/24 gw4=10.1.90.1\ndns [1.2.3.4] [some search] []\n", ""},
		{"upstream: two NICs, routes go where their gateway is, in order", twoNICs + `
"ips": [{"version": "4", "address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 0},
 {"version": "4", "address": "192.168.37.8/24", "gateway": "192.168.37.1", "interface": 1}],
"routes": [{"dst": "0.0.0.0/0", "gw": "10.1.90.1"}, {"dst": "10.10.42.0/24", "gw": "192.168.37.1"}, {"dst": "10.9.0.0/16", "gw": "192.168.37.2"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=42:a4:a6:22:80:2e 10.1.90.5/24 gw4=10.1.90.1\n" +
				"virtlet-eth1 as \"virtlet-eth1\" mac=42:a4:a6:22:80:2f 192.168.37.8/24 10.10.42.0/24->192.168.37.1 10.9.0.0/16->192.168.37.2\n", ""},
		{"a default without gateway goes to one NIC only", twoNICs + `
"ips": [{"address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 0}, {"address": "192.168.37.8/24", "gateway": "192.168.37.1", "interface": 1}],
"routes": [{"dst": "0.0.0.0/0"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=42:a4:a6:22:80:2e 10.1.90.5/24 gw4=10.1.90.1\nvirtlet-eth1 as \"virtlet-eth1\" mac=42:a4:a6:22:80:2f 192.168.37.8/24\n", ""},
		{"dual stack keeps both defaults", head + `
"ips": [{"address": "fd00:1::5/64", "gateway": "fd00:1::1", "interface": 0}, {"address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 0}],
"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 fd00:1::5/64 10.1.90.5/24 gw4=10.1.90.1 gw6=fd00:1::1\n", ""},
		{"IPv6 router by link-local address", head + `
"ips": [{"address": "fd00:1::5/64", "interface": 0}], "routes": [{"dst": "::/0", "gw": "fe80::1"}, {"dst": "fd00:2::/48", "gw": "fe80::2"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 fd00:1::5/64 gw6=fe80::1 fd00:2::/48->fe80::2\n", ""},
		{"Calico: lone address, gateway on the link", head + `
"ips": [{"address": "10.244.7.9/32", "interface": 0}],
"routes": [{"dst": "169.254.1.1/32", "scope": 253}, {"dst": "0.0.0.0/0", "gw": "169.254.1.1"}, {"dst": "10.96.0.0/12", "gw": "169.254.1.1"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.244.7.9/32 gw4=169.254.1.1 10.96.0.0/12->169.254.1.1 onlink\n", ""},
		{"an off-subnet gateway goes to the address that has it", twoNICs + `
"ips": [{"address": "10.0.0.5/32", "interface": 0}, {"address": "10.0.0.6/32", "gateway": "169.254.1.1", "interface": 1}],
"routes": [{"dst": "0.0.0.0/0", "gw": "169.254.1.1"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=42:a4:a6:22:80:2e 10.0.0.5/32\nvirtlet-eth1 as \"virtlet-eth1\" mac=42:a4:a6:22:80:2f 10.0.0.6/32 gw4=169.254.1.1\n",
			"cni.json:1:1: warning[VS2283]\n"},
		{"Calico without routes is stranded", head + `"ips": [{"address": "10.244.7.9/32", "interface": 0}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.244.7.9/32\n", "cni.json:1:1: warning[VS2283]\n"},
		{"a gateway that nobody reaches", twoNICs + `
"ips": [{"address": "10.1.90.5/24", "interface": 0}, {"address": "192.168.37.8/24", "interface": 1}],
"routes": [{"dst": "0.0.0.0/0", "gw": "172.16.0.1"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=42:a4:a6:22:80:2e 10.1.90.5/24\nvirtlet-eth1 as \"virtlet-eth1\" mac=42:a4:a6:22:80:2f 192.168.37.8/24\n",
			"cni.json:6:12: warning[VS2283]\n"},
		{"a default that has no gateway at all", head + `"ips": [{"address": "10.1.90.5/24", "interface": 0}],
"routes": [{"dst": "0.0.0.0/0"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.1.90.5/24\n", "cni.json:3:12: warning[VS2283]\n"},
		{"what an address implies is no route", head + `"ips": [{"address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 0}],
"routes": [{"dst": "10.1.90.0/24"}, {"dst": "10.1.90.1/32"}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.1.90.5/24\n", ""},
		{"second default without priority, third with", head + `"ips": [{"address": "10.1.90.5/24", "interface": 0}],
"routes": [{"dst": "0.0.0.0/0", "gw": "10.1.90.1"}, {"dst": "0.0.0.0/0", "gw": "10.1.90.2"}, {"dst": "0.0.0.0/0", "gw": "10.1.90.3", "priority": 200}]}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.1.90.5/24 gw4=10.1.90.1 0.0.0.0/0->10.1.90.3 metric 200\n",
			"cni.json:3:53: warning[VS2283]\n"},
		{"no address asks for a lease", head + `"dns": {}}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 dhcp4\n", ""},
		{"MTU of 1.1.0, loopback left out", `{"cniVersion": "1.1.0", "interfaces": [{"name": "lo", "mac": "00:00:00:00:00:00", "sandbox": "/n"},
{"name": "eth0", "mac": "02-00-00-00-00-01", "mtu": 1450, "sandbox": "/n", "pciID": "0000:01:00.2"}],
"ips": [{"address": "10.0.0.2/8", "interface": 1}]}`,
			"eth0 as \"eth0\" mac=02:00:00:00:00:01 mtu=1450 10.0.0.2/8\n", ""},
		{"addresses alone (an IPAM plugin)", `{"cniVersion": "1.0.0", "ips": [{"address": "10.0.0.2/8", "gateway": "10.0.0.1"}], "routes": [{"dst": "0.0.0.0/0"}]}`,
			"eth0 as \"\" mac= 10.0.0.2/8 gw4=10.0.0.1\n", ""},
		{"search list without servers, options, domain", head + `"dns": {"domain": "a.example", "search": ["b.example"], "options": ["ndots:5", "rotate"]}}`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 dhcp4\ndns [] [a.example b.example] [ndots:5 rotate]\n", ""},
		{"several networks", "[" + head + `"ips": [{"address": "10.0.0.2/8", "interface": 0}], "routes": [{"dst": "1.0.0.0/8", "gw": "10.0.0.1"}], "dns": {"nameservers": ["10.0.0.53"]}},
` + head + `"ips": [{"address": "10.0.0.3/8", "interface": 0}], "routes": [{"dst": "2.0.0.0/8", "gw": "10.0.0.1"}], "dns": {"nameservers": ["10.0.0.53", "10.0.0.54"]}}]`,
			"virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 10.0.0.2/8 1.0.0.0/8->10.0.0.1\n" +
				"virtlet-eth0.1 as \"\" mac=0a:58:0a:01:5a:07 10.0.0.3/8 2.0.0.0/8->10.0.0.1\ndns [10.0.0.53 10.0.0.54] [] []\n", ""},
		{"address of a host interface", `{"cniVersion": "1.0.0", "interfaces": [{"name": "br0"}, {"name": "e", "sandbox": "/n"}],
"ips": [{"address": "10.0.0.1/8", "interface": 0}, {"address": "10.0.0.2/8", "interface": 1}]}`,
			"e as \"e\" mac= 10.0.0.2/8\n", "cni.json:2:9: note[VS2284]\n"},
		{"unknown fields", head + `"ipz": [], "dns": {"server": "x"}}`, "virtlet-eth0 as \"virtlet-eth0\" mac=0a:58:0a:01:5a:07 dhcp4\n",
			"cni.json:2:1: warning[VS2284]\ncni.json:2:20: warning[VS2284]\n"},
		{"no version", `{"ips": [{"address": "10.0.0.2/8"}]}`, "eth0 as \"\" mac= 10.0.0.2/8\n", "cni.json:1:1: warning[VS2281]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts, l := cniresult.Read("cni.json", []byte(c.in))
			if d := cmp.Diff(c.want, brief(facts)); d != "" {
				t.Errorf("facts (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.diags, codes(l)); d != "" {
				t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", ``, "cni.json:1:1: error[VS2280]\n"},
		{"a scalar", `hello`, "cni.json:1:1: error[VS2280]\n"},
		{"broken JSON", `{"ips": [}`, "cni.json:1:10: error[VS1204]\n"},
		{"error result", `{"cniVersion": "1.0.0", "code": 7, "msg": "invalid network configuration"}`, "cni.json:1:1: error[VS2280]\n"},
		{"old version", `{"cniVersion": "0.2.0", "ips": [{"address": "10.0.0.2/8"}]}`, "cni.json:1:16: error[VS2281]\n"},
		{"host interfaces only", `{"cniVersion": "1.0.0", "interfaces": [{"name": "br0"}]}`, "cni.json:1:1: error[VS2280]\n"},
		{"host interfaces and an address", `{"cniVersion": "1.0.0", "interfaces": [{"name": "br0"}],
"ips": [{"address": "10.0.0.2/8"}]}`, "cni.json:2:9: error[VS2282]\n"},
		{"address without interface among two", twoNICs + `"ips": [{"address": "10.0.0.2/8"}]}`, "cni.json:4:9: error[VS2282]\n"},
		{"index too high", head + `"ips": [{"address": "10.0.0.2/8", "interface": 1}]}`, "cni.json:2:48: error[VS1213]\n"},
		{"no prefix", head + `"ips": [{"address": "10.0.0.2", "interface": 0}]}`, "cni.json:2:21: error[VS2282]\n"},
		{"version does not fit", head + `"ips": [{"address": "10.0.0.2/8", "version": "6", "interface": 0}]}`, "cni.json:2:46: error[VS2282]\n"},
		{"gateway of another family", head + `"ips": [{"address": "10.0.0.2/8", "gateway": "fd00::1", "interface": 0}]}`, "cni.json:2:46: error[VS2282]\n"},
		{"bad gateway", head + `"ips": [{"address": "10.0.0.2/8", "gateway": "10.0.0", "interface": 0}]}`, "cni.json:2:46: error[VS2282]\n"},
		{"bad destination", head + `"routes": [{"dst": "default"}]}`, "cni.json:2:20: error[VS2282]\n"},
		{"bad MAC", `{"cniVersion": "1.0.0", "interfaces": [{"name": "e", "sandbox": "/n", "mac": "02:00"}]}`, "cni.json:1:78: error[VS2282]\n"},
		{"bad name server", head + `"dns": {"nameservers": ["dns.example"]}}`, "cni.json:2:25: error[VS2282]\n"},
		{"interfaces is no list", `{"cniVersion": "1.0.0", "interfaces": {}, "ips": []}`, "cni.json:1:39: error[VS1210]\n"},
		{"ips of a wrong type", head + `"ips": [7]}`, "cni.json:2:9: error[VS1210]\ncni.json:2:9: error[VS2282]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, l := cniresult.Read("cni.json", []byte(c.in))
			if !l.HasErrors() {
				t.Error("no error")
			}
			if d := cmp.Diff(c.want, codes(l)); d != "" {
				t.Errorf("diagnostics (-want +got):\n%s%v", d, l)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(head + `"ips": [{"address": "10.1.90.5/24", "gateway": "10.1.90.1", "interface": 0}], "routes": [{"dst": "0.0.0.0/0"}]}`))
	f.Add([]byte(twoNICs + `"ips": [{"address": "10.0.0.5/32", "interface": 0}], "routes": [{"dst": "::/0", "gw": "fe80::1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, l := cniresult.Read("f", data)
		again, l2 := cniresult.Read("f", data)
		if brief(facts) != brief(again) || fmt.Sprint(l) != fmt.Sprint(l2) {
			t.Error("two readings differ")
		}
		if !l.HasErrors() && len(facts.NICs) == 0 {
			t.Error("neither a NIC nor an error")
		}
		names := map[string]bool{}
		for _, n := range facts.NICs {
			if names[n.Name] {
				t.Errorf("two NICs have the name %q", n.Name)
			}
			names[n.Name] = true
			for _, r := range n.Routes {
				if !r.Via.IsValid() || r.Via.Is4() != r.To.Addr().Is4() {
					t.Errorf("route %v has no gateway of its family", r)
				}
			}
		}
	})
}

// TestCodes demands an explanation for every constant of codes.go, which are numbered from the first.
func TestCodes(t *testing.T) {
	src, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\tCode[A-Z]`).FindAll(src, -1)
	explained := map[diag.Code]bool{}
	for _, e := range cniresult.Codes() {
		if e.Title == "" || e.Text == "" {
			t.Errorf("%v has no title or text", e.Code)
		}
		explained[e.Code] = true
	}
	for i := range names {
		if !explained[cniresult.CodeResult+diag.Code(i)] {
			t.Errorf("%v is not explained", cniresult.CodeResult+diag.Code(i))
		}
	}
	if len(names) != len(explained) || len(names) > 20 {
		t.Errorf("%d constants, %d explanations, room for 20", len(names), len(explained))
	}
}

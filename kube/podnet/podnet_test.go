package podnet

import (
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containernetworking/cni/pkg/types"
	types100 "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
)

func TestSelections(t *testing.T) {
	for _, c := range []struct{ name, in, want, err string }{
		{"none", " ", "null", ""},
		{"names", "storage, other/lan@net1", `["storage" "other/lan" on "net1"]`, ""},
		{"JSON", `[{"name": "lan", "namespace": "n", "interface": "x", "mac": "02:00:00:00:00:01", "ips": ["10.0.0.1/8", "fd00::1"]}]`, `["n/lan" on "x"]`, ""},
		{"a wish that is not known", `[{"name": "lan", "infiniband-guid": "x"}]`, "", `unknown field "infiniband-guid"`},
		{"two lists", `[] []`, "", "something follows"},
		{"no name", "@net1", "", `network 1: "" cannot be the name of a network`},
		{"a path", "../../lan", "", "cannot be the name"},
		{"a device of ours", "lan@vmseed-br0", "", `"vmseed-br0" cannot be the name of an interface`},
		{"loopback", "lan@lo", "", "cannot be the name of an interface"},
		{"a long interface", "lan@abcdefghijklmnop", "", "cannot be the name of an interface"},
		{"bad MAC", `[{"name": "lan", "mac": "02:00"}]`, "", "is no MAC of six octets"},
		{"bad address", `[{"name": "lan", "ips": ["10.0.0"]}]`, "", "is no address"},
		{"bad gateway", `[{"name": "lan", "default-route": ["x"]}]`, "", "unable to parse IP"},
		{"no gateway", `[{"name": "lan", "default-route": [""]}]`, "", "no address of a gateway"},
		{"the kernel's name for all interfaces", "lan@all", "", "cannot be the name of an interface"},
		{"too many", strings.Repeat("lan,", mostNetworks) + "lan", "", "32 networks are more than the 31"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := selections(c.in)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), NetworksAnnotation) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				return
			}
			var words []string
			for _, s := range got {
				word := `"` + s.label() + `"`
				if s.Interface != "" {
					word += ` on "` + s.Interface + `"`
				}
				words = append(words, word)
			}
			text := "[" + strings.Join(words, " ") + "]"
			if got == nil {
				text = "null"
			}
			if err != nil || text != c.want {
				t.Errorf("%s, %v; want %s", text, err, c.want)
			}
		})
	}
}

func TestBandwidth(t *testing.T) {
	got, err := Pod{Annotations: map[string]string{IngressAnnotation: "10M", EgressAnnotation: "1k"}}.bandwidth()
	want := map[string]any{"ingressRate": int64(10_000_000), "ingressBurst": burst, "egressRate": int64(1000), "egressBurst": burst}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	for _, bad := range []string{"", "fast", "999", "2P"} {
		if _, err := (Pod{Annotations: map[string]string{EgressAnnotation: bad}}).bandwidth(); err == nil || !strings.Contains(err.Error(), EgressAnnotation) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got, err := (Pod{}).bandwidth(); got != nil || err != nil {
		t.Errorf("without annotations: %v, %v", got, err)
	}
}

func TestResolution(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(file, []byte("# the node's\nnameserver 127.0.0.53\nnameserver 192.0.2.53\nnameserver fe80::1%eth0\nsearch old.example\nsearch example.com .\noptions rotate\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := Config{ResolvConf: file, ClusterDNS: []netip.Addr{netip.MustParseAddr("10.96.0.10")}, ClusterDomain: "cluster.local."}
	for _, c := range []struct {
		name string
		cfg  Config
		dns  DNS
		want types.DNS
	}{
		{"ClusterFirst", cluster, DNS{}, types.DNS{Nameservers: []string{"10.96.0.10"},
			Search: []string{"shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com"}}},
		{"dnsConfig adds and replaces", cluster, DNS{Policy: "ClusterFirst", Servers: []string{"10.96.0.10", "192.0.2.1"}, Search: []string{"a.example"}, Options: []string{"ndots:2", "edns0"}},
			types.DNS{Nameservers: []string{"10.96.0.10", "192.0.2.1"}, Search: []string{"shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.com", "a.example"},
				Options: []string{"ndots:2", "edns0"}}},
		{"Default", cluster, DNS{Policy: "Default"}, types.DNS{Nameservers: []string{"192.0.2.53"}, Search: []string{"example.com"}}},
		{"no cluster DNS", Config{ResolvConf: file}, DNS{Policy: "ClusterFirst"}, types.DNS{Nameservers: []string{"192.0.2.53"}, Search: []string{"example.com"}}},
		{"None", cluster, DNS{Policy: "None", Servers: []string{"192.0.2.9"}}, types.DNS{Nameservers: []string{"192.0.2.9"}}},
		{"nothing", Config{ResolvConf: filepath.Join(dir, "missing")}, DNS{}, types.DNS{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if d := cmp.Diff(c.want, c.cfg.resolution(Pod{Namespace: "shop", DNS: c.dns})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFromPod(t *testing.T) {
	value := "2"
	got := FromPod(&corev1.Pod{Spec: corev1.PodSpec{HostNetwork: true, DNSPolicy: corev1.DNSNone,
		DNSConfig: &corev1.PodDNSConfig{Options: []corev1.PodDNSConfigOption{{Name: "ndots", Value: &value}, {Name: "edns0"}}},
		Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{ContainerPort: 80}, {ContainerPort: 22, HostPort: 2222, HostIP: "192.0.2.1"},
			{ContainerPort: 53, HostPort: 53, Protocol: corev1.ProtocolUDP, HostIP: "0.0.0.0"}}}}}})
	if !got.HostNetwork || len(got.DNS.Options) != 2 || got.DNS.Options[0] != "ndots:2" || got.DNS.Options[1] != "edns0" {
		t.Errorf("%+v", got)
	}
	want := []map[string]any{{"hostPort": 2222, "containerPort": 22, "protocol": "tcp", "hostIP": "192.0.2.1"}, {"hostPort": 53, "containerPort": 53, "protocol": "udp"}}
	if d := cmp.Diff(want, got.portMappings()); d != "" {
		t.Error(d)
	}
}

func TestDefinitions(t *testing.T) {
	dir := t.TempDir()
	if _, err := cluster(dir); !errors.Is(err, ErrNotConfigured) {
		t.Errorf("an empty directory: %v", err)
	}
	for name, text := range map[string]string{
		"05-broken.conflist": `{"name": `,
		"10-one.conf":        `{"cniVersion": "0.4.0", "name": "one", "type": "ptp", "capabilities": {"ips": true}}`,
		"20-two.conflist":    `{"cniVersion": "1.0.0", "name": "two", "vmseed.dev/namespaces": ["a"], "plugins": [{"type": "bridge"}, {"type": "portmap", "capabilities": {"portMappings": true}}]}`,
		"30-notes.txt":       `none`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cluster(dir); err == nil || errors.Is(err, ErrNotConfigured) || !strings.Contains(err.Error(), "05-broken.conflist") {
		t.Errorf("a first file that is no configuration: %v", err)
	}
	if err := os.Rename(filepath.Join(dir, "05-broken.conflist"), filepath.Join(dir, "15-broken.conflist")); err != nil {
		t.Fatal(err)
	}
	first, err := cluster(dir)
	if err != nil || first.list.Name != "one" || first.list.CNIVersion != "0.4.0" || !declares(first.list, "ips") || declares(first.list, "mac") {
		t.Fatalf("%+v, %v", first, err)
	}
	if d, err := find(dir, selection{Name: "two"}, "a"); err != nil || len(d.list.Plugins) != 2 || !declares(d.list, "portMappings") {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := find(dir, selection{Name: "two"}, "b"); err == nil || !strings.Contains(err.Error(), "20-two.conflist") {
		t.Errorf("a namespace that is not listed: %v", err)
	}
	if _, err := find(dir, selection{Name: "three"}, "a"); err == nil || !strings.Contains(err.Error(), "there are: one, two") || !strings.Contains(err.Error(), "15-broken.conflist") {
		t.Errorf("a network that there is not: %v", err)
	}
	text, err := inline(first.list)
	if err != nil || !strings.Contains(string(text), `"type":"ptp"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func cidr(text string) net.IPNet { return ipnet(netip.MustParsePrefix(text)) }

func TestComplete(t *testing.T) {
	eth := link{Name: "virtlet-eth0", MAC: "0a:00:00:00:00:01", MTU: 1450, Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.0.5/24")}}
	gw := hop{To: netip.MustParsePrefix("0.0.0.0/0"), Via: netip.MustParseAddr("10.1.0.1")}
	zero, one := 0, 1
	for _, c := range []struct {
		name  string
		in    types100.Result
		links []link
		want  string
	}{
		{"everything from the link", types100.Result{}, []link{{Name: eth.Name, MAC: eth.MAC, MTU: 1450, Addrs: eth.Addrs, Routes: []hop{gw}}},
			`{"cniVersion":"1.1.0","interfaces":[{"name":"virtlet-eth0","mac":"0a:00:00:00:00:01","mtu":1450,"sandbox":"/ns"}],"ips":[{"interface":0,"address":"10.1.0.5/24"}],"routes":[{"dst":"0.0.0.0/0","gw":"10.1.0.1"}]}`},
		{"the result's word where it has one", types100.Result{Interfaces: []*types100.Interface{{Name: "host0"}, {Name: "virtlet-eth0", Sandbox: "/ns", Mac: "ff"}},
			IPs: []*types100.IPConfig{{Interface: &one, Address: cidr("10.1.0.5/24"), Gateway: net.ParseIP("10.1.0.1")}, {Interface: &zero, Address: cidr("10.9.0.1/24")}}, Routes: []*types.Route{{Dst: cidr("0.0.0.0/0")}}},
			[]link{{Name: eth.Name, MAC: eth.MAC, MTU: 1450, Addrs: eth.Addrs, Routes: []hop{gw}}},
			`{"cniVersion":"1.1.0","interfaces":[{"name":"virtlet-eth0","mac":"0a:00:00:00:00:01","mtu":1450,"sandbox":"/ns"}],"ips":[{"interface":0,"address":"10.1.0.5/24","gateway":"10.1.0.1"}],"routes":[{"dst":"0.0.0.0/0"}]}`},
		{"an address that names no interface, and an interface that nobody reports", types100.Result{IPs: []*types100.IPConfig{{Address: cidr("10.1.0.5/24")}}},
			[]link{{Name: "net1", MAC: "0a:00:00:00:00:02", MTU: 1500, Addrs: []netip.Prefix{netip.MustParsePrefix("10.2.0.5/24")}}, eth},
			`{"cniVersion":"1.1.0","interfaces":[{"name":"net1","mac":"0a:00:00:00:00:02","mtu":1500,"sandbox":"/ns"},{"name":"virtlet-eth0","mac":"0a:00:00:00:00:01","mtu":1450,"sandbox":"/ns"}],"ips":[{"interface":0,"address":"10.2.0.5/24"},{"interface":1,"address":"10.1.0.5/24"}]}`},
		{"a network that is not on the link", types100.Result{IPs: []*types100.IPConfig{{Address: cidr("10.1.0.5/24"), Gateway: net.ParseIP("10.1.0.1")}}, Routes: []*types.Route{{Dst: cidr("192.0.2.0/24")}}},
			[]link{{Name: eth.Name, MAC: eth.MAC, MTU: 1500, Addrs: eth.Addrs, Routes: []hop{{To: netip.MustParsePrefix("10.1.0.0/24"), Via: netip.MustParseAddr("10.1.0.1")}}}},
			`{"cniVersion":"1.1.0","interfaces":[{"name":"virtlet-eth0","mac":"0a:00:00:00:00:01","mtu":1500,"sandbox":"/ns"}],"ips":[{"interface":0,"address":"10.1.0.5/32","gateway":"10.1.0.1"}],"routes":[{"dst":"10.1.0.0/24","gw":"10.1.0.1"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, _ := complete(&c.in, "/ns", c.links)
			text, err := json.Marshal(out)
			var got, want any
			if err := errors.Join(err, json.Unmarshal(text, &got), json.Unmarshal([]byte(c.want), &want)); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestTakeDefault(t *testing.T) {
	zero := cidr("0.0.0.0/0")
	all := []*types100.Result{{Routes: []*types.Route{{Dst: zero, GW: net.ParseIP("10.1.0.1")}, {Dst: cidr("::/0")}}},
		{IPs: []*types100.IPConfig{{Address: cidr("10.2.0.5/24")}}}}
	if err := takeDefault(all, 1, []netip.Addr{netip.MustParseAddr("10.2.0.1")}); err != nil {
		t.Fatal(err)
	}
	if len(all[0].Routes) != 1 || len(all[1].Routes) != 1 || all[1].Routes[0].GW.String() != "10.2.0.1" {
		t.Errorf("%v and %v", all[0].Routes, all[1].Routes)
	}
	if err := takeDefault(all, 1, []netip.Addr{netip.MustParseAddr("fd00::1")}); err == nil || !strings.Contains(err.Error(), "fd00::1") {
		t.Errorf("a gateway of a family without an address: %v", err)
	}
}

func TestArrange(t *testing.T) {
	results := `[{"interfaces": [{"name": "virtlet-eth0"}]}, {"interfaces": [{"name": "virtlet-eth1"}]}, {"interfaces": [{"name": "virtlet-eth2"}]}]`
	a := Attachment{Netns: "/ns", Results: []byte(results), Networks: []string{"", "shop/san", "lan"},
		Taps: []hypervisor.Tap{{NIC: "virtlet-eth0", Device: "t0"}, {NIC: "virtlet-eth1", Device: "t1"}, {NIC: "virtlet-eth2", Device: "t2"}}}
	nics := func(n ...machine.NIC) machine.Machine { return machine.Machine{Network: machine.Network{NICs: n}} }
	for _, c := range []struct {
		name       string
		m          machine.Machine
		want, plug string
	}{
		{"no NICs", nics(), results, "virtlet-eth0=t0 virtlet-eth1=t1 virtlet-eth2=t2"},
		{"another order, one left out", nics(machine.NIC{Name: "storage", Network: "san"}, machine.NIC{Name: "bond", Kind: "bond"}, machine.NIC{Name: "default"}),
			`[{"interfaces":[{"name":"virtlet-eth1"}]},{"interfaces":[{"name":"virtlet-eth0"}]}]`, "storage=t1 default=t0"},
		{"a name that is not the pod's", nics(machine.NIC{Name: "x", Network: "br0"}), `[{"interfaces":[{"name":"virtlet-eth0"}]}]`, "x=t0"},
		{"two for one", nics(machine.NIC{Name: "x"}, machine.NIC{Name: "y"}), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := a.Arrange(c.m)
			if (err != nil) != (c.want == "") {
				t.Fatal(err)
			}
			if err != nil {
				return
			}
			if d := cmp.Diff(c.want, string(got.Results)); d != "" {
				t.Error(d)
			}
			if len(c.m.Network.NICs) == 0 { // which Place makes of the results
				c.m = nics(machine.NIC{Name: "virtlet-eth0"}, machine.NIC{Name: "virtlet-eth1"}, machine.NIC{Name: "virtlet-eth2"})
			}
			taps, err := got.For(c.m)
			var plug []string
			for _, tap := range taps {
				plug = append(plug, tap.NIC+"="+tap.Device)
			}
			if err != nil || strings.Join(plug, " ") != c.plug {
				t.Errorf("%v, %v; want %s", plug, err, c.plug)
			}
		})
	}
	if _, err := a.For(nics(machine.NIC{Name: "x"})); err == nil {
		t.Error("three taps fit one NIC")
	}
}

//go:build conformance

package netconfig

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/judge"
)

// TestTheJudgeNotices gives the comparison products with one fault each, which it must find: otherwise the other tests
// here would prove nothing.
func TestTheJudgeNotices(t *testing.T) {
	c := one(static4)
	good, _ := EncodeV1(c)
	faults := map[string][2]string{
		"- eth0 address 10.1.0.4/24":            {"10.1.0.4/24", "10.1.0.4/16"},
		"- eth0 route 0.0.0.0/0 via 10.1.0.1":   {"    gateway: \"10.1.0.1\"\n", ""},
		"- dns 10.1.0.53":                       {"10.1.0.53", "10.1.0.54"},
		"- search example.org":                  {"example.org", "example.net"},
		"- eth0 mac 52:54:00:aa:00:00":          {"52:54:00:aa:00:00", "52:54:00:aa:00:99"},
		"+ eth0 dhcp4":                          {"subnets:\n", "subnets:\n  - type: dhcp4\n"},
		"+ eth0 route 10.9.0.0/16 via 10.1.0.7": {"    dns_search:", "    routes: [{network: 10.9.0.0/16, gateway: 10.1.0.7}]\n    dns_search:"},
	}
	release := judge.Newest(t)
	for _, want := range slices.Sorted(maps.Keys(faults)) {
		bad := strings.Replace(string(good), faults[want][0], faults[want][1], 1)
		if bad == string(good) {
			t.Fatalf("the fault for %q does not apply:\n%s", want, good)
		}
		var docs []judge.NetDoc
		for _, r := range judge.Renderers() {
			docs = append(docs, judge.NetDoc{Doc: []byte(bad), Kind: judge.NetYAML, Renderer: r})
		}
		for i, got := range release.NetRender(t, docs...) {
			diff := differences(wantedFacts(c, docs[i].Renderer), factsOf(t, docs[i].Renderer, got.Files))
			if !slices.Contains(diff, want) {
				t.Errorf("%s did not notice %q: %v", docs[i].Renderer, want, diff)
			}
		}
	}
}

// TestInterfacesText has cloud-init read our interfaces(5) text, as it does with NoCloud's key network-interfaces, and
// render it again: what the encoder did not warn of must be in the guest's files.
func TestInterfacesText(t *testing.T) {
	var what []judged
	var docs []judge.NetDoc
	for _, m := range models() {
		data, list := EncodeENI(m.config)
		if list.Max() >= diag.Warning {
			continue
		}
		for _, r := range judge.Renderers() {
			what = append(what, judged{m, ENI, r})
			docs = append(docs, judge.NetDoc{Doc: data, Kind: judge.NetENI, Renderer: r})
		}
	}
	if len(docs) < 20 {
		t.Fatalf("only %d documents", len(docs))
	}
	// NetworkManager has no word for "no address", and takes the method manual for DHCP.
	rules := append(lossRules(), lossRule{"", "", "network-manager", "unconfigured", `\+ eth1 dhcp4`, "as for a NIC without any file"})
	for _, release := range judge.Releases(t) {
		for i, got := range release.NetRender(t, docs...) {
			j := what[i]
			j.form = V1 // names are compulsory in both
			diff := slices.DeleteFunc(differences(wantedFacts(named(j), j.renderer), factsOf(t, j.renderer, got.Files)), func(fact string) bool {
				return slices.ContainsFunc(rules, func(k lossRule) bool { return k.matches(release.Name, j, fact) })
			})
			if got.Err != "" || len(diff) > 0 {
				t.Errorf("%s %s %s: %s\n%s\n%s", release.Name, j.renderer, j.model.name, got.Err, strings.Join(diff, "\n"), docs[i].Doc)
			}
		}
	}
}

// TestOVirtReaches has both releases render every model in oVirt's form for every kind of guest: the facts must be those
// of the model, as with EncodeOpenStack.
func TestOVirtReaches(t *testing.T) {
	what, docs := judgedModels(OpenStack)
	for i := range what {
		data, list := EncodeOVirt(what[i].model.config)
		if list.HasErrors() {
			t.Fatalf("%s: %v", what[i].model.name, list.Err())
		}
		docs[i].Doc = data
	}
	rules := lossRules()
	for _, release := range judge.Releases(t) {
		for i, got := range release.NetRender(t, docs...) {
			j := what[i]
			wrong := slices.DeleteFunc(differences(wantedFacts(named(j), j.renderer), factsOf(t, j.renderer, got.Files)), func(fact string) bool {
				return slices.ContainsFunc(rules, func(k lossRule) bool { return k.matches(release.Name, j, fact) })
			})
			if got.Err != "" || got.MissingNICs != "" || len(wrong) > 0 {
				t.Errorf("%s %s %s: %s %s\n%s\n%s", release.Name, j.renderer, j.model.name, got.Err, got.MissingNICs, strings.Join(wrong, "\n"), docs[i].Doc)
			}
		}
	}
}

// TestSchema asks the newer release's own schema: a guest would log what it says.
func TestSchema(t *testing.T) {
	release := judge.Newest(t)
	var names []string
	var docs [][]byte
	for _, m := range models() {
		for _, f := range []Format{V1, V2} {
			data, list := Encode(f, m.config)
			if slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return strings.Contains(d.Summary, "schema has no such key") }) {
				continue // the encoder said so
			}
			names = append(names, m.name+" "+string(f))
			docs = append(docs, data)
		}
	}
	for i, got := range release.Schema(t, judge.NetworkConfig, docs) {
		if !got.OK() || len(got.Deprecations) > 0 {
			t.Errorf("%s: %+v\n%s", names[i], got, docs[i])
		}
	}
}

// TestNetplanAccepts runs netplan's generator over version 2, and over what both releases make of version 1 and
// network_data.json for netplan.
func TestNetplanAccepts(t *testing.T) {
	for _, m := range models() {
		data, _ := EncodeV2(m.config)
		if got := judge.NetplanGenerate(t, append([]byte("network:\n"), indent(data)...)); got.Err != "" {
			t.Errorf("%s: %s\n%s", m.name, got.Err, data)
		} else {
			generated(t, m, got)
		}
	}
	what, docs := judgedModels(V1, OpenStack)
	for _, release := range judge.Releases(t) {
		var chosen []judged
		var asked []judge.NetDoc
		for i, d := range docs {
			if d.Renderer == judge.Netplan {
				chosen, asked = append(chosen, what[i]), append(asked, d)
			}
		}
		for i, r := range release.NetRender(t, asked...) {
			for name, text := range r.Files {
				if !strings.HasPrefix(name, "/etc/netplan/") {
					continue
				}
				if got := judge.NetplanGenerate(t, []byte(text)); got.Err != "" {
					t.Errorf("%s %s %s: %s\n%s", release.Name, chosen[i].form, chosen[i].model.name, got.Err, text)
				}
			}
		}
	}
}

// generated looks for the addresses and tags of a model in the files that netplan makes for systemd-networkd.
func generated(t *testing.T, m model, got judge.Rendering) {
	t.Helper()
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(got.Files)) {
		all.WriteString(got.Files[name])
	}
	for i := range m.config.Links {
		l := &m.config.Links[i]
		var want []string
		for _, p := range l.Addresses {
			want = append(want, "Address="+p.String())
		}
		for _, gw := range strs([]texter{l.Gateway4, l.Gateway6}) {
			if gw != "invalid IP" {
				want = append(want, "Gateway="+gw)
			}
		}
		for _, r := range l.Routes {
			want = append(want, "Destination="+r.To.String())
		}
		if l.VLAN != nil {
			want = append(want, fmt.Sprintf("Id=%d", l.VLAN.ID), "VLAN="+l.GuestName())
		}
		if l.MTU != 0 {
			want = append(want, fmt.Sprintf("MTUBytes=%d", l.MTU))
		}
		if l.Bond != nil {
			want = append(want, "Mode="+l.Bond.Mode, "Bond="+l.GuestName())
		}
		for _, w := range want {
			if !strings.Contains(all.String(), w+"\n") {
				t.Errorf("%s: no %q in what netplan generates:\n%s", m.name, w, all.String())
			}
		}
	}
}

func indent(data []byte) []byte {
	return regexp.MustCompile(`(?m)^`).ReplaceAll(data, []byte("  "))
}

// TestLintAgrees compares Lint's word on a document with what the releases do: where Lint says that a guest fails, one
// of the renderers must fail, and where a renderer fails, Lint must have said so.
func TestLintAgrees(t *testing.T) {
	renderers := []judge.Renderer{judge.ENI, judge.Sysconfig, judge.NetworkManager, judge.Networkd}
	versions := map[string]Release{"22.4": {22, 4}, "25.1": {25, 1}}
	nics := []judge.NIC{{Name: "eth0", MAC: "52:54:00:12:34:56"}, {Name: "lan0", MAC: "52:54:00:ab:00:01"}, {Name: "ens9", MAC: "52:54:00:ab:34:56"},
		{Name: "ens5", MAC: "52:54:00:aa:00:01"}, {Name: "ens6", MAC: "52:54:00:11:00:01"}, {Name: "ens7", MAC: "52:54:00:12:34:ab"}}
	var cases []lintCase
	var docs []judge.NetDoc
	for _, c := range lintCases() {
		kind := judge.NetYAML
		if c.name == "empty" {
			continue // the data source drops it before anything is rendered
		}
		switch Detect([]byte(c.doc)) {
		case Disabled, ENI:
			continue // nothing is rendered
		case OpenStack:
			kind = judge.NetJSON
		}
		cases = append(cases, c)
		for _, r := range renderers {
			docs = append(docs, judge.NetDoc{Doc: []byte(c.doc), Kind: kind, Renderer: r, NICs: nics})
		}
	}
	// What cloud-init lets pass although nobody can mean it.
	tolerated := map[string]string{
		"not a truth":                 "any text is true",
		"gateway of the other family": "it is written as it is",
		"dangling network":            "the network is dropped without a word",
	}
	needed := map[string]bool{}
	for _, release := range judge.Releases(t) {
		rendered := release.NetRender(t, docs...)
		for i, c := range cases {
			guest := versions[release.Name]
			list := Lint("f", []byte(c.doc), guest)
			failing := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == CodeGuestFails || d.Severity == diag.Error })
			var errors []string
			for n, r := range renderers {
				if got := rendered[i*len(renderers)+n]; got.Err != "" || got.MissingNICs != "" {
					errors = append(errors, fmt.Sprintf("%s: %s %s", r, got.Err, got.MissingNICs))
				}
			}
			_, lenient := tolerated[c.name]
			losing := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == CodeGuestLoses || d.Code == CodeGuestMisreads })
			if len(errors) > 0 && !failing {
				t.Errorf("%s, %s: Lint says %v, but cloud-init: %v", release.Name, c.name, list, errors)
			}
			if len(errors) == 0 && failing && !lenient && !losing {
				t.Errorf("%s, %s: Lint says %v, but cloud-init takes it", release.Name, c.name, list)
			}
			needed[c.name] = needed[c.name] || len(errors) == 0 && failing && !losing
		}
	}
	for name := range tolerated {
		if !needed[name] {
			t.Errorf("%s: cloud-init does not tolerate this any more", name)
		}
	}
}

// TestConvertedMeansTheSame renders a netplan document from NoCloud and its conversion from a ConfigDrive: the guest's
// files must state the same facts.
func TestConvertedMeansTheSame(t *testing.T) {
	const doc = `network:
  version: 2
  ethernets:
    lan:
      match: {macaddress: "52:54:00:aa:00:00"}
      set-name: eth0
      addresses: [10.1.0.4/24, "fd00:1::4/64"]
      gateway6: "fd00:1::1"
      mtu: 1400
      nameservers: {addresses: [10.1.0.53, "fd00:1::53"], search: [example.org]}
      routes:
      - {to: 0.0.0.0/0, via: 10.1.0.1}
      - {to: 10.8.0.0/16, via: 10.1.0.254}
    eth1:
      match: {macaddress: "52:54:00:aa:00:01"}
      set-name: eth1
      dhcp4: true
  vlans:
    eth0.7: {id: 7, link: lan, addresses: [10.7.0.4/24]}
`
	converted, list := ConvertForOpenStack("f", []byte(doc))
	if list.HasErrors() {
		t.Fatal(list)
	}
	nics := []judge.NIC{{Name: "eth0", MAC: "52:54:00:aa:00:00"}, {Name: "eth1", MAC: "52:54:00:aa:00:01"}}
	for _, release := range judge.Releases(t) {
		for _, r := range []judge.Renderer{judge.Netplan, judge.Networkd, judge.NetworkManager} {
			got := release.NetRender(t, judge.NetDoc{Doc: []byte(doc), Kind: judge.NetYAML, Renderer: r, NICs: nics},
				judge.NetDoc{Doc: converted, Kind: judge.NetJSON, Renderer: r, NICs: nics})
			want, have := factsOf(t, r, got[0].Files), factsOf(t, r, got[1].Files)
			for _, f := range []facts{want, have} {
				delete(f, "eth0.7 mac 52:54:00:aa:00:00") // the form demands it
				delete(f, "eth0.7 on lan")                // netplan's key
				delete(f, "eth0.7 on eth0")
				delete(f, "eth0 auto6") // 22.4 in NetworkManager's files
			}
			if diff := cmp.Diff(want, have); diff != "" || len(want) < 10 {
				t.Errorf("%s %s (-netplan +network_data):\n%s", release.Name, r, diff)
			}
		}
	}
}

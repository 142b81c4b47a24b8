package netconfig

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vmseed/vmseed/diag"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenFiles are the names of the forms below testdata/encode/<model>.
var goldenFiles = map[Format]string{V1: "v1.yaml", V2: "v2.yaml", OpenStack: "network_data.json", ENI: "interfaces"}

// TestEncodeGolden pins the products, with what the encoder says about each. A model that a form refuses has the
// diagnostics alone.
func TestEncodeGolden(t *testing.T) {
	for _, m := range models() {
		for _, f := range Formats() {
			data, list := Encode(f, m.config)
			for _, d := range list {
				data = append(data, "## "+d.Error()+"\n"...)
			}
			name := filepath.Join("testdata", "encode", m.name, goldenFiles[f])
			if *update {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(data)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	}
}

// canonical makes networks of different forms comparable: IDs differ between the forms, so links are numbered by their
// name in the guest, and places are dropped.
func canonical(c Config) Config {
	c = c.normal()
	number := map[string]string{}
	for i, l := range c.Links {
		number[l.ID] = fmt.Sprintf("link%d", i)
	}
	slices.SortStableFunc(c.Links, func(a, b Link) int { return strings.Compare(a.GuestName(), b.GuestName()) })
	for i, l := range c.Links {
		number[l.ID] = orElse(l.GuestName(), fmt.Sprintf("link%d", i))
	}
	for i := range c.Links {
		l := &c.Links[i]
		l.Name = l.GuestName()
		l.ID = number[l.ID]
		l.Place = diag.Range{}
		renumber(l, number)
	}
	return c
}

func renumber(l *Link, number map[string]string) {
	ids := func(list []string) []string {
		var out []string
		for _, id := range list {
			out = append(out, number[id])
		}
		return out
	}
	switch {
	case l.Bond != nil:
		b := *l.Bond
		b.Links = ids(b.Links)
		b.Params = renumberParams(b.Params, bondParams, number)
		l.Bond = &b
	case l.Bridge != nil:
		b := *l.Bridge
		b.Links = ids(b.Links)
		b.Params = renumberParams(b.Params, bridgeParams, number)
		l.Bridge = &b
	case l.VLAN != nil:
		v := *l.VLAN
		v.Parent = number[v.Parent]
		l.VLAN = &v
	}
}

func renumberParams(params map[string]string, table map[string]param, number map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range params {
		switch table[name].value {
		case device:
			value = number[value]
		case perPort:
			var list []string
			for _, item := range items(value) {
				id, n, _ := portItem(item)
				list = append(list, fmt.Sprintf("%s=%d", number[id], n))
			}
			value = strings.Join(list, ",")
		}
		out[name] = value
	}
	return out
}

var compareConfigs = cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}

// TestRoundTrip reads back what is written without a word of loss: it must be the same network.
func TestRoundTrip(t *testing.T) {
	compared := 0
	for _, m := range models() {
		for _, f := range []Format{V1, V2, OpenStack} {
			data, list := Encode(f, m.config)
			if list.HasErrors() || slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == CodeInexpressible }) {
				continue
			}
			got, form, list := Parse("f", data)
			if form != f || len(list) > 0 {
				t.Errorf("%s as %s: read as %q with %v", m.name, f, form, list)
				continue
			}
			want := m.config
			if f == OpenStack {
				want = impliedRA(want)
			}
			if f == V2 {
				want = spreadDNS(want)
			}
			if f == V1 && m.name == "unnamed" {
				want = one(func(l *Link) { l.Name = l.ID; static4(l) }) // the encoder said so
			}
			if f == V2 && m.name == "dhcp6-stateless" {
				want.Links[0].DHCP6, want.Links[0].AcceptRA = Stateful, On // the encoder said so
			}
			if diff := cmp.Diff(canonical(want), canonical(got), compareConfigs); diff != "" {
				t.Errorf("%s as %s (-want +got):\n%s\n%s", m.name, f, diff, data)
			}
			compared++
		}
	}
	if compared < 50 {
		t.Errorf("only %d products were compared", compared)
	}
}

// impliedRA writes out what cloud-init derives from the kinds of networks in network_data.json.
func impliedRA(c Config) Config {
	c.Links = slices.Clone(c.Links)
	for i := range c.Links {
		switch l := &c.Links[i]; {
		case l.DHCP6 == Stateful:
			l.AcceptRA = On
		case l.has(netip.IPv6Unspecified()) && !l.SLAAC && l.DHCP6 == NoDHCP6:
			l.AcceptRA = Off
		}
	}
	return c
}

// spreadDNS gives the guest's resolvers to its links, as version 2 has no place for them elsewhere.
func spreadDNS(c Config) Config {
	c.Links = slices.Clone(c.Links)
	for i := range c.Links {
		if !noSubnet(&c, &c.Links[i]) {
			c.Links[i].DNS = c.dnsOf(&c.Links[i])
		}
	}
	c.DNS = DNS{}
	return c
}

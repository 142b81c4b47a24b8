package netconfig

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
)

// fieldCase sets one field of the model and finds it again in what was read back.
type fieldCase struct {
	field Field
	// also are further names of struct fields that the case sets.
	also   []string
	config Config
	get    func(c Config) any
}

// target is the link that the cases change: the last one.
func target(c Config) *Link {
	if len(c.Links) == 0 {
		return &Link{}
	}
	return &c.Links[len(c.Links)-1]
}

func bondWith(change func(b *BondSpec)) Config {
	b := &BondSpec{Links: []string{"nic0"}}
	change(b)
	return Config{Links: []Link{nic("0", nil), {ID: "bond0", Kind: Bond, Bond: b}}}
}

func fieldCases() []fieldCase {
	static := func(change func(l *Link)) Config {
		return one(func(l *Link) { l.Addresses = prefixes("10.1.0.4/24"); change(l) })
	}
	dhcp := func(change func(l *Link)) Config {
		return one(func(l *Link) { l.DHCP4, l.DHCP6 = true, Stateful; change(l) })
	}
	bridge := Config{Links: []Link{nic("0", nil), {ID: "br0", Kind: Bridge, Bridge: &BridgeSpec{Links: []string{"nic0"}, Params: map[string]string{"priority": "7"}}}}}
	vlan := Config{Links: []Link{nic("0", nil), {ID: "eth0.5", Name: "eth0.5", Kind: VLAN, VLAN: &VLANSpec{Parent: "nic0", ID: 5}}}}
	return []fieldCase{
		{"Disabled", nil, Config{Disabled: true}, func(c Config) any { return c.Disabled }},
		{"DNS", []string{"DNS.Servers", "DNS.Search"}, Config{DNS: DNS{Servers: addrs("9.9.9.9"), Search: []string{"example.org"}}, Links: static(func(*Link) {}).Links},
			func(c Config) any { return c.dnsOf(target(c)) }},
		{"name", nil, one(func(l *Link) { l.Name = "lan3" }), func(c Config) any { return target(c).Name }},
		{"name", nil, Config{Links: []Link{nic("0", nil), {ID: "v", Kind: VLAN, Name: "uplink", VLAN: &VLANSpec{Parent: "nic0", ID: 5}}}},
			func(c Config) any { return target(c).Name }},
		{"mac", nil, one(func(l *Link) { l.MAC = "52:54:00:ff:ee:dd" }), func(c Config) any { return target(c).MAC }},
		{"mtu", nil, one(func(l *Link) { l.MTU = 1400 }), func(c Config) any { return target(c).MTU }},
		{"optional", nil, one(func(l *Link) { l.Optional = true }), func(c Config) any { return target(c).Optional }},
		{"manual", nil, one(func(l *Link) { l.Manual = true }), func(c Config) any { return target(c).Manual }},
		{"addresses", nil, one(func(l *Link) { l.Addresses = prefixes("10.1.0.4/24", "fd00::4/48") }), func(c Config) any { return strs(target(c).Addresses) }},
		{"dhcp4", nil, one(func(l *Link) { l.DHCP4 = true }), func(c Config) any { return target(c).DHCP4 }},
		{"dhcp6", nil, one(func(l *Link) { l.DHCP6 = Stateful }), func(c Config) any { return target(c).DHCP6 }},
		{"dhcp6", nil, one(func(l *Link) { l.DHCP6 = Stateless }), func(c Config) any { return target(c).DHCP6 }},
		{"slaac", nil, one(func(l *Link) { l.SLAAC = true }), func(c Config) any { return target(c).SLAAC }},
		{"acceptRA", nil, static(func(l *Link) { l.AcceptRA = Off }), func(c Config) any { return target(c).AcceptRA }},
		{"acceptRA", nil, dhcp(func(l *Link) { l.AcceptRA = On }), func(c Config) any { return target(c).AcceptRA }},
		{"gateway4", nil, static(func(l *Link) { l.Gateway4 = netip.MustParseAddr("10.1.0.9") }), func(c Config) any { return target(c).Gateway4.String() }},
		{"gateway6", nil, one(func(l *Link) { l.Addresses, l.Gateway6 = prefixes("fd00::4/48"), netip.MustParseAddr("fd00::1") }),
			func(c Config) any { return target(c).Gateway6.String() }},
		{"routes", []string{"Routes.To", "Routes.Via"}, static(func(l *Link) { l.Routes = []Route{route("10.9.0.0/16", "10.1.0.9", 0)} }), func(c Config) any {
			var out []string
			for _, r := range target(c).Routes {
				out = append(out, r.To.String()+" "+r.Via.String())
			}
			return out
		}},
		{"routes.metric", nil, static(func(l *Link) { l.Routes = []Route{route("10.9.0.0/16", "10.1.0.9", 44)} }), func(c Config) any {
			return append(target(c).Routes, Route{})[0].Metric
		}},
		{"routes.onLink", nil, static(func(l *Link) {
			l.Routes = []Route{{To: netip.MustParsePrefix("10.9.0.0/16"), Via: netip.MustParseAddr("10.7.0.9"), OnLink: true}}
		}), func(c Config) any { return append(target(c).Routes, Route{})[0].OnLink }},
		{"dns.servers", nil, static(func(l *Link) { l.DNS.Servers = addrs("9.9.9.9", "9.9.9.10") }), func(c Config) any { return strs(c.dnsOf(target(c)).Servers) }},
		{"dns.family", nil, static(func(l *Link) { l.DNS.Servers = addrs("fd00::53") }), func(c Config) any { return strs(c.dnsOf(target(c)).Servers) }},
		{"dns.search", nil, static(func(l *Link) { l.DNS.Search = []string{"a.example", "b.example"} }), func(c Config) any { return c.dnsOf(target(c)).Search }},
		{"dhcp4Overrides.routeMetric", nil, dhcp(func(l *Link) { l.DHCP4Overrides.RouteMetric = 300 }), func(c Config) any { return target(c).DHCP4Overrides.RouteMetric }},
		{"dhcp6Overrides.routeMetric", nil, dhcp(func(l *Link) { l.DHCP6Overrides.RouteMetric = 300 }), func(c Config) any { return target(c).DHCP6Overrides.RouteMetric }},
		{"dhcp4Overrides.useDNS", nil, dhcp(func(l *Link) { l.DHCP4Overrides.UseDNS = Off }), func(c Config) any { return target(c).DHCP4Overrides.UseDNS }},
		{"dhcp6Overrides.useDNS", nil, dhcp(func(l *Link) { l.DHCP6Overrides.UseDNS = Off }), func(c Config) any { return target(c).DHCP6Overrides.UseDNS }},
		{"dhcp4Overrides.useRoutes", nil, dhcp(func(l *Link) { l.DHCP4Overrides.UseRoutes = Off }), func(c Config) any { return target(c).DHCP4Overrides.UseRoutes }},
		{"dhcp6Overrides.useRoutes", nil, dhcp(func(l *Link) { l.DHCP6Overrides.UseRoutes = Off }), func(c Config) any { return target(c).DHCP6Overrides.UseRoutes }},
		{"bond", []string{"Bond.Links"}, bondWith(func(*BondSpec) {}), func(c Config) any { return target(c).Kind }},
		{"bond.mode", nil, bondWith(func(b *BondSpec) { b.Mode = "802.3ad" }), func(c Config) any {
			if target(c).Bond == nil {
				return ""
			}
			return target(c).Bond.Mode
		}},
		{"bond.params", nil, bondWith(func(b *BondSpec) {
			b.Params = map[string]string{"min-links": "1", "arp-ip-targets": "10.0.0.1,10.0.0.2"}
		}),
			func(c Config) any {
				if target(c).Bond == nil {
					return nil
				}
				return target(c).Bond.Params
			}},
		{"bridge", []string{"Bridge.Links"}, bridge, func(c Config) any { return target(c).Kind }},
		{"bridge.params", nil, bridge, func(c Config) any {
			if target(c).Bridge == nil {
				return nil
			}
			return target(c).Bridge.Params
		}},
		{"members", nil, bridge, func(c Config) any { return len(target(c).members()) }},
		{"vlan", []string{"VLAN.Parent", "VLAN.ID"}, vlan, func(c Config) any {
			if target(c).VLAN == nil {
				return nil
			}
			return target(c).VLAN.ID
		}},
	}
}

// TestNoSilentLoss sets every field in turn and writes it in every form: its value must be there when the product is
// read back, or a diagnostic must name link and field. A field of which the table says "fully" must be there.
func TestNoSilentLoss(t *testing.T) {
	for _, fc := range fieldCases() {
		if l := fc.config.Validate(); l.HasErrors() {
			t.Fatalf("%s: %v", fc.field, l)
		}
		for _, f := range Formats() {
			data, list := Encode(f, fc.config)
			if list.HasErrors() && Expresses(f)[Field(target(fc.config).Kind)] == No {
				continue // the whole link is refused
			}
			named := slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
				return d.Field == string(fc.field) || strings.HasSuffix(d.Field, "."+string(fc.field)) && strings.HasPrefix(d.Field, "links["+target(fc.config).ID+"]")
			})
			kept := false
			switch {
			case data == nil:
			case f == ENI:
				kept = inInterfaces(string(data), fc)
			default:
				got, _, readList := Parse("f", data)
				if readList.HasErrors() {
					t.Errorf("%s in %s: what was written is not read: %v\n%s", fc.field, f, readList, data)
				}
				kept = cmp.Equal(fc.get(fc.config.normal()), fc.get(got), compareConfigs)
			}
			if !kept && !named {
				t.Errorf("%s in %s: lost without a word: %v\n%s", fc.field, f, list, data)
			}
			if support := Expresses(f)[fc.field]; support == Fully && (!kept || named) {
				t.Errorf("%s in %s: fully expressed says the table; found: %v, named: %v", fc.field, f, kept, named)
			} else if support == No && kept && !named {
				t.Errorf("%s in %s: not expressed says the table, but it is there", fc.field, f)
			}
		}
	}
}

// inInterfaces looks for the words a field has in interfaces(5) text.
func inInterfaces(text string, fc fieldCase) bool {
	l := target(fc.config)
	var words []string
	switch fc.field {
	case "DNS":
		words = []string{"dns-nameservers " + strings.Join(strs(fc.config.DNS.Servers), " ")}
	case "name":
		words = []string{"iface " + l.Name + " "}
	case "mac":
		words = []string{"hwaddress ether " + l.MAC}
	case "mtu":
		words = []string{"mtu 1400"}
	case "addresses":
		words = []string{"address 10.1.0.4\n    netmask 255.255.255.0\n", "inet6 static\n    address fd00::4\n    netmask 48\n"}
	case "dhcp4":
		words = []string{"inet dhcp"}
	case "gateway4":
		words = []string{"gateway " + l.Gateway4.String()}
	case "gateway6":
		words = []string{"gateway " + l.Gateway6.String()}
	case "routes":
		words = []string{"route add 10.9.0.0/16 via 10.1.0.9"}
	case "routes.metric":
		words = []string{"metric 44"}
	case "routes.onLink":
		words = []string{"onlink"}
	case "dns.servers", "dns.family":
		words = []string{"dns-nameservers " + strings.Join(strs(l.DNS.Servers), " ")}
	case "dns.search":
		words = []string{"dns-search " + strings.Join(l.DNS.Search, " ")}
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return len(words) > 0
}

// TestEveryFieldHasACase walks the types, so that a new field cannot be forgotten in the table or in the cases.
func TestEveryFieldHasACase(t *testing.T) {
	covered := map[string]bool{"Links": true, "ID": true, "Kind": true, "Place": true, "RoutersChecked": true}
	for _, fc := range fieldCases() {
		covered[strings.ToLower(string(fc.field))] = true
		for _, name := range fc.also {
			covered[strings.ToLower(name)] = true
		}
	}
	var walk func(typ reflect.Type, prefix string)
	walk = func(typ reflect.Type, prefix string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		leaf := typ.Kind() != reflect.Struct || typ == reflect.TypeFor[netip.Addr]() || typ == reflect.TypeFor[netip.Prefix]()
		if leaf {
			if !covered[strings.ToLower(prefix)] {
				t.Errorf("no case sets %s", prefix)
			}
			return
		}
		for i := range typ.NumField() {
			name := strings.TrimPrefix(prefix+"."+typ.Field(i).Name, ".")
			if covered[name] {
				continue
			}
			walk(typ.Field(i).Type, name)
		}
	}
	walk(reflect.TypeFor[Config](), "")
	walk(reflect.TypeFor[Link](), "")

	rows := Expresses(V1)
	for _, fc := range fieldCases() {
		if _, ok := rows[fc.field]; !ok {
			t.Errorf("the table has no row %s", fc.field)
		}
	}
	for field := range rows {
		if !slices.ContainsFunc(fieldCases(), func(fc fieldCase) bool { return fc.field == field }) {
			t.Errorf("no case for row %s", field)
		}
	}
}

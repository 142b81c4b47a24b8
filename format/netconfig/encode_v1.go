package netconfig

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// subnet is an entry of v1's subnets, of interfaces(5) stanzas and of network_data.json's networks: one way in which a
// link gets an address of one family.
type subnet struct {
	v4      bool
	kind    subnetKind
	prefix  netip.Prefix // of a fixed subnet
	gateway netip.Addr
	routes  []Route
	dns     DNS
	metric  int
}

type subnetKind uint8

const (
	manual subnetKind = iota
	fixed
	dynamic // DHCPv4, or stateful DHCPv6
	dhcp6Stateless
	slaac
)

// subnets spreads a link over subnets: routers, routes and resolvers go to the first subnet they fit. The resolvers of
// the whole guest are repeated on each link, since some renderers look nowhere else.
func (c *Config) subnets(l *Link) []subnet {
	var out []subnet
	if l.DHCP4 {
		out = append(out, subnet{v4: true, kind: dynamic, metric: l.DHCP4Overrides.RouteMetric})
	}
	for _, p := range l.Addresses {
		out = append(out, subnet{v4: p.Addr().Is4(), kind: fixed, prefix: p})
	}
	switch l.DHCP6 {
	case Stateful:
		out = append(out, subnet{kind: dynamic, metric: l.DHCP6Overrides.RouteMetric})
	case Stateless:
		out = append(out, subnet{kind: dhcp6Stateless, metric: l.DHCP6Overrides.RouteMetric})
	}
	if l.SLAAC && l.DHCP6 == NoDHCP6 {
		out = append(out, subnet{kind: slaac})
	}
	if len(out) == 0 && (len(l.Routes) > 0 || !l.DNS.IsZero()) {
		out = append(out, subnet{v4: true})
	}
	if len(out) == 0 {
		return nil
	}
	for _, gw := range []netip.Addr{l.Gateway4, l.Gateway6} {
		if gw.IsValid() {
			out[home(out, gw, true)].gateway = gw
		}
	}
	for _, r := range l.Routes {
		s := &out[home(out, r.Via, false)]
		s.routes = append(s.routes, r)
	}
	carrier := max(0, slices.IndexFunc(out, func(s subnet) bool { return s.kind == fixed }))
	out[carrier].dns = c.dnsOf(l)
	return out
}

// home finds the subnet for a router: the fixed one that covers it, else a fixed one of its family, else any of its
// family, else the first.
func home(list []subnet, via netip.Addr, onlyFixed bool) int {
	tests := []func(s subnet) bool{
		func(s subnet) bool { return s.kind == fixed && s.prefix.Masked().Contains(via) },
		func(s subnet) bool { return s.kind == fixed && s.v4 == via.Is4() },
		func(s subnet) bool { return !onlyFixed && s.v4 == via.Is4() },
	}
	for _, test := range tests {
		if i := slices.IndexFunc(list, test); i >= 0 {
			return i
		}
	}
	return 0
}

func encodeV1(c *Config) ([]byte, diag.List, error) {
	if c.Disabled {
		return disabled()
	}
	var list diag.List
	names := map[string]string{}
	for i := range c.Links {
		names[c.Links[i].ID] = wanted(c, &c.Links[i], &list, V1)
	}
	var items []*yaml.Node
	for _, l := range c.ordered() {
		items = append(items, c.v1Link(l, names).node)
	}
	if !c.DNS.IsZero() {
		item := newObject().word("type", "nameserver")
		// Without an address cloud-init skips the item, and the search list with it.
		item.add("address", texts(strs(c.DNS.Servers)))
		items = append(items, item.texts("search", c.DNS.Search).node)
	}
	data, err := newObject().number("version", 1).add("config", sequence(items...)).dump()
	return data, list, err
}

func (c *Config) v1Link(l *Link, names map[string]string) object {
	o := newObject().word("type", string(l.Kind)).text("name", names[l.ID]).text("mac_address", l.MAC)
	members := make([]string, len(l.members()))
	for i, id := range l.members() {
		members[i] = names[id]
	}
	switch l.Kind {
	case Bond:
		o.add("bond_interfaces", texts(members)).always("params", v1Params(l, names, "bond-"))
	case Bridge:
		o.add("bridge_interfaces", texts(members)).always("params", v1Params(l, names, "bridge_"))
	case VLAN:
		o.text("vlan_link", members[0]).add("vlan_id", numberNode(l.VLAN.ID))
	}
	o.number("mtu", l.MTU).toggle("accept-ra", l.AcceptRA)
	var subnets []*yaml.Node
	for _, s := range c.subnets(l) {
		subnets = append(subnets, s.v1().node)
	}
	return o.list("subnets", subnets)
}

// v1Type is the name of the subnet's type in version 1.
func (s subnet) v1Type() string {
	switch s.kind {
	case fixed:
		if s.v4 {
			return "static"
		}
		return "static6"
	case dynamic:
		if s.v4 {
			return "dhcp4"
		}
		// The newer word ipv6_dhcpv6-stateful switches DHCPv4 on in 22.4's sysconfig files and is lost by networkd.
		return "dhcp6"
	case dhcp6Stateless:
		return "ipv6_dhcpv6-stateless"
	case slaac:
		return "ipv6_slaac"
	}
	return "manual"
}

func (s subnet) v1() object {
	o := newObject().word("type", s.v1Type())
	if s.kind == fixed {
		o.text("address", s.prefix.String())
	}
	if s.gateway.IsValid() {
		o.text("gateway", s.gateway.String())
	}
	o.number("metric", s.metric).texts("dns_nameservers", strs(s.dns.Servers)).texts("dns_search", s.dns.Search)
	var routes []*yaml.Node
	for _, r := range s.routes {
		routes = append(routes, newObject().text("network", r.To.String()).text("gateway", r.Via.String()).number("metric", r.Metric).node)
	}
	return o.list("routes", routes)
}

// v1Params writes parameters in v1's spelling, with the value types of its schema.
func v1Params(l *Link, names map[string]string, prefix string) object {
	o := newObject()
	if l.Bond != nil && l.Bond.Mode != "" {
		o.text("bond-mode", l.Bond.Mode)
	}
	params, table := l.paramsOf()
	for _, name := range sortedKeys(params) {
		p := table[name]
		o.add(prefix+p.v1, p.v1Value(params[name], names))
	}
	return o
}

func (p param) v1Value(value string, names map[string]string) *yaml.Node {
	switch p.value {
	case number:
		if n, err := strconv.Atoi(value); err == nil && !p.quoted {
			return numberNode(n)
		}
	case boolean:
		if value == "true" {
			return textNode("on")
		}
		return textNode("off")
	case device:
		return textNode(names[value])
	case perPort:
		var list []string
		for _, item := range items(value) {
			id, n, _ := portItem(item)
			list = append(list, fmt.Sprintf("%s %d", names[id], n))
		}
		return texts(list)
	}
	return textNode(value)
}

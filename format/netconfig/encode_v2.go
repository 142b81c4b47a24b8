package netconfig

import (
	"net/netip"
	"strconv"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

func encodeV2(c *Config) ([]byte, diag.List, error) {
	if c.Disabled {
		return disabled()
	}
	keys := c.v2Keys()
	sections := map[Kind]object{}
	for i := range c.Links {
		l := &c.Links[i]
		s, ok := sections[l.Kind]
		if !ok {
			s = newObject()
			sections[l.Kind] = s
		}
		s.always(keys[l.ID], c.v2Link(l, keys))
	}
	o := newObject().number("version", 2)
	for _, k := range []Kind{Physical, Bond, Bridge, VLAN} {
		if s, ok := sections[k]; ok {
			o.object(v2Sections[k], s)
		}
	}
	data, err := o.dump()
	return data, nil, err
}

// v2Keys chooses the keys of the links by ID. Guests without netplan take the key for the name, so the key is the name
// wherever there is one.
func (c *Config) v2Keys() map[string]string {
	keys, taken := map[string]string{}, map[string]bool{}
	for i := range c.Links {
		if name := c.Links[i].GuestName(); name != "" {
			keys[c.Links[i].ID], taken[name] = name, true
		}
	}
	for i := range c.Links {
		id := c.Links[i].ID
		if keys[id] != "" {
			continue
		}
		key := id
		for taken[key] {
			key += "_"
		}
		keys[id], taken[key] = key, true
	}
	return keys
}

var v2Sections = map[Kind]string{Physical: "ethernets", Bond: "bonds", Bridge: "bridges", VLAN: "vlans"}

func (c *Config) v2Link(l *Link, keys map[string]string) object {
	o := newObject()
	members := make([]string, len(l.members()))
	for i, id := range l.members() {
		members[i] = keys[id]
	}
	switch l.Kind {
	case Physical:
		if l.MAC != "" {
			o.object("match", newObject().text("macaddress", l.MAC)).text("set-name", l.Name)
		}
	case Bond:
		o.add("interfaces", texts(members)).object("parameters", v2Params(l, keys)).text("macaddress", l.MAC)
	case Bridge:
		o.add("interfaces", texts(members)).object("parameters", v2Params(l, keys)).text("macaddress", l.MAC)
	case VLAN:
		o.add("id", numberNode(l.VLAN.ID)).text("link", members[0]).text("macaddress", l.MAC)
	}
	o.number("mtu", l.MTU)
	if l.Optional {
		o.add("optional", flagNode(true))
	}
	if l.DHCP4 {
		o.add("dhcp4", flagNode(true)).object("dhcp4-overrides", v2Overrides(l.DHCP4Overrides))
	}
	if l.DHCP6 != NoDHCP6 {
		o.add("dhcp6", flagNode(true)).object("dhcp6-overrides", v2Overrides(l.DHCP6Overrides))
	}
	ra := l.AcceptRA
	if ra == Default && (l.SLAAC || l.DHCP6 == Stateless) {
		ra = On
	}
	o.toggle("accept-ra", ra).texts("addresses", strs(l.Addresses))
	routes := c.v2Gateways(o, l)
	for _, r := range l.Routes {
		routes = append(routes, v2Route(r))
	}
	dns := c.dnsOf(l)
	if noSubnet(c, l) {
		dns = l.DNS
	}
	nameservers := newObject().texts("addresses", strs(dns.Servers)).texts("search", dns.Search)
	return o.object("nameservers", nameservers).list("routes", routes)
}

// v2Gateways writes the default routes. For IPv4 that is a route to 0.0.0.0/0, which every renderer of every release
// takes without complaint; for IPv6 it is gateway6, since ::/0 becomes ::/64 in 22.4's interfaces(5) text.
func (c *Config) v2Gateways(o object, l *Link) []*yaml.Node {
	var routes []*yaml.Node
	for _, gw := range []netip.Addr{l.Gateway4, l.Gateway6} {
		switch {
		case !gw.IsValid():
		case gw.Is6() && l.covers(gw):
			o.text("gateway6", gw.String())
		default:
			routes = append(routes, v2Route(Route{To: netip.PrefixFrom(zeroOf(gw), 0), Via: gw, OnLink: !l.covers(gw)}))
		}
	}
	return routes
}

func v2Route(r Route) *yaml.Node {
	o := newObject().text("to", r.To.String()).text("via", r.Via.String()).number("metric", r.Metric)
	if r.OnLink {
		o.add("on-link", flagNode(true))
	}
	return o.node
}

func v2Overrides(d DHCPOverrides) object {
	return newObject().number("route-metric", d.RouteMetric).toggle("use-dns", d.UseDNS).toggle("use-routes", d.UseRoutes)
}

func v2Params(l *Link, keys map[string]string) object {
	o := newObject()
	if l.Bond != nil && l.Bond.Mode != "" {
		o.text("mode", l.Bond.Mode)
	}
	params, table := l.paramsOf()
	for _, name := range sortedKeys(params) {
		o.add(name, table[name].v2Value(params[name], keys))
	}
	return o
}

func (p param) v2Value(value string, keys map[string]string) *yaml.Node {
	switch p.value {
	case number:
		if n, err := strconv.Atoi(value); err == nil && !p.quoted2 {
			return numberNode(n)
		}
	case boolean:
		return flagNode(value == "true")
	case device:
		return textNode(keys[value])
	case list:
		return texts(items(value))
	case perPort:
		o := newObject()
		for _, item := range items(value) {
			id, n, _ := portItem(item)
			o.add(keys[id], numberNode(n))
		}
		return o.node
	}
	return textNode(value)
}

package netconfig

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// v1 reads network-config version 1.
func (r *reader) v1(root *yaml.Node) {
	for _, e := range r.entries(root, "the document") {
		if e.key != "version" && e.key != "config" {
			r.ignored(e, "network-config version 1")
		}
	}
	config := lookup(root, "config")
	if config == nil {
		r.fail(root, CodeGuestFails, "add the list config", "config is missing, so cloud-init fails on the document")
		return
	}
	var routes []*yaml.Node
	for _, item := range r.elements(config, "config") {
		entries := r.entries(item, "an item of config")
		kind := lookup(item, "type")
		if kind == nil {
			if len(entries) > 0 {
				r.fail(item, CodeGuestFails, "add a type such as physical", "the item has no type, so cloud-init fails on the document")
			}
			continue
		}
		switch kind.Value {
		case "physical", "bond", "bridge", "vlan":
			r.v1Link(item, Kind(kind.Value), entries)
		case "nameserver":
			r.v1Nameserver(item, entries)
		case "route":
			routes = append(routes, item)
		case "loopback", "infiniband":
			r.notHeld(kind, "a link of type "+kind.Value)
		default:
			r.fail(kind, CodeGuestFails, "use physical, bond, bridge, vlan, nameserver or route",
				"cloud-init knows no such type and fails on the document")
		}
	}
	for _, item := range routes {
		r.v1TopRoute(item)
	}
}

// ignored is for keys that cloud-init does not look at.
func (r *reader) ignored(e entry, where string) {
	r.notHeld(e.node, "the key "+e.key)
	r.trap(e.node, diag.Warning, CodeUnknownKey, "check the spelling, or remove it", "cloud-init does not know the key %q in %s", e.key, where)
}

func (r *reader) v1Link(item *yaml.Node, kind Kind, entries []entry) {
	l := Link{Kind: kind, Place: r.at(item)}
	v1Required := map[Kind][]string{Physical: {"name"}, Bond: {"name", "bond_interfaces", "params"},
		Bridge: {"name", "bridge_interfaces"}, VLAN: {"name", "vlan_id", "vlan_link"}}
	for _, key := range v1Required[kind] {
		if lookup(item, key) == nil {
			r.trap(item, diag.Error, CodeGuestLoses, "add "+key, "cloud-init skips a %s without %s", kind, key)
		}
	}
	switch kind {
	case Bond:
		l.Bond = &BondSpec{}
	case Bridge:
		l.Bridge = &BridgeSpec{}
	case VLAN:
		l.VLAN = &VLANSpec{}
	}
	for _, e := range entries {
		r.v1LinkKey(&l, e)
	}
	l.ID = l.Name
	if l.Name == "" {
		r.fail(item, CodeName, "add name", "the %s has no name", kind)
	}
	r.config.Links = append(r.config.Links, l)
}

func (r *reader) v1LinkKey(l *Link, e entry) {
	kind := l.Kind
	switch {
	case e.key == "type":
	case e.key == "name":
		l.Name = r.text(e.value, "name")
	case e.key == "mac_address":
		l.MAC = r.mac(e.value, "mac_address", kind == Physical)
	case e.key == "mtu":
		l.MTU = r.number(e.value, "mtu")
	case e.key == "accept-ra":
		l.AcceptRA = SwitchOf(r.flag(e.value, "accept-ra", false))
	case e.key == "optional":
		l.Optional = r.flag(e.value, "optional", false)
	case e.key == "subnets":
		for _, s := range r.elements(e.value, "subnets") {
			r.v1Subnet(l, s)
		}
	case e.key == "params" && kind == Bond:
		r.v1Params(l, e.value, "bond")
	case e.key == "params" && kind == Bridge:
		r.v1Params(l, e.value, "bridge")
	case e.key == "bond_interfaces" && kind == Bond:
		l.Bond.Links = r.names(e.value, e.key)
	case e.key == "bridge_interfaces" && kind == Bridge:
		l.Bridge.Links = r.names(e.value, e.key)
	case e.key == "vlan_link" && kind == VLAN:
		l.VLAN.Parent = r.text(e.value, e.key)
	case e.key == "vlan_id" && kind == VLAN:
		l.VLAN.ID = r.number(e.value, e.key)
	case e.key == "wakeonlan" || e.key == "keep_configuration":
		r.notHeld(e.node, "the key "+e.key)
	default:
		r.ignored(e, "a "+string(kind))
	}
}

func (r *reader) names(n *yaml.Node, what string) []string {
	var out []string
	for _, item := range r.elements(n, what) {
		if s := r.text(item, "an item of "+what); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// v1Params reads parameters of bonds and bridges; - and _ mean the same behind the prefix.
func (r *reader) v1Params(l *Link, n *yaml.Node, prefix string) {
	if isNull(n) {
		return
	}
	_, table := l.paramsOf()
	byName := map[string]string{}
	for name, p := range table {
		byName[p.v1] = name
	}
	params := map[string]string{}
	for _, e := range r.entries(n, "params") {
		short, ok := strings.CutPrefix(strings.ReplaceAll(e.key, "-", "_"), prefix+"_")
		name, known := byName[short]
		switch {
		case ok && short == "mode" && l.Bond != nil:
			l.Bond.Mode = r.bondMode(e.value)
		case ok && known:
			params[name] = r.paramValue(table[name], e.value, name)
		default:
			r.notHeld(e.node, "the parameter "+e.key)
		}
	}
	setParams(l, params)
}

func setParams(l *Link, params map[string]string) {
	if len(params) == 0 {
		return
	}
	if l.Bond != nil {
		l.Bond.Params = params
	} else {
		l.Bridge.Params = params
	}
}

// bondMode reads a bonding policy by its name or the kernel's number.
func (r *reader) bondMode(n *yaml.Node) string {
	s := r.text(n, "the bonding mode")
	if len(s) == 1 && s[0] >= '0' && s[0] <= '6' {
		return bondModes[s[0]-'0']
	}
	return s
}

// paramValue reads a parameter into the model's spelling for it.
func (r *reader) paramValue(p param, n *yaml.Node, what string) string {
	switch {
	case n.Kind == yaml.MappingNode && p.value == perPort:
		var list []string
		for _, e := range r.entries(n, what) {
			list = append(list, e.key+"="+r.text(e.value, what))
		}
		return strings.Join(list, ",")
	case n.Kind == yaml.SequenceNode:
		list := r.names(n, what)
		if p.value == perPort {
			for i, item := range list {
				list[i] = strings.Join(strings.Fields(item), "=")
			}
		}
		return strings.Join(list, ",")
	case p.value == boolean:
		if r.flag(n, what, false) {
			return "true"
		}
		return "false"
	case p.value == list:
		return strings.Join(strings.FieldsFunc(r.text(n, what), func(c rune) bool { return c == ',' || c == ' ' }), ",")
	case p.value == perPort:
		return strings.Join(strings.Fields(r.text(n, what)), "=")
	}
	return r.text(n, what)
}

// v1Dynamic are the subnet types without a fixed address.
var v1Dynamic = map[string]func(l *Link){
	"dhcp":                  func(l *Link) { l.DHCP4 = true },
	"dhcp4":                 func(l *Link) { l.DHCP4 = true },
	"dhcp6":                 func(l *Link) { l.DHCP6 = Stateful },
	"ipv6_dhcpv6-stateful":  func(l *Link) { l.DHCP6 = Stateful },
	"ipv6_dhcpv6-stateless": func(l *Link) { l.DHCP6 = Stateless },
	"ipv6_slaac":            func(l *Link) { l.SLAAC = true },
	"manual":                func(*Link) {},
}

func (r *reader) v1Subnet(l *Link, n *yaml.Node) {
	entries := r.entries(n, "a subnet")
	kind := lookup(n, "type")
	if kind == nil {
		if len(entries) > 0 {
			r.fail(n, CodeGuestFails, "add a type such as static or dhcp4", "the subnet has no type, so cloud-init fails on the document")
		}
		return
	}
	apply, dynamic := v1Dynamic[kind.Value]
	static := kind.Value == "static" || kind.Value == "static6"
	switch {
	case dynamic:
		apply(l)
	case !static:
		r.fail(kind, CodeGuestLoses, "use static, static6, dhcp4, ipv6_dhcpv6-stateful, ipv6_dhcpv6-stateless, ipv6_slaac or manual",
			"cloud-init knows no such type of subnet")
	case lookup(n, "address") == nil:
		r.fail(n, CodeGuestFails, "add address", "a static subnet without an address makes cloud-init fail on the document")
	default:
		if p, ok := r.prefix(lookup(n, "address"), lookup(n, "netmask"), "address", false); ok {
			l.Addresses = append(l.Addresses, p)
		}
	}
	for _, e := range entries {
		r.v1SubnetKey(l, kind.Value, e)
	}
}

func (r *reader) v1SubnetKey(l *Link, kind string, e entry) {
	static := strings.HasPrefix(kind, "static")
	switch e.key {
	case "type", "ipv4", "ipv6":
	case "address", "netmask":
		if !static {
			r.notHeld(e.node, "the "+e.key+" of a subnet that is not static")
		}
	case "gateway":
		l.addGateway(r.addr(e.value, "gateway"))
	case "metric":
		r.v1Metric(l, kind, e)
	case "dns_nameservers":
		r.servers(&l.DNS, e.value, e.key)
	case "dns_search":
		r.search(&l.DNS, e.value, e.key)
	case "control":
		if e.value.Value != "auto" {
			r.notHeld(e.node, "control other than auto")
		}
	case "routes":
		for _, n := range r.elements(e.value, "routes") {
			if route, ok := r.v1Route(n); ok {
				l.addRoute(route)
			}
		}
	case "broadcast", "pointopoint", "scope", "mtu":
		r.notHeld(e.node, "the key "+e.key+" of a subnet")
	default:
		r.ignored(e, "a subnet")
	}
}

func (r *reader) v1Metric(l *Link, kind string, e entry) {
	metric := r.number(e.value, "metric")
	switch {
	case kind == "dhcp" || kind == "dhcp4":
		l.DHCP4Overrides.RouteMetric = metric
	case kind == "dhcp6" || strings.HasPrefix(kind, "ipv6_dhcp"):
		l.DHCP6Overrides.RouteMetric = metric
	default:
		r.notHeld(e.node, "the metric of a subnet without DHCP")
	}
}

// addRoute adds a route; a default route without a metric is a gateway where a fixed address carries it, which normal
// decides later, so it is kept as written here.
func (l *Link) addRoute(route Route) {
	if !slices.Contains(l.Routes, route) {
		l.Routes = append(l.Routes, route)
	}
}

func (r *reader) v1Route(n *yaml.Node) (Route, bool) {
	var out Route
	entries := r.entries(n, "a route")
	to := lookup(n, "network")
	if to == nil {
		to = lookup(n, "destination")
	}
	if to == nil {
		if len(entries) > 0 {
			r.fail(n, CodeGuestFails, "add network", "a route without a network makes cloud-init fail on the document")
		}
		return out, false
	}
	mask := lookup(n, "netmask")
	if mask == nil {
		mask = lookup(n, "prefix")
	}
	p, ok := r.prefix(to, mask, "network", false)
	out.To = p
	for _, e := range entries {
		switch e.key {
		case "type", "network", "destination", "netmask", "prefix":
		case "gateway":
			out.Via = r.addr(e.value, "gateway")
		case "metric":
			out.Metric = r.number(e.value, "metric")
		default:
			r.ignored(e, "a route")
		}
	}
	if !out.Via.IsValid() {
		r.trap(n, diag.Warning, CodeGuestFails, "add gateway", "a route without a gateway makes cloud-init fail in guests with interfaces(5)")
	}
	return out, ok
}

// v1TopRoute gives a route that belongs to no link to the first link that reaches its router.
func (r *reader) v1TopRoute(n *yaml.Node) {
	r.trap(n, diag.Warning, CodeGuestLoses, "move it into routes of a subnet", "only guests with interfaces(5) honour a route at the top level")
	if lookup(n, "destination") == nil {
		r.trap(n, diag.Error, CodeGuestLoses, "name it destination", "cloud-init skips a route at the top level without destination")
	}
	route, ok := r.v1Route(n)
	if !ok {
		return
	}
	for i := range r.config.Links {
		if l := &r.config.Links[i]; route.Via.IsValid() && l.has(route.Via) && l.covers(route.Via) {
			l.addRoute(route)
			return
		}
	}
	r.notHeld(n, "a route whose router no address covers")
}

func (r *reader) v1Nameserver(n *yaml.Node, entries []entry) {
	dns := &r.config.DNS
	if name := lookup(n, "interface"); name != nil {
		r.trap(n, diag.Warning, CodeGuestLoses, "move the resolvers into dns_nameservers of a subnet",
			"guests that render with netplan lose resolvers of one interface")
		i := slices.IndexFunc(r.config.Links, func(l Link) bool { return l.Name == name.Value })
		if i < 0 {
			r.fail(name, CodeGuestFails, "name an interface that stands above", "there is no such interface, so cloud-init fails on the document")
			return
		}
		dns = &r.config.Links[i].DNS
	}
	if lookup(n, "address") == nil {
		r.trap(n, diag.Error, CodeGuestLoses, "add address", "cloud-init skips a nameserver without address")
	}
	for _, e := range entries {
		switch e.key {
		case "type", "interface":
		case "address":
			r.v1ServerList(dns, e.value)
		case "search":
			r.search(dns, e.value, "search")
		default:
			r.ignored(e, "a nameserver")
		}
	}
}

// v1ServerList reads the address of a nameserver: one text is one address here.
func (r *reader) v1ServerList(dns *DNS, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		if a := r.addr(n, "address"); a != (netip.Addr{}) && !slices.Contains(dns.Servers, a) {
			dns.Servers = append(dns.Servers, a)
		}
		return
	}
	r.servers(dns, n, "address")
}

package netconfig

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// v2 reads network-config version 2.
func (r *reader) v2(root *yaml.Node) {
	for _, e := range r.entries(root, "the document") {
		switch e.key {
		case "version":
		case "renderer":
			r.notHeld(e.node, "the renderer")
		case "ethernets":
			r.v2Section(e.value, Physical)
		case "bonds":
			r.v2Section(e.value, Bond)
		case "bridges":
			r.v2Section(e.value, Bridge)
		case "vlans":
			r.v2Section(e.value, VLAN)
		case "wifis":
			r.fail(e.node, CodeNotHeld, "leave the section out", "wireless links cannot be carried over")
			r.trap(e.node, diag.Warning, CodeGuestLoses, "", "only guests that render with netplan set up wireless links")
		default:
			r.fail(e.node, CodeNotHeld, "leave the section out", "the section %s cannot be carried over", e.key)
			r.trap(e.node, diag.Warning, CodeGuestFails, "use it for guests with netplan only",
				"cloud-init knows no section %q: guests that do not render with netplan fail on the document", e.key)
		}
	}
}

func (r *reader) v2Section(n *yaml.Node, kind Kind) {
	if isNull(n) {
		r.trap(n, diag.Error, CodeGuestFails, "remove the section or fill it", "an empty section makes cloud-init fail on the document")
		return
	}
	for _, e := range r.entries(n, "a section") {
		l := Link{ID: e.key, Kind: kind, Place: r.at(e.node)}
		switch kind {
		case Bond:
			l.Bond = &BondSpec{}
		case Bridge:
			l.Bridge = &BridgeSpec{}
		case VLAN:
			l.VLAN = &VLANSpec{}
			if lookup(e.value, "id") == nil || lookup(e.value, "link") == nil {
				r.fail(e.node, CodeParam, "add id and link", "a VLAN needs id and link")
			}
		}
		if isNull(e.value) {
			r.trap(e.value, diag.Error, CodeGuestFails, "write {}", "a link without settings makes cloud-init fail on the document")
		} else {
			for _, k := range r.entries(e.value, "the link") {
				if !r.v2KindKey(&l, k) && !r.v2CommonKey(&l, k) {
					r.v2OtherKey(k)
				}
			}
		}
		r.v2Finish(&l, e)
		r.config.Links = append(r.config.Links, l)
	}
}

// v2Finish settles what depends on several keys of a link.
func (r *reader) v2Finish(l *Link, e entry) {
	matched := lookup(e.value, "match")
	if l.Kind != Physical || matched == nil {
		l.Name = e.key
		if l.Kind == Physical && lookup(e.value, "set-name") != nil {
			r.trap(e.node, diag.Warning, CodeGuestLoses, "add match with macaddress", "set-name without match renames nothing")
		}
	}
	if l.AcceptRA == On && l.DHCP6 == NoDHCP6 {
		l.SLAAC = true
	}
	if matched != nil {
		r.v2Match(l, e, matched)
	}
	if ns := lookup(e.value, "nameservers"); len(l.DNS.Search) > 0 && len(l.DNS.Servers) == 0 && ns != nil {
		r.trap(ns, diag.Warning, CodeGuestLoses, "add addresses", "guests without netplan drop a search list that has no resolvers beside it")
	}
	if routes := lookup(e.value, "routes"); routes != nil && len(l.Addresses) == 0 && !l.DHCP4 && l.DHCP6 == NoDHCP6 {
		r.trap(routes, diag.Warning, CodeGuestLoses, "add addresses", "guests without netplan drop routes of a link without addresses and DHCP")
	}
}

func (r *reader) v2Match(l *Link, e entry, match *yaml.Node) {
	rename := lookup(e.value, "set-name")
	for _, k := range r.entries(match, "match") {
		switch k.key {
		case "macaddress":
			l.MAC = r.mac(k.value, "macaddress", rename != nil)
		case "name":
			name := r.text(k.value, "name")
			glob := strings.ContainsAny(name, "*?[")
			if glob || name != l.Name && l.Name != "" {
				r.notHeld(k.node, "a match by name")
			} else {
				l.Name = name
			}
			if glob || name != e.key {
				r.trap(k.node, diag.Warning, CodeGuestMisreads, "match by macaddress",
					"guests that do not render with netplan ignore match.name and take the key %q for the interface name", e.key)
			}
		case "driver":
			r.notHeld(k.node, "a match by driver")
			r.trap(k.node, diag.Warning, CodeGuestMisreads, "match by macaddress",
				"guests that do not render with netplan take the key %q for the interface name", e.key)
		default:
			r.notHeld(k.node, "a match by "+k.key)
			r.trap(k.node, diag.Warning, CodeUnknownKey, "use macaddress, name or driver", "netplan knows no match by %q", k.key)
		}
	}
	if rename != nil && l.MAC == "" {
		r.trap(rename, diag.Warning, CodeGuestLoses, "match by macaddress", "cloud-init renames only NICs that are matched by macaddress")
	}
}

// v2KindKey reads the keys of one kind of link.
func (r *reader) v2KindKey(l *Link, e entry) bool {
	switch {
	case e.key == "match" && l.Kind == Physical: // read by v2Match, which needs set-name
	case e.key == "set-name" && l.Kind == Physical:
		l.Name = r.text(e.value, e.key)
	case e.key == "macaddress" && l.Kind != Physical:
		l.MAC = r.mac(e.value, e.key, false)
	case e.key == "interfaces" && l.Bond != nil:
		l.Bond.Links = r.names(e.value, e.key)
	case e.key == "interfaces" && l.Bridge != nil:
		l.Bridge.Links = r.names(e.value, e.key)
	case e.key == "parameters" && (l.Bond != nil || l.Bridge != nil):
		r.v2Params(l, e.value)
	case e.key == "id" && l.VLAN != nil:
		l.VLAN.ID = r.number(e.value, e.key)
	case e.key == "link" && l.VLAN != nil:
		l.VLAN.Parent = r.text(e.value, e.key)
	default:
		return false
	}
	return true
}

// v2CommonKey reads the keys that all links share.
func (r *reader) v2CommonKey(l *Link, e entry) bool {
	switch e.key {
	case "dhcp4":
		l.DHCP4 = r.flag(e.value, e.key, true)
	case "dhcp6":
		if r.flag(e.value, e.key, true) {
			l.DHCP6 = Stateful
		}
	case "dhcp4-overrides":
		r.v2Overrides(&l.DHCP4Overrides, e.value)
	case "dhcp6-overrides":
		r.v2Overrides(&l.DHCP6Overrides, e.value)
	case "accept-ra":
		l.AcceptRA = SwitchOf(r.flag(e.value, e.key, false))
	case "addresses":
		r.v2Addresses(l, e.value)
	case "gateway4", "gateway6":
		r.v2Gateway(l, e)
	case "nameservers":
		for _, k := range r.entries(e.value, e.key) {
			switch k.key {
			case "addresses":
				r.servers(&l.DNS, k.value, k.key)
			case "search":
				r.search(&l.DNS, k.value, k.key)
			default:
				r.ignored(k, "nameservers")
			}
		}
	case "routes":
		for _, n := range r.elements(e.value, e.key) {
			if route, ok := r.v2Route(l, n); ok {
				l.addRoute(route)
			}
		}
	case "mtu":
		l.MTU = r.number(e.value, e.key)
	case "optional":
		l.Optional = r.flag(e.value, e.key, false)
	default:
		return false
	}
	return true
}

// netplanKeys are further keys of links in netplan's reference. Guests without netplan ignore them.
var netplanKeys = []string{"renderer", "dhcp-identifier", "ipv6-mtu", "ipv6-privacy", "ipv6-address-generation", "ipv6-address-token",
	"link-local", "ignore-carrier", "critical", "optional-addresses", "activation-mode", "routing-policy", "neigh-suppress", "wakeonlan",
	"emit-lldp", "receive-checksum-offload", "transmit-checksum-offload", "tcp-segmentation-offload", "tcp6-segmentation-offload",
	"generic-segmentation-offload", "generic-receive-offload", "large-receive-offload", "openvswitch", "auth", "networkmanager",
	"virtual-function-count", "embedded-switch-mode", "delay-virtual-functions-rebind", "infiniband-mode", "macaddress", "ra-overrides"}

func (r *reader) v2OtherKey(e entry) {
	r.notHeld(e.node, "the key "+e.key)
	if slices.Contains(netplanKeys, e.key) {
		if e.key != "wakeonlan" && e.key != "renderer" {
			r.trap(e.node, diag.Warning, CodeGuestLoses, "", "only guests that render with netplan honour %s", e.key)
		}
		return
	}
	r.trap(e.node, diag.Warning, CodeUnknownKey, "check the spelling, or remove it",
		"netplan knows no key %q here and refuses the document; other guests ignore it", e.key)
}

func (r *reader) v2Overrides(o *DHCPOverrides, n *yaml.Node) {
	for _, e := range r.entries(n, "overrides") {
		switch e.key {
		case "route-metric":
			o.RouteMetric = r.number(e.value, e.key)
		case "use-dns":
			o.UseDNS = SwitchOf(r.flag(e.value, e.key, false))
		case "use-routes":
			o.UseRoutes = SwitchOf(r.flag(e.value, e.key, false))
		case "use-ntp", "use-hostname", "use-mtu", "use-domains", "send-hostname", "hostname":
			r.notHeld(e.node, "the override "+e.key)
		default:
			r.ignored(e, "DHCP overrides")
		}
	}
}

func (r *reader) v2Addresses(l *Link, n *yaml.Node) {
	for _, item := range r.elements(n, "addresses") {
		if item.Kind == yaml.MappingNode && len(item.Content) == 2 {
			r.notHeld(item, "a label or lifetime of an address")
			r.trap(item, diag.Error, CodeGuestFails, "write the address alone",
				"guests that do not render with netplan fail on addresses with settings of their own")
			item = item.Content[0]
		}
		if p, ok := r.prefix(item, nil, "an address", false); ok {
			l.Addresses = append(l.Addresses, p)
		}
	}
}

func (r *reader) v2Gateway(l *Link, e entry) {
	gw := r.addr(e.value, e.key)
	if gw.IsValid() && gw.Is4() != (e.key == "gateway4") {
		r.fail(e.value, CodeGateway, "use gateway4 for IPv4 and gateway6 for IPv6", "the address is of the other family")
		return
	}
	if r.guest.since(22, 4) {
		r.trap(e.node, diag.Note, CodeDeprecated, "write a route to 0.0.0.0/0, or to ::/0 for guests newer than 22.4",
			"cloud-init since 22.4, and netplan, call %s deprecated", e.key)
	}
	l.addGateway(gw)
}

func (r *reader) v2Route(l *Link, n *yaml.Node) (Route, bool) {
	var out Route
	to := (*yaml.Node)(nil)
	for _, e := range r.entries(n, "a route") {
		switch e.key {
		case "to":
			to = e.value
		case "via":
			out.Via = r.addr(e.value, e.key)
		case "metric":
			out.Metric = r.number(e.value, e.key)
		case "on-link":
			out.OnLink = r.flag(e.value, e.key, false)
		case "from", "type", "scope", "table", "mtu", "congestion-window", "advertised-receive-window":
			r.notHeld(e.node, "the key "+e.key+" of a route")
		default:
			r.ignored(e, "a route")
		}
	}
	if to == nil {
		r.fail(n, CodeRoute, "add to", "the route leads nowhere")
		return out, false
	}
	if !out.Via.IsValid() {
		r.trap(n, diag.Warning, CodeGuestFails, "add via", "a route without a router makes cloud-init fail in guests with interfaces(5)")
	}
	if to.Value == "default" {
		r.trapDefault(to)
		if !out.Via.IsValid() {
			r.notHeld(n, "a default route without a router")
			return out, false
		}
		out.To = netip.PrefixFrom(zeroOf(out.Via), 0)
		return out, true
	}
	p, ok := r.prefix(to, nil, "to", true)
	if ok && p.Bits() == 0 && p.Addr().Is6() && r.guest.before(23, 4) {
		r.trap(to, diag.Warning, CodeGuestMisreads, "write gateway6", "cloud-init 22.4 makes ::/64 of it in guests with interfaces(5)")
	}
	out.To = p
	return out, ok
}

func (r *reader) trapDefault(n *yaml.Node) {
	if r.guest.before(25, 3) {
		r.trap(n, diag.Warning, CodeGuestFails, "write 0.0.0.0/0 for IPv4, gateway6 or ::/0 for IPv6",
			"cloud-init before 25.3 fails on the document at \"to: default\" unless the guest renders with netplan")
	}
}

func (r *reader) v2Params(l *Link, n *yaml.Node) {
	_, table := l.paramsOf()
	params := map[string]string{}
	for _, e := range r.entries(n, "parameters") {
		p, known := table[e.key]
		switch {
		case e.key == "mode" && l.Bond != nil:
			l.Bond.Mode = r.bondMode(e.value)
			continue
		case known:
			params[e.key] = r.paramValue(p, e.value, e.key)
		default:
			r.notHeld(e.node, "the parameter "+e.key)
		}
		if !p.everywhere {
			r.trap(e.node, diag.Warning, CodeGuestFails, "use it for guests with netplan only",
				"cloud-init does not know the parameter %q: guests that do not render with netplan fail on the document", e.key)
		}
	}
	setParams(l, params)
}

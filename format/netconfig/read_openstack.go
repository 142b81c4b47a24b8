package netconfig

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// openStackPhysical are the link types that cloud-init takes for NICs without a warning.
var openStackPhysical = []string{"", "phy", "ethernet", "vif", "tap", "ovs", "bridge", "dvs", "hw_veb", "hyperv", "vhostuser",
	"bgpovs", "cascading", "midonet", "hostdev", "vrouter", "macvtap", "ivs", "iovisor", "network", "contrail_vrouter"}

// openStack reads network_data.json.
func (r *reader) openStack(root *yaml.Node) {
	for _, e := range r.entries(root, "the document") {
		if e.key != "links" && e.key != "networks" && e.key != "services" {
			r.ignored(e, "network_data.json")
		}
	}
	for _, n := range r.elements(lookup(root, "links"), "links") {
		r.dataLink(n)
	}
	for _, n := range r.elements(lookup(root, "networks"), "networks") {
		r.dataNetwork(n)
	}
	for _, n := range r.elements(lookup(root, "services"), "services") {
		r.dataService(n, &r.config.DNS)
	}
	if unsound := r.config.references(); unsound.HasErrors() {
		r.list = append(r.list, unsound...)
		return
	}
	for i := range r.config.Links {
		r.dataFinish(&r.config.Links[i])
	}
}

// required reads keys without which cloud-init fails.
func (r *reader) required(n *yaml.Node, what string, keys ...string) bool {
	ok := n.Kind == yaml.MappingNode
	for _, key := range keys {
		if ok && lookup(n, key) == nil {
			r.fail(n, CodeGuestFails, "add "+key, "%s has no %s, so cloud-init fails on the document", what, key)
			return false
		}
	}
	return ok
}

func (r *reader) dataLink(n *yaml.Node) {
	entries := r.entries(n, "a link")
	if !r.required(n, "the link", "id", "type") {
		return
	}
	l := Link{Kind: Physical, ID: r.text(lookup(n, "id"), "id"), Place: r.at(n)}
	kind := lookup(n, "type")
	switch t := r.text(kind, "type"); {
	case t == "bond":
		l.Kind, l.Bond = Bond, &BondSpec{}
		r.required(n, "the bond", "bond_links")
	case t == "vlan":
		l.Kind, l.VLAN = VLAN, &VLANSpec{}
		r.required(n, "the VLAN", "vlan_link", "vlan_id", "vlan_mac_address")
	case !slices.Contains(openStackPhysical, t):
		r.trap(kind, diag.Warning, CodeGuestMisreads, "use phy", "cloud-init does not know this type and takes the link for a NIC")
	}
	for _, e := range entries {
		r.dataLinkKey(&l, e)
	}
	if l.Kind == Physical && l.MAC == "" && l.Name == "" {
		r.fail(n, CodeGuestFails, "add ethernet_mac_address", "the link has no MAC address, so cloud-init fails on the document")
	}
	r.config.Links = append(r.config.Links, l)
}

func (r *reader) dataLinkKey(l *Link, e entry) {
	switch {
	case e.key == "id" || e.key == "type" || e.key == "vif_id" || e.key == "ethernet_mac_address" && l.VLAN != nil:
	case e.key == "ethernet_mac_address" && !isNull(e.value):
		l.MAC = r.mac(e.value, e.key, false)
	case e.key == "mtu":
		l.MTU = r.number(e.value, e.key)
	case e.key == "name":
		if l.Kind == Physical {
			l.Name = r.text(e.value, e.key)
		} else {
			r.notHeld(e.node, "the name of a bond or VLAN, which cloud-init does not use")
		}
	case e.key == "bond_links" && l.Bond != nil:
		l.Bond.Links = r.names(e.value, e.key)
	case e.key == "bond_mode" && l.Bond != nil:
		l.Bond.Mode = r.bondMode(e.value)
	case strings.HasPrefix(e.key, "bond") && l.Bond != nil:
		r.dataParam(l.Bond, e)
	case e.key == "vlan_link" && l.VLAN != nil:
		l.VLAN.Parent = r.text(e.value, e.key)
	case e.key == "vlan_id" && l.VLAN != nil:
		l.VLAN.ID = r.number(e.value, e.key)
	case e.key == "vlan_mac_address" && l.VLAN != nil:
		l.MAC = r.mac(e.value, e.key, false)
	case isNull(e.value):
	default:
		r.ignored(e, "a link")
	}
}

func (r *reader) dataParam(b *BondSpec, e entry) {
	short := strings.ReplaceAll(strings.TrimPrefix(strings.TrimPrefix(e.key, "bond_"), "bond-"), "-", "_")
	for name, p := range bondParams {
		if p.v1 != short {
			continue
		}
		if b.Params == nil {
			b.Params = map[string]string{}
		}
		b.Params[name] = r.paramValue(p, e.value, e.key)
		return
	}
	r.notHeld(e.node, "the parameter "+e.key)
}

func (r *reader) dataNetwork(n *yaml.Node) {
	entries := r.entries(n, "a network")
	if !r.required(n, "the network", "link", "type") {
		return
	}
	link := lookup(n, "link")
	l := r.config.Link(r.text(link, "link"))
	if l == nil {
		r.fail(link, CodeReference, "name the id of a link", "there is no such link: cloud-init drops the network without a word")
		return
	}
	fixed := false
	switch t := lookup(n, "type"); t.Value {
	case "ipv4_dhcp":
		l.DHCP4 = true
	case "ipv6_dhcp", "ipv6_dhcpv6-stateful":
		l.DHCP6, l.AcceptRA = Stateful, On
	case "ipv6_dhcpv6-stateless":
		l.DHCP6 = Stateless
	case "ipv6_slaac":
		l.SLAAC = true
	case "ipv4", "static", "ipv6", "static6":
		fixed = true
		if strings.HasSuffix(t.Value, "6") {
			l.AcceptRA = Off
		}
		if r.required(n, "the network", "ip_address") {
			if p, ok := r.prefix(lookup(n, "ip_address"), lookup(n, "netmask"), "ip_address", false); ok {
				l.Addresses = append(l.Addresses, p)
			}
		}
	default:
		r.fail(t, CodeGuestFails, "use ipv4, ipv4_dhcp, ipv6, ipv6_slaac, ipv6_dhcpv6-stateful or ipv6_dhcpv6-stateless",
			"cloud-init knows no such type of network")
	}
	for _, e := range entries {
		r.dataNetworkKey(l, e, fixed, lookup(n, "type").Value)
	}
}

func (r *reader) dataNetworkKey(l *Link, e entry, fixed bool, kind string) {
	switch e.key {
	case "id", "network_id", "link", "type":
	case "ip_address", "netmask":
		if !fixed && !isNull(e.value) {
			r.notHeld(e.node, "the "+e.key+" of a network without a fixed address")
		}
	case "gateway":
		if !isNull(e.value) {
			l.addGateway(r.addr(e.value, e.key))
		}
	case "routes":
		for _, n := range r.elements(e.value, e.key) {
			r.dataRoute(l, n)
		}
	case "services":
		for _, n := range r.elements(e.value, e.key) {
			r.dataService(n, &l.DNS)
		}
	case "dns_nameservers":
		r.servers(&l.DNS, e.value, e.key)
	case "dns_search":
		r.search(&l.DNS, e.value, e.key)
	case "metric":
		if kind == "ipv4_dhcp" {
			kind = "dhcp4"
		}
		r.v1Metric(l, kind, e)
	default:
		if !isNull(e.value) {
			r.ignored(e, "a network")
		}
	}
}

func (r *reader) dataRoute(l *Link, n *yaml.Node) {
	entries := r.entries(n, "a route")
	if !r.required(n, "the route", "network", "gateway") {
		return
	}
	var out Route
	p, ok := r.prefix(lookup(n, "network"), lookup(n, "netmask"), "network", false)
	out.To = p
	for _, e := range entries {
		switch e.key {
		case "network", "netmask":
		case "gateway":
			out.Via = r.addr(e.value, e.key)
		case "metric":
			out.Metric = r.number(e.value, e.key)
		case "services":
			for _, s := range r.elements(e.value, e.key) {
				r.dataService(s, &l.DNS)
			}
		default:
			r.ignored(e, "a route")
		}
	}
	if ok && out.Via.IsValid() {
		l.addRoute(out)
	}
}

func (r *reader) dataService(n *yaml.Node, dns *DNS) {
	entries := r.entries(n, "a service")
	if !r.required(n, "the service", "type", "address") {
		return
	}
	if t := lookup(n, "type"); t.Value != "dns" && t.Value != "nameserver" {
		r.trap(t, diag.Warning, CodeGuestMisreads, "leave the service out", "cloud-init takes every service of the guest for a resolver")
		r.notHeld(n, fmt.Sprintf("a service of type %q", t.Value))
		return
	}
	for _, e := range entries {
		switch e.key {
		case "type":
		case "address":
			r.v1ServerList(dns, e.value)
		case "search":
			r.search(dns, e.value, e.key)
		default:
			r.ignored(e, "a service")
		}
	}
}

// dataFinish settles what depends on other keys and links: names that cloud-init invents, MACs that say nothing new.
func (r *reader) dataFinish(l *Link) {
	if l.AcceptRA == Off && (l.SLAAC || l.DHCP6 == Stateless) {
		l.AcceptRA = Default
		r.traps.Add(about(l, diag.Warning, CodeGuestLoses, "networks", `write "static" as the type of the fixed one`,
			"a fixed IPv6 address of type ipv6 makes cloud-init switch router advertisements off, and SLAAC with them"))
	}
	switch l.Kind {
	case Physical:
		return
	case Bond:
		for _, id := range l.Bond.Links {
			if name := r.config.Link(id).Name; name != "" && l.Bond.Params["primary"] == name {
				l.Bond.Params["primary"] = id
				break
			}
		}
	case VLAN:
		own := l.MAC
		l.MAC = ""
		if own != r.config.carrierMAC(l) {
			l.MAC = own
		}
	}
	l.Name = openStackName(&r.config, l)
}

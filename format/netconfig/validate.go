package netconfig

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Validate checks what no form can mend. A network without errors can be encoded in every form, as far as the form
// has words for it.
func (c Config) Validate() diag.List {
	v := validator{config: &c, names: map[string]string{}, macs: map[string]string{}, owner: map[string]string{}, tags: map[string]string{}}
	if c.Disabled && (len(c.Links) > 0 || !c.DNS.IsZero()) {
		v.list.Errorf(CodeModel, diag.Range{}, "drop one of the two", "the network is disabled but also described")
	}
	seen := map[string]bool{}
	for i := range c.Links {
		l := &c.Links[i]
		switch {
		case l.ID == "" || !printable(l.ID):
			v.fail(CodeModel, l, "id", "give each link an ID of printable characters", "has no usable ID")
		case seen[l.ID]:
			v.fail(CodeModel, l, "id", "rename one of the two", "the ID is given twice")
		}
		seen[l.ID] = true
	}
	v.dns(nil, c.DNS)
	for i := range c.Links {
		v.link(&c.Links[i])
	}
	v.cycles()
	v.defaults()
	return v.list
}

// references checks only that each link is built upon links that exist, without circles.
func (c *Config) references() diag.List {
	v := validator{config: c, owner: map[string]string{}}
	for i := range c.Links {
		v.membership(&c.Links[i])
	}
	if !v.list.HasErrors() {
		v.cycles()
	}
	return v.list
}

// validator holds what has been seen: name, MAC, bond or bridge member, VLAN tag, each with the ID of its owner.
type validator struct {
	config                   *Config
	list                     diag.List
	names, macs, owner, tags map[string]string
}

// about makes a diagnostic on a field of a link.
func about(l *Link, severity diag.Severity, code diag.Code, field, remedy, format string, args ...any) diag.Diagnostic {
	return diag.Diagnostic{Code: code, Severity: severity, Range: l.Place, Field: fmt.Sprintf("links[%s].%s", l.ID, field),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy}
}

func (v *validator) fail(code diag.Code, l *Link, field, remedy, format string, args ...any) {
	v.list.Add(about(l, diag.Error, code, field, remedy, format, args...))
}

func (v *validator) warn(code diag.Code, l *Link, field, remedy, format string, args ...any) {
	v.list.Add(about(l, diag.Warning, code, field, remedy, format, args...))
}

func (v *validator) link(l *Link) {
	v.kind(l)
	v.name(l)
	v.mac(l)
	if l.MTU != 0 && (l.MTU < 68 || l.MTU > 65535) {
		v.fail(CodeMTU, l, "mtu", "give a number from 68 to 65535", "the MTU %d is out of range", l.MTU)
	} else if l.MTU != 0 && l.MTU < 1280 && l.uses6() {
		v.warn(CodeMTU, l, "mtu", "raise it or leave IPv6 out", "the MTU %d is below the 1280 that IPv6 needs", l.MTU)
	}
	v.addresses(l)
	v.gateway(l, "gateway4", l.Gateway4, true)
	v.gateway(l, "gateway6", l.Gateway6, false)
	v.routes(l)
	v.dns(l, l.DNS)
	v.dhcp(l)
	v.params(l)
	v.membership(l)
}

func (v *validator) kind(l *Link) {
	known := []Kind{Physical, Bond, Bridge, VLAN}
	if !slices.Contains(known, l.Kind) && l.Kind != "" {
		v.fail(CodeModel, l, "kind", "use physical, bond, bridge or vlan", "the kind is unknown")
		return
	}
	for _, part := range []struct {
		kind Kind
		set  bool
	}{{Bond, l.Bond != nil}, {Bridge, l.Bridge != nil}, {VLAN, l.VLAN != nil}} {
		if part.set != (l.Kind == part.kind) {
			v.fail(CodeModel, l, string(part.kind), "set the part of the link's own kind and no other",
				"the kind is %q, which does not fit the part for a %s", l.Kind, part.kind)
		}
	}
	if (l.Kind == Physical || l.Kind == "") && l.MAC == "" && l.Name == "" {
		v.fail(CodeModel, l, "mac", "give the MAC or the interface name", "nothing says which NIC is meant")
	}
}

func (v *validator) name(l *Link) {
	name := l.GuestName()
	if name == "" {
		return
	}
	if why := badName(name); why != "" {
		v.fail(CodeName, l, "name", "use at most 15 letters, digits, dots, hyphens and underscores", "the interface name %s", why)
	}
	if other, ok := v.names[name]; ok {
		v.fail(CodeName, l, "name", "rename one of the two", "link %q wants the same interface name", other)
	}
	v.names[name] = l.ID
}

// badName says why the kernel, or a tool on the way to it, refuses an interface name.
func badName(name string) string {
	switch {
	case len(name) > 15:
		return "has more than 15 characters"
	case name == "." || name == "..":
		return "is a directory"
	case name == "lo" || name == "all" || name == "default" || name == "none":
		return "has a meaning of its own in the guest"
	}
	for _, r := range name {
		if !strings.ContainsRune(".-_@", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return "holds a character that tools in the guest give a meaning to"
		}
	}
	return ""
}

// printable reports whether s is made of visible ASCII characters, so that it survives every form unquoted in spirit.
func printable(s string) bool {
	for _, r := range s {
		if r <= ' ' || r > '~' {
			return false
		}
	}
	return true
}

func (v *validator) mac(l *Link) {
	if l.MAC == "" {
		return
	}
	mac, ok := ParseMAC(l.MAC)
	if !ok {
		v.fail(CodeMAC, l, "mac", "write six octets such as 52:54:00:12:34:56", "this is not a MAC address")
		return
	}
	if mac == "00:00:00:00:00:00" || strings.Contains("13579bdf", mac[1:2]) {
		v.fail(CodeMAC, l, "mac", "the second digit must be even", "no NIC can have this MAC address: it is a group address or zero")
	}
	if l.Kind != Physical && l.Kind != "" {
		return
	}
	if other, ok := v.macs[mac]; ok {
		v.fail(CodeMAC, l, "mac", "give each NIC a MAC of its own", "link %q has the same MAC address", other)
	}
	v.macs[mac] = l.ID
}

func (v *validator) addresses(l *Link) {
	seen := map[netip.Addr]bool{}
	for i, p := range l.Addresses {
		field := fmt.Sprintf("addresses[%d]", i)
		a := p.Addr()
		switch {
		case !p.IsValid():
			v.fail(CodeAddress, l, field, "write address and prefix length, such as 10.0.0.5/24", "this is not an address with a prefix length")
		case a.Is4In6() || a.Zone() != "":
			v.fail(CodeAddress, l, field, "write a plain IPv4 or IPv6 address", "an address cannot carry a zone or be an IPv4-mapped one")
		case a.IsUnspecified() || a.IsMulticast() || a.IsLoopback():
			v.fail(CodeAddress, l, field, "give an address of a host", "%s is no address for a NIC", a)
		case p.Bits() == 0:
			v.fail(CodeAddress, l, field, "give the prefix length of the network", "a prefix length of 0 covers the whole Internet")
		case seen[a]:
			v.fail(CodeAddress, l, field, "remove one of the two", "%s is given twice", a)
		case a.Is4() && p.Bits() < 31 && a == p.Masked().Addr():
			v.warn(CodeAddress, l, field, "give the address of the host", "%s is the address of the network itself", p)
		}
		seen[a] = true
	}
}

func (v *validator) gateway(l *Link, field string, gw netip.Addr, v4 bool) {
	if !gw.IsValid() {
		return
	}
	family := "IPv6"
	if v4 {
		family = "IPv4"
	}
	switch {
	case gw.Is4() != v4 || gw.Is4In6() || gw.Zone() != "" || gw.IsUnspecified() || gw.IsMulticast():
		v.fail(CodeGateway, l, field, "give the address of the router", "%s is not the %s address of a router", gw, family)
	case slices.ContainsFunc(l.Addresses, func(p netip.Prefix) bool { return p.Addr() == gw }):
		v.fail(CodeGateway, l, field, "give the address of the router", "the router %s is an address of the link itself", gw)
	case !l.has(gw) && (v4 && !l.DHCP4 || !v4 && !l.uses6()):
		v.fail(CodeGateway, l, field, "give the link an address", "there is an %s router but no %s address", family, family)
	case l.has(gw) && !l.covers(gw) && !l.RoutersChecked:
		v.warn(CodeGateway, l, field, "check the prefix lengths; few guests can use such a router",
			"no address of the link covers the router %s", gw)
	}
}

func (v *validator) routes(l *Link) {
	for i, r := range l.Routes {
		field := fmt.Sprintf("routes[%d]", i)
		switch {
		case !r.To.IsValid() || r.To.Addr().Is4In6() || r.To.Addr().Zone() != "":
			v.fail(CodeRoute, l, field+".to", "write a network such as 10.0.0.0/8", "this is not a network")
		case r.To != r.To.Masked():
			v.fail(CodeRoute, l, field+".to", fmt.Sprintf("write %s", r.To.Masked()), "%s has host bits", r.To)
		case !r.Via.IsValid():
			v.fail(CodeRoute, l, field+".via", "name the router", "a route without a router cannot be rendered by every guest")
		case r.Via.Is4() != r.To.Addr().Is4() || r.Via.Is4In6() || r.Via.Zone() != "" || r.Via.IsUnspecified():
			v.fail(CodeRoute, l, field+".via", "name a router of the same family", "%s cannot be the router for %s", r.Via, r.To)
		case r.Metric < 0 || int64(r.Metric) > math.MaxUint32:
			v.fail(CodeRoute, l, field+".metric", "give a number from 1 to 4294967295", "the metric is out of range")
		case l.has(r.Via) && !l.covers(r.Via) && !r.OnLink:
			v.warn(CodeRoute, l, field+".via", "check the prefix lengths", "no address of the link covers the router %s", r.Via)
		}
	}
}

func (v *validator) dns(l *Link, d DNS) {
	if l == nil {
		l = &Link{ID: "*"}
	}
	for i, a := range d.Servers {
		if !a.IsValid() || a.IsUnspecified() || a.IsMulticast() || a.Is4In6() {
			v.fail(CodeDNS, l, fmt.Sprintf("dns.servers[%d]", i), "give the address of the resolver", "this is not the address of a resolver")
		}
	}
	for i, s := range d.Search {
		if !domain(s) {
			v.fail(CodeDNS, l, fmt.Sprintf("dns.search[%d]", i), "write a name such as example.org", "this is not a domain name")
		}
	}
}

// domain reports whether s can stand in a search list: labels of letters, digits, hyphens and underscores.
func domain(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, r := range label {
			if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
				return false
			}
		}
	}
	return true
}

func (v *validator) dhcp(l *Link) {
	if l.DHCP6 != NoDHCP6 && l.DHCP6 != Stateful && l.DHCP6 != Stateless {
		v.fail(CodeModel, l, "dhcp6", "use stateful or stateless", "DHCPv6 has no such mode")
	}
	if l.AcceptRA == Off && (l.SLAAC || l.DHCP6 == Stateless) {
		v.fail(CodeModel, l, "acceptRA", "drop one of the two", "addresses come from router advertisements, which are switched off")
	}
	if !l.DHCP4Overrides.IsZero() && !l.DHCP4 {
		v.warn(CodeModel, l, "dhcp4Overrides", "switch DHCPv4 on or drop them", "overrides are given but DHCPv4 is off")
	}
	if !l.DHCP6Overrides.IsZero() && l.DHCP6 == NoDHCP6 {
		v.warn(CodeModel, l, "dhcp6Overrides", "switch DHCPv6 on or drop them", "overrides are given but DHCPv6 is off")
	}
	if l.DHCP4Overrides.RouteMetric < 0 || l.DHCP6Overrides.RouteMetric < 0 {
		v.fail(CodeModel, l, "dhcpOverrides", "give a positive number", "the metric is negative")
	}
}

func (v *validator) params(l *Link) {
	params, table := l.paramsOf()
	for _, name := range sortedKeys(params) {
		p, ok := table[name]
		if !ok {
			v.fail(CodeParam, l, "params."+name, "use one of "+strings.Join(sortedKeys(table), ", "), "a %s has no such parameter", l.Kind)
		} else if why := p.complaint(params[name], l.members()); why != "" || !safeValue(params[name]) {
			v.fail(CodeParam, l, "params."+name, "", "the value %s", orElse(why, "holds control characters or quotes"))
		}
	}
	if l.Bond != nil && l.Bond.Mode != "" && !slices.Contains(bondModes, l.Bond.Mode) {
		v.fail(CodeParam, l, "bond.mode", "use one of "+strings.Join(bondModes, ", "), "there is no such bonding mode")
	}
	if l.VLAN == nil {
		return
	}
	if l.VLAN.ID < 0 || l.VLAN.ID > 4094 {
		v.fail(CodeParam, l, "vlan.id", "give a number from 0 to 4094", "the VLAN tag %d is out of range", l.VLAN.ID)
	}
	tag := fmt.Sprintf("%s.%d", l.VLAN.Parent, l.VLAN.ID)
	if other, ok := v.tags[tag]; ok {
		v.fail(CodeParam, l, "vlan.id", "use another tag", "VLAN %q has the same tag on the same link", other)
	}
	v.tags[tag] = l.ID
}

func safeValue(s string) bool {
	return printable(s) && !strings.ContainsAny(s, "\"'\\")
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

func (v *validator) membership(l *Link) {
	field := string(l.Kind) + ".links"
	if l.VLAN != nil {
		field = "vlan.parent"
	}
	for _, id := range l.members() {
		m := v.config.Link(id)
		if m == nil {
			v.fail(CodeReference, l, field, "name the ID of a link", "there is no link %q", id)
			continue
		}
		if l.VLAN != nil {
			continue
		}
		if other, ok := v.owner[id]; ok {
			v.fail(CodeReference, l, field, "a link has one master", "link %q already belongs to %q", id, other)
		}
		v.owner[id] = l.ID
		if len(m.Addresses) > 0 || m.DHCP4 || m.uses6() {
			v.warn(CodeReference, m, "addresses", "move the addresses to the "+string(l.Kind),
				"a member of %s %q has addresses of its own, which do not work", l.Kind, l.ID)
		}
	}
	if l.Bond != nil && len(l.Bond.Links) == 0 {
		v.warn(CodeReference, l, field, "name the members", "the bond has no members")
	}
}

// cycles finds links that are built upon themselves.
func (v *validator) cycles() {
	const open, done = 1, 2
	state := map[string]int{}
	var visit func(l *Link) bool
	visit = func(l *Link) bool {
		if l == nil || state[l.ID] == done {
			return true
		}
		if state[l.ID] == open {
			return false
		}
		state[l.ID] = open
		for _, id := range l.members() {
			if !visit(v.config.Link(id)) {
				return false
			}
		}
		state[l.ID] = done
		return true
	}
	for i := range v.config.Links {
		if l := &v.config.Links[i]; !visit(l) {
			v.fail(CodeReference, l, string(l.Kind), "break the circle", "the link is built upon itself")
			return
		}
	}
}

// defaults warns of default routes that compete.
func (v *validator) defaults() {
	for _, v4 := range []bool{true, false} {
		first := ""
		for i := range v.config.Links {
			l := &v.config.Links[i]
			if !l.gateway(v4).IsValid() {
				continue
			}
			if first == "" {
				first = l.ID
				continue
			}
			field := "gateway6"
			if v4 {
				field = "gateway4"
			}
			v.warn(CodeGateway, l, field, "keep one, or give routes with metrics",
				"link %q has a default route of the same family: the guest uses either", first)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

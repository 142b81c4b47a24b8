package netconfig

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Format is a written form of a network.
type Format string

// The forms. Disabled is network-config that switches cloud-init's network off; it belongs to no version.
const (
	Unknown   Format = ""
	V1        Format = "network-config-v1"
	V2        Format = "network-config-v2"
	OpenStack Format = "network_data.json"
	ENI       Format = "interfaces"
	Disabled  Format = "disabled"
)

// Formats lists the forms that Encode writes.
func Formats() []Format { return []Format{V1, V2, OpenStack, ENI} }

// Field names a part of the model, as diagnostics and the table of Expresses do.
type Field string

// Support says how well a form expresses a field.
type Support uint8

// The degrees of support.
const (
	// No means that the form has no words for the field: it is left out, with a diagnostic.
	No Support = iota
	// Partly means that the field is written, but lost in some releases or renderers, or in some combinations.
	Partly
	// Fully means that the field reaches every guest that reads the form.
	Fully
)

// says is the entry of the table for one field and form.
type says struct {
	support Support
	// why completes the sentence "field: why".
	why string
	// when narrows a No or Partly down to some links; nil means all. It is not called for links without the field.
	when func(c *Config, l *Link) bool
	// severity defaults to a warning; a note is for guests that are rare.
	severity diag.Severity
}

// fully is the entry for what just works.
func fully() says { return says{support: Fully} }

// no is the entry for what a form has no words for.
func no(why string) says { return says{support: No, why: why} }

// refuse is the entry for what is so essential that a product without it would be useless.
func refuse(why string) says { return says{support: No, why: why, severity: diag.Error} }

// partly is the entry for what some guests lose.
func partly(why string, when func(*Config, *Link) bool) says {
	return says{support: Partly, why: why, when: when}
}

// expression is a row of the table.
type expression struct {
	field             Field
	set               func(c *Config, l *Link) bool
	v1, v2, data, eni says
}

func (e expression) in(f Format) says {
	switch f {
	case V1:
		return e.v1
	case V2:
		return e.v2
	case OpenStack:
		return e.data
	case Keyfiles, Networkd:
		if s, ok := fileLosses(f)[e.field]; ok {
			return s
		}
		return fully()
	}
	return e.eni
}

// Expresses says how well a form expresses each field of a link. Fields of the whole network begin with a capital. The
// message of the diagnostic that Encode returns for a case in point says more.
func Expresses(f Format) map[Field]Support {
	out := map[Field]Support{}
	for _, e := range table() {
		s := e.in(f)
		out[e.field] = s.support
		if s.support == No && s.when != nil {
			out[e.field] = Partly // in some links
		}
	}
	return out
}

// The reasons that several rows share.
const (
	noENI       = "cloud-init reads NICs with their addresses from interfaces(5) text and nothing else"
	netplanOnly = "only guests that render with netplan honour it"
	needsStatic = "guests that render with netplan take it only beside a fixed address of the link"
	schemaWarns = "it works, but cloud-init 25.1 logs that its schema has no such key for this kind of link"
	noWords     = "the form has no key for it"
	bringsUp    = "most guests bring up every link that the document names"
	emptyLink   = "a link without any address has no place for it"
)

func virtual(_ *Config, l *Link) bool { return l.Kind != Physical }

func isKind(kinds ...Kind) func(*Config, *Link) bool {
	return func(_ *Config, l *Link) bool { return slices.Contains(kinds, l.Kind) }
}

func noStatic(_ *Config, l *Link) bool { return len(l.Addresses) == 0 }

func noSubnet(_ *Config, l *Link) bool { return len(l.Addresses) == 0 && !l.DHCP4 && !l.uses6() }

// table is what the four forms can say. It is a function, so that nothing can change it.
func table() []expression {
	return slices.Concat(linkRows(), addressRows(), routeRows(), dhcpRows(), kindRows())
}

func linkRows() []expression {
	return []expression{
		{"Disabled", func(c *Config, _ *Link) bool { return c.Disabled }, fully(), fully(),
			refuse("only network-config can switch the network off"), refuse("only network-config can switch the network off")},
		{"DNS", func(c *Config, _ *Link) bool { return !c.DNS.IsZero() }, partly(needsStatic, allDynamic),
			partly("version 2 has resolvers on links only, and there is no link with an address", noCarrier), partly(needsStatic, allDynamic),
			partly("interfaces(5) has resolvers on links only, and there is no link with an address", noCarrier)},
		{"name", func(_ *Config, l *Link) bool { return l.Name != "" }, fully(), fully(),
			says{No, "cloud-init names bonds bond0, bond1 … and VLANs after their parent and tag", unnameable, 0}, fully()},
		{"mac", func(_ *Config, l *Link) bool { return l.MAC != "" },
			partly(schemaWarns, isKind(Bridge)),
			partly("the MAC of a bond, bridge or VLAN reaches only guests that render with netplan", virtual), fully(), fully()},
		{"mtu", func(_ *Config, l *Link) bool { return l.MTU != 0 },
			partly(schemaWarns, isKind(Bridge)), fully(), fully(), partly("cloud-init does not take it from interfaces(5) text", nil)},
		{"optional", func(_ *Config, l *Link) bool { return l.Optional },
			no(noWords), fully(), no(noWords), no(noWords)},
		{"manual", func(_ *Config, l *Link) bool { return l.Manual }, no(bringsUp), no(bringsUp), no(bringsUp), no(bringsUp)},
	}
}

func addressRows() []expression {
	ownWord := says{Partly, "the method is cloud-init's own word: guests that hand the text to ifupdown, as cloud-init did before 0.7.7, do not know it",
		nil, diag.Note}
	return []expression{
		{"addresses", func(_ *Config, l *Link) bool { return len(l.Addresses) > 0 }, fully(), fully(), fully(), fully()},
		{"dhcp4", func(_ *Config, l *Link) bool { return l.DHCP4 }, fully(), fully(), fully(), fully()},
		{"dhcp6", func(_ *Config, l *Link) bool { return l.DHCP6 != NoDHCP6 }, fully(),
			partly("version 2 cannot tell stateless from stateful DHCPv6: the guest asks for an address as well",
				func(_ *Config, l *Link) bool { return l.DHCP6 == Stateless }), fully(), ownWord},
		{"slaac", func(_ *Config, l *Link) bool { return l.SLAAC }, fully(),
			partly("guests with sysconfig files lose it, and others without netplan need a fixed address or DHCP beside it", nil), fully(), ownWord},
		{"acceptRA", func(_ *Config, l *Link) bool { return l.AcceptRA != Default },
			partly(schemaWarns, virtual),
			partly("accept-ra of a bond, bridge or VLAN reaches only guests that render with netplan", virtual),
			says{No, "cloud-init decides by the kind of IPv6 address: off for fixed ones, on for DHCPv6", raNotImplied, 0}, no(noENI)},
	}
}

func routeRows() []expression {
	offLink := func(_ *Config, l *Link) bool { return l.has(l.Gateway4) && !l.covers(l.Gateway4) && !l.RoutersChecked }
	offLink6 := func(_ *Config, l *Link) bool { return l.has(l.Gateway6) && !l.covers(l.Gateway6) && !l.RoutersChecked }
	const off = "no address covers the router: of the releases known, only 25.1 with netplan marks it as on the link"
	const off2 = "no address covers the router: it is written as a route on the link, which only guests that render with netplan honour"
	family := says{Partly, "guests with NetworkManager and cloud-init 25.1 lose resolvers of a family that the link has no address of", nil, diag.Note}
	return []expression{
		{"gateway4", func(_ *Config, l *Link) bool { return l.Gateway4.IsValid() },
			partly(off, offLink), partly(off2, offLink), partly(off, offLink), partly(off, offLink)},
		{"gateway6", func(_ *Config, l *Link) bool { return l.Gateway6.IsValid() },
			partly(off, offLink6), partly(off2, offLink6), partly(off, offLink6), partly(off, offLink6)},
		{"routes", func(_ *Config, l *Link) bool { return len(l.Routes) > 0 },
			partly(needsStatic, noStatic), partly("guests without netplan need an address or DHCP on the link", noSubnet),
			partly(needsStatic, noStatic), partly("cloud-init does not take routes from interfaces(5) text", nil)},
		{"routes.metric", hasRoute(func(r Route) bool { return r.Metric != 0 }),
			partly("cloud-init 22.4 drops it in guests with NetworkManager", nil),
			partly("cloud-init 22.4 drops it unless the guest renders with netplan", nil),
			partly("cloud-init 22.4 drops it in guests with NetworkManager", nil),
			partly("cloud-init does not take routes from interfaces(5) text", nil)},
		{"routes.onLink", hasRoute(func(r Route) bool { return r.OnLink }), no(noWords), partly(netplanOnly, nil), no(noWords),
			partly("cloud-init does not take routes from interfaces(5) text", nil)},
		{"dns.servers", func(_ *Config, l *Link) bool { return len(l.DNS.Servers) > 0 },
			partly(needsStatic, noStatic), fully(),
			partlyOrNot(emptyLink, needsStatic), partlyOrNot(emptyLink, needsStatic)},
		{"dns.family", otherFamily, family, family, family, family},
		{"dns.search", func(_ *Config, l *Link) bool { return len(l.DNS.Search) > 0 },
			partly(needsStatic, noStatic),
			partly("guests without netplan drop a search list that has no resolvers beside it",
				func(_ *Config, l *Link) bool { return len(l.DNS.Servers) == 0 }),
			partlyOrNot(emptyLink, needsStatic), partlyOrNot(emptyLink, needsStatic)},
	}
}

// otherFamily reports resolvers of a family that the link has no address of.
func otherFamily(c *Config, l *Link) bool {
	return !noSubnet(c, l) && slices.ContainsFunc(c.dnsOf(l).Servers, func(a netip.Addr) bool {
		return !l.has(a) && (a.Is4() && !l.DHCP4 || a.Is6() && !l.uses6())
	})
}

// partlyOrNot is for forms in which a link without addresses has no place for a value, and one without fixed
// addresses loses it in some guests. One sentence covers both.
func partlyOrNot(never, sometimes string) says {
	return partly(never+"; "+sometimes, noStatic)
}

func hasRoute(match func(Route) bool) func(*Config, *Link) bool {
	return func(_ *Config, l *Link) bool { return slices.ContainsFunc(l.Routes, match) }
}

func dhcpRows() []expression {
	row := func(name Field, set func(o DHCPOverrides) bool, v1, v2, data says) []expression {
		return []expression{
			{"dhcp4Overrides." + name, func(_ *Config, l *Link) bool { return set(l.DHCP4Overrides) }, v1, v2, data, no(noENI)},
			{"dhcp6Overrides." + name, func(_ *Config, l *Link) bool { return set(l.DHCP6Overrides) }, v1, v2, data, no(noENI)},
		}
	}
	const lost = "only guests with interfaces(5), or with sysconfig files of cloud-init 22.4, honour it, and 25.1 logs that its schema has no such key"
	const lost2 = "guests with NetworkManager, or with sysconfig files of cloud-init 25.1, lose it"
	const netd = "only guests that render with netplan or networkd honour it"
	return slices.Concat(
		row("routeMetric", func(o DHCPOverrides) bool { return o.RouteMetric != 0 }, partly(lost, nil), partly(lost2, nil), partly(lost, nil)),
		row("useDNS", func(o DHCPOverrides) bool { return o.UseDNS != Default }, no(noWords), partly(netd, nil), no(noWords)),
		row("useRoutes", func(o DHCPOverrides) bool { return o.UseRoutes != Default }, no(noWords), partly(netd, nil), no(noWords)),
	)
}

func kindRows() []expression {
	has := func(k Kind) func(*Config, *Link) bool {
		return func(_ *Config, l *Link) bool { return l.Kind == k }
	}
	const nameless = "guests without netplan do not find members that have no interface name"
	const words = "some are lost in NetworkManager's files of cloud-init 22.4, and those of two words in sysconfig files"
	rare := says{Partly, "guests that render with networkd themselves, without netplan, get no such link", nil, diag.Note}
	return []expression{
		{"bond", has(Bond), rare, rare, rare, refuse(noENI)},
		{"bond.mode", func(_ *Config, l *Link) bool { return l.Bond != nil && l.Bond.Mode != "" }, fully(), fully(),
			partly("cloud-init 22.4 loses it when the guest renders with NetworkManager", nil), no(noENI)},
		{"bond.params", func(_ *Config, l *Link) bool { return l.Bond != nil && len(l.Bond.Params) > 0 },
			partly(words, nil), partly("guests without netplan fail on the whole network at some of them, "+
				"and those with NetworkManager lose those of two words", unportableParams), partly(words, nil), no(noENI)},
		{"bridge", has(Bridge), rare, rare, refuse("network_data.json has no bridges in the guest"), refuse(noENI)},
		{"bridge.params", func(_ *Config, l *Link) bool { return l.Bridge != nil && len(l.Bridge.Params) > 0 },
			partly("guests with sysconfig files or NetworkManager take stp and priority only", moreThanSTP),
			partly("guests with sysconfig files or NetworkManager take stp and priority only, and settings per port reach netplan alone", moreThanSTP),
			no(noWords), no(noENI)},
		{"vlan", has(VLAN), rare, rare, rare, refuse(noENI)},
		{"members", func(_ *Config, l *Link) bool { return len(l.members()) > 0 }, fully(), partly(nameless, namelessMembers), fully(), no(noENI)},
	}
}

// allDynamic reports that no link has a fixed address.
func allDynamic(c *Config, _ *Link) bool {
	return !slices.ContainsFunc(c.Links, func(l Link) bool { return len(l.Addresses) > 0 })
}

// noCarrier reports that no link can carry the guest's resolvers.
func noCarrier(c *Config, _ *Link) bool {
	return !slices.ContainsFunc(c.Links, func(l Link) bool { return !noSubnet(c, &l) })
}

// namelessMembers reports that a link is built upon NICs without a name.
func namelessMembers(c *Config, l *Link) bool {
	return slices.ContainsFunc(l.members(), func(id string) bool {
		m := c.Link(id)
		return m != nil && m.Kind == Physical && m.Name == ""
	})
}

// unportableParams reports parameters that version 2 carries to guests with netplan only.
func unportableParams(_ *Config, l *Link) bool {
	for name := range l.Bond.Params {
		if p := bondParams[name]; !p.everywhere || strings.Contains(p.v1, "_") {
			return true
		}
	}
	return false
}

func moreThanSTP(_ *Config, l *Link) bool {
	for name := range l.Bridge.Params {
		if name != "stp" && name != "priority" {
			return true
		}
	}
	return false
}

// unnameable reports that network_data.json gives the link another name than the wanted one.
func unnameable(c *Config, l *Link) bool {
	return (l.Kind == Bond || l.Kind == VLAN) && l.Name != openStackName(c, l)
}

// openStackName is the name that cloud-init gives a virtual link of network_data.json, or "" when it depends on the
// kernel's name for the parent.
func openStackName(c *Config, l *Link) string {
	switch l.Kind {
	case Bond:
		n := 0
		for i := range c.Links {
			switch {
			case c.Links[i].ID == l.ID:
				return fmt.Sprintf("bond%d", n)
			case c.Links[i].Kind == Bond:
				n++
			}
		}
	case VLAN:
		parent := c.Link(l.VLAN.Parent)
		if name := parent.Name; parent.Kind == Physical && name != "" {
			return fmt.Sprintf("%s.%d", name, l.VLAN.ID)
		}
		if name := openStackName(c, parent); parent.Kind != Physical && name != "" {
			return fmt.Sprintf("%s.%d", name, l.VLAN.ID)
		}
	}
	return ""
}

// raNotImplied reports that cloud-init would not choose the wanted setting by itself.
func raNotImplied(_ *Config, l *Link) bool {
	switch {
	case l.DHCP6 == Stateful:
		return l.AcceptRA != On
	case l.uses6():
		return l.AcceptRA != Off
	}
	return true
}

// losses compares a network with what a form can say.
func losses(c *Config, f Format) diag.List {
	var out diag.List
	for _, e := range table() {
		s := e.in(f)
		switch {
		case s.support == Fully:
		case e.whole():
			out = append(out, loss(c, &Link{ID: "*"}, e, s, f)...)
		default:
			for i := range c.Links {
				out = append(out, loss(c, &c.Links[i], e, s, f)...)
			}
		}
	}
	return out
}

// whole reports whether the row is about the network instead of a link.
func (e expression) whole() bool { return e.field[0] >= 'A' && e.field[0] <= 'Z' }

func loss(c *Config, l *Link, e expression, s says, f Format) diag.List {
	if !e.set(c, l) || s.when != nil && !s.when(c, l) {
		return nil
	}
	code, remedy := CodePartly, "check what the guest renders with, or use another form"
	if s.support == No {
		code, remedy = CodeInexpressible, fmt.Sprintf("leave it out or use another form than %s", f)
	}
	d := about(l, cmp.Or(s.severity, diag.Warning), code, string(e.field), remedy, "%s", s.why)
	if e.whole() {
		d.Field = string(e.field)
	}
	return diag.List{d}
}

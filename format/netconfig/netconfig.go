// Package netconfig describes the network of a guest once and writes it in every form that cloud-init reads:
// network-config version 1, network-config version 2 (netplan), OpenStack's network_data.json and Debian's
// interfaces(5) text. It also reads the first three, checks what a user wrote against the traps of cloud-init's
// releases and renderers, and converts between the forms. For guests without cloud-init it writes the files that
// NetworkManager and systemd-networkd read.
//
// What a form cannot say is never dropped in silence: the encoder names the link and the field in a diagnostic. The
// table behind Expresses states per form and field what can be said.
//
// The forms are described in cloud-init's documentation (network-config-format-v1, network-config-format-v2), in
// netplan's YAML reference, in nova's JSON schema for network_data.json and in interfaces(5). Where cloud-init's code
// differs from these pages, the code of the releases 22.4 and 25.1 decides; comments name the difference. Files follow
// nm-settings-keyfile(5) of NetworkManager 1.42 and systemd.network(5) of systemd 252.
package netconfig

import (
	"cmp"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// Config is the network of one guest.
type Config struct {
	// Disabled asks cloud-init to leave the network of the guest alone. It goes with no links.
	Disabled bool
	// Links are the devices, in the order the forms list them.
	Links []Link
	// DNS holds for the whole guest. Links without a DNS of their own are given it as well.
	DNS DNS
}

// DNS is a list of resolvers with a search list.
type DNS struct {
	Servers []netip.Addr
	// Search holds domain names without a final dot.
	Search []string
}

// IsZero reports whether nothing is set.
func (d DNS) IsZero() bool { return len(d.Servers) == 0 && len(d.Search) == 0 }

// Kind is the kind of a link.
type Kind string

// The kinds of links.
const (
	Physical Kind = "physical" // a NIC of the machine
	Bond     Kind = "bond"     // several links used as one
	Bridge   Kind = "bridge"   // a software switch
	VLAN     Kind = "vlan"     // a tagged network on another link
)

// DHCP6 says what a link asks a DHCPv6 server for.
type DHCP6 string

// The ways to use DHCPv6.
const (
	NoDHCP6   DHCP6 = ""          // nothing
	Stateful  DHCP6 = "stateful"  // addresses and options
	Stateless DHCP6 = "stateless" // options only; the address comes from router advertisements
)

// Switch is a setting that may be left to the guest.
type Switch uint8

// The positions of a switch.
const (
	Default Switch = iota // the guest decides
	On
	Off
)

// SwitchOf returns On for true and Off for false.
func SwitchOf(on bool) Switch {
	if on {
		return On
	}
	return Off
}

// Link is one network device of the guest with its addresses.
type Link struct {
	// ID is how other links refer to this one. It is unique in a Config and not visible in the guest unless Name is
	// empty and a form demands a name.
	ID string
	// Kind defaults to Physical.
	Kind Kind
	// Name is the interface name in the guest, at most 15 characters. A physical link with a MAC is renamed to it.
	// Empty means: the kernel's name for a physical link, the ID for others.
	Name string
	// MAC is six octets as lower-case hexadecimal numbers with colons; see ParseMAC. A physical link is found by it;
	// others are given it.
	MAC string
	// MTU is in bytes; 0 leaves it to the guest.
	MTU int
	// Addresses are the fixed addresses with their prefix lengths; host bits are kept.
	Addresses []netip.Prefix
	DHCP4     bool
	DHCP6     DHCP6
	// SLAAC takes an address from router advertisements without asking DHCPv6.
	SLAAC bool
	// AcceptRA says whether the guest listens to router advertisements at all.
	AcceptRA Switch
	// Gateway4 and Gateway6 are the routers of the default routes. An invalid Addr means none. One that no address
	// covers is taken to be on the link.
	Gateway4, Gateway6 netip.Addr
	// Routes are further routes. A default route without a metric means the same as a gateway.
	Routes []Route
	// DNS holds for this link.
	DNS DNS
	// DHCP4Overrides and DHCP6Overrides bend what a DHCP server says.
	DHCP4Overrides, DHCP6Overrides DHCPOverrides
	// Optional links are not waited for at boot.
	Optional bool
	// Manual links are configured, but stay down until somebody brings them up.
	Manual bool
	// Bond, Bridge and VLAN are set for the kind of the same name, else nil.
	Bond   *BondSpec
	Bridge *BridgeSpec
	VLAN   *VLANSpec
	// Place is where the link stands in the file it was read from. It is used in diagnostics only.
	Place diag.Range
	// RoutersChecked says that whoever read the link has warned about routers that no address covers, so that no diagnostic
	// says it again.
	RoutersChecked bool
}

// Route is a route of a link.
type Route struct {
	To netip.Prefix
	// Via is the router. Every form needs one: cloud-init's interfaces(5) renderer fails on routes without.
	Via netip.Addr
	// Metric is the priority, lower is better; 0 leaves it to the guest.
	Metric int
	// OnLink says that Via is reachable although no address of the link covers it.
	OnLink bool
}

// DHCPOverrides change what a link takes over from a DHCP server.
type DHCPOverrides struct {
	// RouteMetric is the priority of the routes the server names; 0 leaves it to the guest.
	RouteMetric int
	// UseDNS says whether the server's resolvers are used.
	UseDNS Switch
	// UseRoutes says whether the server's routes, the default route among them, are used.
	UseRoutes Switch
}

// IsZero reports whether nothing is set.
func (o DHCPOverrides) IsZero() bool { return o == DHCPOverrides{} }

// BondSpec is what a bond adds to a link.
type BondSpec struct {
	// Links are the IDs of the members.
	Links []string
	// Mode is the kernel's name of the bonding policy, such as 802.3ad. Empty means balance-rr.
	Mode string
	// Params are further settings by netplan's names for them; BondParams lists these. Lists are joined by commas.
	Params map[string]string
}

// BridgeSpec is what a bridge adds to a link.
type BridgeSpec struct {
	// Links are the IDs of the ports. A bridge may have none.
	Links []string
	// Params are settings by netplan's names for them; BridgeParams lists these. Settings per port are written
	// ID=NUMBER and joined by commas; stp is true or false.
	Params map[string]string
}

// VLANSpec is what a VLAN adds to a link.
type VLANSpec struct {
	// Parent is the ID of the link that carries the tagged frames.
	Parent string
	// ID is the tag, 0 to 4094.
	ID int
}

// GuestName returns the name that the link has in the guest as far as the model says: Name, or for virtual links ID.
// It is empty for a physical link that keeps the kernel's name.
func (l *Link) GuestName() string {
	if l.Name != "" || l.Kind == Physical || l.Kind == "" {
		return l.Name
	}
	return l.ID
}

// members returns the IDs of the links this one is built upon.
func (l *Link) members() []string {
	switch {
	case l.Bond != nil:
		return l.Bond.Links
	case l.Bridge != nil:
		return l.Bridge.Links
	case l.VLAN != nil:
		return []string{l.VLAN.Parent}
	}
	return nil
}

// has reports whether the link has a fixed address of the family of addr.
func (l *Link) has(addr netip.Addr) bool {
	for _, p := range l.Addresses {
		if p.Addr().Is4() == addr.Is4() {
			return true
		}
	}
	return false
}

// covers reports whether addr can be reached on the link directly: a fixed address covers it, or it is an IPv6
// link-local address, which is on every link.
func (l *Link) covers(addr netip.Addr) bool {
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		return true
	}
	for _, p := range l.Addresses {
		if p.Masked().Contains(addr.WithZone("")) {
			return true
		}
	}
	return false
}

// gateway returns the gateway of a family.
func (l *Link) gateway(v4 bool) netip.Addr {
	if v4 {
		return l.Gateway4
	}
	return l.Gateway6
}

// uses6 reports whether the link is meant to have an IPv6 address beyond the link-local one.
func (l *Link) uses6() bool {
	return l.DHCP6 != NoDHCP6 || l.SLAAC || l.has(netip.IPv6Unspecified())
}

// Link returns the link with an ID, or nil.
func (c *Config) Link(id string) *Link {
	for i := range c.Links {
		if c.Links[i].ID == id {
			return &c.Links[i]
		}
	}
	return nil
}

// dnsOf returns the DNS that applies to a link: its own, else that of the guest.
func (c *Config) dnsOf(l *Link) DNS {
	if !l.DNS.IsZero() {
		return l.DNS
	}
	return c.DNS
}

// ordered returns the links such that each comes behind the links it is built upon, else in the given order.
// References are valid, as Validate has checked.
func (c *Config) ordered() []*Link {
	out := make([]*Link, 0, len(c.Links))
	done := make(map[string]bool, len(c.Links))
	var visit func(l *Link)
	visit = func(l *Link) {
		if l == nil || done[l.ID] {
			return
		}
		done[l.ID] = true
		for _, id := range l.members() {
			visit(c.Link(id))
		}
		out = append(out, l)
	}
	for i := range c.Links {
		visit(&c.Links[i])
	}
	return out
}

// ParseMAC returns six octets in the spelling that every form and release takes: lower-case with colons. Octets may be
// separated by colons or hyphens.
func ParseMAC(s string) (string, bool) {
	octets := strings.ReplaceAll(s, "-", ":")
	if len(octets) != 17 {
		return "", false
	}
	for i := 2; i < len(octets); i += 3 {
		if octets[i] != ':' {
			return "", false
		}
	}
	if _, err := hex.DecodeString(strings.ReplaceAll(octets, ":", "")); err != nil {
		return "", false
	}
	return strings.ToLower(octets), true
}

// normal returns a copy in the one spelling that encoders write: MACs in lower case, no DNS that repeats the guest's, a
// default route as a gateway where a fixed address of the family carries it, else as a route.
func (c Config) normal() Config {
	links := make([]Link, len(c.Links))
	for i, l := range c.Links {
		if mac, ok := ParseMAC(l.MAC); ok {
			l.MAC = mac
		}
		l.Kind = cmp.Or(l.Kind, Physical)
		if l.DNS.equal(c.DNS) {
			l.DNS = DNS{}
		}
		if l.AcceptRA == On && (l.SLAAC || l.DHCP6 == Stateless) {
			l.AcceptRA = Default // said already
		}
		l.settleDefaults(&l.Gateway4, netip.IPv4Unspecified())
		l.settleDefaults(&l.Gateway6, netip.IPv6Unspecified())
		links[i] = l
	}
	c.Links = links
	return c
}

// settleDefaults moves the default route of the family of zero to where normal wants it.
func (l *Link) settleDefaults(gateway *netip.Addr, zero netip.Addr) {
	if !l.has(zero) {
		if gateway.IsValid() {
			l.Routes = append(slices.Clip(l.Routes), Route{To: netip.PrefixFrom(zero, 0), Via: *gateway})
			*gateway = netip.Addr{}
		}
		return
	}
	var rest []Route
	for _, r := range l.Routes {
		free := !gateway.IsValid() || *gateway == r.Via
		if r.To == netip.PrefixFrom(zero, 0) && r.Metric == 0 && r.Via.Is4() == zero.Is4() && free && (r.OnLink || l.covers(r.Via)) {
			*gateway = r.Via
			continue
		}
		rest = append(rest, r)
	}
	l.Routes = rest
}

func (d DNS) equal(o DNS) bool {
	return slices.Equal(d.Servers, o.Servers) && slices.Equal(d.Search, o.Search)
}

package netconfig

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// keyfileSpace is the name space of the connections' UUIDs: the UUIDv5 of the URL https://vmseed.dev/connection.
const keyfileSpace = "\xdd\xa3\xd5\x23\xf1\xd1\x50\x7a\xa9\x8e\x1b\xb7\x2e\x9c\x15\xb6"

// connectionUUID is the UUIDv5 (RFC 9562, section 5.5) of a link's ID.
func connectionUUID(id string) string {
	sum := sha1.Sum([]byte(keyfileSpace + id))
	u := sum[:16]
	u[6], u[8] = u[6]&0x0f|0x50, u[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

// masters finds the bond or bridge that each link is a member of.
func (c *Config) masters() map[string]*Link {
	out := map[string]*Link{}
	for i := range c.Links {
		if l := &c.Links[i]; l.Kind == Bond || l.Kind == Bridge {
			for _, id := range l.members() {
				out[id] = l
			}
		}
	}
	return out
}

// keyfileTypes are the connection types of nm-settings-keyfile(5).
var keyfileTypes = map[Kind]string{Physical: "ethernet", Bond: "bond", Bridge: "bridge", VLAN: "vlan"}

// keyfile writes the connection profile of a link. Profiles refer to each other by UUID, because a NIC may have no name
// that is known before the guest boots.
func (c *Config) keyfile(l *Link, name string) File {
	var t iniText
	master, member := c.masters()[l.ID]
	ifname := l.GuestName()
	if l.Kind == Physical && l.MAC != "" {
		ifname = "" // the MAC is enough, and holds even when the NIC could not be renamed
	}
	masterID, memberType := "", ""
	if member {
		masterID, memberType = connectionUUID(master.ID), keyfileTypes[master.Kind]
	}
	t.section("connection", "id", strings.ReplaceAll(cmp.Or(l.GuestName(), l.ID), `\`, `\\`), "uuid", connectionUUID(l.ID),
		"type", keyfileTypes[l.Kind], "interface-name", ifname,
		// A profile of the image that fits every NIC has priority 0 or less.
		"autoconnect", when(l.Manual, "false"), "autoconnect-priority", "1", "master", masterID, "slave-type", memberType)
	own, cloned := l.MAC, ""
	if l.Kind != Physical {
		own, cloned = "", l.MAC
	}
	t.section("ethernet", "mac-address", own, "cloned-mac-address", cloned, "mtu", count(l.MTU))
	switch l.Kind {
	case Bond:
		t.section("bond", c.keyfileBond(l)...)
	case Bridge:
		t.section("bridge", keyfileBridge(l)...)
	case VLAN:
		t.section("vlan", "id", fmt.Sprint(l.VLAN.ID), "parent", connectionUUID(l.VLAN.Parent))
	}
	if member {
		if master.Kind == Bridge {
			t.section("bridge-port", "path-cost", portValue(master, "path-cost", l.ID), "priority", portValue(master, "port-priority", l.ID))
		}
	} else {
		c.keyfileFamily(&t, l, true)
		c.keyfileFamily(&t, l, false)
	}
	return File{Path: "/etc/NetworkManager/system-connections/" + name + ".nmconnection", Mode: 0o600, Content: t.bytes()}
}

// keyfileBond returns the bond's options, which have the kernel's names.
func (c *Config) keyfileBond(l *Link) []string {
	out := []string{"mode", cmp.Or(l.Bond.Mode, bondModes[0])}
	for _, name := range sortedKeys(l.Bond.Params) {
		p, value := bondParams[name], l.Bond.Params[name]
		if c.keyfileRefuses(l, name) {
			continue
		}
		switch p.value {
		case boolean:
			value = map[string]string{"true": "1", "false": "0"}[value]
		case device:
			value = c.Link(value).GuestName()
		case list:
			value = strings.Join(items(value), ",")
		}
		out = append(out, p.v1, value)
	}
	return out
}

// keyfileRefuses reports that NetworkManager would refuse the whole profile for a parameter of a bond, or drop it: it does
// not go with the mode, or lacks another one (bond options in nm-settings(5); the library of 1.42 decides).
func (c *Config) keyfileRefuses(l *Link, name string) bool {
	p, mode := l.Bond.Params, cmp.Or(l.Bond.Mode, bondModes[0])
	// In these modes the bond balances by itself and cannot watch its members by ARP.
	byARP := !slices.Contains([]string{"802.3ad", "balance-tlb", "balance-alb"}, mode)
	arp := byARP && p["arp-interval"] != "" && p["arp-ip-targets"] != "" && p["mii-monitor-interval"] == ""
	switch name {
	case "arp-interval", "arp-ip-targets":
		return !arp
	case "arp-validate", "arp-all-targets":
		return !arp
	case "lacp-rate":
		return mode != "802.3ad"
	case "packets-per-slave":
		return mode != "balance-rr"
	case "primary":
		return !slices.Contains([]string{"active-backup", "balance-tlb", "balance-alb"}, mode) || c.Link(p[name]).GuestName() == ""
	}
	return false
}

func keyfileBridge(l *Link) []string {
	var out []string
	for _, name := range sortedKeys(l.Bridge.Params) {
		if bridgeParams[name].value != perPort {
			out = append(out, name, l.Bridge.Params[name])
		}
	}
	return out
}

// portValue returns the value of a perPort parameter for one port, or "".
func portValue(bridge *Link, param, id string) string {
	for _, item := range items(bridge.Bridge.Params[param]) {
		if port, n, ok := portItem(item); ok && port == id {
			return fmt.Sprint(n)
		}
	}
	return ""
}

// keyfileMethod returns how a family gets its addresses. For IPv6 automatic means that router advertisements decide
// about SLAAC and DHCPv6.
func keyfileMethod(l *Link, v4 bool) string {
	fixed := l.has(zeroFamily(v4))
	switch {
	case v4 && l.DHCP4:
		return "auto"
	case v4 && fixed:
		return "manual"
	case v4:
		return "disabled"
	case l.DHCP6 == Stateful && l.AcceptRA == Off:
		return "dhcp"
	case l.DHCP6 != NoDHCP6 || l.SLAAC || l.AcceptRA == On:
		return "auto"
	case fixed:
		return "manual"
	case l.AcceptRA == Off || !l.DHCP4 && len(l.Addresses) == 0:
		// A NIC without any address would wait for a router that nobody promised.
		return "link-local"
	}
	return "auto"
}

func zeroFamily(v4 bool) netip.Addr {
	if v4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// keyfileActive reports whether a family may hold resolvers and routes.
func keyfileActive(l *Link, v4 bool) bool {
	method := keyfileMethod(l, v4)
	return method != "disabled" && method != "link-local"
}

func (c *Config) keyfileFamily(t *iniText, l *Link, v4 bool) {
	name, overrides := "ipv6", l.DHCP6Overrides
	if v4 {
		name, overrides = "ipv4", l.DHCP4Overrides
	}
	pairs := []string{"method", keyfileMethod(l, v4)}
	n := 0
	for _, p := range l.Addresses {
		if p.Addr().Is4() == v4 {
			n++
			pairs = append(pairs, fmt.Sprintf("address%d", n), p.String())
		}
	}
	if !keyfileActive(l, v4) {
		t.section(name, pairs...)
		return
	}
	if gw := l.gateway(v4); gw.IsValid() {
		pairs = append(pairs, "gateway", gw.String())
	}
	n = 0
	for _, r := range l.Routes {
		if r.To.Addr().Is4() != v4 {
			continue
		}
		n++
		value := r.To.String() + "," + r.Via.String()
		if r.Metric != 0 {
			value += fmt.Sprintf(",%d", r.Metric)
		}
		pairs = append(pairs, fmt.Sprintf("route%d", n), value)
		if r.OnLink {
			pairs = append(pairs, fmt.Sprintf("route%d_options", n), "onlink=true")
		}
	}
	pairs = append(pairs, "route-metric", count(overrides.RouteMetric), "ignore-auto-dns", when(overrides.UseDNS == Off, "true"),
		"ignore-auto-routes", when(overrides.UseRoutes == Off, "true"))
	dns := c.dnsOf(l)
	servers := slices.DeleteFunc(slices.Clone(dns.Servers), func(a netip.Addr) bool { return a.Is4() != v4 })
	pairs = append(pairs, "dns", keyfileList(strs(servers)))
	if v4 || !keyfileActive(l, true) {
		pairs = append(pairs, "dns-search", keyfileList(dns.Search))
	}
	t.section(name, pairs...)
}

func keyfileList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, ";") + ";"
}

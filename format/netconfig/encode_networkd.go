package netconfig

import (
	"fmt"
	"net/netip"
	"strings"
)

// networkdBond are the names of bond parameters in systemd.netdev(5), and the unit of those that are times.
var networkdBond = map[string][2]string{
	"ad-select":               {"AdSelect"},
	"all-slaves-active":       {"AllSlavesActive"},
	"arp-all-targets":         {"ARPAllTargets"},
	"arp-interval":            {"ARPIntervalSec", "ms"},
	"arp-ip-targets":          {"ARPIPTargets"},
	"arp-validate":            {"ARPValidate"},
	"down-delay":              {"DownDelaySec", "ms"},
	"fail-over-mac-policy":    {"FailOverMACPolicy"},
	"gratuitous-arp":          {"GratuitousARP"},
	"lacp-rate":               {"LACPTransmitRate"},
	"learn-packet-interval":   {"LearnPacketIntervalSec", "s"},
	"mii-monitor-interval":    {"MIIMonitorSec", "ms"},
	"min-links":               {"MinLinks"},
	"packets-per-slave":       {"PacketsPerSlave"},
	"primary-reselect-policy": {"PrimaryReselectPolicy"},
	"transmit-hash-policy":    {"TransmitHashPolicy"},
	"up-delay":                {"UpDelaySec", "ms"},
}

// networkdBridge is the same for bridges.
var networkdBridge = map[string][2]string{
	"ageing-time":   {"AgeingTimeSec", "s"},
	"forward-delay": {"ForwardDelaySec", "s"},
	"hello-time":    {"HelloTimeSec", "s"},
	"max-age":       {"MaxAgeSec", "s"},
	"priority":      {"Priority"},
	"stp":           {"STP"},
}

// networkd writes the files of a link: a .netdev file when it has to be made, and its .network file.
func (c *Config) networkd(l *Link, name string) []File {
	var files []File
	if l.Kind != Physical {
		files = append(files, File{Path: networkdDir + name + ".netdev", Mode: 0o644, Content: c.netdev(l)})
	}
	return append(files, File{Path: networkdDir + name + ".network", Mode: 0o644, Content: c.networkFile(l)})
}

func (c *Config) netdev(l *Link) []byte {
	var t iniText
	t.section("NetDev", "Name", l.GuestName(), "Kind", string(l.Kind), "MACAddress", l.MAC)
	switch l.Kind {
	case Bond:
		t.section("Bond", append([]string{"Mode", l.Bond.Mode}, networkdParams(l, networkdBond)...)...)
	case Bridge:
		t.section("Bridge", networkdParams(l, networkdBridge)...)
	case VLAN:
		t.section("VLAN", "Id", fmt.Sprint(l.VLAN.ID))
	}
	return t.bytes()
}

// networkdParams returns the parameters of the device itself; those of its members stand in their files.
func networkdParams(l *Link, words map[string][2]string) []string {
	var out []string
	params, table := l.paramsOf()
	for _, name := range sortedKeys(params) {
		word, ok := words[name]
		if !ok {
			continue
		}
		value := params[name]
		if table[name].value == list {
			value = strings.Join(items(value), " ")
		}
		out = append(out, word[0], value+word[1])
	}
	return out
}

func (c *Config) networkFile(l *Link) []byte {
	var t iniText
	master, member := c.masters()[l.ID]
	if l.Kind == Physical && l.MAC != "" {
		t.section("Match", "PermanentMACAddress", l.MAC)
	} else {
		t.section("Match", "Name", l.GuestName())
	}
	t.section("Link", "MTUBytes", count(l.MTU), "ActivationPolicy", when(l.Manual, "manual"), "RequiredForOnline", when(l.Optional || l.Manual, "no"))
	c.networkSection(&t, l, master)
	if member && master.Kind == Bridge {
		t.section("Bridge", "Cost", portValue(master, "path-cost", l.ID), "Priority", portValue(master, "port-priority", l.ID))
	}
	if member {
		return t.bytes()
	}
	for _, gw := range []netip.Addr{l.Gateway4, l.Gateway6} {
		if gw.IsValid() {
			t.section("Route", "Gateway", gw.String(), "GatewayOnLink", when(!l.covers(gw), "yes"))
		}
	}
	for _, r := range l.Routes {
		t.section("Route", "Destination", r.To.String(), "Gateway", r.Via.String(), "Metric", count(r.Metric), "GatewayOnLink", when(r.OnLink, "yes"))
	}
	o4, o6 := l.DHCP4Overrides, l.DHCP6Overrides
	t.section("DHCPv4", "RouteMetric", count(o4.RouteMetric), "UseDNS", yesNo(o4.UseDNS), "UseRoutes", yesNo(o4.UseRoutes))
	// DHCPv6 names no routes: they come with router advertisements, whose client it is.
	t.section("DHCPv6", "WithoutRA", when(l.DHCP6 == Stateful && l.AcceptRA == Off, "solicit"), "UseDNS", yesNo(o6.UseDNS))
	client := ""
	switch {
	case l.DHCP6 == Stateful && l.AcceptRA != Off:
		client = "always"
	case l.SLAAC && l.DHCP6 == NoDHCP6:
		client = "no"
	}
	t.section("IPv6AcceptRA", "DHCPv6Client", client, "RouteMetric", count(o6.RouteMetric), "UseDNS", yesNo(o6.UseDNS),
		"UseGateway", yesNo(o6.UseRoutes), "UseRoutePrefix", yesNo(o6.UseRoutes))
	return t.bytes()
}

// networkSection writes what the link is a part of and how it gets its addresses.
func (c *Config) networkSection(t *iniText, l *Link, master *Link) {
	var pairs []string
	if master != nil {
		pairs = append(pairs, map[Kind]string{Bond: "Bond", Bridge: "Bridge"}[master.Kind], master.GuestName(), "LinkLocalAddressing", "no",
			"PrimarySlave", when(master.Bond != nil && master.Bond.Params["primary"] == l.ID, "yes"))
	}
	for i := range c.Links {
		if v := &c.Links[i]; v.VLAN != nil && v.VLAN.Parent == l.ID {
			pairs = append(pairs, "VLAN", v.GuestName())
		}
	}
	if master == nil {
		ra := l.AcceptRA
		if ra == Default && (l.SLAAC || l.DHCP6 != NoDHCP6) {
			ra = On
		}
		pairs = append(pairs, "DHCP", networkdDHCP(l), "IPv6AcceptRA", yesNo(ra),
			"ConfigureWithoutCarrier", when(l.Bridge != nil && len(l.Bridge.Links) == 0, "yes"))
		for _, p := range l.Addresses {
			pairs = append(pairs, "Address", p.String())
		}
		dns := c.dnsOf(l)
		if noSubnet(c, l) {
			dns = l.DNS
		}
		pairs = append(pairs, "DNS", strings.Join(strs(dns.Servers), " "), "Domains", strings.Join(dns.Search, " "))
	}
	t.section("Network", pairs...)
}

func networkdDHCP(l *Link) string {
	six := l.DHCP6 == Stateful
	switch {
	case l.DHCP4 && six:
		return "yes"
	case l.DHCP4:
		return "ipv4"
	case six:
		return "ipv6"
	}
	return ""
}

func yesNo(s Switch) string {
	return [...]string{Default: "", On: "yes", Off: "no"}[min(s, Off)]
}

//go:build conformance

package netconfig

import (
	"fmt"
	"maps"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/judge"
)

// facts are statements about a guest's network such as "eth0 address 10.1.0.4/24", found in the files that a renderer
// wrote or wanted by a model. Comparing sets of them finds what is lost and what is invented alike.
type facts map[string]bool

func (f facts) add(format string, args ...any) { f[fmt.Sprintf(format, args...)] = true }

func (f facts) route(name, to, via, metric string) {
	switch to {
	case "default":
		to = "0.0.0.0/0"
		if strings.Contains(via, ":") {
			to = "::/0"
		}
	}
	if metric != "" {
		metric = " metric " + metric
	}
	f.add("%s route %s via %s%s", name, to, via, metric)
}

// wantedFacts are what a guest should end up with. Renderers that leave the way to an IPv6 address to router
// advertisements know no difference between SLAAC and DHCPv6: "auto6" stands for all ways there.
func wantedFacts(c Config, renderer judge.Renderer) facts {
	f := facts{}
	auto6 := renderer != judge.ENI && renderer != judge.Sysconfig
	dns := []DNS{c.DNS}
	for i := range c.Links {
		l := &c.Links[i]
		name := l.GuestName()
		dns = append(dns, l.DNS)
		if l.MAC != "" {
			f.add("%s mac %s", name, l.MAC)
		}
		if l.MTU != 0 {
			f.add("%s mtu %d", name, l.MTU)
		}
		if l.DHCP4 {
			f.add("%s dhcp4", name)
		}
		switch {
		case auto6 && (l.DHCP6 != NoDHCP6 || l.SLAAC):
			f.add("%s auto6", name)
		case l.DHCP6 != NoDHCP6:
			f.add("%s dhcp6 %s", name, l.DHCP6)
		case l.SLAAC:
			f.add("%s slaac", name)
		}
		for _, p := range l.Addresses {
			f.add("%s address %s", name, p)
		}
		for _, gw := range []netip.Addr{l.Gateway4, l.Gateway6} {
			if gw.IsValid() {
				f.route(name, "default", gw.String(), "")
			}
		}
		for _, r := range l.Routes {
			metric := ""
			if r.Metric != 0 {
				metric = fmt.Sprint(r.Metric)
			}
			f.route(name, r.To.String(), r.Via.String(), metric)
		}
		if m := l.DHCP4Overrides.RouteMetric; m != 0 {
			f.add("%s dhcp4 metric %d", name, m)
		}
		if m := l.DHCP6Overrides.RouteMetric; m != 0 {
			f.add("%s dhcp6 metric %d", name, m)
		}
		f.wantMembers(&c, l)
	}
	for _, d := range dns {
		for _, a := range d.Servers {
			f.add("dns %s", a)
		}
		for _, s := range d.Search {
			f.add("search %s", s)
		}
	}
	return f
}

func (f facts) wantMembers(c *Config, l *Link) {
	name := l.GuestName()
	for _, id := range l.members() {
		f.add("%s on %s", name, c.Link(id).GuestName())
	}
	if l.VLAN != nil {
		f.add("%s tag %d", name, l.VLAN.ID)
	}
	if l.Bond != nil {
		f.add("%s mode %s", name, l.Bond.Mode)
	}
	params, table := l.paramsOf()
	for key, value := range params {
		if table[key].value == device {
			value = c.Link(value).GuestName()
		}
		f.add("%s %s %s", name, table[key].v1, value)
	}
}

// factsOf reads the files of a renderer.
func factsOf(tb testing.TB, renderer judge.Renderer, files map[string]string) facts {
	tb.Helper()
	f := facts{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := files[name]
		base := path.Base(name)
		switch {
		case strings.HasPrefix(name, "/etc/udev/"):
			if renderer == judge.ENI {
				f.udev(text)
			}
		case renderer == judge.ENI:
			f.interfaces(text)
		case renderer == judge.Netplan:
			f.netplan(tb, text)
		case renderer == judge.Networkd:
			f.networkd(text)
		case base == "resolv.conf":
			f.resolv(text)
		case strings.HasPrefix(base, "ifcfg-"):
			f.ifcfg(text)
		case strings.HasPrefix(base, "route-"), strings.HasPrefix(base, "route6-"):
			_, link, _ := strings.Cut(base, "-")
			f.routeFile(link, text)
		}
	}
	if renderer == judge.NetworkManager {
		f.networkManager(files)
	}
	return f
}

var udevRule = regexp.MustCompile(`ATTR\{address\}=="([^"]+)", NAME="([^"]+)"`)

func (f facts) udev(text string) {
	for _, m := range udevRule.FindAllStringSubmatch(text, -1) {
		f.add("%s mac %s", m[2], m[1])
	}
}

// interfaces reads interfaces(5).
func (f facts) interfaces(text string) {
	name, family := "", ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		rest := strings.Join(words[1:], " ")
		switch key := strings.ReplaceAll(words[0], "_", "-"); key {
		case "iface":
			name, family = words[1], words[2]
			switch words[2] + " " + words[3] {
			case "inet dhcp":
				f.add("%s dhcp4", name)
			case "inet6 dhcp":
				f.add("%s dhcp6 stateful", name)
			case "inet6 auto":
				f.add("%s slaac", name)
			}
		case "dhcp":
			if family == "inet6" && rest == "1" {
				delete(f, name+" slaac")
				f.add("%s dhcp6 stateless", name)
			}
		case "address":
			f.add("%s address %s", name, rest)
		case "gateway":
			f.route(name, "default", rest, "")
		case "metric":
			f.add("%s dhcp4 metric %s", name, rest)
		case "mtu":
			f.add("%s mtu %s", name, rest)
		case "post-up":
			f.routeCommand(name, words[1:])
		case "dns-nameservers":
			for _, w := range words[1:] {
				f.add("dns %s", w)
			}
		case "dns-search":
			for _, w := range words[1:] {
				f.add("search %s", w)
			}
		case "vlan-raw-device":
			f.add("%s on %s", name, rest)
		case "vlan-id":
			f.add("%s tag %s", name, rest)
		case "bond-master":
			f.add("%s on %s", rest, name)
		case "bridge-ports":
			for _, w := range words[1:] {
				f.add("%s on %s", name, w)
			}
		default:
			f.eniParam(name, key, rest, text)
		}
	}
}

// eniParam takes the parameters of the bond or bridge itself; members repeat those of their bond.
func (f facts) eniParam(name, key, value, text string) {
	prefix, short, _ := strings.Cut(key, "-")
	short = strings.ReplaceAll(short, "-", "_")
	member := strings.Contains(text, "iface "+name+" inet manual") && !strings.HasPrefix(name, "b")
	if (prefix != "bond" && prefix != "bridge") || short == "slaves" || member {
		return
	}
	value = map[string]string{"off": "false", "on": "true"}[value] + value
	f.add("%s %s %s", name, short, strings.TrimSuffix(strings.TrimSuffix(value, "off"), "on"))
}

// routeCommand reads "route add [-A inet6] [-net|-host] TO gw VIA [metric N] || true".
func (f facts) routeCommand(name string, words []string) {
	to, via, metric := "", "", ""
	for i := 2; i < len(words) && words[i] != "||"; i++ {
		switch words[i] {
		case "-A":
			i++
		case "-net", "-host":
		case "gw":
			i++
			via = words[i]
		case "metric":
			i++
			metric = words[i]
		default:
			to = words[i]
		}
	}
	f.route(name, to, via, metric)
}

// section is a part of an INI file.
type section struct {
	name   string
	values map[string][]string
}

func (s section) first(key string) string { return append(s.values[key], "")[0] }

func ini(text string) []section {
	out := []section{{values: map[string][]string{}}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			out = append(out, section{strings.TrimSuffix(name, "]"), map[string][]string{}})
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			s := out[len(out)-1]
			s.values[key] = append(s.values[key], strings.Trim(value, `"`))
		}
	}
	return out
}

func (f facts) networkd(text string) {
	name := ""
	sections := ini(text)
	for _, s := range sections {
		if s.name == "Match" {
			name = s.first("Name")
			if mac := s.first("MACAddress"); mac != "" {
				f.add("%s mac %s", name, mac)
			}
		}
	}
	for _, s := range sections {
		switch s.name {
		case "Link":
			if mtu := s.first("MTUBytes"); mtu != "" {
				f.add("%s mtu %s", name, mtu)
			}
		case "Address":
			f.add("%s address %s", name, s.first("Address"))
		case "Route":
			f.route(name, orElse(s.first("Destination"), "default"), s.first("Gateway"), s.first("Metric"))
		case "DHCPv4":
			if m := s.first("RouteMetric"); m != "" {
				f.add("%s dhcp4 metric %s", name, m)
			}
		case "Network":
			switch s.first("DHCP") {
			case "ipv4":
				f.add("%s dhcp4", name)
			case "ipv6":
				f.add("%s auto6", name)
			case "yes":
				f.add("%s dhcp4", name)
				f.add("%s auto6", name)
			}
			if strings.EqualFold(s.first("IPv6AcceptRA"), "true") {
				f.add("%s auto6", name)
			}
			for _, a := range strings.Fields(strings.Join(s.values["DNS"], " ")) {
				f.add("dns %s", a)
			}
			for _, d := range strings.Fields(strings.Join(s.values["Domains"], " ")) {
				f.add("search %s", d)
			}
		}
	}
}

func (f facts) resolv(text string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		for _, w := range words[1:] {
			switch words[0] {
			case "nameserver":
				f.add("dns %s", w)
			case "search":
				f.add("search %s", w)
			}
		}
	}
}

func (f facts) ifcfg(text string) {
	s := ini(text)[0]
	name := s.first("DEVICE")
	for key, verb := range map[string]string{"HWADDR": "mac", "MACADDR": "mac", "MTU": "mtu"} {
		if v := s.first(key); v != "" {
			f.add("%s %s %s", name, verb, v)
		}
	}
	if s.first("BOOTPROTO") == "dhcp" {
		f.add("%s dhcp4", name)
	}
	if m := s.first("METRIC"); m != "" {
		f.add("%s dhcp4 metric %s", name, m)
	}
	switch {
	case s.first("DHCPV6C_OPTIONS") == "-S":
		f.add("%s dhcp6 stateless", name)
	case s.first("DHCPV6C") == "yes":
		f.add("%s dhcp6 stateful", name)
	case s.first("IPV6_AUTOCONF") == "yes":
		f.add("%s slaac", name)
	}
	for i := range 5 {
		n := strings.TrimSuffix(fmt.Sprint(i), "0")
		if a := s.first("IPADDR" + n); a != "" {
			bits, _ := prefixLength(s.first("NETMASK"+n), true)
			f.add("%s address %s/%d", name, a, bits)
		}
		if d := s.first("DNS" + fmt.Sprint(i)); d != "" {
			f.add("dns %s", d)
		}
	}
	for _, a := range strings.Fields(s.first("IPV6ADDR") + " " + s.first("IPV6ADDR_SECONDARIES")) {
		f.add("%s address %s", name, a)
	}
	for _, key := range []string{"GATEWAY", "IPV6_DEFAULTGW"} {
		if gw := s.first(key); gw != "" {
			f.route(name, "default", gw, "")
		}
	}
	for _, d := range strings.Fields(s.first("DOMAIN")) {
		f.add("search %s", d)
	}
	if m := s.first("MASTER"); m != "" {
		f.add("%s on %s", m, name)
	}
	if b := s.first("BRIDGE"); b != "" {
		f.add("%s on %s", b, name)
	}
	if s.first("VLAN") == "yes" {
		f.add("%s on %s", name, s.first("PHYSDEV"))
		f.add("%s tag %s", name, name[strings.LastIndex(name, ".")+1:])
	}
	for _, option := range strings.Fields(s.first("BONDING_OPTS")) {
		key, value, _ := strings.Cut(option, "=")
		f.add("%s %s %s", name, key, value)
	}
	switch s.first("STP") {
	case "off", "no":
		f.add("%s stp false", name)
	}
	if d := s.first("DELAY"); d != "" {
		f.add("%s fd %s", name, d)
	}
}

func (f facts) routeFile(name, text string) {
	s := ini(text)[0]
	for i := range 5 {
		if to := s.first(fmt.Sprint("ADDRESS", i)); to != "" {
			bits, _ := prefixLength(s.first(fmt.Sprint("NETMASK", i)), true)
			f.route(name, fmt.Sprintf("%s/%d", to, bits), s.first(fmt.Sprint("GATEWAY", i)), s.first(fmt.Sprint("METRIC", i)))
		}
	}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 3 || words[1] != "via" {
			continue
		}
		metric := ""
		if i := slices.Index(words, "metric"); i > 0 {
			metric = words[i+1]
		}
		f.route(name, words[0], words[2], metric)
	}
}

func (f facts) networkManager(files map[string]string) {
	names := map[string]string{} // by UUID
	connections := map[string][]section{}
	for file, text := range files {
		if !strings.HasSuffix(file, ".nmconnection") {
			continue
		}
		sections := ini(text)
		for _, s := range sections {
			if s.name == "connection" {
				name := strings.TrimPrefix(s.first("id"), "cloud-init ")
				names[s.first("uuid")] = name
				connections[name] = sections
			}
		}
	}
	for name, sections := range connections {
		for _, s := range sections {
			f.connection(name, s, names)
		}
	}
}

func (f facts) connection(name string, s section, names map[string]string) {
	switch s.name {
	case "connection":
		if m := s.first("master") + s.first("controller"); m != "" {
			f.add("%s on %s", orElse(names[m], m), name)
		}
	case "ethernet":
		if mac := s.first("mac-address") + s.first("cloned-mac-address"); mac != "" {
			f.add("%s mac %s", name, strings.ToLower(mac))
		}
		if mtu := s.first("mtu"); mtu != "" {
			f.add("%s mtu %s", name, mtu)
		}
	case "vlan":
		f.add("%s tag %s", name, s.first("id"))
		f.add("%s on %s", name, orElse(names[s.first("parent")], s.first("parent")))
	case "bond":
		for key, v := range s.values {
			f.add("%s %s %s", name, key, v[0])
		}
	case "bridge":
		for key, p := range bridgeParams {
			if v := s.first(key); v != "" {
				f.add("%s %s %s", name, p.v1, strings.ToLower(v))
			}
		}
	case "ipv4", "ipv6":
		f.nmFamily(name, s)
	}
}

func (f facts) nmFamily(name string, s section) {
	switch s.name + " " + s.first("method") {
	case "ipv4 auto":
		f.add("%s dhcp4", name)
	case "ipv6 auto", "ipv6 dhcp":
		f.add("%s auto6", name)
	}
	if m := s.first("route-metric"); m != "" {
		f.add("%s dhcp%s metric %s", name, strings.TrimPrefix(s.name, "ipv"), m)
	}
	if gw := s.first("gateway"); gw != "" {
		f.route(name, "default", gw, "")
	}
	for i := range 5 {
		if a := s.first(fmt.Sprint("address", i)); a != "" {
			address, gw, both := strings.Cut(a, ",")
			f.add("%s address %s", name, address)
			if both {
				f.route(name, "default", gw, "")
			}
		}
		if r := strings.Split(s.first(fmt.Sprint("route", i)), ","); len(r) >= 2 {
			f.route(name, r[0], r[1], append(r, "")[2])
		}
	}
	for _, a := range strings.FieldsFunc(s.first("dns"), func(c rune) bool { return c == ';' }) {
		f.add("dns %s", a)
	}
	for _, d := range strings.FieldsFunc(s.first("dns-search"), func(c rune) bool { return c == ';' }) {
		f.add("search %s", d)
	}
}

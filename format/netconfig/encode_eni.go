package netconfig

import (
	"fmt"
	"strings"

	"github.com/vmseed/vmseed/diag"
)

// encodeENI writes stanzas as cloud-init's reader takes them: a name must not come twice, so further addresses are
// aliases, and only the first stanza carries what belongs to the device. The reader forgets the family and takes the
// method for a type of network-config version 1 (net/eni.py, 22.4 to 25.1), so that "inet6 dhcp" would be DHCPv4: IPv6
// that is not fixed has the words of version 1.
func encodeENI(c *Config) ([]byte, diag.List, error) {
	var list diag.List
	var b strings.Builder
	for i := range c.Links {
		l := &c.Links[i]
		if l.Kind != Physical {
			continue // refused by the table
		}
		name := wanted(c, l, &list, ENI)
		subnets := c.subnets(l)
		n := 0
		for _, s := range subnets {
			if s.kind == manual {
				continue
			}
			alias := name
			if n > 0 {
				alias = fmt.Sprintf("%s:%d", name, n)
			}
			n++
			s.eni(&b, l, name, alias)
		}
		if n == 0 {
			fmt.Fprintf(&b, "auto %s\niface %s inet manual\n", name, name)
			deviceLines(&b, l)
		}
	}
	return []byte(b.String()), list, nil
}

// deviceLines writes the options of the device itself.
func deviceLines(b *strings.Builder, l *Link) {
	if l.MAC != "" {
		fmt.Fprintf(b, "    hwaddress ether %s\n", l.MAC)
	}
	if l.MTU != 0 {
		fmt.Fprintf(b, "    mtu %d\n", l.MTU)
	}
}

func (s subnet) eni(b *strings.Builder, l *Link, name, alias string) {
	family, method := "inet6", "static"
	switch s.kind {
	case dynamic:
		method = "dhcp6"
	case dhcp6Stateless:
		method = "ipv6_dhcpv6-stateless"
	case slaac:
		method = "ipv6_slaac"
	}
	if s.v4 {
		family = "inet"
		if s.kind == dynamic {
			method = "dhcp"
		}
	}
	fmt.Fprintf(b, "auto %s\niface %s %s %s\n", alias, alias, family, method)
	if alias == name {
		deviceLines(b, l)
	}
	if s.kind == fixed {
		mask := fmt.Sprint(s.prefix.Bits())
		if s.v4 {
			mask = netmask(s.prefix)
		}
		fmt.Fprintf(b, "    address %s\n    netmask %s\n", s.prefix.Addr(), mask)
	}
	if s.gateway.IsValid() {
		fmt.Fprintf(b, "    gateway %s\n", s.gateway)
	}
	if len(s.dns.Servers) > 0 {
		fmt.Fprintf(b, "    dns-nameservers %s\n", strings.Join(strs(s.dns.Servers), " "))
	}
	if len(s.dns.Search) > 0 {
		fmt.Fprintf(b, "    dns-search %s\n", strings.Join(s.dns.Search, " "))
	}
	for _, r := range s.routes {
		metric, onLink := "", ""
		if r.Metric != 0 {
			metric = fmt.Sprintf(" metric %d", r.Metric)
		}
		if r.OnLink {
			onLink = " onlink"
		}
		fmt.Fprintf(b, "    up ip route add %s via %s dev %s%s%s || true\n", r.To, r.Via, name, metric, onLink)
	}
}

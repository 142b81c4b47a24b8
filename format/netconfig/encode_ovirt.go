package netconfig

import (
	"slices"
	"strconv"

	"github.com/vmseed/vmseed/diag"
)

// EncodeOVirt writes network_data.json as the engine of oVirt does: links and networks are called by the names of the
// guest's interfaces, a network has its router and its resolvers itself, an IPv6 netmask is the length of the prefix, and
// groups that would be empty are left out. Where oVirt has no words (MAC addresses, further routes, SLAAC, the forms of
// DHCPv6) those of EncodeOpenStack are used. A network that says nothing has no document: cloud-init 0.7.9 fails on an
// empty one.
//
// Source: VmInitToOpenStackMetadataAdapter of oVirt's engine 4.5.
func EncodeOVirt(c Config) ([]byte, diag.List) {
	l := c.Validate()
	if l.HasErrors() {
		return nil, l
	}
	c = c.normal()
	l = append(l, losses(&c, OpenStack)...)
	var data sparseData
	for i := range c.Links {
		link, networks := c.ovirtLink(&c.Links[i])
		data.Links = append(data.Links, link)
		data.Networks = append(data.Networks, networks...)
	}
	data.Services = services(c.DNS.Servers)
	if len(data.Links)+len(data.Services) == 0 || l.HasErrors() {
		return nil, l
	}
	out, err := indented(data)
	if err != nil {
		l.Errorf(CodeModel, diag.Range{}, "", "the network cannot be written: %v", err)
	}
	return out, l
}

// ovirtLink writes a link and its networks, those of IPv4 first.
func (c *Config) ovirtLink(l *Link) (dataLink, []dataNetwork) {
	d := c.dataLink(l)
	name := orElse(l.GuestName(), l.ID)
	if l.Kind == Physical {
		d.Type = "vif"
		if l.Name != "" {
			d.ID = c.ovirtID(l)
		}
	}
	subnets := slices.DeleteFunc(c.subnets(l), func(s subnet) bool { return s.kind == manual })
	slices.SortStableFunc(subnets, func(a, b subnet) int {
		switch {
		case a.v4 == b.v4:
			return 0
		case a.v4:
			return -1
		}
		return 1
	})
	var out []dataNetwork
	for i, s := range subnets {
		s.dns = c.dnsOf(l)
		n := s.data(l)
		n.ID, n.NetworkID, n.Link = name, "", d.ID
		if i > 0 && (s.v4 == subnets[i-1].v4) {
			n.ID += ":" + strconv.Itoa(i) // as aliases are called; oVirt has one address of each family
		}
		n.Services = nil
		if s.gateway.IsValid() {
			n.Gateway, n.Routes = s.gateway.String(), n.Routes[1:]
		}
		if s.kind == fixed && !s.v4 {
			n.Netmask = strconv.Itoa(s.prefix.Bits())
		}
		out = append(out, n)
	}
	return d, out
}

// ovirtID is the name of a NIC, unless another link goes by it already or is built upon this one.
func (c *Config) ovirtID(l *Link) string {
	taken := func(o Link) bool { return o.ID != l.ID && o.ID == l.Name || slices.Contains(o.members(), l.ID) }
	if slices.ContainsFunc(c.Links, taken) {
		return l.ID
	}
	return l.Name
}

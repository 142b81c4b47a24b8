// Package network turns the network of a machine into the neutral model of format/netconfig, for the data sources.
package network

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
)

// Expresses lists the fields that Config takes over, without those that a form of network document has no words for.
func Expresses(without ...machine.Field) machine.FieldSet {
	fields := []machine.Field{"network.mode", "network.dns.servers", "network.dns.search", "network.document",
		"network.nics.name", "network.nics.kind", "network.nics.rename", "network.nics.mac", "network.nics.match", "network.nics.mtu",
		"network.nics.dhcp4", "network.nics.dhcp6", "network.nics.slaac", "network.nics.acceptRA",
		"network.nics.addresses", "network.nics.gateway4", "network.nics.gateway6", "network.nics.routes",
		"network.nics.dns.servers", "network.nics.dns.search", "network.nics.onBoot",
		"network.nics.bond", "network.nics.bridge", "network.nics.vlan"}
	return machine.NewFieldSet(slices.DeleteFunc(fields, func(f machine.Field) bool { return slices.Contains(without, f) })...)
}

// Document returns the author's own network document, unless the machine's mode of network leaves it out.
func Document(m machine.Machine) (doc machine.Layer, ok bool, l diag.List) {
	doc = m.Network.Document
	switch {
	case doc.Data.IsZero():
		return doc, false, nil
	case m.Network.Mode == "":
		return doc, true, nil
	}
	l.Warnf(CodeMode, doc.Origin.Whole, "remove one of the two", "the network document is left out, because the machine's network mode is %s", m.Network.Mode)
	return doc, false, l
}

// Config returns the guest's network for documents that cloud-init reads. ok is false when the machine says nothing about
// it, so that the guest's own fallback applies. NICs that the guest shall leave down are not in it.
func Config(m machine.Machine) (c netconfig.Config, ok bool, l diag.List) {
	c, ok, l = Whole(m)
	had := len(c.Links) > 0
	c.Links = slices.DeleteFunc(c.Links, func(link netconfig.Link) bool {
		if link.Manual {
			l.Notef(CodeDown, link.Place, "", "NIC %q is left out of the network document, so the guest leaves it down", link.ID)
		}
		return link.Manual
	})
	if had && len(c.Links) == 0 {
		// A document without links keeps the guest from its fallback, which the other NICs may be meant for.
		ok = !slices.ContainsFunc(m.Network.NICs, func(n machine.NIC) bool { return n.OnBoot == nil || *n.OnBoot })
	}
	return c, ok, l
}

// LeftDown lists the NICs that the guest shall leave down, unless something else sets up its network.
func LeftDown(m machine.Machine) []machine.NIC {
	if m.Network.Mode != "" || !m.Network.Document.Data.IsZero() {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Network.NICs), func(n machine.NIC) bool { return n.OnBoot == nil || *n.OnBoot || !n.Physical() })
}

// Whole is Config for files of the guest, which can say that a NIC is set up but left down.
func Whole(m machine.Machine) (c netconfig.Config, ok bool, l diag.List) {
	n := m.Network
	switch n.Mode {
	case "dhcp":
		return c, false, leftOut(m)
	case "disabled":
		return netconfig.Config{Disabled: true}, true, leftOut(m)
	}
	c.DNS = netconfig.DNS{Servers: n.DNS.Servers, Search: n.DNS.Search}
	up := false
	for i, nic := range n.NICs {
		if untold(m, nic) {
			continue
		}
		link := convert(nic)
		link.Place = m.Places.Find(path(i))
		link.RoutersChecked = m.Document.Form == "ovirt" // whose front end knows the place of the router itself
		c.Links = append(c.Links, link)
		up, ok = up || stated(nic) && !link.Manual, ok || stated(nic) || link.Manual
	}
	if !up {
		// NICs of which nothing is said are left to the guest.
		c.Links = slices.DeleteFunc(c.Links, func(link netconfig.Link) bool { return !link.Manual })
	}
	if !ok && hasDNS(n.DNS) {
		l.Warnf(CodeMode, m.Places.Find("network.dns"), "say how a NIC gets its address, such as dhcp4: true",
			"the name servers are left out, because no NIC says how it gets an address, so the guest's own fallback applies")
	}
	return c, ok, l
}

func hasDNS(d machine.DNS) bool { return len(d.Servers)+len(d.Search) > 0 }

// leftOut says what the mode of network switches off.
func leftOut(m machine.Machine) (l diag.List) {
	for i, nic := range m.Network.NICs {
		if stated(nic) {
			l.Notef(CodeMode, m.Places.Find(path(i)), "remove one of the two",
				"how NIC %q gets its address is left out, because the machine's network mode is %s", nic.Name, m.Network.Mode)
		}
	}
	if hasDNS(m.Network.DNS) {
		l.Notef(CodeMode, m.Places.Find("network.dns"), "remove one of the two",
			"the name servers are left out, because the machine's network mode is %s", m.Network.Mode)
	}
	return l
}

func path(i int) string { return fmt.Sprintf("network.nics[%d]", i) }

// untold reports whether the guest is not to hear of a NIC. oVirt's engine names those alone that have a protocol; of others
// it may not even be known whether there are any.
func untold(m machine.Machine, nic machine.NIC) bool {
	if !metadata.ForOVirt(m) || stated(nic) || nic.OnBoot != nil && !*nic.OnBoot {
		return false
	}
	return !slices.ContainsFunc(m.Network.NICs, func(n machine.NIC) bool {
		return n.VLAN.Link == nic.Name || slices.Contains(n.Bond.Links, nic.Name) || slices.Contains(n.Bridge.Links, nic.Name)
	})
}

// stated reports whether the document says how the guest should use the NIC, beyond that it is there.
func stated(n machine.NIC) bool {
	return !n.Physical() || n.Rename != "" || n.DHCP4 || n.DHCP6 != "" || n.SLAAC || n.AcceptRA != nil || len(n.Addrs) > 0 ||
		n.Gateway4.IsValid() || n.Gateway6.IsValid() || len(n.Routes) > 0 || hasDNS(n.DNS)
}

func convert(n machine.NIC) netconfig.Link {
	link := netconfig.Link{
		ID: n.Name, Kind: netconfig.Kind(n.Kind), Name: n.Rename, MAC: n.MAC, MTU: n.MTU,
		Addresses: n.Addrs, DHCP4: n.DHCP4, DHCP6: netconfig.DHCP6(n.DHCP6), SLAAC: n.SLAAC,
		Gateway4: n.Gateway4, Gateway6: n.Gateway6, Manual: n.OnBoot != nil && !*n.OnBoot,
		DNS: netconfig.DNS{Servers: n.DNS.Servers, Search: n.DNS.Search},
	}
	if link.Kind == "" {
		link.Kind = netconfig.Physical
	}
	if n.Match == "name" {
		link.Name, link.MAC = cmp.Or(n.Rename, n.Name), ""
	}
	if n.AcceptRA != nil {
		link.AcceptRA = netconfig.SwitchOf(*n.AcceptRA)
	}
	for _, r := range n.Routes {
		route := netconfig.Route{To: r.To, Via: r.Via, OnLink: r.OnLink}
		if r.Metric != nil {
			route.Metric = *r.Metric
		}
		link.Routes = append(link.Routes, route)
	}
	switch link.Kind {
	case netconfig.Bond:
		link.Bond = &netconfig.BondSpec{Links: n.Bond.Links, Mode: n.Bond.Mode, Params: maps.Clone(n.Bond.Params)}
	case netconfig.Bridge:
		link.Bridge = &netconfig.BridgeSpec{Links: n.Bridge.Links, Params: maps.Clone(n.Bridge.Params)}
	case netconfig.VLAN:
		link.VLAN = &netconfig.VLANSpec{Parent: n.VLAN.Link, ID: n.VLAN.ID}
	}
	return link
}

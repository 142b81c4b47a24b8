package boot

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
)

// documented returns the machine's NICs with the addresses that the author's own network document gives them, so that the
// networks which run makes are those that the guest will look for. A static address that no NIC can be found for is warned of.
func documented(m machine.Machine, l *diag.List) []machine.NIC {
	nics := slices.Clone(m.Network.NICs)
	if m.Network.Document.Data.IsZero() || m.Network.Mode != "" {
		return nics
	}
	c, _, problems := netconfig.Parse("", []byte(m.Network.Document.Data.Reveal()))
	if problems.HasErrors() {
		return nics // which is for the data source to say
	}
	given := map[int]bool{}
	for _, link := range carriers(c) {
		i := carrying(nics, given, link.MAC)
		if i < 0 {
			if slices.ContainsFunc(link.Addresses, func(p netip.Prefix) bool { return p.Addr().Is4() }) {
				l.Warnf(CodeNoNIC, m.Network.Document.Origin.Whole, "give a NIC of the machine the MAC address that the document matches, or match none",
					"interface %q of the network document has a static address and no NIC of the machine, so nothing reaches the guest there", link.ID)
			}
			continue
		}
		given[i] = true
		n := &nics[i]
		n.Addrs, n.Gateway4 = link.Addresses, link.Gateway4
		for _, r := range link.Routes {
			if r.To.IsValid() && r.To.Bits() == 0 && r.To.Addr().Is4() && !n.Gateway4.IsValid() {
				n.Gateway4 = r.Via
			}
		}
	}
	return nics
}

// carrying is the number of the NIC with a MAC address, or -1. A document without one names interfaces as the guest's kernel
// does: the first NIC that has not been given any is meant.
func carrying(nics []machine.NIC, given map[int]bool, mac string) int {
	for i, n := range nics {
		if n.Physical() && (mac != "" && strings.EqualFold(n.MAC, mac) || mac == "" && !given[i]) {
			return i
		}
	}
	return -1
}

// carriers are the physical links of a network, each with the addresses of the bond or bridge that it is the first member of.
func carriers(c netconfig.Config) []netconfig.Link {
	above := map[string]netconfig.Link{}
	for _, link := range c.Links {
		var members []string
		if link.Bond != nil {
			members = link.Bond.Links
		} else if link.Bridge != nil {
			members = link.Bridge.Links
		}
		if len(members) > 0 {
			above[members[0]] = link
		}
	}
	var out []netconfig.Link
	for _, link := range c.Links {
		if link.Kind != "" && link.Kind != netconfig.Physical {
			continue
		}
		carrier := link
		for id := link.ID; len(carrier.Addresses) == 0; {
			up, ok := above[id]
			if !ok {
				break
			}
			carrier.Addresses, carrier.Gateway4, carrier.Routes = up.Addresses, up.Gateway4, up.Routes
			delete(above, id)
			id = up.ID
		}
		out = append(out, carrier)
	}
	return out
}

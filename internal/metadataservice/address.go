package metadataservice

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// Assignment is an address that the user gives to a machine.
type Assignment struct {
	// Machine is a name, or namespace/name.
	Machine string
	Address netip.Addr
	// Origin is where it stands, for messages: --address web=192.0.2.7.
	Origin string
}

// ParseAssignment reads [NAMESPACE/]NAME=IP, as a flag gives it.
func ParseAssignment(flag, text string) (Assignment, error) {
	name, address, ok := strings.Cut(text, "=")
	ip, err := netip.ParseAddr(address)
	if !ok || name == "" || err != nil || ip.Zone() != "" {
		return Assignment{}, fmt.Errorf("%s takes [NAMESPACE/]NAME=IP, not %q", flag, text)
	}
	if ip = ip.Unmap(); ip.IsUnspecified() || ip.IsMulticast() {
		return Assignment{}, fmt.Errorf("%s: %s is not an address that a guest can ask from", flag, ip)
	}
	return Assignment{Machine: name, Address: ip, Origin: flag + " " + text}, nil
}

// owners says whose an address is. It is made anew at each reload; leases come on top of it.
type owners struct {
	addresses map[netip.Addr]owner
	// macs are the machines by the MACs of their NICs, for leases.
	macs map[string]string
}

// owner is the machine (namespace/name) that has an address, and where that is said.
type owner struct {
	machine string
	place   diag.Range
	origin  string
}

func (o owner) says() string {
	return cmp.Or(o.origin, o.place.String(), "the definition")
}

// strictness is the severity of what may be a mistake or not, depending on whose machines they are and on when it is seen.
// Unless it is an error, the address is nobody's.
type strictness struct {
	// same is for an address of two machines, or one that is given to a name which several have.
	same diag.Severity
	// missing is for an address that is given to a machine which is not there.
	missing diag.Severity
}

// own collects the addresses that definitions and user give to placed machines. The unserved have none.
func own(machines, unserved []machine.Machine, given []Assignment, strict strictness) (owners, diag.List) {
	var l diag.List
	out := owners{addresses: map[netip.Addr]owner{}, macs: map[string]string{}}
	twice := map[netip.Addr]bool{}
	add := func(address netip.Addr, o owner) {
		first, taken := out.addresses[address]
		if taken && first.machine != o.machine {
			twice[address] = true
			d := diag.Diagnostic{Code: CodeSameAddress, Severity: strict.same, Range: o.place,
				Summary: fmt.Sprintf("%s is the address of two machines: of %s (%s) and of %s (%s)", address, first.machine, first.says(), o.machine, o.says()),
				Remedy:  "give each its own, or the metadata of one would reach the other"}
			if !first.place.IsZero() { // a flag has none
				d = d.With(first.place, "the first one is here")
			}
			l.Add(d)
			return
		}
		out.addresses[address] = o
	}
	same := map[string]bool{}
	for _, m := range machines {
		name := m.Namespace + "/" + m.Name
		for i, n := range m.Network.NICs {
			for j, a := range n.Addrs {
				if address := a.Addr().Unmap().WithZone(""); reachable(address) {
					add(address, owner{machine: name, place: m.Places.Find(fmt.Sprintf("network.nics[%d].addresses[%d]", i, j))})
				}
			}
			mac := strings.ToLower(n.MAC)
			if first, taken := out.macs[mac]; mac != "" && taken && first != name {
				same[mac] = true
				l.Warnf(CodeSameMAC, m.Places.Find(fmt.Sprintf("network.nics[%d].mac", i)), "give each its own",
					"%s has the MAC %s as well as %s, so no lease of it counts", name, mac, first)
			} else if mac != "" {
				out.macs[mac] = name
			}
		}
	}
	for _, g := range given {
		names := named(machines, g.Machine)
		switch len(names) {
		case 0:
			l.Add(nobody(g, machines, unserved, strict.missing))
		case 1:
			add(g.Address, owner{machine: names[0], origin: g.Origin})
		default:
			l.Add(diag.Diagnostic{Code: CodeNoMachine, Severity: strict.same, Summary: fmt.Sprintf("%s: %d machines are called so", g.Origin, len(names)),
				Remedy: "say which one, as NAMESPACE/NAME"})
		}
	}
	for address := range twice {
		out.addresses[address] = owner{} // nobody's, whatever a lease says
	}
	for mac := range same {
		delete(out.macs, mac)
	}
	return out, l
}

// nobody says that an address is given to a machine which is not served, or not there at all.
func nobody(g Assignment, machines, unserved []machine.Machine, severity diag.Severity) diag.Diagnostic {
	d := diag.Diagnostic{Code: CodeNoMachine, Severity: severity}
	if names := named(unserved, g.Machine); len(names) > 0 {
		d.Summary = fmt.Sprintf("%s: %s is not served", g.Origin, strings.Join(names, ", "))
		d.Remedy = "see what keeps it from being served, or leave the address out at the next start"
		return d
	}
	d.Summary = g.Origin + ": no machine is called so"
	d.Remedy = "name a machine that there is, or leave the address out at the next start"
	var known []string
	for _, m := range slices.Concat(machines, unserved) {
		if known = append(known, m.Name); strings.Contains(g.Machine, "/") {
			known[len(known)-1] = m.Namespace + "/" + m.Name
		}
	}
	if meant, ok := tree.Closest(g.Machine, known); ok {
		d.Remedy = fmt.Sprintf("did you mean %q?", meant)
	}
	return d
}

// reachable reports whether the static address of a guest's NIC is one that it can ask another host from, and that no guest
// of another link may have as well.
func reachable(a netip.Addr) bool {
	return a.IsValid() && !a.IsUnspecified() && !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast()
}

// named returns the machines (namespace/name) that a name may mean.
func named(machines []machine.Machine, name string) []string {
	var out []string
	for _, m := range machines {
		if full := m.Namespace + "/" + m.Name; name == m.Name || name == full {
			out = append(out, full)
		}
	}
	return out
}

// leased returns the machines by their addresses: those of the owners, and those of leases on top. An address that somebody
// has already stays his: a server of DHCP may not take it away, and neither may who makes it believe in a MAC. An address that
// leases give to two machines is nobody's.
func (o owners) leased(leases []lease) map[netip.Addr]string {
	out := make(map[netip.Addr]string, len(o.addresses)+len(leases))
	for _, l := range leases {
		name, ok := o.macs[l.mac]
		if _, taken := o.addresses[l.address]; !ok || taken {
			continue
		}
		if first, taken := out[l.address]; taken && first != name {
			name = ""
		}
		out[l.address] = name
	}
	for a, x := range o.addresses {
		out[a] = x.machine
	}
	maps.DeleteFunc(out, func(_ netip.Addr, name string) bool { return name == "" })
	return out
}

// addressesOf inverts the table: the addresses of each machine, in order.
func addressesOf(table map[netip.Addr]string) map[string][]netip.Addr {
	out := map[string][]netip.Addr{}
	for a, name := range table {
		out[name] = append(out[name], a)
	}
	for _, list := range out {
		slices.SortFunc(list, netip.Addr.Compare)
	}
	return out
}

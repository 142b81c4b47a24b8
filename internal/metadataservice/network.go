package metadataservice

import (
	"fmt"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
)

// withoutUnknown returns the machine as its guest may be told of it: without the NICs where the guest would not find one of them,
// because its MAC is none of the definition's but Place's, and somebody else has made it. A guest that is told of no NIC uses DHCP
// on the first one that it has, as it did to come here.
func withoutUnknown(m machine.Machine, l *diag.List) machine.Machine {
	unknown := unknownNICs(m)
	if len(unknown) == 0 {
		return m
	}
	i := unknown[0]
	n, severity := m.Network.NICs[i], diag.Warning
	if len(m.Network.NICs) == 1 && onlyDHCP(n) {
		severity = diag.Note // which is what the guest does
	}
	// Where the mode or a document says what the guest's network is, its NICs do not.
	if m.Network.Mode == "" && m.Network.Document.Data.IsZero() && (len(m.Network.NICs) > 1 || n.DHCP4 || !onlyDHCP(n)) {
		l.Add(diag.Diagnostic{Code: CodeUnknownNIC, Severity: severity, Range: m.Places.Find(fmt.Sprintf("network.nics[%d]", i)),
			Summary: fmt.Sprintf("the MAC of NIC %q of %s/%s is not stated, so its guest is told of no NIC and uses DHCP on the first one", n.Name, m.Namespace, m.Name),
			Remedy:  fmt.Sprintf("state the MAC that the guest has (%s where vmseed convert made it), or match: name", n.MAC)})
	}
	m.Network.NICs = nil
	return m
}

// unknownNICs are those whose MAC Place has derived.
func unknownNICs(placed machine.Machine) (out []int) {
	open := placed
	open.Network.NICs = slices.Clone(placed.Network.NICs)
	for i := range open.Network.NICs {
		open.Network.NICs[i].MAC = ""
	}
	derived, _ := machine.Place(open, machine.Facts{})
	for i, n := range placed.Network.NICs {
		_, stated := placed.Places[fmt.Sprintf("network.nics[%d].mac", i)]
		if n.Physical() && n.Match != "name" && !stated && n.MAC == derived.Network.NICs[i].MAC {
			out = append(out, i)
		}
	}
	return out
}

// onlyDHCP reports whether it says nothing but that the NIC gets its address by DHCP, or not even that.
func onlyDHCP(n machine.NIC) bool {
	return n.Rename == "" && n.MTU == 0 && n.DHCP6 == "" && !n.SLAAC && n.AcceptRA == nil && len(n.Addrs)+len(n.Routes) == 0 && !n.Gateway4.IsValid() &&
		!n.Gateway6.IsValid() && len(n.DNS.Servers)+len(n.DNS.Search)+len(n.DNS.Options) == 0 && n.OnBoot == nil
}

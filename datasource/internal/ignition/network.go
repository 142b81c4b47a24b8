package ignition

import (
	"slices"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
)

// network writes the files of the guest's network, for NetworkManager or for systemd-networkd, whichever the family has.
// A network that is no more than DHCP on every NIC is what CoreOS does of itself, and has no files there.
func (g *generator) network() {
	doc, own, l := network.Document(g.m)
	*g.list = append(*g.list, l...)
	var config netconfig.Config
	if own {
		var problems diag.List
		config, _, problems = netconfig.Parse("", []byte(doc.Data.Reveal()))
		*g.list = append(*g.list, doc.Origin.Carry(problems)...)
		if problems.HasErrors() {
			return
		}
	} else {
		var ok bool
		config, ok, l = network.Whole(g.m)
		*g.list = append(*g.list, l...)
		if !ok {
			return
		}
	}
	if config.Disabled || g.family.quiet && plain(config) {
		return
	}
	encode := netconfig.EncodeKeyfiles
	if g.family.networkd {
		encode = netconfig.EncodeNetworkd
	}
	files, problems := encode(config)
	if own {
		problems = doc.Origin.Carry(problems)
	}
	*g.list = append(*g.list, problems...)
	for _, f := range files {
		g.file(f.Path, string(f.Content), f.Mode)
	}
	if g.family.start && len(files) > 0 {
		g.unit(types.Unit{Name: "systemd-networkd.service", Enabled: of(true)})
	}
}

// plain reports whether a network is DHCP on every NIC and nothing else.
func plain(c netconfig.Config) bool {
	return c.DNS.IsZero() && !slices.ContainsFunc(c.Links, func(l netconfig.Link) bool {
		return l.Kind != netconfig.Physical || !l.DHCP4 && l.DHCP6 == netconfig.NoDHCP6 && !l.SLAAC ||
			l.Manual || l.Name != "" || l.MTU != 0 || len(l.Addresses) > 0 || l.AcceptRA != netconfig.Default || l.Gateway4.IsValid() || l.Gateway6.IsValid() ||
			len(l.Routes) > 0 || !l.DNS.IsZero() || !l.DHCP4Overrides.IsZero() || !l.DHCP6Overrides.IsZero()
	})
}

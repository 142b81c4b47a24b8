package nocloud

import (
	"regexp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Root is the directory of the service in which a guest finds its documents.
const Root = "nocloud"

// documents are the four files of NoCloud.
type documents struct{ meta, user, vendor, network secret.Text }

// serve makes a seed's tree of the documents. All four are always there: cloud-init asks ten times more for one that is
// not, a second apart. The serial number of the firmware leads to them, in the form that most releases of cloud-init find:
// with the mode stated and a slash at the end (22.4 joins URL and name as they are).
func serve(s *seed.Seed, m machine.Machine, d documents) {
	const yaml, octets = "text/yaml", "application/octet-stream"
	s.Trees = []seed.Tree{{Name: "nocloud", Roots: []string{Root}, Blobs: []seed.Blob{
		{Path: "meta-data", ContentType: yaml, Content: d.meta},
		{Path: "user-data", ContentType: octets, Content: d.user, Sealable: true},
		{Path: "vendor-data", ContentType: octets, Content: d.vendor, Sealable: true},
		{Path: "network-config", ContentType: yaml, Content: d.network},
	}}}
	mode := "net"
	if m.DSMode == "disabled" {
		mode = m.DSMode
	}
	s.Firmware.SMBIOS = []seed.SMBIOS{{Type: 1, Field: "serial", Value: "ds=nocloud;dsmode=" + mode + ";s=" + seed.Base + Root + "/"}}
	s.Seal = m.MetadataOptions.Seal
}

// patched are releases of 23.4 that find the directory again.
var patched = regexp.MustCompile(`^cloud-init=23\.4\.([4-9]|[0-9]{2,})`)

// checkServed says what releases of cloud-init do not read over HTTP as they do from a volume. Said is whether there is a
// network document.
func checkServed(m machine.Machine, o datasource.Options, said bool) (l diag.List) {
	at := m.Places.Find("dataSource")
	if m.DSMode == "local" {
		l.Warnf(CodeMode, m.Places.Find("dsmode"), "leave dsmode out, or use a volume",
			"the dsmode is net: with local the guest would not act on user-data that it fetches over a network")
	}
	guest, err := lint.ParseGuest(o.Guest)
	known := err == nil
	if known && guest.Before(24, 1) && !guest.Before(23, 4) && !patched.MatchString(o.Guest) {
		l.Warnf(CodeNotFound, at, "use a volume, or give the line on the kernel's command line",
			"%s does not find NoCloud over HTTP by the serial number of the firmware, unless its distribution has mended that", guest)
	}
	switch {
	case !said || plain(m):
	case known && guest.Before(24, 3):
		l.Warnf(CodeNetworkUnread, at, "use a volume, or the data source openstack",
			"%s does not ask an HTTP server for network-config: the guest sets up its first NIC by DHCP, whatever the definition says", guest)
	case !known:
		l.Notef(CodeNetworkUnread, at, "name the guest's release, use a volume, or the data source openstack",
			"a guest with cloud-init before 24.3 does not ask an HTTP server for network-config, and sets up its first NIC by DHCP")
	}
	return l
}

// plain reports whether a machine's network is what a guest does without being told: DHCP on its only NIC.
func plain(m machine.Machine) bool {
	n := m.Network
	if n.Mode != "" || !n.Document.Data.IsZero() || len(n.DNS.Servers)+len(n.DNS.Search) > 0 || len(n.NICs) != 1 {
		return false
	}
	nic := n.NICs[0]
	told := !nic.Physical() || nic.Rename != "" || nic.DHCP6 != "" || nic.SLAAC || nic.AcceptRA != nil || nic.MTU != 0 || nic.Gateway4.IsValid() ||
		nic.Gateway6.IsValid() || len(nic.Addrs)+len(nic.Routes)+len(nic.DNS.Servers)+len(nic.DNS.Search) > 0
	return nic.DHCP4 && !told && (nic.OnBoot == nil || *nic.OnBoot)
}

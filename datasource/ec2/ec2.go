// Package ec2 renders what the instance metadata service of Amazon's EC2 answers, for cloud-init's data source Ec2 and for
// all that asks for 169.254.169.254/latest: Ignition and Afterburn on the platform aws, cloudbase-init, the SDKs.
//
// EC2 has no vendor-data: the machine's goes behind the user-data. It has few words for networks: guests use DHCP.
//
// Source: the EC2 User Guide, "Instance metadata and user data"; cloud-init's DataSourceEc2.py and ds-identify, 22.4 to 26.2.
package ec2

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/imds"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// mark is what the UUID of EC2's firmware begins with.
const mark = "ec2"

// maxUserData is what EC2 takes as user-data, in bytes before any encoding.
const maxUserData = 16 << 10

// EC2 renders machines for EC2's metadata service.
type EC2 struct{}

// New returns the data source.
func New() EC2 { return EC2{} }

// Name returns "ec2".
func (EC2) Name() string { return "ec2" }

// Expresses lists what reaches the guest. Of its network that is which interfaces to use, and what it takes from its DHCP
// leases, which is said for each.
func (EC2) Expresses() machine.FieldSet { return userdata.Expresses().Union(inTree()) }

// inTree are the fields that the tree shows or speaks of.
func inTree() machine.FieldSet {
	return machine.NewFieldSet("identity.instanceID", "identity.hostname", "identity.domain", "identity.region", "identity.availabilityZone",
		"identity.instanceType", "identity.launchIndex", "identity.tags", "ssh.authorizedKeys", "metaData",
		"network.mode", "network.dns.search", "network.nics.name", "network.nics.kind", "network.nics.mac", "network.nics.match",
		"network.nics.mtu", "network.nics.dhcp4", "network.nics.addresses", "network.nics.gateway4", "network.nics.routes",
		"network.nics.dns.search", "network.nics.onBoot", "metadataOptions")
}

// ExpressesFor lists what reaches the guest of m, which may be one of Ignition.
func (e EC2) ExpressesFor(m machine.Machine, _ datasource.Options) machine.FieldSet {
	if ignition.Machine(m) {
		return ignition.Expresses().Union(inTree())
	}
	return e.Expresses()
}

// Render makes the seed.
func (e EC2) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	g := imds.Guest{Machine: m, PublicKeys: m.SSH.AuthorizedKeys}
	meta := metadata.Object{}
	meta.Overlay(m.MetaData) // what is wrong with it is said where it is laid over the tree
	g.InstanceID = instance(m, meta.Text("instance-id"))
	local, host := meta.Text("local-hostname"), meta.Text("hostname")
	g.Hostname = cmp.Or(local, host, m.Identity.FQDN())
	user, l := userdata.Whole(m, o)
	g.UserData = user
	tree, problems := imds.Full(g)
	if ignition.Machine(m) {
		// The config sets up the network, whatever the tree says.
		problems = slices.DeleteFunc(problems, func(d diag.Diagnostic) bool { return d.Code == imds.CodeLease || d.Code == imds.CodeNetwork })
	}
	l = append(l, problems...)
	if local != "" && host != "" && local != host {
		l.Warnf(CodePair, m.Places.Find("metaData"), "give both the same value, or only one of them",
			"the meta-data sets hostname and local-hostname to different values; the guest is told local-hostname under both")
	}
	if size := len(user.Reveal()); size > maxUserData {
		l.Notef(CodeLarge, m.Places.Find("userData"), "", "the user-data has %d bytes with what vmseed adds; EC2 itself takes no more than %d", size, maxUserData)
	}
	windows(m, tree, g.Hostname, &l)
	uuid := firmware(m, &l)
	return seed.Seed{
		Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: e.Name(),
		Identity: seed.Identity{InstanceID: g.InstanceID, UUID: uuid, Hostname: g.Hostname},
		Trees:    []seed.Tree{tree},
		Firmware: seed.Firmware{SMBIOS: []seed.SMBIOS{{Type: 1, Field: "uuid", Value: uuid}, {Type: 1, Field: "serial", Value: uuid}}},
		Seal:     m.MetadataOptions.Seal,
	}, l
}

// instance returns the instance id: what the author states in the meta-data or else as identity, else one in EC2's form. A
// machine whose instance id is its UUID has none of its own, nor has one of the daemon, which ends the first with -r0.
func instance(m machine.Machine, stated string) string {
	if stated == "" && strings.EqualFold(strings.TrimSuffix(m.Identity.InstanceID, "-r0"), m.Identity.UUID) {
		return imds.InstanceID(m.Identity)
	}
	return metadata.Instance(m, stated)
}

// windows says when cloudbase-init finds no service that it could read.
func windows(m machine.Machine, tree seed.Tree, hostname string, l *diag.List) {
	if m.Guest.OS != "windows" {
		return
	}
	if tree.Tokens == seed.TokensRequired {
		l.Warnf(CodeWindows, m.Places.Find("metadataOptions.httpTokens"), "set metadataOptions.httpTokens to optional", "cloudbase-init does not read a service that requires tokens")
	}
	if hostname == "" {
		l.Warnf(CodeWindows, m.Places.Find("identity.hostname"), "give the machine a host name", "cloudbase-init does not read a service that tells no host name")
	}
}

// firmware returns the UUID by which the guest knows that it is one of EC2's, and says what of the definition's own
// identifiers the firmware does not show.
func firmware(m machine.Machine, l *diag.List) string {
	uuid := strings.ToLower(m.Identity.UUID)
	if !strings.HasPrefix(uuid, mark) {
		uuid = mark + uuid[min(len(mark), len(uuid)):]
		if at, stated := m.Places["identity.uuid"]; stated {
			l.Add(diag.Diagnostic{Code: CodeFirmware, Severity: diag.Note, Range: at, Field: "identity.uuid",
				Summary: "the firmware shows the UUID " + uuid + ", because guests know EC2 by its beginning", Remedy: "choose a UUID that begins with ec2"})
		}
	}
	// Some front ends give a machine its UUID as serial number too, which nobody asked for.
	if serial := m.Identity.Serial; serial != "" && !strings.EqualFold(serial, uuid) && !strings.EqualFold(serial, m.Identity.UUID) {
		l.Add(diag.Diagnostic{Code: CodeFirmware, Severity: diag.Warning, Range: m.Places.Find("identity.serial"), Field: "identity.serial",
			Summary: "the firmware shows the UUID in the place of this serial number, because cloud-init before 24.2 wants them to be the same", Remedy: "leave the serial number out"})
	}
	return uuid
}

var (
	_ datasource.DataSource = EC2{}
	_ datasource.Chooser    = EC2{}
)

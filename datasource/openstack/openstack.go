// Package openstack renders what the metadata service of OpenStack's nova answers: the documents of a config drive below
// openstack/latest and each dated version, and beside them a small tree of EC2's paths.
//
// cloud-init, Ignition and cloudbase-init read the documents. cloud-init and Afterburn read EC2's paths as well, at the
// service's fixed address and without a token. Every version has the same documents: cloud-init takes the newest version
// that it knows, and one that said less would hide the others.
//
// Source: nova's api/metadata/base.py; DataSourceOpenStack.py and helpers/openstack.py of cloud-init, 22.4 to 26.2.
package openstack

import (
	"slices"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/imds"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Product is the name of the system in the firmware by which guests know that they are nova's.
const Product = "OpenStack Nova"

// Versions are the directories of the service: latest, then nova's versions with the oldest first.
func Versions() []string {
	return []string{"latest", "2012-08-10", "2013-04-04", "2013-10-17", "2015-10-15", "2016-06-30", "2016-10-06", "2017-02-22",
		"2018-08-27", "2020-10-14"}
}

// OpenStack renders machines for the metadata service of OpenStack.
type OpenStack struct{}

// New returns the data source.
func New() OpenStack { return OpenStack{} }

// Name returns "openstack".
func (OpenStack) Name() string { return "openstack" }

// Expresses lists what reaches the guest: what a config drive says, but for the choice of interfaces(5).
func (OpenStack) Expresses() machine.FieldSet { return fetched(configdrive.New().Expresses()) }

// ExpressesFor lists what reaches the guest of m, which may be one of Ignition.
func (OpenStack) ExpressesFor(m machine.Machine, o datasource.Options) machine.FieldSet {
	return fetched(configdrive.New().ExpressesFor(m, o))
}

// fetched leaves out the field of a config drive that no guest fetches, and adds that a service can be sealed. It never asks for
// tokens: guests of OpenStack have none.
func fetched(fields machine.FieldSet) machine.FieldSet {
	return machine.NewFieldSet(append(slices.DeleteFunc(fields.Fields(), func(f machine.Field) bool { return f == "network.format" }),
		"metadataOptions.seal")...)
}

// Render makes the seed.
func (s OpenStack) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	d, l := configdrive.Service(m, o)
	if m.MetadataOptions.Seal && !m.AdminPassword.IsZero() {
		l.Warnf(CodeSealed, m.Places.Find("adminPassword"), "leave the password out",
			"admin_pass stands in meta_data.json, which stays readable when the rest is withdrawn")
	}
	if !ignition.Machine(m) && metadata.Cached(m, d.Identity.InstanceID) {
		l.Notef(CodeRevision, m.Places.Find("identity.instanceID"), "run cloud-init clean in a guest that had none",
			"a guest whose instance has a revision already runs its first boot again; one that had none does not ask the service, because its id is the UUID of the firmware")
	}
	return seed.Seed{
		Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: s.Name(), Identity: d.Identity,
		Trees: []seed.Tree{tree(d), imds.Small(imds.Guest{Machine: m, InstanceID: d.Identity.InstanceID, Hostname: d.Identity.Hostname,
			PublicKeys: d.PublicKeys, UserData: d.UserData})},
		Firmware: seed.Firmware{SMBIOS: []seed.SMBIOS{{Type: 1, Field: "product", Value: Product}}},
		Seal:     m.MetadataOptions.Seal,
	}, l
}

// tree has the documents under every version. Like nova's it has no user_data and no network_data.json where nothing is
// said, and both documents of vendor-data always: the second, which nova gathers from services of its own, is empty. The
// server adds password, where a guest leaves its administrator's, encrypted.
func tree(d configdrive.Documents) seed.Tree {
	const object = "application/json"
	t := seed.Tree{Name: "openstack"}
	for _, v := range Versions() {
		t.Roots = append(t.Roots, "openstack/"+v)
	}
	put := func(path, contentType string, content secret.Text, sealable bool) {
		t.Blobs = append(t.Blobs, seed.Blob{Path: path, ContentType: contentType, Content: content, Sealable: sealable})
	}
	put("meta_data.json", object, d.MetaData, false)
	if !d.UserData.IsZero() {
		put("user_data", "application/octet-stream", d.UserData, true)
	}
	vendor, said := d.VendorData, !d.VendorData.IsZero()
	if !said {
		vendor = secret.New("{}")
	}
	put("vendor_data.json", object, vendor, said)
	if !d.Network.IsZero() {
		put("network_data.json", object, d.Network, false)
	}
	put("vendor_data2.json", object, secret.New("{}"), false)
	return t
}

var (
	_ datasource.DataSource = OpenStack{}
	_ datasource.Chooser    = OpenStack{}
)

package configdrive

import (
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Documents are what a guest of OpenStack reads, wherever it reads them.
type Documents struct {
	// MetaData and Network are meta_data.json and network_data.json, the latter empty where the guest's own fallback applies.
	MetaData, Network secret.Text
	UserData          secret.Text
	// VendorData is vendor_data.json, empty where there is none.
	VendorData secret.Text
	Identity   seed.Identity
	// PublicKeys are those of the meta-data, in their order.
	PublicKeys []string
}

// Service renders the documents as OpenStack's metadata service has them. A guest that fetches them writes no file that the
// meta-data name, so files stand in its user-data alone, and it reads no text of interfaces(5), so its network is always
// network_data.json (DataSourceOpenStack.py, 22.4 to 26.2).
func Service(m machine.Machine, o datasource.Options) (Documents, diag.List) {
	m.Network.Format = ""
	meta, instance, l := metaData(m)
	// Nova's members that a drive has no reader for.
	for k, v := range map[string]string{"name": m.Name, "project_id": m.Namespace} {
		if _, ok := meta[k]; !ok {
			meta[k] = v
		}
	}
	net, _, problems := networkFiles(m, meta)
	l = append(l, problems...)
	d := documents{meta: meta, instance: instance, network: net}
	l = append(l, d.render(m, o)...)
	return Documents{MetaData: d.metaText, Network: net, UserData: d.user, VendorData: d.vendor, Identity: d.identity(m), PublicKeys: metadata.KeyList(meta["public_keys"])}, l
}

// documents are the parts of a seed on the way to being texts.
type documents struct {
	meta                            metadata.Object
	instance                        string
	metaText, network, user, vendor secret.Text
}

// render writes the texts of a machine.
func (d *documents) render(m machine.Machine, o datasource.Options) (l diag.List) {
	text, err := d.meta.EncodeIn(style(m))
	if err != nil {
		l.Errorf(metadata.CodeValue, m.Places.Find("metaData"), "", "meta-data cannot be written: %v", err)
	}
	d.metaText = secret.FromBytes(text)
	var problems diag.List
	d.user, problems = userdata.User(m, o)
	l = append(l, problems...)
	vendor, problems := userdata.Vendor(m, o)
	l = append(l, problems...)
	if !vendor.IsZero() {
		// The whole document under the key that cloud-init looks for; other agents pass it over.
		text, err := metadata.Object{"cloud-init": vendor.Reveal()}.Encode()
		if err != nil {
			l.Errorf(metadata.CodeValue, m.Places.Find("vendorData"), "", "vendor-data cannot be written: %v", err)
		}
		d.vendor = secret.FromBytes(text)
	}
	return l
}

// identity is who the documents say that the guest is.
func (d *documents) identity(m machine.Machine) seed.Identity {
	return seed.Identity{InstanceID: d.instance, UUID: m.Identity.UUID, Hostname: d.meta.Text("hostname")}
}

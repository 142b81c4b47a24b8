// Package someothersource is a data source that vmseed does not have: that of the imaginary provider by which KubeVirt's
// documents show that more of them can be added. It lives outside of vmseed's core and needs only its public packages.
//
// A guest of that provider mounts the volume labelled someother, and reads user-data and provider.json from it. The
// provider's own settings reach provider.json under the names that the definition gives them.
package someothersource

import (
	"encoding/json"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/content"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// CodeSettings is for settings that JSON cannot hold. vmseed itself never uses codes from 9000 up.
const CodeSettings diag.Code = 9000

// Source renders machines for the provider's guests.
type Source struct{}

// Name returns "someothersource".
func (Source) Name() string { return "someothersource" }

// Expresses lists what reaches the guest. It finds its network by DHCP.
func (Source) Expresses() machine.FieldSet {
	return content.UserDataFields().Union(machine.NewFieldSet(
		"identity.instanceID", "identity.hostname", "identity.domain", "ssh.authorizedKeys", "metaData"))
}

// Render makes the volume.
func (s Source) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	user, l := content.UserData(m, o)
	vendor, problems := content.VendorData(m, o)
	l = append(l, problems...)
	settings, problems := content.MetaData(m)
	l = append(l, problems...)

	settings["instance-id"] = m.Identity.Instance()
	if host := m.Identity.FQDN(); host != "" {
		settings["hostname"] = host
	}
	if len(m.SSH.AuthorizedKeys) > 0 {
		settings["public-keys"] = m.SSH.AuthorizedKeys
	}
	// encoding/json sorts the keys, so the same machine gives the same bytes.
	text, err := json.Marshal(settings)
	if err != nil {
		l.Errorf(CodeSettings, m.Places.Find("metaData"), "", "provider.json cannot be written: %v", err)
	}
	v := seed.Volume{Label: "someother", Files: []seed.File{
		{Path: "provider.json", Content: secret.FromBytes(text)}, {Path: "user-data", Content: user}}}
	if !vendor.IsZero() {
		v.Files = append(v.Files, seed.File{Path: "vendor-data", Content: vendor})
	}
	return seed.Seed{
		Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: s.Name(),
		Identity: seed.Identity{InstanceID: m.Identity.Instance(), UUID: m.Identity.UUID, Hostname: m.Identity.FQDN()},
		Volumes:  []seed.Volume{v},
	}, l
}

var _ datasource.DataSource = Source{}

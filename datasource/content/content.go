// Package content is what data sources of other modules share with those of this one: the author's documents and what
// follows from users, files, mounts and the network, merged once. A data source adds its own names and places.
package content

import (
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// UserData returns the user-data of a machine for cloud-init. It is never empty.
func UserData(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	return userdata.User(m, o)
}

// VendorData returns the vendor-data of a machine for cloud-init, which may be empty.
func VendorData(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	return userdata.Vendor(m, o)
}

// UserDataFields are the fields of a machine that end up in UserData and VendorData, for a data source's Expresses.
func UserDataFields() machine.FieldSet { return userdata.Expresses() }

// Network returns the network document of a machine in a form. It is empty when the machine says nothing about its
// network, so that the guest's own fallback applies. An author's document in another form is converted.
func Network(m machine.Machine, form netconfig.Format) (secret.Text, diag.List) {
	doc, own, l := network.Document(m)
	if own {
		text := []byte(doc.Data.Reveal())
		if netconfig.Detect(text) == form {
			return doc.Data, append(l, doc.Origin.Carry(netconfig.Lint("", text, netconfig.Release{}))...)
		}
		c, _, problems := netconfig.Parse("", text)
		if problems.HasErrors() {
			return secret.Text{}, append(l, doc.Origin.Carry(problems)...)
		}
		out, more := netconfig.Encode(form, c)
		return secret.FromBytes(out), append(l, doc.Origin.Carry(append(problems, more...))...)
	}
	c, ok, problems := network.Config(m)
	l = append(l, problems...)
	if !ok {
		return secret.Text{}, l
	}
	out, problems := netconfig.Encode(form, c)
	return secret.FromBytes(out), append(l, problems...)
}

// NetworkFields are the fields of a machine that Network knows, for a data source's Expresses, without those that its
// form has no words for.
func NetworkFields(without ...machine.Field) machine.FieldSet { return network.Expresses(without...) }

// MetaData returns what the author's own layers of meta-data state, key by key, a later layer over an earlier one. The
// values are those of encoding/json.
func MetaData(m machine.Machine) (map[string]any, diag.List) {
	o := metadata.Object{}
	_, l := o.Overlay(m.MetaData)
	return o, l
}

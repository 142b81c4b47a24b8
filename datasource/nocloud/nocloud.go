// Package nocloud renders the seed of cloud-init's data source NoCloud: a volume labelled cidata with meta-data,
// user-data, and where there is something to say vendor-data and network-config. Over HTTP it is a directory of all four,
// which the serial number of the firmware points to.
//
// Source: cloud-init's documentation of NoCloud, and its code from 22.4 to 26.2 where that differs.
package nocloud

import (
	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Label is the volume label that ds-identify and cloud-init look for. They know it in this spelling and in capitals only.
const Label = "cidata"

// NoCloud renders machines for NoCloud.
type NoCloud struct{}

// New returns the data source.
func New() NoCloud { return NoCloud{} }

// Name returns "nocloud".
func (NoCloud) Name() string { return "nocloud" }

// Expresses lists what reaches the guest. NoCloud has no place for an administrator's password and DNS options.
func (NoCloud) Expresses() machine.FieldSet {
	return userdata.Expresses().Union(network.Expresses()).Union(metadata.TagFields()).Union(machine.NewFieldSet(
		"identity.instanceID", "identity.hostname", "identity.domain", "identity.region",
		"identity.availabilityZone", "identity.instanceType", "identity.cloudName", "identity.launchIndex", "identity.tags",
		"ssh.authorizedKeys", "metaData", "dsmode"))
}

// ExpressesFor lists what reaches the guest of m, which may be one of Ignition. What is read over HTTP can be sealed.
func (n NoCloud) ExpressesFor(m machine.Machine, o datasource.Options) machine.FieldSet {
	fields := userdata.ExpressesFor(m, n.Expresses())
	if o.HTTP {
		fields = fields.Union(machine.NewFieldSet("metadataOptions.seal"))
	}
	return fields
}

// Render makes the seed. meta-data and user-data are always there: without either, cloud-init ignores the volume.
func (n NoCloud) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	var l diag.List
	meta := metadata.Common(m, map[string]string{"region": "region", "availabilityZone": "availability-zone",
		"instanceType": "instance-type", "cloudName": "cloud-name", "launchIndex": "launch-index", "tags": "tags"})
	meta["instance-id"] = m.Identity.InstanceID
	if host := m.Identity.FQDN(); host != "" {
		meta["local-hostname"] = host
	}
	if m.DSMode != "" {
		meta["dsmode"] = m.DSMode
	}
	l = append(l, meta.Tags(m)...)
	named, problems := meta.Overlay(m.MetaData)
	l = append(l, problems...)
	if metadata.ForKubeVirt(m) {
		secondNames(meta, named)
	}
	guest, _ := lint.ParseGuest(o.Guest)
	for _, x := range m.MetaData {
		l = append(l, lint.MetaData(x.Origin, []byte(x.Data.Reveal()), guest)...)
	}
	instance := metadata.Instance(m, meta.Text("instance-id"))
	if instance != meta.Text("instance-id") {
		meta["instance-id"] = instance
		delete(named, "instance-id")
	}
	text, ok := meta.Verbatim(m.MetaData, named)
	if !ok {
		var err error
		if text, err = meta.EncodeIn(metadata.StyleFor(m, "instance-type", "instance-id", "local-hostname", "public-keys")); err != nil {
			l.Errorf(metadata.CodeValue, m.Places.Find("metaData"), "", "meta-data cannot be written: %v", err)
		}
	}
	user, problems := userdata.User(m, o)
	l = append(l, problems...)
	vendor, problems := userdata.Vendor(m, o)
	l = append(l, problems...)
	net, problems := networkConfig(m)
	l = append(l, problems...)

	s := seed.Seed{
		Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: n.Name(),
		Identity: seed.Identity{InstanceID: instance, UUID: m.Identity.UUID, Hostname: meta.Text("local-hostname")},
	}
	if o.HTTP {
		serve(&s, m, documents{secret.FromBytes(text), user, vendor, net})
		return s, append(l, checkServed(m, o, !net.IsZero())...)
	}
	v := seed.Volume{Label: Label, Files: []seed.File{
		{Path: "meta-data", Content: secret.FromBytes(text)}, {Path: "user-data", Content: user}}}
	if !vendor.IsZero() {
		v.Files = append(v.Files, seed.File{Path: "vendor-data", Content: vendor})
	}
	if !net.IsZero() {
		v.Files = append(v.Files, seed.File{Path: "network-config", Content: net})
	}
	s.Volumes = []seed.Volume{v}
	return s, l
}

// secondNames gives the public keys the form that KubeVirt writes, and adds the names under which CoreOS' Afterburn looks for
// instance type and keys.
func secondNames(meta metadata.Object, named map[string]bool) {
	if keys, ok := meta["public-keys"]; ok && !named["public-keys"] {
		meta["public-keys"] = metadata.KeyMap("", keys)
	}
	for _, p := range []struct{ dashed, scored string }{{"instance-type", "instance_type"}, {"public-keys", "public_keys"}} {
		if v, ok := meta[p.dashed]; ok && !named[p.scored] {
			meta[p.scored] = v
		}
	}
	if keys, ok := meta["public_keys"]; ok {
		meta["public_keys"] = metadata.KeyMap("", keys)
	}
}

// networkConfig returns the author's own document as it is, or version 1, the form that reaches every renderer of every
// release. OpenStack's form, which no reader of NoCloud understands, is converted.
func networkConfig(m machine.Machine) (secret.Text, diag.List) {
	doc, own, dropped := network.Document(m)
	if own {
		text := []byte(doc.Data.Reveal())
		if netconfig.Detect(text) == netconfig.OpenStack {
			out, l := fromOpenStack(text)
			return out, doc.Origin.Carry(l)
		}
		return doc.Data, doc.Origin.Carry(netconfig.Lint("", text, netconfig.Release{}))
	}
	c, ok, l := network.Config(m)
	l = append(dropped, l...)
	if !ok {
		return secret.Text{}, l
	}
	text, problems := netconfig.EncodeV1(c)
	return secret.FromBytes(text), append(l, problems...)
}

// fromOpenStack converts a network_data.json.
func fromOpenStack(text []byte) (secret.Text, diag.List) {
	c, _, l := netconfig.Parse("", text)
	if l.HasErrors() {
		return secret.Text{}, l
	}
	l.Notef(netconfig.CodeConvert, diag.At("", 1, 1), "write network-config, or use a config drive to pass the document on unchanged",
		"this is %s, which cloud-init does not read from this data source: it is converted to network-config of version 1", netconfig.OpenStack)
	out, more := netconfig.EncodeV1(c)
	return secret.FromBytes(out), append(l, more...)
}

var (
	_ datasource.DataSource = NoCloud{}
	_ datasource.Chooser    = NoCloud{}
)

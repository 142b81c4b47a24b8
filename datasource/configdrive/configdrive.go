// Package configdrive renders the OpenStack config drive, version 2: a volume labelled config-2 with openstack/latest, which
// cloud-init's ConfigDrive and cloudbase-init read.
//
// Only the directory latest is written: a dated directory beside it would win even if it held less.
//
// Source: nova's documentation of config drives, and cloud-init's code from 22.4 to 26.2 where that differs.
package configdrive

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/metadata"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Label is the volume label that ds-identify and cloud-init look for. They know it in this spelling and in capitals only.
const Label = "config-2"

// base is the directory of all files but the contents of injected ones.
const base = "openstack/latest/"

// ConfigDrive renders machines for ConfigDrive.
type ConfigDrive struct{}

// New returns the data source.
func New() ConfigDrive { return ConfigDrive{} }

// Name returns "configdrive".
func (ConfigDrive) Name() string { return "configdrive" }

// Expresses lists what reaches the guest. network_data.json has no words for bridges and for router advertisements.
func (ConfigDrive) Expresses() machine.FieldSet {
	return userdata.Expresses().Union(network.Expresses("network.nics.bridge", "network.nics.acceptRA")).
		Union(metadata.TagFields()).Union(machine.NewFieldSet(
		"identity.instanceID", "identity.hostname", "identity.domain", "identity.region", "identity.availabilityZone",
		"identity.instanceType", "identity.launchIndex", "identity.tags", "ssh.authorizedKeys", "adminPassword", "metaData", "dsmode", "network.format"))
}

// ExpressesFor lists what reaches the guest of m, which may be one of Ignition.
func (c ConfigDrive) ExpressesFor(m machine.Machine, _ datasource.Options) machine.FieldSet {
	return userdata.ExpressesFor(m, c.Expresses())
}

// Render makes the seed.
func (c ConfigDrive) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	meta, instance, l := metaData(m)
	net, contents, problems := networkFiles(m, meta)
	l = append(l, problems...)
	if !ignition.Machine(m) {
		holdDown(m, meta, &contents)
		if metadata.Cached(m, instance) {
			l.Notef(CodeRevision, m.Places.Find("identity.instanceID"), "run cloud-init clean in a guest that had none",
				"a guest whose instance has a revision already runs its first boot again; one that had none does not look at another drive, because its id is the UUID of the firmware")
		}
	}
	if m.UserData.Raw {
		m = inject(m, meta, &contents, &l)
	}
	d := documents{meta: meta, instance: instance, network: net}
	l = append(l, d.render(m, o)...)

	v := seed.Volume{Label: Label, Files: []seed.File{{Path: base + "meta_data.json", Content: d.metaText}, {Path: base + "user_data", Content: d.user}}}
	if !d.vendor.IsZero() {
		v.Files = append(v.Files, seed.File{Path: base + "vendor_data.json", Content: d.vendor})
	}
	if !net.IsZero() {
		v.Files = append(v.Files, seed.File{Path: base + "network_data.json", Content: net})
	}
	v.Files = append(v.Files, contents...)
	return seed.Seed{
		Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: c.Name(),
		Identity: d.identity(m), Volumes: []seed.Volume{v},
	}, l
}

// metaData builds meta_data.json. Identity and host name are there under nova's names and under those of NoCloud, which
// Virtlet wrote and its users override; whichever of a pair is overridden, the other follows.
func metaData(m machine.Machine) (meta metadata.Object, instance string, l diag.List) {
	meta = metadata.Common(m, map[string]string{"region": "region", "availabilityZone": "availability_zone",
		"instanceType": "instance_type", "launchIndex": "launch_index"})
	dynamic := map[string]string{}
	for k, v := range m.Identity.Tags {
		dynamic[k] = v
	}
	if m.DSMode != "" {
		dynamic["dsmode"] = m.DSMode
	}
	if metadata.ForOVirt(m) {
		asOVirt(m, meta, dynamic)
	}
	if len(dynamic) > 0 {
		meta["meta"] = dynamic
	}
	if !m.AdminPassword.IsZero() {
		meta["admin_pass"] = m.AdminPassword.Reveal()
	}
	if !m.AdminPassword.IsZero() && m.Guest.OS != "windows" {
		l.Warnf(CodeAdminPassword, m.Places.Find("adminPassword"), "set a password hash for a user instead",
			"every user of a Linux guest can read admin_pass, and cloud-init ignores it; it is meant for cloudbase-init")
	}
	keyPrefix := "key-"
	if metadata.ForKubeVirt(m) {
		meta["instance_id"], keyPrefix = m.Name+"."+m.Namespace, ""
	}
	l = append(l, meta.Tags(m)...)
	named, problems := meta.Overlay(m.MetaData)
	l = append(l, problems...)
	for _, p := range []struct{ nova, noCloud, value string }{
		{"uuid", "instance-id", m.Identity.InstanceID}, {"hostname", "local-hostname", m.Identity.FQDN()}} {
		if p.value == "" && !named[p.nova] && !named[p.noCloud] {
			continue
		}
		if named[p.nova] && named[p.noCloud] && meta.Text(p.nova) != meta.Text(p.noCloud) {
			l.Warnf(CodePair, m.Places.Find("metaData"), "give both the same value, or only one of them",
				"the meta-data sets %s and %s to different values; the guest goes by %s", p.nova, p.noCloud, p.nova)
		}
		follow(meta, named, p.nova, p.noCloud, p.value)
	}
	if metadata.ForOVirt(m) && !named["name"] && meta["hostname"] != nil {
		meta["name"] = meta["hostname"]
	}
	instance = metadata.Instance(m, meta.Text("uuid"))
	meta["uuid"], meta["instance-id"] = instance, instance
	if keys, ok := meta["public-keys"]; ok && !named["public_keys"] {
		meta["public_keys"] = metadata.KeyMap(keyPrefix, keys)
	}
	return meta, instance, l
}

// style returns how meta_data.json is written for a machine.
func style(m machine.Machine) metadata.Style {
	if metadata.ForOVirt(m) {
		return metadata.Style{First: ovirtMembers()}
	}
	return metadata.StyleFor(m, "instance_type", "instance_id", "hostname", "uuid", "devices", "public_keys")
}

// follow gives both names of a pair one value: that of the name which the author set, nova's first, else the default.
func follow(meta metadata.Object, named map[string]bool, nova, noCloud, value string) {
	var v any = value
	switch {
	case named[nova]:
		v = meta[nova]
	case named[noCloud]:
		v = meta[noCloud]
	}
	meta[nova] = v
	if !named[noCloud] || !named[nova] {
		meta[noCloud] = v
	}
}

// inject moves the machine's files to the drive's own way of writing files, for user-data that cannot carry them.
// cloud-init writes them as root with mode 0660.
func inject(m machine.Machine, meta metadata.Object, contents *[]seed.File, l *diag.List) machine.Machine {
	for i, f := range m.Files {
		addFile(meta, f.Path, contents, f.Content)
		if f.Mode != 0 && f.Mode.Bits() != 0o660 || f.Owner != "" || f.Append || f.Defer {
			at := fmt.Sprintf("files[%d]", i)
			l.Add(diag.Diagnostic{Code: CodeInjected, Severity: diag.Warning, Range: m.Places.Find(at), Field: at,
				Summary: "the guest writes this file whole, early and as root with mode 0660, because the user-data is passed as it is",
				Remedy:  "set mode and owner in the script"})
		}
	}
	m.Files = nil
	return m
}

// addFile adds a file that the guest writes when it finds the drive.
func addFile(meta metadata.Object, path string, contents *[]seed.File, data secret.Text) {
	rows, _ := meta["files"].([]any)
	meta["files"] = append(rows, map[string]any{"path": path, "content_path": addContent(contents, data)})
}

// holdDown keeps NetworkManager from what it does with a NIC that it has no profile of, which is DHCP. cloud-init writes
// the files of a drive before NetworkManager starts; a guest without it has no use for the file.
func holdDown(m machine.Machine, meta metadata.Object, contents *[]seed.File) {
	var specs []string
	for _, n := range network.LeftDown(m) {
		if n.Match == "name" {
			specs = append(specs, "interface-name:="+cmp.Or(n.Rename, n.Name))
		} else {
			specs = append(specs, "mac:"+n.MAC)
		}
	}
	if len(specs) > 0 {
		addFile(meta, "/etc/NetworkManager/conf.d/90-vmseed-onboot.conf", contents,
			secret.New("[main]\nno-auto-default+="+strings.Join(specs, ",")+"\n"))
	}
}

// addContent adds a file to those that the meta-data refers to, and returns the name by which it does.
func addContent(contents *[]seed.File, data secret.Text) string {
	name := fmt.Sprintf("content/%04d", len(*contents))
	*contents = append(*contents, seed.File{Path: "openstack/" + name, Content: data})
	return "/" + name
}

// networkFiles returns network_data.json or, where the machine asks for the text of interfaces(5), a file that the
// meta-data refers to: network_config is how cloud-init finds it, network-interfaces how 0.6.3 did.
func networkFiles(m machine.Machine, meta metadata.Object) (data secret.Text, contents []seed.File, l diag.List) {
	doc, own, dropped := network.Document(m)
	if own {
		data, l = document(m, doc)
		return data, nil, l
	}
	c, ok, l := network.Config(m)
	l = append(dropped, l...)
	switch {
	case !ok:
	case m.Network.Format == "eni" && len(c.Links) > 0:
		text, problems := netconfig.EncodeENI(c)
		l = append(l, problems...)
		if len(text) > 0 {
			l.Notef(CodeInterfaces, m.Places.Find("network.format"), "leave the form out to send network_data.json",
				"cloud-init calls the network in this form deprecated from 24.3 on, and logs it")
			meta["network-interfaces"] = string(text)
			meta["network_config"] = map[string]string{"content_path": addContent(&contents, secret.FromBytes(text)), "path": "/etc/network/interfaces"}
		}
	default:
		encode := netconfig.EncodeOpenStack
		if metadata.ForOVirt(m) {
			encode = netconfig.EncodeOVirt
		}
		if len(c.Links) == 0 {
			encode = netconfig.EncodeOpenStack // which says so in so many words: cloud-init 0.7.9 fails on an empty object
		}
		text, problems := encode(c)
		data, l = secret.FromBytes(text), append(l, problems...)
	}
	return data, contents, l
}

// document returns the author's own network document. One in the form of network_data.json is passed as it is; netplan
// and network-config, which no reader of a config drive understands, are converted.
func document(m machine.Machine, doc machine.Layer) (secret.Text, diag.List) {
	text := []byte(doc.Data.Reveal())
	if netconfig.Detect(text) == netconfig.OpenStack {
		return doc.Data, doc.Origin.Carry(netconfig.Lint("", text, netconfig.Release{}))
	}
	out, l := netconfig.ConvertForOpenStack("", text)
	if m.Compat == "kubevirt" && m.DataSource == "configdrive" {
		// KubeVirt would not convert it, which whoever read the definition has said.
		l = slices.DeleteFunc(l, func(d diag.Diagnostic) bool { return d.Code == netconfig.CodeConvert && d.Severity == diag.Note })
	}
	return secret.FromBytes(out), doc.Origin.Carry(l)
}

var (
	_ datasource.DataSource = ConfigDrive{}
	_ datasource.Chooser    = ConfigDrive{}
)

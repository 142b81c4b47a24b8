package userdata

import (
	"slices"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/ignconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// metaDataFields are those that the guest of an Ignition config reads from the meta-data beside it.
func metaDataFields() machine.FieldSet {
	return machine.NewFieldSet("identity", "network", "ssh.authorizedKeys")
}

// besideMetaData leaves out what the guest of an Ignition config reads from the meta-data beside it: on the platforms whose
// seed is one of cloud-init's, Afterburn sets host name, keys of the default user and network. So a config that says all
// else reaches its guest byte for byte.
func besideMetaData(m machine.Machine) machine.Machine {
	m.Identity.Hostname, m.Identity.Domain = "", ""
	m.SSH.AuthorizedKeys = nil
	m.Network = machine.Network{}
	return m
}

// ignitionConfig returns user-data that is one Ignition config.
func ignitionConfig(m machine.Machine, o datasource.Options) (secret.Text, diag.List) {
	var l diag.List
	i := slices.IndexFunc(m.UserData.Layers, ignition.Recognise)
	x, what := m.UserData.Layers[i], "this is an Ignition config"
	if ignconfig.IsButane([]byte(x.Data.Reveal())) {
		what = "this is Butane, which becomes an Ignition config"
	}
	l.Notef(CodeIgnition, x.Origin.Whole, "for other images use the data source ignition",
		"%s: images of the Ignition platforms kubevirt, openstack and proxmoxve read it from a volume, and cloud-init ignores it", what)
	text, problems := ignition.Compose(besideMetaData(m), o)
	return text, append(l, problems...)
}

// ExpressesFor lists the fields of a machine that reach its guest through a data source which expresses all of those given
// to cloud-init. A guest whose user-data is an Ignition config is told other fields by its user-data.
func ExpressesFor(m machine.Machine, all machine.FieldSet) machine.FieldSet {
	if !ignition.Machine(m) {
		return all
	}
	cloudInit, beside := Expresses(), metaDataFields()
	fields := slices.DeleteFunc(all.Fields(), cloudInit.Has)
	for _, f := range ignition.Expresses().Fields() {
		if !beside.Has(f) {
			fields = append(fields, f)
		}
	}
	return machine.NewFieldSet(fields...)
}

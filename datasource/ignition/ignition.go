// Package ignition renders the config that Ignition applies at the first boot of CoreOS, Flatcar and their kin, and brings
// it to where the image's platform looks:
//
//	qemu                 fw_cfg opt/com.coreos/config
//	flatcar              fw_cfg opt/org.flatcar-linux/config
//	openstack, kubevirt  a volume config-2, file openstack/latest/user_data
//	proxmoxve            a volume cidata, file user-data
//
// The platform is stamped into an image. One that looks elsewhere boots without the config and without a word, or waits
// for it for ever. The volumes are those of cloud-init's data sources, with instance data for Afterburn beside the config.
//
// Over HTTP the platform openstack reads openstack/latest/user_data of OpenStack's metadata service. Every other one
// follows the kernel argument ignition.config.url to ignition/config.ign.
//
// Source: Ignition's documentation of supported platforms and its code of 2.14 to 2.26; Flatcar's documentation.
package ignition

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	config "github.com/vmseed/vmseed/datasource/internal/ignition"
	"github.com/vmseed/vmseed/datasource/internal/network"
	"github.com/vmseed/vmseed/datasource/internal/userdata"
	"github.com/vmseed/vmseed/datasource/nocloud"
	"github.com/vmseed/vmseed/datasource/openstack"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// DefaultPlatform is the platform of a machine that names none.
const DefaultPlatform = "qemu"

// platform is a place where Ignition looks.
type platform struct {
	name string
	// fwCfg is the name of the file of fw_cfg, volume the data source whose volume holds the config. One of them is set.
	fwCfg  string
	volume datasource.DataSource
	// service is the data source whose tree holds the config over HTTP, if the platform asks a service of its own accord.
	service datasource.DataSource
	// args are what a kernel that is started without the image's boot loader needs.
	args []string
}

func platforms() []platform {
	args := func(id string) []string { return []string{"ignition.firstboot", "ignition.platform.id=" + id} }
	return []platform{
		{name: "qemu", fwCfg: seed.IgnitionItem, args: args("qemu")},
		// Flatcar's own names come first. What its initramfs does not know, it passes over.
		{name: "flatcar", fwCfg: seed.FlatcarItem, args: append([]string{"flatcar.first_boot=1", "flatcar.oem.id=qemu"}, args("qemu")...)},
		{name: "openstack", volume: configdrive.New(), service: openstack.New(), args: args("openstack")},
		{name: "kubevirt", volume: configdrive.New(), args: args("kubevirt")},
		{name: "proxmoxve", volume: nocloud.New(), args: args("proxmoxve")},
	}
}

// Platforms lists the names of the platforms, the default one first.
func Platforms() []string {
	var out []string
	for _, p := range platforms() {
		out = append(out, p.name)
	}
	return out
}

// platformOf returns the platform that the user names, else that of the machine, else the default one.
func platformOf(m machine.Machine, o datasource.Options) (platform, string, bool) {
	name := DefaultPlatform
	for _, wish := range []string{o.IgnitionPlatform, m.Guest.IgnitionPlatform} {
		if wish != "" {
			name = wish
			break
		}
	}
	all := platforms()
	i := slices.IndexFunc(all, func(p platform) bool { return p.name == name })
	if i < 0 {
		return platform{}, name, false
	}
	return all[i], name, true
}

// Ignition renders machines for Ignition.
type Ignition struct{}

// New returns the data source.
func New() Ignition { return Ignition{} }

// Name returns "ignition".
func (Ignition) Name() string { return "ignition" }

// Expresses lists what reaches the guest of the default platform: what stands in the config.
func (Ignition) Expresses() machine.FieldSet { return config.Expresses() }

// ExpressesFor adds the instance data that the volumes of some platforms hold, or the service.
func (Ignition) ExpressesFor(m machine.Machine, o datasource.Options) machine.FieldSet {
	p, _, _ := platformOf(m, o)
	holder := p.volume
	var beside []machine.Field
	if o.HTTP {
		holder, beside = p.service, append(beside, "metadataOptions.seal")
	}
	if holder == nil {
		return config.Expresses().Union(machine.NewFieldSet(beside...))
	}
	for _, f := range holder.Expresses().Fields() {
		if !userdata.Expresses().Has(f) && f != "adminPassword" {
			beside = append(beside, f)
		}
	}
	return config.Expresses().Union(machine.NewFieldSet(beside...))
}

// Render makes the seed.
func (i Ignition) Render(m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	s := seed.Seed{Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, DataSource: i.Name(),
		Identity: seed.Identity{InstanceID: m.Identity.Instance(), UUID: m.Identity.UUID, Hostname: m.Identity.FQDN()}}
	p, name, ok := platformOf(m, o)
	if !ok {
		var l diag.List
		l.Errorf(CodePlatform, m.Places.Find("guest.ignitionPlatform"), "choose one of "+strings.Join(Platforms(), ", "),
			"vmseed has no way to the Ignition platform %q", name)
		return s, l
	}
	text, l := config.Compose(m, o)
	if l.HasErrors() {
		return s, l
	}
	s.KernelArgs = p.args
	switch {
	case o.HTTP && p.service != nil:
		inner, problems := beside(p.service, m, o, text)
		s.Trees, s.Firmware, s.Identity, s.Seal = inner.Trees, inner.Firmware, inner.Identity, inner.Seal
		return s, append(l, problems...)
	case o.HTTP:
		serve(&s, m, p, text)
		l.Notef(CodeKernel, m.Places.Find("guest.ignitionPlatform"), "start the VM with a kernel of its own, or take an image of the platform openstack",
			"an image of the platform %s asks no service: it finds the config by a kernel argument, which its boot loader does not give", name)
		return s, l
	case p.volume == nil:
		s.Firmware.FwCfg = []seed.FwCfg{{Name: p.fwCfg, Content: text}}
		return s, append(l, checkSize(m, text.Len())...)
	}
	inner, problems := beside(p.volume, m, o, text)
	s.Volumes, s.Identity = inner.Volumes, inner.Identity
	return s, append(l, problems...)
}

// The sizes in bytes from which on a config is large for fw_cfg, and too large to be of use.
const (
	large = 256 << 10
	huge  = 1 << 20
)

func checkSize(m machine.Machine, size int) (l diag.List) {
	const remedy = "have Ignition fetch large files by their URLs, or use an image of a platform that reads a disk, such as openstack"
	switch {
	case size > huge:
		l.Warnf(CodeSize, m.Places.Find("ignition"), remedy,
			"the config has %d KiB, and the guest may take minutes to read it from fw_cfg: four times as long for twice the size", size>>10)
	case size > large:
		l.Warnf(CodeSize, m.Places.Find("ignition"), remedy, "the config has %d KiB, which the guest is slow to read from fw_cfg", size>>10)
	}
	return l
}

// beside renders the seed of another data source with the config as user-data, and what Afterburn reads beside it. The
// network stands there as well if the form of the data source can say all of it.
func beside(ds datasource.DataSource, m machine.Machine, o datasource.Options, text secret.Text) (seed.Seed, diag.List) {
	afterburn := machine.NewFieldSet("identity", "network", "ssh.authorizedKeys")
	for _, f := range config.Expresses().Fields() {
		if !afterburn.Has(f) {
			machine.Clear(&m, f)
		}
	}
	for _, f := range userdata.Expresses().Fields() {
		machine.Clear(&m, f)
	}
	m.AdminPassword = secret.Text{}
	m.UserData = machine.UserData{Raw: true, Layers: []machine.Layer{{Name: "Ignition config", Data: text}}}
	o.Extra, o.Guest = nil, ""
	m.Guest.Release = ""

	// What is wrong with the network as such has been said of the config.
	said := slices.Concat(network.Codes(), []diag.Explanation{{Code: userdata.CodeIgnition}})
	s, l := ds.Render(m, o)
	l = slices.DeleteFunc(l, among(said))
	if slices.ContainsFunc(l, among(netconfig.Codes())) {
		m.Network = machine.Network{NICs: hardware(m.Network.NICs)}
		s, l = ds.Render(m, o)
		l = slices.DeleteFunc(l, among(said))
		l.Notef(CodeNetworkTwice, m.Places.Find("network"), "", "the network stands in the Ignition config alone, and not on the drive beside it")
	}
	return s, l
}

// among reports whether a diagnostic has one of the codes.
func among(codes []diag.Explanation) func(diag.Diagnostic) bool {
	return func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(codes, func(e diag.Explanation) bool { return e.Code == d.Code })
	}
}

// hardware returns the NICs of the machine without the guest's use of them.
func hardware(nics []machine.NIC) (out []machine.NIC) {
	for _, n := range nics {
		if n.Physical() {
			out = append(out, machine.NIC{Name: n.Name, MAC: n.MAC, Model: n.Model, Network: n.Network, PCI: n.PCI, BootOrder: n.BootOrder,
				Tag: n.Tag, LinkDown: n.LinkDown})
		}
	}
	return out
}

var (
	_ datasource.DataSource = Ignition{}
	_ datasource.Chooser    = Ignition{}
)

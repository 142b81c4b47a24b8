package metadataservice

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// The data sources whose guests read HTTP.
const (
	ec2       = "ec2"
	openstack = "openstack"
	nocloud   = "nocloud"
	ignition  = "ignition"
)

// DataSources are the names of the data sources whose guests read HTTP.
func DataSources() []string { return []string{ec2, openstack, nocloud, ignition} }

// optionalTokens lets the paths of EC2 be read without a token.
const optionalTokens = "optional"

// protocols returns the data sources that a machine is served by, those first whose trees win over trees of the same name, and
// the machine with how it is to be read.
func (s *Service) protocols(m machine.Machine, l *diag.List) ([]string, machine.Machine) {
	stated := m.Places.Find("dataSource")
	switch wish := cmp.Or(s.o.Render.DataSource, m.DataSource); wish {
	case ec2, openstack, nocloud, ignition:
		return []string{wish}, m
	case "nocloud-net":
		return []string{nocloud}, m
	case "configdrive":
		l.Notef(CodeConfigDrive, stated, "", "%s/%s asks for a config drive, whose documents OpenStack's metadata service has: it is served that", m.Namespace, m.Name)
		return []string{openstack}, m
	case "":
	default:
		l.Warnf(CodeNotServed, stated, "give --datasource ec2, openstack, nocloud or ignition", "%s/%s is not served: guests do not read the data source %s over HTTP",
			m.Namespace, m.Name, wish)
		return nil, m
	}
	if m.MetadataOptions.HTTPTokens == "required" {
		l.Notef(CodeTokensAlone, m.Places.Find("metadataOptions.httpTokens"), "name a data source to have another",
			"%s/%s requires session tokens, which only EC2's protocol has, so it is served that alone", m.Namespace, m.Name)
		return []string{ec2}, m
	}
	// Beside paths that know no tokens, requiring them for the same data would protect nothing; and guests of OpenStack, which read
	// EC2's paths as well, have none.
	m.MetadataOptions.HTTPTokens = optionalTokens
	all := []string{ec2, openstack, nocloud}
	if len(m.Ignition) > 0 {
		all = slices.Insert(all, 1, ignition) // its user-data of OpenStack is the config
	}
	return all, m
}

// serve makes the answers for a machine; nil means that it is not served.
func (s *Service) serve(m machine.Machine) (*served, diag.List) {
	var l diag.List
	sources, m := s.protocols(m, &l)
	if len(sources) == 0 {
		return nil, l
	}
	m = withoutUnknown(m, &l)
	name := m.Namespace + "/" + m.Name
	instance := m.Identity.Instance()
	options := s.o.Render
	options.HTTP = true
	if !s.o.Silent {
		options.Extra = append(slices.Clone(options.Extra), intake.Layers(secret.New(s.o.Base+intake.Path(s.key, name, instance).Reveal()))...)
		l = append(l, intake.Lost(m, !slices.Equal(sources, []string{"ec2"}))...)
	}
	merged, told, problems := s.render(m, sources, options)
	l = append(l, problems...)
	if l.HasErrors() {
		return nil, l
	}
	if len(merged.Trees) == 0 {
		l.Warnf(CodeNotServed, m.Places.Find("dataSource"), "give --ignition-platform openstack, or --datasource",
			"%s is not served: nothing of it is read over HTTP", name)
		return nil, l
	}
	site, err := metadata.NewSite(merged)
	if err != nil {
		l.Errorf(CodeNotServed, m.Places.Find("name"), "", "%s cannot be served: %v", name, err)
		return nil, l
	}
	var protocols []string
	for _, t := range merged.Trees {
		protocols = append(protocols, t.Name)
	}
	return &served{site: site, instance: instance, seal: merged.Seal, protocols: protocols, told: told}, l
}

// render makes one seed with the trees of all data sources, and says what each of them wants its guest told.
func (s *Service) render(m machine.Machine, sources []string, o vmseed.RenderOptions) (out seed.Seed, told []Told, l diag.List) {
	out = seed.Seed{Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, Seal: m.MetadataOptions.Seal, DataSource: strings.Join(sources, ",")}
	for i, name := range sources {
		o.DataSource = name
		asked := m
		if name != ec2 && slices.Contains(sources, ec2) {
			asked.MetadataOptions.HTTPTokens, asked.MetadataOptions.HTTPPutResponseHopLimit = "", 0 // EC2's tree, which wins, honours them
		}
		made, problems := s.o.Engine.Render(asked, o)
		l = append(l, problems...)
		// Proxies name a machine by the id that OpenStack's guests read.
		if i == 0 || name == openstack {
			out.Identity = made.Identity
		}
		for _, t := range made.Trees {
			if !slices.ContainsFunc(out.Trees, func(have seed.Tree) bool { return have.Name == t.Name }) {
				out.Trees = append(out.Trees, t)
			}
		}
		told = append(told, s.tell(made, name))
	}
	return out, told, l
}

// Served is a machine that is served.
type Served struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// InstanceID is the one by which proxies name the machine.
	InstanceID string `json:"instanceID"`
	// Addresses are those that its guest may ask from.
	Addresses []netip.Addr `json:"addresses"`
	// Protocols are the trees that it is served.
	Protocols []string `json:"protocols"`
	// Sealed means that its first boot is over, and what only that needed withdrawn.
	Sealed bool `json:"sealed"`
	// Posted is the password of its administrator that the guest has posted by OpenStack's protocol, in base64 and encrypted for
	// the first public key of the machine; empty when it has not.
	Posted secret.Text `json:"-"`
	// Told is what a guest has to be told so that it looks here, for each protocol that it may speak.
	Told []Told `json:"-"`
}

// Told is what the firmware or boot loader of a guest must tell it, so that it reads the metadata service by a protocol. The URLs
// in it are signed: whoever knows them can read the machine's data, from an address of no machine.
type Told struct {
	Protocol string
	// SMBIOS are strings of the system (type 1).
	SMBIOS     []Row
	KernelArgs []secret.Text
}

// Row is a string of the SMBIOS: uuid, serial or product.
type Row struct {
	Field string
	Value secret.Text
}

// Machines returns what is served, in the order of the definitions.
func (s *Service) Machines() []Served {
	now := time.Now()
	s.refreshLeases(now)
	g := s.current.Load()
	addresses := addressesOf(g.owners.leased(s.leases.valid(now)))
	out := make([]Served, 0, len(g.order))
	for _, name := range g.order {
		x := g.served[name]
		made := Served{Namespace: x.site.Machine().Namespace, Name: x.site.Machine().Name, InstanceID: x.site.Identity().InstanceID,
			Addresses: addresses[name], Protocols: x.protocols, Sealed: x.site.Sealed()}
		if made.Addresses == nil {
			made.Addresses = []netip.Addr{}
		}
		made.Told, made.Posted = x.told, x.site.Password()
		out = append(out, made)
	}
	return out
}

// tell says how a guest of a data source finds its answers. One that has a path of its own is known by it from whatever address.
func (s *Service) tell(x seed.Seed, protocol string) Told {
	own := func(text string) secret.Text {
		for _, t := range x.Trees {
			if len(t.Roots) == 1 && t.Tokens == seed.NoTokens {
				text = strings.ReplaceAll(text, seed.Base+t.Roots[0]+"/", s.o.Base+s.directories.Path(t.Roots[0], x.Machine))
			}
		}
		return secret.New(strings.ReplaceAll(text, seed.Base, s.o.Base))
	}
	out := Told{Protocol: protocol}
	for _, row := range x.Firmware.SMBIOS {
		if row.Type == 1 {
			out.SMBIOS = append(out.SMBIOS, Row{row.Field, own(row.Value)})
		}
	}
	for _, arg := range x.KernelArgs {
		out.KernelArgs = append(out.KernelArgs, own(arg))
	}
	return out
}

// Package vmseed turns the VM definitions that people already write into what a guest reads at its first boot, and boots
// the VM with it.
//
//	document ─frontend▶ machine ─Place▶ placed machine ─datasource▶ seed ─delivery▶ attachments ─hypervisor▶ running guest
//
// An Engine composes plug-ins of the four kinds; which ones is the caller's choice. The command vmseed uses all of them:
//
//	e := vmseed.Engine{
//		Frontends:   frontends.Frontends(),
//		DataSources: datasources.DataSources(),
//		Deliveries:  deliveries.Deliveries(),
//	}
//
// Every step returns diagnostics beside its result. With an error among them the result is not fit for use.
package vmseed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Engine composes plug-ins. The zero value has none and can do nothing. An Engine may be used by several goroutines.
type Engine struct {
	Frontends   []frontend.Frontend
	DataSources []datasource.DataSource
	Deliveries  []delivery.Delivery
	Hypervisors []hypervisor.Hypervisor
	// Writers are forms that machines are written in and not read from. Front ends that can write need not be here.
	Writers []frontend.FormWriter
}

// ErrUnknown is wrapped by errors about a plug-in that the engine does not have.
var ErrUnknown = errors.New("unknown")

// named is what plug-ins of all kinds have.
type named interface{ Name() string }

// find returns the plug-in of a name. The error lists those that there are.
func find[P named](kind string, plugins []P, name string) (P, error) {
	i := slices.IndexFunc(plugins, func(p P) bool { return p.Name() == name })
	if i >= 0 {
		return plugins[i], nil
	}
	var zero P
	return zero, fmt.Errorf("%w %s %q; there are: %s", ErrUnknown, kind, name, strings.Join(Names(plugins), ", "))
}

// Names returns the names of plug-ins in their order.
func Names[P named](plugins []P) []string {
	out := make([]string, len(plugins))
	for i, p := range plugins {
		out[i] = p.Name()
	}
	return out
}

// RenderOptions change how a machine is rendered.
type RenderOptions struct {
	datasource.Options
	// DataSource overrides the data source that the definition asks for.
	DataSource string
}

// DataSource returns the name of the data source that a machine is rendered for: the one the user names, the one the
// definition asks for, or nocloud.
func (o RenderOptions) dataSource(m machine.Machine) string {
	return cmp.Or(o.DataSource, m.DataSource, "nocloud")
}

// overHTTP takes the name that cloud-init had for NoCloud over HTTP until 24.1 for what it means.
func (o RenderOptions) overHTTP(m machine.Machine) RenderOptions {
	if o.dataSource(m) == "nocloud-net" {
		o.DataSource, o.HTTP = "nocloud", true
	}
	return o
}

// Render makes the seed of a machine, which is placed first if it is not yet. Fields that the machine uses and the data
// source cannot express are warned about, so nothing is lost in silence. An Ignition config that the data source has no
// place for travels beside it, in the firmware, if the engine has the data source ignition: a KubeVirt VM may have both. With
// machine.NoDataSource the seed has the machine's further media alone, the first in the place of the seed proper, and no
// name of a data source.
func (e *Engine) Render(m machine.Machine, o RenderOptions) (seed.Seed, diag.List) {
	m, l := e.Place(m, machine.Facts{})
	o = o.overHTTP(m)
	if o.dataSource(m) == machine.NoDataSource {
		s, problems := withoutSeed(m)
		return s, append(l, problems...)
	}
	ds, err := find("data source", e.DataSources, o.dataSource(m))
	if err != nil {
		l.Errorf(CodeUnknownPlugin, m.Places.Find("dataSource"), "choose another data source", "%v", err)
		return seed.Seed{}, l
	}
	if o.Guest == "" {
		o.Guest = m.Guest.Release
	}
	expressed := datasource.Expresses(ds, m, o.Options)
	firmware, err := find("data source", e.DataSources, "ignition")
	beside := err == nil && len(m.Ignition) > 0 && !expressed.Has("ignition")
	if beside {
		expressed = expressed.Union(machine.NewFieldSet("ignition"))
	}
	for _, lost := range machine.Lost(m, expressed, machine.HardwareFields(), machine.ControlFields()) {
		l.Add(diag.Diagnostic{Code: CodeNotExpressed, Severity: diag.Warning, Range: m.Places.Find(lost.Path), Field: lost.Path,
			Summary: fmt.Sprintf("the data source %s cannot tell the guest this", ds.Name()), Remedy: otherwise(lost.Field)})
	}
	s, problems := ds.Render(m, o.Options)
	l = append(l, problems...)
	if beside {
		options, wished := firmwareOptions(m, o.Options)
		if wished != "" && wished != options.IgnitionPlatform {
			l.Warnf(CodeOtherPlatform, m.Places.Find("ignition"), "use the data source ignition",
				"the seed is cloud-init's, so the Ignition config travels in the firmware, which images of the platform %s do not read", wished)
		}
		x, problems := firmware.Render(onlyIgnition(m), options)
		l = append(l, problems...)
		s.Firmware.FwCfg = append(s.Firmware.FwCfg, x.Firmware.FwCfg...)
		s.KernelArgs = append(s.KernelArgs, x.KernelArgs...)
	}
	s.Volumes = append(s.Volumes, media(m)...)
	return s, l
}

// otherwise says what to do about a field that a data source cannot express.
func otherwise(f machine.Field) string {
	switch {
	case f == "metadataOptions.seal":
		return "let the guest read its seed over HTTP"
	case machine.NewFieldSet("metadataOptions").Has(f):
		return "choose the data source ec2: only its protocol has tokens"
	}
	return "choose another data source, or do it in the user-data"
}

// withoutSeed has what a machine brings itself. What only a seed could tell its guest is warned about.
func withoutSeed(m machine.Machine) (seed.Seed, diag.List) {
	var l diag.List
	own := machine.NewFieldSet("guest.os", "identity.hostname", "identity.instanceID", "network.nics.name", "network.nics.mac")
	for _, lost := range machine.Lost(m, own, machine.HardwareFields(), machine.ControlFields()) {
		l.Add(diag.Diagnostic{Code: CodeNotExpressed, Severity: diag.Warning, Range: m.Places.Find(lost.Path), Field: lost.Path,
			Summary: "no seed is made, so nobody tells the guest this", Remedy: "choose a data source, or put it where the guest is told"})
	}
	s := seed.Seed{Machine: seed.Name{Namespace: m.Namespace, Name: m.Name}, Volumes: media(m)}
	if len(s.Volumes) > 0 {
		s.Volumes[0].Name = ""
	}
	return s, l
}

// onlyIgnition is a machine without what its guest is told otherwise.
func onlyIgnition(m machine.Machine) machine.Machine {
	return machine.Machine{Name: m.Name, Namespace: m.Namespace, Identity: m.Identity, Guest: machine.Guest{Release: m.Guest.Release},
		Ignition: m.Ignition, Compat: m.Compat, Places: m.Places}
}

// firmwareOptions chooses a platform that reads the firmware, because there is one seed already, be it of volumes or of
// trees. Wished is the one that user or machine name.
func firmwareOptions(m machine.Machine, o datasource.Options) (chosen datasource.Options, wished string) {
	wished = o.IgnitionPlatform
	if wished == "" {
		wished = m.Guest.IgnitionPlatform
	}
	o.IgnitionPlatform, o.HTTP = "qemu", false
	if wished == "flatcar" {
		o.IgnitionPlatform = wished
	}
	return o, wished
}

// media makes volumes of the machine's further media.
func media(m machine.Machine) []seed.Volume {
	var out []seed.Volume
	for _, x := range m.Media {
		v := seed.Volume{Name: x.Name, Label: x.Label, Format: x.Format, Path: x.Path, Serial: x.Serial, Bus: x.Bus}
		for _, f := range x.Files {
			v.Files = append(v.Files, seed.File{Path: strings.TrimPrefix(f.Path, "/"), Content: f.Content, Mode: f.Mode.Bits()})
		}
		out = append(out, v)
	}
	return out
}

// Place completes a machine with what its guest and its hypervisor must agree on; see machine.Place.
func (e *Engine) Place(m machine.Machine, f machine.Facts) (machine.Machine, diag.List) {
	return machine.Place(m, f)
}

// Deliver brings a seed to where a guest reads it, by the delivery of a name.
func (e *Engine) Deliver(ctx context.Context, s seed.Seed, name string, t delivery.Target) (delivery.Receipt, error) {
	d, err := find("delivery", e.Deliveries, name)
	if err != nil {
		return delivery.Receipt{}, err
	}
	return d.Deliver(ctx, s, t)
}

// Open reads the seed at path back, whichever of the engine's deliveries wrote it. The error wraps delivery.ErrNotSeed
// when none of them knows it.
func (e *Engine) Open(path string) (seed.Seed, error) {
	var last error
	for _, d := range e.Deliveries {
		in, ok := d.(delivery.Inspector)
		if !ok {
			continue
		}
		s, err := in.Open(path)
		if err == nil || !errors.Is(err, delivery.ErrNotSeed) {
			return s, err
		}
		last = err
	}
	if last == nil {
		last = fmt.Errorf("%s: %w", path, delivery.ErrNotSeed)
	}
	return seed.Seed{}, last
}

// Launch starts a placed machine with its seed attached, on the hypervisor of a name. Hardware that the machine asks for
// and the hypervisor cannot build is warned about.
func (e *Engine) Launch(ctx context.Context, name string, vm hypervisor.VM) (hypervisor.Handle, diag.List, error) {
	h, err := find("hypervisor", e.Hypervisors, name)
	if err != nil {
		return nil, nil, err
	}
	l := e.CheckHardware(h, vm.Machine)
	handle, err := h.Start(ctx, vm)
	return handle, l, err
}

// CheckHardware warns about what a machine asks for and a hypervisor cannot build.
func (e *Engine) CheckHardware(h hypervisor.Hypervisor, m machine.Machine) diag.List {
	var l diag.List
	hardware := machine.HardwareFields()
	for _, u := range machine.Lost(m, h.Expresses()) {
		if hardware.Has(u.Field) {
			l.Add(diag.Diagnostic{Code: CodeNotBuilt, Severity: diag.Warning, Range: m.Places.Find(u.Path), Field: u.Path,
				Summary: fmt.Sprintf("the hypervisor %s does not do this", h.Name())})
		}
	}
	return l
}

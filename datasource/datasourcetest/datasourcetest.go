// Package datasourcetest holds the conformance suite that every data source runs.
package datasourcetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// Config is what a data source brings to the suite.
type Config struct {
	DataSource datasource.DataSource
	// Options are those that every field is tried under, besides the zero options.
	Options datasource.Options
	// Only limits the fields that are taken away, for a data source that runs the suite under several options. The zero
	// set means all.
	Only machine.FieldSet
}

// Run holds the data source to its promises: rendering is deterministic and leaves the machine alone, and every field of
// a machine is either in what Expresses says and changes the product, or in neither. A field of Expresses that changes
// nothing must at least be spoken of in a diagnostic.
func Run(t *testing.T, c Config) {
	t.Run("deterministic", func(t *testing.T) { deterministic(t, c) })
	t.Run("no silent loss", func(t *testing.T) { noSilentLoss(t, c, "") })
	for _, compat := range []string{"kubevirt", "ovirt"} {
		if hasHabits(t, c, compat) {
			t.Run("no silent loss/"+compat, func(t *testing.T) { noSilentLoss(t, c, compat) })
		}
	}
	t.Run("bare machine", func(t *testing.T) { bare(t, c) })
}

// hasHabits reports whether the data source writes anything else for machines of another system.
func hasHabits(t *testing.T, c Config, compat string) bool {
	theirs, own := machinetest.Generated(), machinetest.Generated()
	theirs.Compat, own.Compat = compat, ""
	return !slices.Equal(render(c, placed(t, theirs)).product, render(c, placed(t, own)).product)
}

// inMetaData are the fields that the habits of other systems concern: names and order of what the meta-data says, and the
// form of the network.
func inMetaData() machine.FieldSet {
	return machine.NewFieldSet("identity", "ssh.authorizedKeys", "adminPassword", "metaData", "dsmode", "network", "disks.tag",
		"hardware.hostDevices.tag")
}

func placed(t *testing.T, m machine.Machine) machine.Machine {
	t.Helper()
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// product is everything a guest reads and how it may, as comparable text. The seed's identity is for its host.
func product(s seed.Seed) []string {
	out := []string{s.DataSource, fmt.Sprint(s.Seal)}
	for _, v := range s.Volumes {
		for _, f := range v.Files {
			out = append(out, v.Label, f.Path, f.Content.Reveal())
		}
	}
	for _, tree := range s.Trees {
		out = append(out, tree.Name, fmt.Sprint(tree.Tokens, tree.HopLimit))
		for _, b := range tree.Blobs {
			out = append(out, b.Path, b.ContentType, b.Content.Reveal())
		}
	}
	for _, f := range s.Firmware.FwCfg {
		out = append(out, f.Name, f.Content.Reveal())
	}
	for _, f := range s.Firmware.SMBIOS {
		out = append(out, f.Field, f.Value)
	}
	for _, c := range s.Firmware.Credentials {
		out = append(out, c.Name, c.Content.Reveal())
	}
	return append(out, s.KernelArgs...)
}

func deterministic(t *testing.T, c Config) {
	m := placed(t, machinetest.Full())
	before := machinetest.Dump(m)
	first, _ := c.DataSource.Render(m, c.Options)
	for range 20 {
		again, _ := c.DataSource.Render(placed(t, machinetest.Full()), c.Options)
		if !slices.Equal(product(first), product(again)) {
			t.Fatal("two renders of one machine differ")
		}
	}
	if machinetest.Dump(m) != before {
		t.Error("rendering changed the machine")
	}
}

// noSilentLoss takes away one field after the other, from a machine that states everything and from one that leaves out
// the author's own documents, because those hide what would be generated. Whatever system's habits the seed keeps, they
// lose nothing.
func noSilentLoss(t *testing.T, c Config, compat string) {
	elsewhere := machine.HardwareFields().Union(machine.ControlFields())
	type base struct {
		m        machine.Machine
		with     rendered
		declared machine.FieldSet
		// quiet means that all fields which are not declared can be taken away at once and nothing changes.
		quiet bool
	}
	var bases []base
	machines := variants()
	if _, ok := c.DataSource.(datasource.Chooser); ok {
		machines = append(machines, forIgnition())
	}
	for _, m := range machines {
		m.Compat = compat
		m = placed(t, m)
		b := base{m: m, with: render(c, m), declared: datasource.Expresses(c.DataSource, m, c.Options)}
		cleared := m
		for _, f := range machine.Fields() {
			if !elsewhere.Has(f) && !b.declared.Has(f) {
				machine.Clear(&cleared, f)
			}
		}
		b.quiet = slices.Equal(b.with.product, render(c, cleared).product)
		bases = append(bases, b)
	}
	for _, f := range machine.Fields() {
		if elsewhere.Has(f) || len(c.Only.Fields()) > 0 && !c.Only.Has(f) || compat != "" && !inMetaData().Has(f) {
			continue
		}
		declared, said, reached := false, false, false
		for _, b := range bases {
			here := b.declared.Has(f)
			if b.quiet && !here {
				continue
			}
			cleared := b.m
			machine.Clear(&cleared, f)
			without := render(c, cleared)
			changed := !slices.Equal(b.with.product, without.product)
			if changed && !here {
				t.Errorf("%s: changes the product, but Expresses does not have it", f)
			}
			declared, reached = declared || here, reached || changed
			said = said || reached || !slices.Equal(b.with.list, without.list)
			if said && reached {
				break
			}
		}
		if declared && !said {
			t.Errorf("%s: Expresses says that it reaches the guest, but it changes neither product nor diagnostics", f)
		}
	}
}

// variants are machines in which no field hides another: a stateless DHCPv6 makes SLAAC redundant, some forms have no
// words for bridges and refuse all of a network that has one.
func variants() []machine.Machine {
	yes, no := true, false
	nics := machinetest.Generated()
	nics.Network.NICs = slices.Clone(nics.Network.NICs[:3])
	nics.Network.NICs[0].DHCP6, nics.Network.NICs[0].AcceptRA = "", nil
	nics.Network.NICs[1].OnBoot = &no
	interfaces := machinetest.Generated()
	interfaces.Network.Format = "eni"
	interfaces.Network.NICs = slices.Clone(interfaces.Network.NICs[:2])
	interfaces.Network.NICs[1].Match, interfaces.Network.NICs[1].Rename = "name", "eth1"
	deaf := machinetest.Generated()
	deaf.Network.NICs = slices.Clone(deaf.Network.NICs[:1])
	deaf.Network.NICs[0].DHCP6, deaf.Network.NICs[0].SLAAC, deaf.Network.NICs[0].AcceptRA = "", false, &no
	links := machinetest.Generated()
	links.Network.NICs = slices.DeleteFunc(slices.Clone(links.Network.NICs), func(n machine.NIC) bool { return n.Kind == "bridge" })
	script := machinetest.Generated()
	script.UserData = machine.UserData{MountScriptMark: "@mark@", Layers: []machine.Layer{{Data: secret.New("#!/bin/sh\n@mark@\n")}}}
	merged := machinetest.Generated()
	merged.Scripts = nil
	merged.UserData.Layers = []machine.Layer{
		{Data: secret.New("#cloud-config\nruncmd: [a]\n")},
		{Data: secret.New("#cloud-config\nruncmd: [b]\n"), Merge: machine.MergeVirtlet}}
	replaced := machinetest.Generated()
	replaced.Ignition = append(slices.Clone(replaced.Ignition), replaced.Ignition...)
	replaced.Users[0].LockPassword = &yes
	replaced.Storage.Disks[0].Partitions[0].Number = 7
	replaced.UserData = machine.UserData{Layers: []machine.Layer{
		{Data: secret.New("#!/bin/sh\necho one\n")}, {Data: secret.New("#!/bin/sh\necho two\n"), Merge: machine.MergeReplace}}}
	raw := machinetest.Full()
	raw.UserData = machine.UserData{Raw: true, Layers: raw.Ignition}
	return []machine.Machine{machinetest.Full(), machinetest.Generated(), nics, interfaces, deaf, links, script, merged, replaced, raw}
}

// forIgnition is a machine whose user-data is an Ignition config, for data sources that express other fields then.
func forIgnition() machine.Machine {
	m := machinetest.Generated()
	m.UserData = machine.UserData{Layers: m.Ignition}
	m.Ignition = append(slices.Clone(m.Ignition), m.Ignition...)
	return m
}

// rendered is the product of a machine and what was said about it.
type rendered struct{ product, list []string }

func render(c Config, m machine.Machine) rendered {
	s, l := c.DataSource.Render(m, c.Options)
	r := rendered{product: product(s)}
	for _, d := range l {
		r.list = append(r.list, d.Error())
	}
	return r
}

// bare renders a machine with nothing but a name.
func bare(t *testing.T, c Config) {
	s, l := c.DataSource.Render(placed(t, machine.Machine{Name: "vm"}), datasource.Options{})
	if len(l) > 0 {
		t.Errorf("a machine with nothing but a name has diagnostics: %v", l)
	}
	if s.Identity.InstanceID == "" || s.DataSource != c.DataSource.Name() || s.Machine.Name != "vm" {
		t.Errorf("identity %+v, data source %q, machine %v", s.Identity, s.DataSource, s.Machine)
	}
}

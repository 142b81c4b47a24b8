// Package hypervisortest holds the conformance suite that every hypervisor runs.
package hypervisortest

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/seed"
)

// Config is what a hypervisor brings to the suite.
type Config struct {
	Hypervisor hypervisor.Hypervisor
	// Plan returns everything that a start of the VM would run and make, as text, and what Check says. It must not depend
	// on the host that the test runs on.
	Plan func(vm hypervisor.VM) (product []string, list diag.List)
	// Always are fields whose hardware every VM gets, asked for or not.
	Always []machine.Field
}

// Run holds the hypervisor to its promises: a plan is deterministic, leaves the machine alone and holds no secret, and
// every field of the hardware is either in what Expresses says and changes the plan, or does neither.
func Run(t *testing.T, c Config) {
	t.Run("deterministic", func(t *testing.T) { deterministic(t, c) })
	t.Run("no silent loss", func(t *testing.T) { noSilentLoss(t, c) })
	t.Run("no secret", func(t *testing.T) { noSecret(t, c) })
	t.Run("unresolvable volume", func(t *testing.T) { unresolvable(t, c) })
}

// vm places a machine and says where the contents of its disks are.
func vm(m machine.Machine) hypervisor.VM {
	m, _ = machine.Place(m, machine.Facts{})
	out := hypervisor.VM{Machine: m, StateDir: "/var/lib/vm", Volumes: map[string]hypervisor.Volume{}}
	for _, d := range m.Disks {
		if s := d.Source; s.Path == "" && !s.Blank {
			out.Volumes[d.Name] = hypervisor.Volume{Path: "/srv/" + d.Name + ".img", Overlay: d.Root}
		}
	}
	out.Attachments = []seed.Attachment{{Kind: seed.Drive, Path: "/srv/seed.iso", Label: "cidata", Serial: "seed"}}
	return out
}

// bases are machines that among them give each field a value that is not the hypervisor's own default.
func bases() []machine.Machine {
	other := machinetest.Full()
	other.Hardware.MachineType, other.Hardware.DiskBus, other.Hardware.CPUModel = "pc", "scsi", "qemu64"
	other.Hardware.SecureBoot = false
	other.Disks[0].Device, other.Disks[0].Cache = "cdrom", "none"
	other.Network.NICs[0].Model = "e1000e"
	other.Shares[0].Driver = "virtiofs"
	plain := machinetest.Full()
	plain.Disks[0].Bus, plain.Disks[0].PCI = "scsi", ""
	plain.Hardware.Sockets, plain.Hardware.Cores, plain.Hardware.Threads = 0, 0, 0
	machine.Clear(&plain, "network.nics.gateway4")
	foreign := machinetest.Full()
	foreign.Hardware.Arch, foreign.Hardware.MachineType, foreign.Hardware.SecureBoot = "arm64", "virt", false
	return []machine.Machine{machinetest.Full(), other, plain, foreign}
}

func deterministic(t *testing.T, c Config) {
	v := vm(machinetest.Full())
	before := machinetest.Dump(v.Machine)
	first, _ := c.Plan(v)
	if len(first) == 0 {
		t.Fatal("the plan is empty")
	}
	for range 20 {
		if again, _ := c.Plan(vm(machinetest.Full())); !slices.Equal(first, again) {
			t.Fatal("two plans of one machine differ")
		}
	}
	if machinetest.Dump(v.Machine) != before {
		t.Error("planning changed the machine")
	}
}

// noSilentLoss takes away one field after the other.
func noSilentLoss(t *testing.T, c Config) {
	expressed := c.Hypervisor.Expresses()
	for _, f := range machine.Fields() {
		if !machine.HardwareFields().Has(f) && !expressed.Has(f) || slices.Contains(c.Always, f) {
			continue
		}
		changed := false
		for _, m := range bases() {
			without := m
			machine.Clear(&without, f)
			a, _ := c.Plan(vm(m))
			b, _ := c.Plan(vm(without))
			changed = changed || !slices.Equal(a, b)
		}
		switch {
		case expressed.Has(f) && !changed:
			t.Errorf("%s is in Expresses, but the plan is the same without it", f)
		case !expressed.Has(f) && changed:
			t.Errorf("%s changes the plan, but is not in Expresses", f)
		}
	}
}

// noSecret looks for the secrets of a machine in its plan, which other users of the host can see.
func noSecret(t *testing.T, c Config) {
	for _, m := range bases() {
		product, list := c.Plan(vm(m))
		if text := strings.Join(product, "\n") + list.Error(); strings.Contains(text, "canary") {
			t.Errorf("the plan holds a secret:\n%s", text)
		}
	}
}

// unresolvable takes away where the contents of a disk are: that must be an error which names the flag to mend it.
func unresolvable(t *testing.T, c Config) {
	v := vm(machinetest.Full())
	delete(v.Volumes, "disk-claim")
	_, list := c.Plan(v)
	if !list.HasErrors() || !strings.Contains(list.Error(), "--volume disk-claim=") {
		t.Errorf("a disk without contents: %v; want an error that names --volume disk-claim=PATH", list)
	}
}

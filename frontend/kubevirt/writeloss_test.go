package kubevirt

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

// unusual are machines that use what the machine with every field set leaves out, because it excludes other fields.
func unusual() map[string]machine.Machine {
	yes, no := true, false
	disk := func(d machine.Disk) machine.Machine { return machine.Machine{Name: "vm", Disks: []machine.Disk{d}} }
	file := func(path string) machine.File { return machine.File{Path: path, Content: secret.New(path)} }
	return map[string]machine.Machine{
		"full": machinetest.Full(), "generated": machinetest.Generated(),
		"bare": {Name: "vm"}, "dots": {Name: "a.b.c", Identity: machine.Identity{Hostname: "Host_Name"}},
		"capitals": {Name: "vm", Identity: machine.Identity{Hostname: "HOST", Serial: "two words"}},
		"halted":   {Name: "vm", Running: &no, RestartPolicy: "Never"}, "once": {Name: "vm", Running: &yes, RestartPolicy: "Never"},
		"second root": {Name: "vm", Disks: []machine.Disk{{Name: "a"}, {Name: "b", Root: true}}, Network: machine.Network{NICs: []machine.NIC{{BootOrder: 1}}}},
		"blank root":  disk(machine.Disk{Name: "a", Root: true, Source: machine.DiskSource{Blank: true}}),
		"cdrom":       disk(machine.Disk{Name: "a", Device: "cdrom", Bus: "virtio", ReadOnly: true}),
		"lun":         disk(machine.Disk{Name: "a", Device: "lun", Source: machine.DiskSource{Path: "/dev/sdb"}}),
		"floppy":      disk(machine.Disk{Name: "a", Device: "floppy", Bus: "sata", Source: machine.DiskSource{Path: "/srv/a"}}),
		"qcow2":       disk(machine.Disk{Name: "a", Ephemeral: true, Source: machine.DiskSource{Path: "/srv/a", Format: "qcow2"}}),
		"claim":       disk(machine.Disk{Name: "a", Ephemeral: true, Source: machine.DiskSource{Claim: "a"}}),
		"sata":        disk(machine.Disk{Name: "a", Bus: "sata", ReadOnly: true, Serial: "with spaces", Cache: "unsafe"}),
		"names": {Name: "vm", Disks: []machine.Disk{{Name: "cloudinitdisk"}, {Name: "A_b"}, {Name: "a-b"}, {Name: "___"}, {}, {Name: strings.Repeat("x", 70)}, {Name: strings.Repeat("x", 71)}},
			Media:   []machine.Media{{Name: "a.b", Files: []machine.File{file("/x y"), file("/d/f"), file("/e/f"), file("/f.2")}}, {Name: "keys", Kind: "secret"}, {Name: "ready", Path: "/srv/ready.iso"}},
			Network: machine.Network{NICs: []machine.NIC{{Name: "Eth_0"}, {Name: "eth-0", Network: "My LAN"}, {Name: ""}, {Name: "", Network: "ns/lan", Model: "vmxnet3"}}},
			SSH:     machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA"}}},
		"boot orders": {Name: "vm", Disks: []machine.Disk{{Name: "a", BootOrder: 1}, {Name: "b", BootOrder: 1, Root: true}}},
		"addresses": {Name: "vm", Disks: []machine.Disk{{Name: "a", Bus: "scsi", Unit: 3, PCI: "0000:00:05.0"}}, Network: machine.Network{NICs: []machine.NIC{{Name: "a", PCI: "0000:00:07.0"}}},
			Places: machine.Places{"disks[0].unit": {}, "disks[0].pciAddress": {}, "network.nics[0].pciAddress": {}}},
		"hardware": {Name: "vm", Hardware: machine.Hardware{Firmware: "bios", MachineType: "microvm", CPUs: 4, CPUModel: "max", Watchdog: "ib700"}},
		"sockets":  {Name: "vm", Hardware: machine.Hardware{Sockets: 2, CPUs: 8, CPUModel: "host"}},
		"topology": {Name: "vm", Hardware: machine.Hardware{Sockets: 2, Cores: 1, Threads: 1, CPUs: 8}},
		"sysprep":  {Name: "vm", Media: []machine.Media{{Name: "answers", Kind: "sysprep", Label: "mine", Bus: "usb", Files: []machine.File{file("/autounattend.xml")}}}},
		"windows ends": {Name: "vm", UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#cloud-config\r\nruncmd: []\r\n")}}},
			VendorData: []machine.Layer{{Data: secret.New("#!/bin/sh\necho \xff")}}},
		"config drive": {Name: "vm", DataSource: "configdrive", UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#cloud-config\n{}\n")}}}},
		"agent":        {Name: "vm", AgentUsers: []machine.AgentUser{{Name: `DOMAIN\user`, Password: secret.New("canary")}}},
		"flatcar":      {Name: "vm", DataSource: "ignition", Guest: machine.Guest{IgnitionPlatform: "flatcar"}, Ignition: []machine.Layer{{Data: secret.New(`{"ignition": {"version": "3.0.0"}}`)}}},
		"meta-data":    {Name: "vm", MetaData: []machine.Layer{{Data: secret.New("long: " + strings.Repeat("x", 300) + "\n" + manyKeys())}, {Data: secret.New("[canary]")}}},
	}
}

func manyKeys() string {
	out := ""
	for _, r := range "abcdefghijklmnopqrst" {
		out += string(r) + ": x\n"
	}
	return out
}

// written is a definition and all that is said about it.
func written(m machine.Machine) (text, said string, l diag.List) {
	out, l := Frontend{}.Write(m)
	for _, d := range l {
		said += d.Error() + "\n"
	}
	return string(out), said, l
}

// TestWhatIsWrittenIsAdmitted writes unusual machines. Write itself reads what it writes by the rules of admission.
func TestWhatIsWrittenIsAdmitted(t *testing.T) {
	for name, m := range unusual() {
		t.Run(name, func(t *testing.T) {
			text, said, l := written(m)
			if l.HasErrors() {
				t.Fatalf("%v\n%s", l.Err(), text)
			}
			if strings.Contains(said, "canary") {
				t.Errorf("a secret is said:\n%s", said)
			}
			for range 3 {
				if again, saidAgain, _ := written(m); again != text || saidAgain != said {
					t.Fatal("written again it is another one")
				}
			}
		})
	}
}

// TestRefused writes machines that no definition can state.
func TestRefused(t *testing.T) {
	large := func(n int) secret.Text { return secret.New("#cloud-config\n# " + strings.Repeat("canary", n/6)) }
	for want, m := range map[string]machine.Machine{
		"cannot be the name of a machine":     {Name: "My VM"},
		"KubeVirt knows no architecture":      {Name: "vm", Hardware: machine.Hardware{Arch: "386"}},
		"makes this volume a seed":            {Name: "vm", Media: []machine.Media{{Name: "a", Label: "cidata"}}},
		"should contain autounattend.xml":     {Name: "vm", Media: []machine.Media{{Name: "a", Kind: "sysprep"}}},
		"Kubernetes takes 1048576":            {Name: "vm", UserData: machine.UserData{Layers: []machine.Layer{{Data: large(2 << 20)}}}},
		"the annotations have":                {Name: "vm", Ignition: []machine.Layer{{Data: large(300 << 10)}}},
		"should be a UUID":                    {Name: "vm", Identity: machine.Identity{UUID: "x"}},
		"CPU feature x uses policy y that is": {Name: "vm", Hardware: machine.Hardware{CPUFeatures: []machine.CPUFeature{{Name: "x", Policy: "y"}}}},
	} {
		if _, said, l := written(m); !l.HasErrors() || !strings.Contains(said, want) || strings.Contains(said, "canary") {
			t.Errorf("%s: %s", want, said)
		}
	}
}

// TestNoSilentLoss takes away every field that a VirtualMachine is said to carry: some definition changes, or something is
// said.
func TestNoSilentLoss(t *testing.T) {
	// These show in others once the machine is placed, or concern no guest.
	elsewhere := machine.NewFieldSet("hardware.diskBus", "guest.os")
	for _, f := range machine.Fields() {
		if !(Frontend{}).Carries().Has(f) || elsewhere.Has(f) {
			continue
		}
		reached := false
		for _, m := range unusual() {
			text, said, _ := written(m)
			machine.Clear(&m, f)
			other, saidOther, _ := written(m)
			if reached = other != text || saidOther != said; reached {
				break
			}
		}
		if !reached {
			t.Errorf("%s: is carried, but changes neither the definition nor what is said", f)
		}
	}
}

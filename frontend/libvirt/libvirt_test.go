package libvirt

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

var update = flag.Bool("update", false, "rewrite the expected domains")

// machines are those whose domains are compared with files, and shown to libvirt by the conformance test.
func machines(t *testing.T) map[string]machine.Machine {
	t.Helper()
	scsi := machine.Machine{Name: "scsi", Hardware: machine.Hardware{MachineType: "pc", DiskBus: "scsi", CPUs: 2},
		Disks: []machine.Disk{{Name: "root", Root: true, Source: machine.DiskSource{Path: "/srv/root.qcow2"}},
			{Name: "data", Source: machine.DiskSource{Path: "/dev/sdb", Format: "qcow2"}}, {Name: "cd", Device: "cdrom", Bus: "sata", Source: machine.DiskSource{Path: "/srv/cd.iso"}}},
		Network: machine.Network{NICs: []machine.NIC{{}, {Network: "lan", Model: "e1000e", LinkDown: true}}}}
	ignition := machine.Machine{Name: "coreos", DataSource: "ignition", Hardware: machine.Hardware{Firmware: "uefi", SecureBoot: true},
		Guest: machine.Guest{OS: "coreos"}}
	arm := machine.Machine{Name: "arm", Hardware: machine.Hardware{Arch: "arm64", CPUModel: "max", Firmware: "uefi", Sockets: 2}, RestartPolicy: "Always",
		Shares: []machine.Share{{Name: "data", Driver: "virtiofs", HostPath: "/srv/data"}}, Media: []machine.Media{{Name: "more", Bus: "usb"}}}
	ceph := machine.Machine{Name: "ceph", Disks: []machine.Disk{{Name: "rbd", Source: machine.DiskSource{Ceph: machine.Ceph{
		Monitors: []string{"192.0.2.1"}, Pool: "p", Volume: "v", Secret: secret.New("canary")}}}}}
	disks := machine.Machine{Name: "disks", Hardware: machine.Hardware{CPUs: 4, Sockets: 2}, Disks: []machine.Disk{
		{Name: "lun", Device: "lun", Bus: "scsi", Source: machine.DiskSource{Path: "/srv/lun.img"}},
		{Name: "host", Device: "lun", Bus: "scsi", Source: machine.DiskSource{Path: "/dev/sdb"}},
		{Name: "kept", Bus: "sata", ReadOnly: true, Source: machine.DiskSource{Path: "/srv/kept.img"}},
		{Name: "floppy", Device: "floppy", Bus: "sata", Source: machine.DiskSource{Path: "/srv/floppy.img"}}},
		Media: []machine.Media{{Name: "payload", Format: "floppy"}, {Name: "files", Format: "vfat"}}}
	odd := machine.Machine{Name: "odd", Hardware: machine.Hardware{CPUs: 3, Sockets: 2}}
	topology := machine.Machine{Name: "topology", Hardware: machine.Hardware{Sockets: 2, Cores: 2, Threads: 2}}
	user := machine.Machine{Name: "ceph-user", Disks: []machine.Disk{{Name: "rbd", Source: machine.DiskSource{Ceph: machine.Ceph{Pool: "p", Volume: "v", User: "u"}}}}}
	const id = "ec2d5a90-6abc-5555-a942-e32a6d1eee25"
	ec2 := machine.Machine{Name: "ec2", DataSource: "ec2", Identity: machine.Identity{UUID: id, Serial: id}}
	openstack := machine.Machine{Name: "openstack", DataSource: "openstack", Hardware: machine.Hardware{SMBIOS: machine.SMBIOS{Product: "OpenStack Nova"}}}
	nocloud := machine.Machine{Name: "nocloud-net", DataSource: "nocloud-net", Media: []machine.Media{{Name: "more"}},
		Identity: machine.Identity{Serial: "ds=nocloud;dsmode=net;s=http://169.254.169.254/nocloud/"}}
	out := map[string]machine.Machine{"ec2": ec2, "openstack": openstack, "nocloud-net": nocloud, "ceph": ceph, "ceph-user": user, "bare": {Name: "bare"}, "disks": disks, "odd": odd, "topology": topology, "scsi": scsi, "coreos": ignition, "arm": arm, "full": machinetest.Full()}
	for name, m := range out {
		placed, l := machine.Place(m, machine.Facts{})
		if l.HasErrors() {
			t.Fatal(name, l)
		}
		out[name] = placed
	}
	return out
}

func TestWrite(t *testing.T) {
	for name, m := range machines(t) {
		text, l := Form{}.Write(m)
		var said strings.Builder
		for _, d := range l {
			said.WriteString("<!-- " + strings.ReplaceAll(d.Error(), "--", "- -") + " -->\n")
		}
		got, file := string(text)+said.String(), filepath.Join("testdata", name+".xml")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (- want, + got; go test -update rewrites it):\n%s", name, diff)
		}
		if err := xml.Unmarshal(text, &domain{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNoSilentLoss takes away every field that a domain is said to carry and that no seed does: some domain changes, or
// something is said.
func TestNoSilentLoss(t *testing.T) {
	// These are the seed's, libvirt's own to give, or for messages.
	elsewhere := machine.NewFieldSet("media.kind", "media.label", "media.files", "hardware.diskBus", "hardware.rng",
		"network.nics.pciAddress", "disks.pciAddress", "running", "guest.os", "shares.name", "hardware.hostDevices.kind")
	written := func(m machine.Machine) string {
		text, l := Form{}.Write(m)
		said := ""
		for _, d := range l {
			said += d.Error() + "\n"
		}
		return string(text) + said
	}
	for _, f := range machine.Fields() {
		if !machine.HardwareFields().Has(f) || !(Form{}).Carries().Has(f) || elsewhere.Has(f) {
			continue
		}
		reached := false
		for _, m := range machines(t) {
			with := written(m)
			machine.Clear(&m, f)
			reached = reached || written(m) != with
		}
		if !reached {
			t.Errorf("%s: is carried, but changes neither the domain nor what is said", f)
		}
	}
}

package boot

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// TestWhatIsLeft holds the warnings of run to what is really lost: nothing that the command or its flags take care of.
func TestWhatIsLeft(t *testing.T) {
	m := machinetest.Full()
	vm := hypervisor.VM{Machine: m, Volumes: map[string]hypervisor.Volume{
		"disk-root": {Path: "/i", Overlay: true}, "disk-claim": {Path: "/c"}, "disk-ceph": {Path: "/d"}}}
	l := newEngine().CheckHardware(newEngine().Hypervisors[0], left(vm))
	lost := map[string]bool{}
	for _, d := range l {
		lost[d.Field] = true
	}
	for _, field := range []string{"running", "restartPolicy", "stopGrace", "hardware.cpuShares", "hardware.cpuQuota", "hardware.cpuPeriod", "guest.os", "guest.release", "shares[0].name", "disks[0].source.image",
		"disks[2].source.claim", "disks[3].source.ceph.pool", "disks[3].source.ceph.secret", "disks[4].ephemeral"} {
		if lost[field] {
			t.Errorf("%s is warned of, although it is taken care of", field)
		}
	}
	if !lost["hardware.hostDevices[0].deviceName"] {
		t.Error("a device of the host is lost in silence")
	}
	if len(machine.Lost(m)) != len(machine.Lost(vm.Machine)) {
		t.Error("the machine itself was changed")
	}
}

// TestVolumesResolve names contents by options.
func TestVolumesResolve(t *testing.T) {
	t.Chdir(t.TempDir())
	m := machine.Machine{Disks: []machine.Disk{{Name: "root", Root: true}, {Name: "data"}}, Shares: []machine.Share{{Name: "home"}}}
	p := &Prepared{VM: hypervisor.VM{Machine: m, Volumes: map[string]hypervisor.Volume{}}}
	o := Options{Image: "i", Volumes: []Volume{{"data", hypervisor.Volume{Path: "d"}}, {"home", hypervisor.Volume{Path: "."}}}}
	var l diag.List
	if err := p.volumes(m, o, &l); err != nil || len(l) > 0 {
		t.Fatal(err, l)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if p.VM.Volumes["root"] != (hypervisor.Volume{Path: filepath.Join(here, "i"), Overlay: true}) || p.VM.Volumes["data"].Path != filepath.Join(here, "d") ||
		p.VM.Machine.Shares[0].HostPath != here || m.Shares[0].HostPath != "" {
		t.Errorf("%+v, shares %+v", p.VM.Volumes, p.VM.Machine.Shares)
	}
}

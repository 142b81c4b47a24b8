package boot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
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

// TestNamed has the host say what the name of an image means, before anybody else does.
func TestNamed(t *testing.T) {
	l := shelved(t, shelf{})
	file := filepath.Join(t.TempDir(), "disk.raw")
	if err := os.WriteFile(file, make([]byte, 512), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []string
	l.Named = func(_ machine.Machine, text string) (NamedImage, bool, error) {
		asked = append(asked, text)
		switch text {
		case "known":
			return NamedImage{Reference: image.FileReference(file)}, true, nil
		case "bad":
			return NamedImage{}, false, &image.Error{Fault: image.Unavailable, What: "there is none"}
		}
		return NamedImage{}, false, nil
	}
	m := placed(t, l, "one")
	m.Disks = []machine.Disk{{Name: "root", Root: true, Source: machine.DiskSource{Image: "known"}}, {Name: "data", Source: machine.DiskSource{Image: file}}}
	p, list, err := l.New(t.Context(), m, Options{ID: "a"})
	if err != nil || list.HasErrors() {
		t.Fatal(list, err)
	}
	for _, name := range []string{"root", "data"} {
		if v := p.VM.Volumes[name]; v.Path != file || !v.Overlay {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if err := p.Discard(); err != nil || len(asked) != 2 {
		t.Errorf("%v, %v", asked, err)
	}
	m.Disks[0].Source.Image = "bad"
	if _, _, err := l.New(t.Context(), m, Options{ID: "a"}); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("got %v", err)
	}
}

package qemu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
)

// header makes the head of a qcow2 image.
func header(version uint32, size, backing, incompatible uint64) []byte {
	head := make([]byte, 512)
	copy(head, "QFI\xfb")
	binary.BigEndian.PutUint32(head[4:], version)
	binary.BigEndian.PutUint64(head[8:], backing)
	binary.BigEndian.PutUint64(head[24:], size)
	binary.BigEndian.PutUint64(head[72:], incompatible)
	return head
}

func TestInspect(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		want    imageInfo
	}{
		"empty":                  {nil, imageInfo{Format: "raw"}},
		"raw":                    {make([]byte, 4096), imageInfo{Format: "raw", Size: 4096}},
		"short magic":            {[]byte("QFI\xfb"), imageInfo{Format: "raw", Size: 4}},
		"qcow2 version 3":        {header(3, 1<<30, 0, 0), imageInfo{Format: "qcow2", Size: 1 << 30}},
		"with a base":            {header(3, 1<<30, 512, 0), imageInfo{Format: "qcow2", Size: 1 << 30, Leads: true}},
		"with a data file":       {header(3, 1<<30, 0, 4), imageInfo{Format: "qcow2", Size: 1 << 30, Leads: true}},
		"version 2 has no flags": {header(2, 1<<30, 0, 4), imageInfo{Format: "qcow2", Size: 1 << 30}},
		"cut":                    {header(3, 1<<30, 512, 0)[:80], imageInfo{Format: "raw", Size: 80}},
	} {
		path := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(path, c.content, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := inspect(path); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if _, err := inspect(t.TempDir()); err == nil {
		t.Error("a directory is an image")
	}
	old := filepath.Join(t.TempDir(), "old.qcow")
	if err := os.WriteFile(old, header(1, 1<<30, 0, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := inspect(old); !errors.Is(err, qcow2.ErrVersion) {
		t.Errorf("an image of version 1: %v", err)
	}
}

// An image whose format nobody stated must not lead QEMU to other files of the host.
func TestLeadingImageRefused(t *testing.T) {
	m, _ := machine.Place(machine.Machine{Name: "m", Disks: []machine.Disk{{Name: "root", Root: true}}}, machine.Facts{})
	m.Hardware.Arch = "amd64"
	vm := hypervisor.VM{Machine: m, StateDir: "/state", Volumes: map[string]hypervisor.Volume{"root": {Path: "/srv/x.qcow2", Overlay: true}}}
	h := host{Images: map[string]imageInfo{"/srv/x.qcow2": {Format: "qcow2", Size: 1, Leads: true}}}
	if _, list := build(vm, h, "tcg", 0); len(list) != 1 || list[0].Code != CodeBackingFile {
		t.Errorf("without a stated format: %v", list)
	}
	vm.Volumes["root"] = hypervisor.Volume{Path: "/srv/x.qcow2", Overlay: true, Format: "qcow2"}
	if _, list := build(vm, h, "tcg", 0); len(list) != 0 {
		t.Errorf("with a stated format: %v", list)
	}
}

// What QEMU would refuse, or do other than asked, is an error before anything starts.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*machine.Machine)
		want   string
	}{
		"machine type":      {func(m *machine.Machine) { m.Hardware.MachineType = "isapc" }, "has no machine type"},
		"secure boot on pc": {func(m *machine.Machine) { m.Hardware.MachineType, m.Hardware.SecureBoot = "pc", true }, "secure boot needs"},
		"topology": {func(m *machine.Machine) {
			m.Hardware.CPUs, m.Hardware.Sockets, m.Hardware.Cores, m.Hardware.Threads = 3, 1, 1, 1
		}, "do not fit"},
		"CPU feature":        {func(m *machine.Machine) { m.Hardware.CPUFeatures = []machine.CPUFeature{{Name: "a,b"}} }, "no name of a CPU feature"},
		"feature policy":     {func(m *machine.Machine) { m.Hardware.CPUFeatures = []machine.CPUFeature{{Name: "a", Policy: "maybe"}} }, "policy"},
		"CPU model":          {func(m *machine.Machine) { m.Hardware.CPUModel = "a,b" }, "no name of a CPU model"},
		"watchdog":           {func(m *machine.Machine) { m.Hardware.Watchdog = "dog" }, "no watchdog"},
		"UUID":               {func(m *machine.Machine) { m.Identity.UUID = "not-one" }, "no UUID"},
		"disk's address":     {func(m *machine.Machine) { m.Disks[0].PCI = "0000:01:00.0" }, "no address on the root bus"},
		"disk's bus":         {func(m *machine.Machine) { m.Disks[0].Bus = "ide" }, "no bus"},
		"disk's device":      {func(m *machine.Machine) { m.Disks[0].Device = "floppy" }, "no device"},
		"lun on virtio":      {func(m *machine.Machine) { m.Disks[0].Device = "lun" }, "needs the bus scsi"},
		"cache":              {func(m *machine.Machine) { m.Disks[0].Cache = "much" }, "cache mode"},
		"format":             {func(m *machine.Machine) { m.Disks[0].Source.Format = "vmdk" }, "formats raw and qcow2"},
		"new without a size": {func(m *machine.Machine) { m.Disks[0].Source = machine.DiskSource{Blank: true} }, "needs a size"},
		"file system": {func(m *machine.Machine) {
			m.Disks[0].Source = machine.DiskSource{Blank: true, Filesystem: "ntfs"}
			m.Disks[0].Size = 1 << 30
		}, "no file system"},
		"NIC's model":        {func(m *machine.Machine) { m.Network.NICs[0].Model = "modem" }, "no NIC"},
		"share":              {func(m *machine.Machine) { m.Shares = []machine.Share{{Name: "s", Driver: "virtiofs"}} }, "no share"},
		"kernel argument":    {func(m *machine.Machine) { m.Boot.Append = "quiet" }, "no kernel to start"},
		"device of the host": {func(m *machine.Machine) { m.Hardware.HostDevices = []machine.HostDevice{{Name: "gpu"}} }, "finds no device"},
		"no contents":        {func(m *machine.Machine) { m.Disks[0].Source = machine.DiskSource{} }, "give them with --image"},
		"ARM with a BIOS":    {func(m *machine.Machine) { m.Hardware.Arch, m.Hardware.Firmware = "arm64", "bios" }, "no BIOS"},
	} {
		m := machine.Machine{Name: "m", Disks: []machine.Disk{{Name: "root", Root: true, Source: machine.DiskSource{Path: "/srv/root.raw"}}},
			Network: machine.Network{NICs: []machine.NIC{{Name: "n"}}}}
		m.Hardware.Arch = "amd64"
		c.change(&m)
		m, _ = machine.Place(m, machine.Facts{})
		vm := hypervisor.VM{Machine: m, StateDir: "/state"}
		_, list := build(vm, host{Images: map[string]imageInfo{"/srv/root.raw": {Format: "raw", Size: 1}}}, "tcg", 0)
		if !list.HasErrors() || !strings.Contains(list.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", name, list, c.want)
		}
	}
}

// TestSupplied says how missing contents are given in the words of who asks.
func TestSupplied(t *testing.T) {
	m, _ := machine.Place(machine.Machine{Name: "m", Hardware: machine.Hardware{Arch: "amd64"}, Disks: []machine.Disk{{Name: "data"}}}, machine.Facts{})
	for want, options := range map[string]hypervisor.Options{
		"give them with --volume data=PATH":  {},
		"give them by hand, as data is none": {Supply: func(d machine.Disk) string { return "by hand, as " + d.Name + " is none" }},
	} {
		_, list := build(hypervisor.VM{Machine: m, StateDir: "/state", Options: options}, host{}, "tcg", 0)
		if !strings.Contains(list.Error(), want) {
			t.Errorf("%v; want %q", list, want)
		}
	}
}

// Programs and firmware that are missing are named, with the package that has them.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var trouble *hypervisor.EnvironmentError
	if _, err := program("no-such-program", "its-package"); !errors.As(err, &trouble) || !strings.Contains(err.Error(), "its-package") {
		t.Errorf("%v; want an error that names the package", err)
	}
	if _, err := survey(machine.Machine{Hardware: machine.Hardware{Arch: "s390x"}}, "tcg"); !errors.As(err, &trouble) {
		t.Errorf("a foreign architecture: %v", err)
	}
	if _, err := accelerators("warp", "amd64"); !errors.As(err, &trouble) {
		t.Errorf("an unknown accelerator: %v", err)
	}
	if got, err := accelerators("auto", "s390x"); err != nil || len(got) != 1 || got[0] != "tcg" {
		t.Errorf("a foreign architecture runs on %v, %v", got, err)
	}
	dir := t.TempDir()
	if code, _ := firmware([]string{dir}, [][2]string{{"code", "vars"}}); code != "" {
		t.Errorf("firmware %s", code)
	}
}

// Every code has an explanation.
func TestCodes(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range Codes() {
		if seen[e.Code.String()] || e.Title == "" || e.Text == "" {
			t.Errorf("%v is explained twice or not at all", e.Code)
		}
		seen[e.Code.String()] = true
	}
	if len(seen) != int(CodeNoService-CodeUnresolvedVolume)+1 {
		t.Errorf("%d explanations", len(seen))
	}
}

// TestLeftover makes a disk although a crashed process with the number of this one was making it.
func TestLeftover(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk0.raw")
	left := filepath.Join(filepath.Dir(path), fmt.Sprintf(".vmseed-tmp-%d-disk0.raw", os.Getpid()))
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (step{Kind: makeDisk, Path: path, Size: 1 << 20}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 1<<20 {
		t.Errorf("%v, %v", info, err)
	}
}

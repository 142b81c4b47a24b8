// Package libvirt writes a machine as a domain of libvirt, for virsh define. It reads none.
//
// A domain names files: the seed, and the contents of the disks. All of them are named in libvirt's own pool of images,
// and the diagnostics say what must be put there. What the guest shall be is in the seed; the domain is the hardware.
package libvirt

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
)

// pool is the directory of libvirt's pool of images.
const pool = "/var/lib/libvirt/images/"

// Form writes domains.
type Form struct{}

// Name returns "libvirt".
func (Form) Name() string { return "libvirt" }

// Carries lists every field that the guest reads, because the seed carries those, and the hardware that a domain can
// say. PCI addresses are libvirt's own to give: guests find disks by serial number and NICs by MAC.
func (Form) Carries() machine.FieldSet {
	var out []machine.Field
	not := machine.NewFieldSet("agentUsers", "hardware.hostDevices.deviceName", "hardware.hostDevices.tag", "disks.tag", "network.nics.tag",
		"disks.ephemeral")
	for _, f := range machine.Fields() {
		if !not.Has(f) {
			out = append(out, f)
		}
	}
	return machine.NewFieldSet(out...)
}

// writer collects a domain.
type writer struct {
	m    machine.Machine
	d    domain
	list diag.List
	// letters counts the disks of each kind of bus, whose devices share a prefix.
	letters map[string]int
	// controllers are the SCSI controllers by their PCI address.
	controllers []string
}

// Write returns the domain.
func (Form) Write(m machine.Machine) ([]byte, diag.List) {
	w := writer{m: m, letters: map[string]int{}}
	w.hardware()
	w.firmware()
	for i, d := range m.Disks {
		w.disk(i, d)
	}
	w.seed()
	w.shares()
	w.network()
	w.others()
	text, err := xml.MarshalIndent(w.d, "", "  ")
	if err != nil {
		w.list.Errorf(CodeNoWords, m.Places.Find(""), "", "the domain cannot be written: %v", err)
		return nil, w.list
	}
	return append(empty.ReplaceAll(text, []byte("/>")), '\n'), w.list
}

// empty matches the end of an element without content. Inside of texts, > is written as an entity.
var empty = regexp.MustCompile(`></[a-z_]+>`)

func (w *writer) cannot(path, remedy, format string, args ...any) {
	w.list.Add(diag.Diagnostic{Code: CodeNoWords, Severity: diag.Warning, Range: w.m.Places.Find(path), Field: path,
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// file names a file of the machine in the pool.
func (w *writer) file(suffix string) string { return pool + w.m.Namespace + "_" + w.m.Name + suffix }

// architectures are libvirt's names where they differ from Go's.
var architectures = map[string]string{"": "x86_64", "amd64": "x86_64", "arm64": "aarch64", "386": "i686", "arm": "armv7l", "ppc64le": "ppc64le", "loong64": "loongarch64"}

func (w *writer) hardware() {
	m, hw := w.m, w.m.Hardware
	arch, ok := architectures[hw.Arch]
	if !ok {
		arch = hw.Arch
	}
	cpus := max(hw.CPUs, max(hw.Sockets, 1)*max(hw.Cores, 1)*max(hw.Threads, 1))
	memory := hw.Memory
	if memory == 0 {
		memory = 1 << 30
	}
	w.d = domain{Type: "kvm", Name: m.Namespace + "_" + m.Name, UUID: m.Identity.UUID, Memory: quantity{"KiB", (int64(memory) + 1023) / 1024},
		VCPU: cpus, Clock: offset{"utc"}, OnPoweroff: "destroy", OnReboot: "restart", OnCrash: "destroy"}
	if p := m.RestartPolicy; p == "Always" || p == "OnFailure" {
		w.d.OnCrash = "restart"
	}
	if p := m.RestartPolicy; p == "Always" {
		w.d.OnPoweroff = "restart"
	}
	if hw.CPUShares|hw.CPUQuota|hw.CPUPeriod != 0 {
		w.d.CPUTune = &cpuTune{hw.CPUShares, hw.CPUPeriod, hw.CPUQuota}
	}
	kind := hw.MachineType
	if kind == "" {
		kind = map[string]string{"x86_64": "q35", "aarch64": "virt"}[arch]
	}
	w.d.OS.Type = osType{arch, kind, "hvm"}
	w.d.Features.ACPI = &struct{}{}
	if arch == "x86_64" {
		w.d.Features.APIC = &struct{}{}
	}
	switch hw.CPUModel {
	case "", "host", "host-passthrough":
		w.d.CPU.Mode = "host-passthrough"
	case "host-model":
		w.d.CPU.Mode = "host-model"
	case "max":
		w.d.CPU.Mode = "maximum"
	default:
		w.d.CPU.Mode, w.d.CPU.Match, w.d.CPU.Model = "custom", "exact", &cpuModel{"forbid", hw.CPUModel}
	}
	if hw.Sockets|hw.Cores|hw.Threads != 0 {
		t := fitting(hw)
		if n := t.Sockets * t.Cores * t.Threads; n != cpus {
			w.cannot("hardware.cpus", "state a topology that fits", "libvirt wants a topology of as many CPUs as there are; of %d it makes %d", hw.CPUs, n)
			w.d.VCPU = n
		}
		w.d.CPU.Topology = &t
	}
	for _, f := range hw.CPUFeatures {
		policy := f.Policy
		if policy == "" {
			policy = "require"
		}
		w.d.CPU.Feature = append(w.d.CPU.Feature, cpuFeature{policy, f.Name})
	}
}

// fitting completes a topology that leaves something open, so that there are as many CPUs as the machine states.
func fitting(hw machine.Hardware) topology {
	t := topology{hw.Sockets, hw.Cores, hw.Threads}
	for _, open := range []*int{&t.Cores, &t.Sockets, &t.Threads} {
		if *open == 0 {
			*open = max(hw.CPUs/(max(t.Sockets, 1)*max(t.Cores, 1)*max(t.Threads, 1)), 1)
		}
	}
	return t
}

func (w *writer) firmware() {
	hw, o := w.m.Hardware, &w.d.OS
	if hw.Firmware == "uefi" || hw.SecureBoot {
		o.Firmware = "efi"
		yes := "no"
		if hw.SecureBoot {
			yes, o.Loader, w.d.Features.SMM = "yes", &loader{"yes"}, &state{"on"}
		}
		o.Flags = &loaderFlags{[]feature{{yes, "enrolled-keys"}, {yes, "secure-boot"}}}
	}
	o.Kernel, o.Initrd, o.CmdLine = w.m.Boot.Kernel, w.m.Boot.Initrd, w.m.Boot.Append
	s := hw.SMBIOS
	system := given(entry{Name: "manufacturer", Value: s.Manufacturer}, entry{Name: "product", Value: s.Product},
		entry{Name: "version", Value: s.Version}, entry{Name: "serial", Value: w.m.Identity.Serial}, entry{Name: "sku", Value: s.SKU},
		entry{Name: "family", Value: s.Family})
	chassis := given(entry{Name: "asset", Value: s.AssetTag})
	if system == nil && chassis == nil {
		return
	}
	o.SMBIOS = &modeAttr{Mode: "sysinfo"}
	w.d.SysInfo = append(w.d.SysInfo, sysInfo{Type: "smbios", System: system, Chassis: chassis})
}

// given returns the entries that have a value.
func given(rows ...entry) *entries {
	rows = slices.DeleteFunc(rows, func(e entry) bool { return e.Value == "" })
	if len(rows) == 0 {
		return nil
	}
	return &entries{rows}
}

// prefixes are those of the devices of a bus.
var prefixes = map[string]string{"virtio": "vd", "scsi": "sd", "sata": "sd", "usb": "sd", "fdc": "fd"}

// next returns the next device of a bus: sda, sdb, ... sdz, sdaa. Not every machine type has a USB controller by itself.
func (w *writer) next(bus string) string {
	isUSB := func(c controller) bool { return c.Type == "usb" }
	if bus == "usb" && !slices.ContainsFunc(w.d.Devices.Controller, isUSB) {
		w.d.Devices.Controller = append(w.d.Devices.Controller, controller{Type: "usb", Model: "qemu-xhci"})
	}
	prefix := prefixes[bus]
	n := w.letters[prefix]
	w.letters[prefix]++
	letters := ""
	for n++; n > 0; n = (n - 1) / 26 {
		letters = string(rune('a'+(n-1)%26)) + letters
	}
	return prefix + letters
}

func (w *writer) disk(i int, d machine.Disk) {
	at := fmt.Sprintf("disks[%d]", i)
	x := disk{Type: "file", Device: d.Device, Driver: driver{"qemu", d.Source.Format, d.Cache}, Serial: d.Serial, Target: target{Bus: d.Bus}}
	if x.Device == "" {
		x.Device = "disk"
	}
	if x.Target.Bus == "" {
		x.Target.Bus = "virtio"
	}
	if x.Device == "floppy" {
		x.Target.Bus = "fdc"
	}
	if x.Device == "cdrom" && x.Target.Bus == "virtio" {
		x.Target.Bus = "sata"
	}
	if d.ReadOnly && x.Device == "disk" {
		x.Target.Bus = w.readOnlyBus(at, x.Target.Bus)
	}
	x.Target.Dev = w.next(x.Target.Bus)
	w.contents(at, d, &x)
	if x.Device == "lun" && x.Type != "block" {
		w.cannot(at+".device", "give it a device of the host", "libvirt passes on devices of the host only as a lun; %q is a disk", d.Name)
		x.Device = "disk"
	}
	if x.Device == "lun" && x.Serial != "" {
		w.cannot(at+".serial", "have the guest find it otherwise", "a lun has the serial number of the device behind it, not %s", x.Serial)
		x.Serial = ""
	}
	if d.ReadOnly || x.Device == "cdrom" {
		x.ReadOnly = &struct{}{}
	}
	if d.Shareable {
		x.Shareable = &struct{}{}
	}
	switch {
	case d.BootOrder > 0:
		x.Boot = &boot{d.BootOrder}
	case d.Root && !w.ordered():
		x.Boot = &boot{1}
	}
	if x.Target.Bus == "scsi" {
		index := slices.Index(w.controllers, d.PCI)
		if index < 0 {
			index = len(w.controllers)
			w.controllers = append(w.controllers, d.PCI)
			w.d.Devices.Controller = append(w.d.Devices.Controller, controller{Type: "scsi", Index: index, Model: "virtio-scsi"})
		}
		x.Address = &address{Type: "drive", Controller: index, Unit: d.Unit}
	}
	w.d.Devices.Disk = append(w.d.Devices.Disk, x)
}

// readOnlyBus is the bus of a disk that must not be written to.
func (w *writer) readOnlyBus(at, bus string) string {
	if bus != "sata" {
		return bus
	}
	w.cannot(at+".bus", "have the guest find it by serial number or label", "libvirt has no read-only disks on the bus sata; it is on virtio")
	return "virtio"
}

// ordered reports whether the machine states the order in which it tries its devices.
func (w *writer) ordered() bool {
	return slices.ContainsFunc(w.m.Disks, func(d machine.Disk) bool { return d.BootOrder > 0 }) ||
		slices.ContainsFunc(w.m.Network.NICs, func(n machine.NIC) bool { return n.BootOrder > 0 })
}

// contents names where the contents of a disk are.
func (w *writer) contents(at string, d machine.Disk, x *disk) {
	s := d.Source
	file := w.file("." + d.Name + ".qcow2")
	remedy := "put its contents at " + file
	if s.Blank {
		remedy = "make it at " + file
	}
	bring := func(format string, args ...any) {
		if d.Size > 0 {
			format += " (at least " + inUnits(d.Size) + ")"
		}
		w.list.Add(diag.Diagnostic{Code: CodeContents, Severity: diag.Warning, Range: w.m.Places.Find(at), Field: at,
			Summary: fmt.Sprintf("disk %q: ", d.Name) + fmt.Sprintf(format, args...), Remedy: remedy + ", or name another file in the domain"})
		x.Source.File, x.Driver.Type = file, "qcow2"
	}
	switch {
	case strings.HasPrefix(s.Path, "/dev/"):
		x.Type, x.Source.Dev = "block", s.Path
		if x.Driver.Type == "" {
			x.Driver.Type = "raw"
		}
	case s.Path != "":
		x.Source.File = s.Path
		if x.Driver.Type == "" {
			x.Driver.Type = "raw"
			if strings.HasSuffix(s.Path, ".qcow2") {
				x.Driver.Type = "qcow2"
			}
		}
	case s.Ceph.Volume != "":
		x.Type, x.Driver.Type = "network", "raw"
		x.Source.Protocol, x.Source.Name = "rbd", strings.TrimPrefix(s.Ceph.Pool+"/"+s.Ceph.Volume, "/")
		for _, monitor := range s.Ceph.Monitors {
			name, port := monitor, ""
			// An IPv6 address without a port has colons as well, but no brackets.
			if i := strings.LastIndexByte(monitor, ':'); i >= 0 && (strings.Count(monitor, ":") == 1 || monitor[i-1] == ']') {
				name, port = monitor[:i], monitor[i+1:]
			}
			name = strings.Trim(name, "[]")
			x.Source.Host = append(x.Source.Host, host{name, port})
		}
		if s.Ceph.User != "" || !s.Ceph.Secret.IsZero() {
			path := at + ".source.ceph.user"
			if s.Ceph.User == "" {
				path = at + ".source.ceph.secret"
			}
			w.cannot(path, "define a libvirt secret and add <auth> to the disk", "libvirt wants the key of the Ceph user as a secret of its own")
		}
	case s.Image != "":
		bring("its contents are those of the image %s", s.Image)
	case s.Claim != "":
		bring("its contents are those of the claim %s", s.Claim)
	case s.Blank:
		if s.Filesystem != "" {
			bring("it is new, with one partition that holds a new %s", s.Filesystem)
		} else {
			bring("it is new and blank")
		}
	default:
		bring("the definition does not say what is on it")
	}
}

// inUnits writes a number of bytes in the largest unit that is exact.
func inUnits(n machine.Bytes) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	i := 0
	for n%1024 == 0 && i+1 < len(units) {
		n, i = n/1024, i+1
	}
	return fmt.Sprintf("%d %s", n, units[i])
}

// seed names the files that vmseed render writes. A guest that fetches its seed over HTTP has no file of it.
func (w *writer) seed() {
	m := w.m
	served := slices.Contains([]string{"ec2", "openstack", "nocloud-net"}, m.DataSource)
	firmware := len(m.Ignition) > 0 || m.DataSource == "ignition"
	key := "opt/com.coreos/config"
	switch m.Guest.IgnitionPlatform {
	case "flatcar":
		key = "opt/org.flatcar-linux/config"
	case "openstack", "kubevirt", "proxmoxve":
		firmware = false
	}
	var files []string
	if firmware {
		w.d.SysInfo = append(w.d.SysInfo, sysInfo{Type: "fwcfg", Entry: []entry{{Name: key, File: w.file(".ign")}}})
		files = append(files, w.file(".ign"))
	}
	if !served && (!firmware || m.DataSource != "" && m.DataSource != "ignition") {
		w.medium(machine.Media{Path: w.file(".iso")})
		files = append(files, w.file(".iso"))
	}
	for i, x := range m.Media {
		if x.Bus == "sata" && x.Format == "vfat" {
			x.Bus = w.readOnlyBus(fmt.Sprintf("media[%d]", i), x.Bus)
		}
		if x.Path == "" {
			format := "iso"
			if x.Format == "vfat" || x.Format == "floppy" {
				format = "vfat"
			}
			x.Path = w.file("." + x.Name + "." + format)
			files = append(files, x.Path)
		}
		w.medium(x)
	}
	if served {
		w.list.Notef(CodeSeed, m.Places.Find(""), "serve it with vmseed metadata, as docs/how-to/metadata.md says for libvirt",
			"the guest reads its seed from a metadata service at http://169.254.169.254/, and no file of the domain has it")
		if len(files) == 0 {
			return
		}
	}
	format := "iso"
	if served {
		format = "metadata"
	}
	if !served && len(m.Media) == 0 && !slices.Contains(files, w.file(".iso")) {
		format = "ign"
	}
	w.list.Notef(CodeSeed, m.Places.Find(""), "vmseed render --format "+format+" -o "+pool+" writes them there", "the domain reads what vmseed renders from %s", strings.Join(files, ", "))
}

// medium attaches a file system at Path: images of CD-ROMs as such, others as what they are.
func (w *writer) medium(m machine.Media) {
	bus, device := m.Bus, "cdrom"
	if bus == "" {
		bus = "sata"
		if m.Format == "vfat" || w.m.Hardware.MachineType == "virt" || w.m.Hardware.Arch != "" && w.m.Hardware.Arch != "amd64" {
			bus = "virtio"
		}
	}
	switch {
	case m.Format == "floppy":
		bus, device = "fdc", "floppy"
	case m.Format == "vfat" || bus == "virtio":
		device = "disk"
	}
	w.d.Devices.Disk = append(w.d.Devices.Disk, disk{Type: "file", Device: device, Driver: driver{Name: "qemu", Type: "raw"},
		Source: source{File: m.Path}, Target: target{Dev: w.next(bus), Bus: bus}, Serial: m.Serial, ReadOnly: &struct{}{}})
}

func (w *writer) shares() {
	for i, s := range w.m.Shares {
		x := filesystem{Type: "mount", Source: source{Dir: s.HostPath}, Target: shareTarget{s.Tag}}
		if s.Driver == "virtiofs" {
			x.Driver = &modeAttr{Type: "virtiofs"}
			w.d.MemoryBacking = &backing{modeAttr{Type: "memfd"}, modeAttr{Mode: "shared"}}
		} else {
			x.AccessMode = "mapped"
		}
		if s.Chown {
			w.cannot(fmt.Sprintf("shares[%d].chown", i), "chown the directory to the user that libvirt runs QEMU as", "libvirt does not change the owner of what is shared")
		}
		if s.ReadOnly {
			x.ReadOnly = &struct{}{}
		}
		w.d.Devices.Filesystem = append(w.d.Devices.Filesystem, x)
	}
}

func (w *writer) network() {
	for _, n := range w.m.Network.NICs {
		if !n.Physical() {
			continue
		}
		x := networkCard{Type: "network", MAC: hardware{n.MAC}, Source: source{Network: "default"}, Model: &nicModel{"virtio"}}
		if n.Network != "" {
			x.Source.Network = n.Network
		}
		if n.Model != "" {
			x.Model.Type = n.Model
		}
		if n.MTU != 0 {
			x.MTU = &size{n.MTU}
		}
		if n.BootOrder > 0 {
			x.Boot = &boot{n.BootOrder}
		}
		if n.LinkDown {
			x.Link = &state{"down"}
		}
		w.d.Devices.Interface = append(w.d.Devices.Interface, x)
	}
}

func (w *writer) others() {
	d, hw := &w.d.Devices, w.m.Hardware
	d.Serial, d.Console = device{"pty"}, device{"pty"}
	d.Channel = channel{"unix", target{Type: "virtio", Name: "org.qemu.guest_agent.0"}}
	d.RNG = rng{"virtio", rngFrom{"random", "/dev/urandom"}}
	if hw.Watchdog != "" {
		d.Watchdog = &watchdog{hw.Watchdog, "reset"}
	}
	if hw.TPM {
		d.TPM = &tpm{"tpm-crb", tpmBackend{"emulator", "2.0"}}
		if w.d.OS.Type.Arch == "aarch64" {
			d.TPM.Model = "tpm-tis"
		}
	}
	for i, h := range hw.HostDevices {
		place, ok := placeOf(h.PCI)
		if !ok {
			w.cannot(fmt.Sprintf("hardware.hostDevices[%d]", i), "state its PCI address on the host", "libvirt needs the address of the host device %q", h.Name)
			continue
		}
		d.HostDev = append(d.HostDev, hostDev{Mode: "subsystem", Type: "pci", Managed: "yes", Source: source{Address: &place}})
	}
}

// placeOf takes a PCI address apart.
func placeOf(pci string) (pciPlace, bool) {
	if strings.Count(pci, ":") == 1 {
		pci = "0000:" + pci
	}
	parts := strings.FieldsFunc(pci, func(r rune) bool { return r == ':' || r == '.' })
	if len(parts) != 4 {
		return pciPlace{}, false
	}
	return pciPlace{"0x" + parts[0], "0x" + parts[1], "0x" + parts[2], "0x" + parts[3]}, true
}

var (
	_ frontend.FormWriter = Form{}
	_ frontend.Carrier    = Form{}
)

package qemu

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/hypervisor/hypervisortest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

var update = flag.Bool("update", false, "write the wanted plans anew")

// someHost stands for a Debian host.
func someHost(vm hypervisor.VM) host {
	h := host{Program: "/usr/bin/qemu-system-x86_64", Code: "/usr/share/OVMF/OVMF_CODE_4M.fd", Vars: "/usr/share/OVMF/OVMF_VARS_4M.fd",
		Sandbox: true, Images: map[string]imageInfo{}}
	if vm.Machine.Hardware.Arch == "arm64" {
		h.Program, h.Code, h.Vars = "/usr/bin/qemu-system-aarch64", "/usr/share/AAVMF/AAVMF_CODE.fd", "/usr/share/AAVMF/AAVMF_VARS.fd"
	}
	for _, d := range vm.Machine.Disks {
		if v, ok := volume(vm, d); ok {
			h.Images[v.Path] = imageInfo{Format: "qcow2", Size: 2 << 30, Device: strings.HasPrefix(v.Path, "/dev/")}
		}
	}
	return h
}

// text writes a plan one option a line.
func text(h host, c command) []string {
	out := []string{h.Program}
	for _, a := range c.args {
		if strings.HasPrefix(a, "-") {
			out = append(out, a)
		} else {
			out[len(out)-1] += " " + a
		}
	}
	for _, s := range c.volumes {
		out = append(out, fmt.Sprintf("make %s %s base=%s format=%s size=%d filesystem=%s", s.Kind, s.Path, s.Base, s.Format, s.Size, s.Filesystem))
	}
	for _, n := range c.nics {
		out = append(out, fmt.Sprintf("network %s on %s: %s MTU %d", n.Name, n.Socket, n.Network, n.Network.MTU))
	}
	if s := c.metadata; s != nil {
		out = append(out, fmt.Sprintf("serve %s on %s to instance %s, seal %t", s.File, s.Listen, s.Instance, s.Seal))
	}
	for _, h := range c.helpers {
		out = append(out, "helper "+h.Program+" "+strings.Join(h.Args, " "))
	}
	for _, u := range c.agent {
		out = append(out, fmt.Sprintf("agent user %s password=%t keys=%q", u.Name, !u.Password.IsZero(), u.SSHAuthorizedKeys))
	}
	if len(c.once) > 0 {
		out = append(out, "at the first boot alone "+strings.Join(c.once, " "))
	}
	for _, id := range c.down {
		out = append(out, "unplugged "+id)
	}
	for _, t := range c.taps {
		out = append(out, fmt.Sprintf("tap %+v", t))
	}
	ssh := fmt.Sprintf("ssh {Port:%d NIC:%d None:%t}", c.ssh.Port, c.ssh.NIC, c.ssh.None)
	if c.ssh.Guest.IsValid() {
		ssh += " at " + c.ssh.Guest.String()
	}
	return append(out, ssh)
}

func TestConformance(t *testing.T) {
	hypervisortest.Run(t, hypervisortest.Config{
		Hypervisor: &QEMU{},
		Plan: func(vm hypervisor.VM) ([]string, diag.List) {
			h := someHost(vm)
			c, list := build(vm, h, "tcg", 0)
			return text(h, c), list
		},
		Always: []machine.Field{"hardware.rng"},
	})
}

// shape is a machine whose plan is compared with testdata/plans.
type shape struct {
	name  string
	accel string
	vm    hypervisor.VM
}

func shapes() []shape {
	root := machine.Disk{Name: "root", Root: true}
	nic := machine.NIC{Name: "net", DHCP4: true}
	image := map[string]hypervisor.Volume{"root": {Path: "/srv/images/debian, 12.qcow2", Overlay: true}}
	iso := []seed.Attachment{{Kind: seed.Drive, Path: "/srv/seed,1.iso", Label: "cidata", Serial: "seed"}}
	make := func(name, accel string, m machine.Machine, change func(*hypervisor.VM)) shape {
		m.Name, m.Namespace = name, "test"
		vm := hypervisor.VM{Machine: m, StateDir: "/state/test_" + name, Volumes: image, Attachments: slices.Clone(iso)}
		if change != nil {
			change(&vm)
		}
		vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
		return shape{name, accel, vm}
	}
	basic := func(change func(*machine.Machine)) machine.Machine {
		m := machine.Machine{Disks: []machine.Disk{root}, Network: machine.Network{NICs: []machine.NIC{nic}}}
		m.Hardware.Arch = "amd64"
		change(&m)
		return m
	}
	return []shape{
		make("pc-bios", "kvm", basic(func(m *machine.Machine) { m.Hardware.MachineType = "pc" }), nil),
		make("q35-uefi", "tcg", basic(func(m *machine.Machine) { m.Hardware.Firmware = "uefi" }), nil),
		make("secure-boot-tpm", "kvm", basic(func(m *machine.Machine) { m.Hardware.SecureBoot, m.Hardware.TPM = true, true }), nil),
		make("arm64", "tcg", basic(func(m *machine.Machine) { m.Hardware.Arch = "arm64" }), nil),
		make("arm64-kernel-tpm", "tcg", basic(func(m *machine.Machine) {
			m.Hardware.Arch, m.Hardware.TPM = "arm64", true
			m.Boot = machine.Boot{Kernel: "/srv/Image", Initrd: "/srv/initrd", Append: "console=ttyAMA0"}
		}), nil),
		make("kernel-arguments", "tcg", basic(func(m *machine.Machine) { m.Boot = machine.Boot{Kernel: "/srv/vmlinuz", Append: "quiet"} }),
			func(vm *hypervisor.VM) {
				vm.Attachments = append(vm.Attachments, seed.Attachment{Kind: seed.KernelArg, Value: "ds=nocloud"})
			}),
		make("ignition-kernel", "tcg", basic(func(m *machine.Machine) {
			m.Boot = machine.Boot{Kernel: "/srv/vmlinuz", Append: "quiet  ignition.platform.id=metal"}
		}), func(vm *hypervisor.VM) {
			vm.Attachments = append(vm.Attachments, seed.Attachment{Kind: seed.KernelArg, Value: "ignition.platform.id=qemu"},
				seed.Attachment{Kind: seed.KernelArg, Value: "ignition.firstboot"})
		}),
		make("disks", "tcg", basic(func(m *machine.Machine) {
			m.Disks = append(m.Disks,
				machine.Disk{Name: "data", Size: 1 << 30, Source: machine.DiskSource{Blank: true, Filesystem: "ext4"}, Cache: "none"},
				machine.Disk{Name: "scratch", Size: 1 << 30, Source: machine.DiskSource{Blank: true}, Bus: "sata", Cache: "unsafe"},
				machine.Disk{Name: "lun", Source: machine.DiskSource{Path: "/dev/sdz", Format: "raw"}, Bus: "scsi", Device: "lun"},
				machine.Disk{Name: "cd", Source: machine.DiskSource{Path: "/srv/cd.iso", Format: "raw"}, Bus: "sata", Device: "cdrom"},
				machine.Disk{Name: "stick", Source: machine.DiskSource{Path: "/srv/stick.img", Format: "raw"}, Bus: "usb", ReadOnly: true, Shareable: true, Cache: "writethrough"})
		}), func(vm *hypervisor.VM) { vm.Attachments[0].Path = "/dev/shm/seed.iso" }),
		make("scsi", "kvm", basic(func(m *machine.Machine) {
			m.Hardware.DiskBus = "scsi"
			m.Disks = append(m.Disks, machine.Disk{Name: "second", Source: machine.DiskSource{Path: "/srv/second.qcow2", Format: "qcow2"}, BootOrder: 2})
		}), func(vm *hypervisor.VM) { vm.Attachments[0].Bus = "scsi" }),
		make("networks", "tcg", basic(func(m *machine.Machine) {
			m.Network.NICs = []machine.NIC{
				{Name: "a", MAC: "52:54:00:00:00:01", MTU: 1400, Addrs: []netip.Prefix{netip.MustParsePrefix("10.1.90.5/24")}, Gateway4: netip.MustParseAddr("10.1.90.1")},
				{Name: "b", MAC: "52:54:00:00:00:02", Model: "e1000e", LinkDown: true, BootOrder: 1},
				{Name: "v", Kind: "vlan", VLAN: machine.VLAN{Link: "a", ID: 7}},
			}
		}), func(vm *hypervisor.VM) { vm.Options.SSHPort = 2222 }),
		make("slirp", "tcg", basic(func(*machine.Machine) {}), func(vm *hypervisor.VM) { vm.Options.Net, vm.Options.SSHPort = "user", 2222 }),
		make("no-network", "tcg", basic(func(*machine.Machine) {}), func(vm *hypervisor.VM) { vm.Options.Net = "none" }),
		make("processor", "kvm", basic(func(m *machine.Machine) {
			m.Hardware.Sockets, m.Hardware.Cores, m.Hardware.Threads, m.Hardware.Memory = 1, 2, 2, 3<<30
			m.Hardware.CPUFeatures = []machine.CPUFeature{{Name: "vmx"}, {Name: "svm", Policy: "disable"}}
			m.Hardware.Watchdog = "i6300esb"
		}), nil),
		make("firmware-strings", "tcg", basic(func(m *machine.Machine) {
			m.Identity.Serial = "a,b"
			m.Hardware.SMBIOS = machine.SMBIOS{Manufacturer: "Us, Inc.", Product: "VM", AssetTag: "tag"}
		}), func(vm *hypervisor.VM) {
			vm.Attachments = []seed.Attachment{
				{Kind: seed.SMBIOSRow, Type: 1, Field: "product", Value: "OpenStack Nova"},
				{Kind: seed.SMBIOSRow, Type: 11, Field: "value", Value: "io.systemd.credential:canary"},
				{Kind: seed.FwCfgFile, Name: "opt/com.coreos/config", Path: "/srv/config,1.ign"},
			}
		}),
		make("ignition", "tcg", basic(func(m *machine.Machine) {
			m.AgentUsers = []machine.AgentUser{{Name: "core", Password: secret.New("canary")}}
		}), func(vm *hypervisor.VM) {
			vm.Attachments = []seed.Attachment{
				{Kind: seed.FwCfgFile, Name: "opt/org.flatcar-linux/config", Path: "/srv/a,b.ign"},
				{Kind: seed.Drive, Path: "/srv/config.img", Serial: "ignition", Bus: "virtio"},
				{Kind: seed.KernelArg, Value: "ignition.platform.id=qemu"}, {Kind: seed.KernelArg, Value: "ignition.firstboot"},
			}
		}),
		make("metadata-service", "tcg", basic(func(m *machine.Machine) {
			m.Identity.Serial, m.MetadataOptions.Seal = "4711", true
			m.Network.NICs = append(m.Network.NICs, machine.NIC{Name: "unplugged", LinkDown: true})
		}), func(vm *hypervisor.VM) {
			// The UUID that Place derives gives way without a word; the serial number that somebody chose does not.
			vm.Attachments = []seed.Attachment{
				{Kind: seed.Endpoint, Path: "/state/a,b/seed.metadata", Value: "http://169.254.169.254/"},
				{Kind: seed.SMBIOSRow, Type: 1, Field: "uuid", Value: "ec2e1916-9099-7caf-fd21-012345abcdef"},
				{Kind: seed.SMBIOSRow, Type: 1, Field: "serial", Value: "ds=nocloud;s=http://169.254.169.254/a,b/"},
			}
		}),
		make("shares-devices", "kvm", basic(func(m *machine.Machine) {
			m.Shares = []machine.Share{{Name: "home", HostPath: "/srv/a,b", ReadOnly: true}, {Name: "other", HostPath: "/srv/c"}}
			m.Hardware.HostDevices = []machine.HostDevice{{Name: "gpu", PCI: "0000:65:00.1"}}
		}), func(vm *hypervisor.VM) {
			vm.Attachments = append(vm.Attachments, seed.Attachment{Kind: seed.Drive, Path: "/srv/second.iso", Serial: "media"})
		}),
	}
}

func TestPlans(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			h := someHost(s.vm)
			c, list := build(s.vm, h, s.accel, s.vm.Options.SSHPort)
			if list.HasErrors() {
				t.Fatal(list)
			}
			lines := text(h, c)
			for _, d := range list {
				lines = append(lines, d.Error())
			}
			got := strings.Join(lines, "\n") + "\n"
			file := filepath.Join("testdata", "plans", s.name+".txt")
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
				t.Errorf("the plan differs (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "canary") {
				t.Error("the plan shows a value that should be in a file")
			}
		})
	}
}

// TestNoFwCfg has an architecture without the device: the guest would start without what it was to read there.
func TestNoFwCfg(t *testing.T) {
	for arch, want := range map[string]bool{"amd64": true, "arm64": true, "riscv64": true, "s390x": false, "ppc64le": false} {
		m := machine.Machine{Hardware: machine.Hardware{Arch: arch}}
		vm := hypervisor.VM{Machine: m, Attachments: []seed.Attachment{{Kind: seed.FwCfgFile, Name: seed.IgnitionItem, Path: "/srv/config.ign"}}}
		c, list := build(vm, host{}, "tcg", 0)
		refused := slices.ContainsFunc(list, func(d diag.Diagnostic) bool { return d.Code == CodeNoFwCfg && strings.Contains(d.Remedy, "virtio-blk") })
		if has := (&QEMU{}).HasFwCfg(m); has != want || refused == want || slices.Contains(c.args, "-fw_cfg") != want {
			t.Errorf("%s: has it %t, refused %t, arguments %q", arch, has, refused, c.args)
		}
	}
}

package boot

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	datasources "github.com/vmseed/vmseed/datasource/all"
	deliveries "github.com/vmseed/vmseed/delivery/all"
	"github.com/vmseed/vmseed/diag"
	hypervisors "github.com/vmseed/vmseed/hypervisor/all"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func newEngine() *vmseed.Engine {
	return &vmseed.Engine{DataSources: datasources.DataSources(), Deliveries: deliveries.Deliveries(), Hypervisors: hypervisors.Hypervisors()}
}

// attached has the seed of a machine attached, and returns what is attached beside kernel arguments.
func attached(t *testing.T, o Options, m machine.Machine) (p *Prepared, parts []seed.Attachment, l diag.List, err error) {
	t.Helper()
	launcher := &Launcher{Engine: newEngine(), Root: t.TempDir()}
	m, l = launcher.Engine.Place(m, machine.Facts{})
	p, problems, err := launcher.prepare(t.Context(), m, o, t.TempDir(), t.TempDir())
	for _, x := range p.VM.Attachments {
		if x.Kind != seed.KernelArg {
			parts = append(parts, x)
		}
	}
	return p, parts, append(l, problems...), err
}

// fault reports whether an error is one of the options.
func fault(err error) bool {
	var e *OptionError
	return errors.As(err, &e)
}

// TestWays: every part of a seed goes a way, by the architecture and the platform or by the flag.
func TestWays(t *testing.T) {
	cloud := machine.Machine{Name: "vm"}
	config := machine.Machine{Name: "vm", DataSource: "ignition"}
	both := machine.Machine{Name: "vm", Ignition: []machine.Layer{{Data: secret.New(`{"ignition": {"version": "3.0.0"}}`)}}}
	const service = "HTTP at http://169.254.169.254/, "
	source := func(name string) machine.Machine { return machine.Machine{Name: "vm", DataSource: name} }
	on := func(m machine.Machine, arch, platform string) machine.Machine {
		m.Hardware.Arch, m.Guest.IgnitionPlatform = arch, platform
		return m
	}
	for _, tt := range []struct {
		name, flag string
		m          machine.Machine
		want       string
		code       diag.Code
		err        string
	}{
		{name: "cloud-init", m: cloud, want: "cidata by iso"},
		{name: "cloud-init, vfat", flag: "vfat", m: cloud, want: "cidata by vfat"},
		{name: "cloud-init by fw_cfg", flag: "fw_cfg", m: cloud, err: "nothing for the firmware"},
		{name: "amd64", m: on(config, "amd64", ""), want: "opt/com.coreos/config by fw_cfg"},
		{name: "flatcar", m: on(config, "arm64", "flatcar"), want: "opt/org.flatcar-linux/config by fw_cfg"},
		{name: "s390x", m: on(config, "s390x", ""), want: "Ignition config by virtio-blk"},
		{name: "virtio-blk on amd64", flag: "virtio-blk", m: on(config, "amd64", ""), want: "Ignition config by virtio-blk", code: CodeNotRead},
		{name: "openstack", m: on(config, "amd64", "openstack"), want: "config-2 by iso"},
		{name: "kubevirt, vfat", flag: "vfat", m: on(config, "amd64", "kubevirt"), want: "config-2 by vfat"},
		{name: "proxmoxve", m: on(config, "amd64", "proxmoxve"), want: "cidata by iso"},
		{name: "iso of a config", flag: "iso", m: on(config, "amd64", ""), err: "has no volume"},
		{name: "ec2", m: source("ec2"), want: service + "uuid of SMBIOS type 1, serial of SMBIOS type 1"},
		{name: "openstack by itself", flag: "auto", m: source("openstack"), want: service + "product of SMBIOS type 1"},
		{name: "openstack as asked", flag: "metadata", m: source("openstack"), want: service + "product of SMBIOS type 1"},
		{name: "nocloud by HTTP", flag: "metadata", m: cloud, want: service + "serial of SMBIOS type 1"},
		{name: "its former name", m: source("nocloud-net"), want: service + "serial of SMBIOS type 1"},
		{name: "config by HTTP", flag: "metadata", m: on(config, "amd64", ""), want: strings.TrimSuffix(service, ", ")},
		{name: "openstack's config by HTTP", flag: "metadata", m: on(config, "amd64", "openstack"), want: service + "product of SMBIOS type 1"},
		{name: "both, one by HTTP", flag: "metadata", m: on(both, "amd64", ""), want: service + "serial of SMBIOS type 1, opt/com.coreos/config by fw_cfg"},
		{name: "configdrive by HTTP", flag: "metadata", m: source("configdrive"), err: "fetch nothing by HTTP"},
		{name: "ec2 on a volume", flag: "iso", m: source("ec2"), err: "fetch theirs by HTTP"},
		{name: "both", m: on(both, "amd64", ""), want: "cidata by iso, opt/com.coreos/config by fw_cfg"},
		{name: "both, vfat", flag: "vfat", m: on(both, "amd64", ""), want: "cidata by vfat, opt/com.coreos/config by fw_cfg"},
		{name: "both on s390x", m: on(both, "s390x", ""), want: "cidata by iso, Ignition config by virtio-blk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _, l, err := attached(t, Options{Delivery: tt.flag}, tt.m)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || !fault(err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || l.HasErrors() {
				t.Fatal(err, l)
			}
			if _, got, _ := strings.Cut(p.Seed, ": "); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if warned := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeNotRead }); warned != (tt.code == CodeNotRead) {
				t.Errorf("diagnostics %v", l)
			}
		})
	}
}

// TestMACsMatch: what is started has MACs, so the guest finds its interfaces by them, whatever the document says.
func TestMACsMatch(t *testing.T) {
	m := machine.Machine{Name: "vm", Network: machine.Network{NICs: []machine.NIC{{Name: "eth0", Rename: "eth0", DHCP4: true, Match: "name"}}}}
	p, parts, l, err := attached(t, Options{}, m)
	if err != nil || l.HasErrors() || len(parts) != 1 {
		t.Fatal(parts, err, l)
	}
	data, err := os.ReadFile(parts[0].Path)
	if err != nil || !strings.Contains(string(data), p.VM.Machine.Network.NICs[0].MAC) || m.Network.NICs[0].Match == "" {
		t.Errorf("%v: the seed does not have the MAC %s, or the machine was changed", err, p.VM.Machine.Network.NICs[0].MAC)
	}
}

// TestReporterFits: the guest of Ignition gets the reporter that it can run, and that of cloud-init the other.
func TestReporterFits(t *testing.T) {
	for _, tt := range []struct {
		m            machine.Machine
		want, absent string
	}{
		{machine.Machine{Name: "vm"}, "#cloud-boothook", `"ignition"`},
		{machine.Machine{Name: "vm", DataSource: "ignition", Hardware: machine.Hardware{Arch: "amd64"}}, `"ignition"`, "#cloud-boothook"},
	} {
		_, parts, l, err := attached(t, Options{}, tt.m)
		if err != nil || l.HasErrors() || len(parts) != 1 {
			t.Fatal(parts, err, l)
		}
		data, err := os.ReadFile(parts[0].Path)
		if err == nil && (!strings.Contains(string(data), tt.want) || strings.Contains(string(data), tt.absent)) {
			t.Errorf("%s: the seed has %q: %t", tt.m.DataSource, tt.want, strings.Contains(string(data), tt.want))
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// TestPreparedConfig: a config that was prepared reaches the guest as it is, by the way of its platform, and nothing of
// the machine that it is started as does.
func TestPreparedConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.ign")
	const text = `{"ignition": {"version": "3.1.0"},   "storage": {}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m := machine.Machine{Name: "vm", Hardware: machine.Hardware{Arch: "amd64"}, Users: []machine.User{{Name: "canary"}},
		Identity: machine.Identity{Hostname: "canary"}}
	p, parts, l, err := attached(t, Options{Seed: file}, m)
	if err != nil || l.HasErrors() || len(parts) != 1 || parts[0].Name != seed.IgnitionItem {
		t.Fatalf("%+v, %v, %v", parts, err, l)
	}
	if data, err := os.ReadFile(parts[0].Path); err != nil || string(data) != text {
		t.Errorf("the guest gets %q, %v", data, err)
	}
	if len(p.VM.Attachments) == 1 {
		t.Error("a kernel that is started directly would not run Ignition")
	}
	o := Options{Seed: file}
	o.Render.IgnitionPlatform = "openstack"
	if _, parts, l, err = attached(t, o, m); err != nil || l.HasErrors() || len(parts) != 1 || parts[0].Label != "config-2" {
		t.Fatalf("%+v, %v, %v", parts, err, l)
	}
	if data, err := os.ReadFile(parts[0].Path); err != nil || !strings.Contains(string(data), text) || strings.Contains(string(data), "canary") {
		t.Errorf("the volume does not hold the config alone, %v", err)
	}
}

// TestPreparedImage: an image is attached as it is, so a flag that would have it otherwise is wrong.
func TestPreparedImage(t *testing.T) {
	m := machine.Machine{Name: "vm"}
	_, made, l, err := attached(t, Options{}, m)
	if err != nil || l.HasErrors() || len(made) != 1 {
		t.Fatal(made, l, err)
	}
	o := Options{Seed: made[0].Path, Delivery: "auto"}
	if _, parts, _, err := attached(t, o, m); err != nil || len(parts) != 1 || parts[0].Path != o.Seed || parts[0].Label != "cidata" {
		t.Errorf("%+v, %v", parts, err)
	}
	for _, change := range []func(){
		func() { o.Delivery = "vfat" },
		func() { o.Delivery, o.Render.DataSource = "auto", "configdrive" },
		func() { o.Render.DataSource, o.Render.IgnitionPlatform = "", "flatcar" },
	} {
		change()
		if _, _, _, err := attached(t, o, m); !fault(err) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

//go:build linux

package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// hostFields are the fields that name something of the host, and how a machine asks for it there.
var hostFields = map[machine.Field]func(m *machine.Machine, path string){
	"disks.source.path": func(m *machine.Machine, path string) {
		m.Disks = append(m.Disks, machine.Disk{Name: "data", ReadOnly: true, Source: machine.DiskSource{Path: path}})
	},
	"disks.source.image": func(m *machine.Machine, path string) { m.Disks[0].Source = machine.DiskSource{Image: path} },
	"boot.kernel":        func(m *machine.Machine, path string) { m.Boot.Kernel = path },
	"boot.initrd":        func(m *machine.Machine, path string) { m.Boot.Initrd = path },
	"media.path": func(m *machine.Machine, path string) {
		m.Media = []machine.Media{{Name: "more", Kind: "prepared", Path: path}}
	},
	"shares.hostPath": func(m *machine.Machine, path string) {
		m.Shares = []machine.Share{{Name: "share", Tag: "share", HostPath: path}}
	},
	"hardware.hostDevices": func(m *machine.Machine, path string) {
		m.Hardware.HostDevices = []machine.HostDevice{{Name: "gpu", Kind: "pci", PCI: path}}
	},
}

// guestFields are the other fields that a hypervisor builds: numbers, words and names that lead to nothing of the host.
var guestFields = machine.NewFieldSet("identity", "agentUsers", "running", "restartPolicy", "guest.os", "network.nics",
	"boot.append", "disks.name", "disks.root", "disks.device", "disks.size", "disks.bus", "disks.readOnly", "disks.serial", "disks.pciAddress",
	"disks.unit", "disks.bootOrder", "disks.cache", "disks.shareable", "disks.ephemeral", "disks.source.format", "disks.source.blank",
	"disks.source.filesystem",
	// No hypervisor here opens these two.
	"disks.source.claim", "disks.source.ceph",
	"shares.name", "shares.tag", "shares.driver", "shares.readOnly", "shares.chown",
	"media.name", "media.kind", "media.label", "media.format", "media.files", "media.serial", "media.bus",
	"hardware.arch", "hardware.machineType", "hardware.cpus", "hardware.sockets", "hardware.cores", "hardware.threads", "hardware.cpuModel",
	"hardware.cpuFeatures", "hardware.memory", "hardware.diskBus", "hardware.firmware", "hardware.secureBoot", "hardware.tpm", "hardware.rng",
	"hardware.watchdog", "hardware.smbios", "hardware.cpuShares", "hardware.cpuQuota", "hardware.cpuPeriod")

// TestEveryHostField finds fields of which nobody has said whether they name something of the host.
func TestEveryHostField(t *testing.T) {
	var host machine.FieldSet
	for f := range hostFields {
		host = host.Union(machine.NewFieldSet(f))
	}
	for _, f := range machine.Fields() {
		if machine.HardwareFields().Has(f) && host.Has(f) == guestFields.Has(f) {
			t.Errorf("%s: put it into hostFields, and into host.check, when it can name something of the host; else into guestFields", f)
		}
	}
}

// asking is the definition of a machine that asks for something of the host.
func asking(t *testing.T, field machine.Field, path string) []daemon.Document {
	t.Helper()
	m := machine.Machine{Name: "asking", Disks: []machine.Disk{{Name: "root", Root: true, Size: 1 << 20, Source: machine.DiskSource{Blank: true}}}}
	hostFields[field](&m, path)
	return native(t, m)
}

func native(t *testing.T, m machine.Machine) []daemon.Document {
	t.Helper()
	text, l := daemontest.Engine().Convert(m, "native", vmseed.RenderOptions{})
	if l.HasErrors() {
		t.Fatal(l)
	}
	return []daemon.Document{{Name: "vm.yaml", Text: secret.FromBytes(text)}}
}

// refused reports whether an error is a diagnostic about a field that names something of the host, with its place.
func refused(err error, field machine.Field) bool {
	var l diag.List
	if !errors.As(err, &l) {
		return false
	}
	for _, x := range l {
		plain := machine.Field(strings.ReplaceAll(strings.ReplaceAll(x.Field, "[0]", ""), "[1]", ""))
		if x.Code == daemon.CodeHostPath && plain == field && x.Range.Start.Line > 1 && x.Remedy != "" {
			return true
		}
	}
	return false
}

// TestHostPaths asks for a file of the host in every field, on every way into the daemon.
func TestHostPaths(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	outside := filepath.Join(t.TempDir(), "secret.img")
	write(t, outside, "secret")
	d := daemontest.Open(t, o)
	own := addGuest(t, d, "own", "")
	for field := range hostFields {
		path := outside
		if field == "hardware.hostDevices" {
			path = "0000:65:00.1"
		}
		documents := asking(t, field, path)
		if _, err := d.Add(t.Context(), daemon.Machine{Documents: documents}); !refused(err, field) {
			t.Errorf("%s: Add: %v", field, err)
		}
		if _, err := d.Update(t.Context(), own.ID, func(m *daemon.Machine) error { m.Documents = documents; return nil }); !refused(err, field) {
			t.Errorf("%s: Update: %v", field, err)
		}
		if err := d.Start(t.Context(), own.ID, daemon.StartOptions{Documents: documents}); !refused(err, field) {
			t.Errorf("%s: Start: %v", field, err)
		}
		if l := d.Check(t.Context(), documents, daemon.RenderOptions{}); !refused(l, field) {
			t.Errorf("%s: Check: %v", field, l)
		}
		// The password that a first boot needs comes with documents of its own.
		if _, err := d.Update(t.Context(), own.ID, func(m *daemon.Machine) error { m.FirstBootDocuments = documents; return nil }); err == nil {
			if err := d.Start(t.Context(), own.ID, daemon.StartOptions{}); !refused(err, field) {
				t.Errorf("%s: Start of documents for the first boot: %v", field, err)
			}
		}
	}
	if m, err := d.Get(own.ID); err != nil || m.Status != daemon.Down {
		t.Errorf("the VM is %s, %v", m.Status, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// qcow is an image that leads to another file of the host, or that stands alone.
func qcow(leads bool) string {
	head := make([]byte, 512)
	copy(head, "QFI\xfb\x00\x00\x00\x02")
	head[21], head[29] = 16, 16 // clusters of 64 KiB, a disk of 1 MiB
	copy(head[20:], "\x00\x00\x00\x10\x00\x00\x00\x00\x00\x10\x00\x00")
	if leads {
		copy(head[8:], "\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x0b/etc/shadow"[:12])
		copy(head[256:], "/etc/shadow")
	}
	return string(head)
}

// TestWhatMayBeNamed goes through the rules for files, with and without what an administrator allows.
func TestWhatMayBeNamed(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	images, more, share := filepath.Join(o.Dir, "images"), t.TempDir(), t.TempDir()
	o.Host = daemon.Host{Paths: []string{more}, Shares: []string{share}, Devices: []string{"0000:65:00.1"}}
	for path, text := range map[string]string{
		images + "/cd.iso": "cd", images + "/sub/kernel": "kernel", images + "/ok.qcow2": qcow(false), images + "/leads.qcow2": qcow(true),
		o.Dir + "/vms/other/seed.iso": "seed", more + "/disk.raw": "disk", more + "/written.raw": qcow(true), more + "/ok.qcow2": qcow(false),
		share + "/file": "guest",
	} {
		write(t, path, text)
	}
	outside := t.TempDir()
	write(t, outside+"/passwd", "root")
	for from, to := range map[string]string{images + "/link.iso": outside + "/passwd", images + "/dir": outside, images + "/nowhere": outside + "/new",
		more + "/key": o.Dir + "/key", images + "/within.iso": images + "/cd.iso"} {
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	d := daemontest.Open(t, o)
	cases := []struct {
		field machine.Field
		path  string
		ok    bool
	}{
		{"disks.source.path", images + "/cd.iso", true},
		{"disks.source.path", images + "/within.iso", true},
		{"disks.source.path", images + "/not-there-yet.iso", true},
		{"disks.source.path", images + "/link.iso", false},
		{"disks.source.path", images + "/dir/passwd", false},
		{"disks.source.path", images + "/dir/not-there-yet", false},
		{"disks.source.path", images + "/nowhere", false},
		{"disks.source.path", images + "/sub", false},
		{"disks.source.path", images, false},
		{"disks.source.path", o.Dir + "/store.db", false},
		{"disks.source.path", o.Dir + "/vms/other/seed.iso", false},
		{"disks.source.path", "/dev/zero", false},
		{"disks.source.path", images + "/ok.qcow2", true},
		{"disks.source.path", images + "/leads.qcow2", false},
		{"disks.source.path", more + "/disk.raw", true},
		{"disks.source.path", more + "/written.raw", false},
		{"disks.source.path", more + "/ok.qcow2", false},
		{"disks.source.path", more + "/key", false},
		{"disks.source.path", share + "/file", false},
		{"disks.source.image", images + "/ok.qcow2", true},
		{"disks.source.image", "file://" + images + "/ok.qcow2", true},
		{"disks.source.image", "file://" + outside + "/passwd", false},
		{"disks.source.image", "./ok.qcow2", false},
		{"disks.source.image", "oci-archive:" + outside + "/passwd", false},
		{"disks.source.image", "oci:" + images + "/sub", true},
		{"disks.source.image", images + "/leads.qcow2", false},
		{"disks.source.image", "debian:12", true},
		{"boot.kernel", images + "/sub/kernel", true},
		{"boot.initrd", more + "/disk.raw", true},
		{"media.path", images + "/cd.iso", true},
		{"shares.hostPath", share, true},
		{"shares.hostPath", share + "/sub", false},
		{"shares.hostPath", images, false},
		{"shares.hostPath", more, false},
		{"hardware.hostDevices", "65:00.1", true},
		{"hardware.hostDevices", "65:00.2", false},
	}
	for _, c := range cases {
		l := d.Check(t.Context(), asking(t, c.field, c.path), daemon.RenderOptions{})
		if c.ok && l.HasErrors() || !c.ok && !refused(l, c.field) {
			t.Errorf("%s: %s: may be named: %t, but %v", c.field, c.path, c.ok, l)
		}
	}
}

// TestWritableDisks never lets a guest write what another reads, or what could be taken for an image that leads elsewhere.
func TestWritableDisks(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	more := t.TempDir()
	o.Host.Paths = []string{more}
	write(t, o.Dir+"/images/base.img", "base")
	write(t, more+"/data.raw", "data")
	d := daemontest.Open(t, o)
	check := func(path, format string) diag.List {
		return d.Check(t.Context(), native(t, machine.Machine{Name: "writer", Disks: []machine.Disk{
			{Name: "root", Root: true, Source: machine.DiskSource{Path: path, Format: format}}}}), daemon.RenderOptions{})
	}
	if l := check(o.Dir+"/images/base.img", ""); !refused(l, "disks.source.path") {
		t.Error("a file of the image repository may be written to: ", l)
	}
	if l := check(more+"/data.raw", "qcow2"); !refused(l, "disks.source.path") {
		t.Error("what a guest may have written is taken as qcow2: ", l)
	}
	m := add(t, d, daemon.Machine{Documents: asking(t, "boot.kernel", more+"/data.raw")})
	if _, l, err := d.Placed(t.Context(), m.ID); err != nil || l.HasErrors() {
		t.Error(l, err)
	}
	disk := add(t, d, daemon.Machine{Name: "disk", Documents: asking(t, "disks.source.path", more+"/data.raw")})
	if placed, l, err := d.Placed(t.Context(), disk.ID); err != nil || l.HasErrors() || placed.Disks[1].Source.Format != "raw" {
		t.Errorf("the format is left to the content: %+v, %v, %v", placed.Disks, l, err)
	}
	// What is no longer allowed hides no machine, and starts none.
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	o.Host = daemon.Host{}
	d = daemontest.Open(t, o)
	if placed, l, err := d.Placed(t.Context(), disk.ID); err != nil || !refused(l, "disks.source.path") || len(placed.Disks) != 2 {
		t.Errorf("%+v, %v, %v", placed.Disks, l, err)
	}
	if err := d.Start(t.Context(), disk.ID, daemon.StartOptions{}); !refused(err, "disks.source.path") {
		t.Error(err)
	}
}

// TestHostPathsOfOtherForms asks in documents that people have, with paths that the native form does not take.
func TestHostPathsOfOtherForms(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	write(t, o.Dir+"/images/cd.iso", "cd")
	cd := func(id string) string {
		return "<vm>\n<name>o</name>\n<cdroms><cdrom><file id=\"" + id + "\"/></cdrom></cdroms></vm>"
	}
	for _, c := range []struct {
		text  string
		field machine.Field
	}{
		{cd(o.Dir + "/images/cd.iso"), ""},
		{cd(o.Dir + "/images/../key"), "disks.source.path"},
		{cd("cd.iso"), "disks.source.path"},
		{cd("../key"), "disks.source.path"},
		{"<vm>\n<name>o</name>\n<os><boot/>\n<kernel>/etc/shadow</kernel></os></vm>", "boot.kernel"},
		{`apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: k}
spec:
  domain:
    memory: {guest: 1Gi}
    devices:
      disks: [{name: host, disk: {bus: virtio}}]
  volumes:
  - name: host
    hostDisk: {path: /etc/shadow, type: Disk}
`, "disks.source.path"},
	} {
		l := d.Check(t.Context(), []daemon.Document{{Name: "vm", Text: secret.New(c.text)}}, daemon.RenderOptions{})
		if c.field == "" && l.HasErrors() || c.field != "" && !refused(l, c.field) {
			t.Errorf("%s\n%v", c.text, l)
		}
	}
}

// TestSharesApart refuses to share what files are taken from.
func TestSharesApart(t *testing.T) {
	dir := t.TempDir()
	o := daemontest.Options(filepath.Join(dir, "state"))
	for _, h := range []daemon.Host{
		{Shares: []string{dir}}, {Shares: []string{o.Dir + "/images"}}, {Shares: []string{o.Dir + "/vms"}},
		{Shares: []string{dir + "/a/b"}, Paths: []string{dir + "/a"}}, {Shares: []string{dir + "/not-there"}},
	} {
		if err := os.MkdirAll(dir+"/a/b", 0o700); err != nil {
			t.Fatal(err)
		}
		o.Host = h
		if d, err := daemon.Open(t.Context(), o); err == nil {
			t.Errorf("%v is taken", h)
			_ = d.Close()
		}
	}
}

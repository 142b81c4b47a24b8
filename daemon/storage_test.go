//go:build linux

package daemon_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/secret"
)

const sidecar = `name: Fedora CoreOS 30.337 for x86_64
description: what the seed imports
guest: {os: coreos, release: fcos-30, ignitionPlatform: openstack}
boot: {kernel: vmlinuz, initrd: initrd.img, append: console=ttyS0}
hardware: {memory: 2Gi, cpus: 2, firmware: uefi}
login: core
`

// plain is a definition without a disk of its own.
func plain(name, more string) []daemon.Document {
	return []daemon.Document{{Name: name + ".yaml", Text: secret.New("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: " + name + "}\nspec:\n" +
		"  userData: {layers: [{data: \"#cloud-config\\nlocale: C\"}]}\n" + more)}}
}

// repository writes the images of a state directory.
func repository(t *testing.T, dir string) {
	t.Helper()
	daemontest.Image(t, dir, "fcos.img", sidecar)
	daemontest.Image(t, dir, "plain.raw", "")
	at := filepath.Join(dir, "images")
	overlay, err := qcow2.Overlay{Base: "/etc/passwd", Format: "raw", Size: 1 << 20}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"vmlinuz": "a kernel", "initrd.img": "an initial RAM disk", ".hidden.img": "x", "coming.qcow2.part": "x", "fcos.img.sha256": "x", "README": "x",
		"leads.qcow2": string(overlay), "no.qcow2": "nothing of the kind", "packed.img": "\x1f\x8b\x08 and so on", "void.img": "",
		"broken.img": "x", "broken.img.yaml": "name: [\n", "unknown.img": "x", "unknown.img.yaml": "nmae: x\nhardware: {memory: much, cpus: 0}\nboot: {kernel: gone}\n",
		"two.img": "x", "two.img.yaml": "name: a\n---\nname: b\n", "disk-of-a-name": "x", "disk-of-a-name.yaml": "name: by its description\n",
	} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(at, "directory.img"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestImages(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	repository(t, o.Dir)
	d := daemontest.Open(t, o)
	images, err := d.Images(daemon.ImageRepository)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, i := range images {
		var codes []string
		for _, p := range i.Problems.Sorted() {
			codes = append(codes, fmt.Sprintf("%s:%d:%s", filepath.Base(p.Range.File), p.Range.Start.Line, p.Code))
		}
		got = append(got, fmt.Sprintf("%s|%s|%s|%d|%s", filepath.Base(i.File), i.Name, i.Format, i.VirtualSize, strings.Join(codes, " ")))
	}
	want := []string{
		"broken.img|broken.img|raw|512|broken.img.yaml:2:VS1204",
		"disk-of-a-name|by its description|raw|512|",
		"fcos.img|Fedora CoreOS 30.337 for x86_64|raw|1048576|",
		"leads.qcow2|leads.qcow2|qcow2|1048576|leads.qcow2:0:VS7003",
		"no.qcow2|no.qcow2|raw|0|no.qcow2:0:VS7003",
		"packed.img|packed.img|raw|0|packed.img:0:VS7003",
		"plain.raw|plain.raw|raw|1048576|",
		"two.img|two.img|raw|512|two.img.yaml:1:VS7002",
		"unknown.img|unknown.img|raw|512|unknown.img.yaml:1:VS1215 unknown.img.yaml:2:VS7002 unknown.img.yaml:2:VS1213 unknown.img.yaml:3:VS7002",
		"void.img|void.img|raw|0|void.img:0:VS7003",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	x := images[2].Defaults
	if x.OS != "coreos" || x.Release != "fcos-30" || x.IgnitionPlatform != "openstack" || x.Login != "core" || x.Memory != 2<<30 || x.CPUs != 2 || x.Firmware != "uefi" ||
		x.Boot.Kernel != filepath.Join(o.Dir, "images", "vmlinuz") || x.Boot.Append != "console=ttyS0" {
		t.Errorf("defaults: %+v", x)
	}
	for _, i := range images {
		if _, err := d.Import(t.Context(), daemon.ImportRequest{Image: i.ID, Target: "data"}); (err != nil) != i.Problems.HasErrors() {
			t.Errorf("importing %s: %v", i.Name, err)
		}
	}
}

func TestImportAndClone(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	o.StorageDomains = map[string]string{"iscsi_new": filepath.Join(t.TempDir(), "elsewhere")}
	repository(t, o.Dir)
	d := daemontest.Open(t, o)
	template := daemontest.Template(t, d, "Fedora CoreOS 30.337 for x86_64", "fcos")
	disk, err := d.Disk(template.Disk)
	if err != nil || disk.Status != daemon.OK || disk.Size != 1<<20 || disk.Base != filepath.Join(o.Dir, "images", "fcos.img") || disk.Used == 0 {
		t.Errorf("disk: %+v, %v", disk, err)
	}
	jobs := d.Jobs()
	if len(jobs) != 1 || jobs[0].Status != daemon.JobFinished || jobs[0].Object != template.ID {
		t.Errorf("jobs: %+v", jobs)
	}
	m := add(t, d, daemon.Machine{Template: template.ID, Documents: plain("web", "")})
	if m.Status != daemon.ImageLocked || len(m.Disks) != 1 || len(m.Jobs) != 1 {
		t.Errorf("added: %+v", m)
	}
	m = daemontest.WaitStatus(t, d, m.ID, daemon.Down)
	root, err := d.Disk(m.Disks[0])
	if err != nil || root.Base != disk.File || root.Machine != m.ID || root.Status != daemon.OK || len(m.Jobs) != 0 {
		t.Errorf("root disk: %+v, %v", root, err)
	}
	placed, l, err := d.Placed(t.Context(), m.ID)
	if err != nil || l.HasErrors() {
		t.Fatal(err, l)
	}
	if len(placed.Network.NICs) != 1 || placed.Network.NICs[0].Name != "nic1" || placed.Hardware.Memory != 2<<30 || placed.Guest.IgnitionPlatform != "openstack" ||
		placed.Boot.Append != "console=ttyS0" || placed.Identity.UUID != m.ID || len(placed.Disks) != 1 {
		t.Errorf("placed: %+v", placed)
	}
	start(t, d, m.ID, daemon.StartOptions{}) // fails when the disk's file is not there
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	stop(t, d, m.ID)
	if err := d.RemoveTemplate(t.Context(), template.ID); !conflict(err) {
		t.Errorf("removing a template that is needed: %v", err)
	}
	if err := d.RemoveDisk(t.Context(), root.ID); !conflict(err) {
		t.Errorf("removing a disk that is needed: %v", err)
	}
	if err := errors.Join(d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}), d.RemoveTemplate(t.Context(), template.ID)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Join(o.Dir, "disks")); err != nil || len(left) > 0 || len(d.Disks()) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestKeptDisk(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	repository(t, o.Dir)
	d := daemontest.Open(t, o)
	template := daemontest.Template(t, d, "plain.raw", "plain")
	m := add(t, d, daemon.Machine{Template: template.ID, Documents: plain("web", "")})
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{KeepDisks: true}); err != nil {
		t.Fatal(err)
	}
	disk, err := d.Disk(m.Disks[0])
	if err != nil || disk.Machine != "" || disk.Used == 0 {
		t.Fatalf("%+v, %v", disk, err)
	}
	if err := d.RemoveTemplate(t.Context(), template.ID); !conflict(err) {
		t.Errorf("removing the base of a disk: %v", err)
	}
	if err := errors.Join(d.RemoveDisk(t.Context(), disk.ID), d.RemoveTemplate(t.Context(), template.ID)); err != nil {
		t.Error(err)
	}
}

// A disk that cannot be made does not keep its VM locked for ever, and the VM does not start without it.
func TestDiskThatCannotBeMade(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	repository(t, o.Dir)
	d := daemontest.Open(t, o)
	template := daemontest.Template(t, d, "plain.raw", "plain")
	base, _ := d.Disk(template.Disk)
	if err := os.Remove(base.File); err != nil {
		t.Fatal(err)
	}
	m := add(t, d, daemon.Machine{Template: template.ID, Documents: plain("web", "")})
	m = daemontest.WaitStatus(t, d, m.ID, daemon.Down)
	disk, _ := d.Disk(m.Disks[0])
	if m.Reason == "" || disk.Status != daemon.Illegal || disk.Reason == "" || d.Jobs()[0].Status != daemon.JobFailed {
		t.Errorf("%+v, %+v, %+v", m, disk, d.Jobs()[0])
	}
	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{}); !conflict(err) {
		t.Errorf("Start: %v", err)
	}
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	o.StorageDomains = map[string]string{"iscsi_new": filepath.Join(o.Dir, "elsewhere")}
	d := daemontest.Open(t, o)
	var names []string
	for _, x := range d.StorageDomains() {
		names = append(names, x.Name+"="+string(x.Type))
		if same, err := d.StorageDomain(x.ID); err != nil || same != x {
			t.Errorf("by id: %+v, %v", same, err)
		}
	}
	if got := strings.Join(names, " "); got != "data=data iscsi_new=data ovirt-image-repository=image" {
		t.Errorf("storage domains: %s", got)
	}
	if d.Cluster().Name != "Default" || d.DataCenter().Name != "Default" || d.Cluster().ID == d.DataCenter().ID {
		t.Errorf("%+v %+v", d.Cluster(), d.DataCenter())
	}
	if blank := d.Templates(); len(blank) != 1 || blank[0].ID != daemon.BlankTemplate || blank[0].Name != "Blank" {
		t.Errorf("templates: %+v", blank)
	}
	if err := d.RemoveTemplate(t.Context(), daemon.BlankTemplate); !conflict(err) {
		t.Errorf("removing Blank: %v", err)
	}
	m := add(t, d, daemon.Machine{Template: daemon.BlankTemplate, Documents: plain("empty", "")})
	if placed, _, err := d.Placed(t.Context(), m.ID); err != nil || len(placed.Network.NICs)+len(placed.Disks) != 0 {
		t.Errorf("a VM of Blank: %+v, %v", placed, err)
	}
	var l diag.List
	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{}); !errors.As(err, &l) || l[0].Code != daemon.CodeNothingToBoot {
		t.Errorf("starting it: %v", err)
	}
}

func TestNamesAndIDs(t *testing.T) {
	d := daemontest.New(t)
	m := add(t, d, daemon.Machine{Documents: plain("web", "  network: {nics: [{name: a}, {name: b}]}\n")})
	for what, bad := range map[string]daemon.Machine{
		"the same name": {Documents: plain("web", "")}, "another case": {Documents: plain("x", ""), Name: "WEB"},
		"the same id": {Documents: plain("x", ""), ID: strings.ToUpper(m.ID)},
	} {
		if _, err := d.Add(t.Context(), bad); !conflict(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var l diag.List
	for what, bad := range map[string]daemon.Machine{
		"slash": {Documents: plain("x", ""), Name: "a/b"}, "no UUID": {Documents: plain("x", ""), ID: "../../x"}, "Blank's": {Documents: plain("x", ""), ID: daemon.BlankTemplate},
		"namespace": {Documents: plain("x", ""), Namespace: "../x"}, "long": {Documents: plain("x", ""), Name: strings.Repeat("x", 201)},
		"two machines": {Documents: append(plain("x", ""), plain("y", "")...)}, "none": {}, "nonsense": {Documents: []daemon.Document{{Name: "x", Text: secret.New("a: [")}}},
	} {
		if _, err := d.Add(t.Context(), bad); !errors.As(err, &l) {
			t.Errorf("%s: %v", what, err)
		}
	}
	before, _, _ := d.Placed(t.Context(), m.ID)
	if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error { m.Name = "Web"; return nil }); err != nil {
		t.Errorf("a change of case: %v", err)
	}
	if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error { m.Name = "other"; return nil }); err != nil {
		t.Fatal(err)
	}
	after, _, _ := d.Placed(t.Context(), m.ID)
	if after.Name != "other" || after.Identity.InstanceID != before.Identity.InstanceID {
		t.Errorf("%+v", after.Identity)
	}
	for i, n := range after.Network.NICs {
		if n.MAC == "" || n.MAC != before.Network.NICs[i].MAC {
			t.Errorf("NIC %s: %s, before %s", n.Name, n.MAC, before.Network.NICs[i].MAC)
		}
	}
	if _, err := d.FindByName("", "web"); err == nil {
		t.Error("the old name leads to it")
	}
	if x, err := d.FindByName("default", "OTHER"); err != nil || x.ID != m.ID {
		t.Errorf("the new name: %v", err)
	}
	add(t, d, daemon.Machine{Documents: plain("web", "")}) // the old name is free
	if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error { m.Name = "web"; return nil }); !conflict(err) {
		t.Errorf("a taken name: %v", err)
	}
	if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error { m.Documents = nil; return nil }); !errors.As(err, &l) {
		t.Errorf("no documents: %v", err)
	}
	if again, _ := d.Get(m.ID); again.Name != "other" || len(again.Documents) != 1 {
		t.Errorf("changed by a refused update: %+v", again)
	}
}

//go:build conformance

package vmseed_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	frontends "github.com/vmseed/vmseed/frontend/all"
	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/internal/judge"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// eachSource runs a test for every release and data source, with ISO images.
func eachSource(t *testing.T, run func(t *testing.T, r *judge.Release, source string)) {
	each(t, func(t *testing.T, r *judge.Release, source, format string) {
		if format == "iso" {
			run(t, r, source)
		}
	})
}

// loadExample loads the machine of files in a directory below examples, placed by a CNI result if one is named.
func loadExample(t *testing.T, dir, cni string, files ...string) machine.Machine {
	t.Helper()
	e := engine()
	e.Frontends = frontends.Frontends()
	var inputs []vmseed.Input
	read := func(name string) vmseed.Input {
		data, err := os.ReadFile("examples/" + dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return vmseed.Input{File: name, Data: data}
	}
	for _, name := range files {
		inputs = append(inputs, read(name))
	}
	machines, l := e.Load(t.Context(), inputs, vmseed.LoadOptions{})
	if l.HasErrors() || len(machines) != 1 {
		t.Fatalf("%d machines, %v", len(machines), l.Err())
	}
	var facts machine.Facts
	if cni != "" {
		if facts, l = cniresult.Read(cni, read(cni).Data); l.HasErrors() {
			t.Fatal(l.Err())
		}
	}
	m, l := e.Place(machines[0], facts)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// arrived demands that every file of a machine is in the guest as it should be, and that its boot was without problems.
func arrived(t *testing.T, m machine.Machine, instance, host string, b judge.BootResult) {
	t.Helper()
	if b.Err != "" || b.Consumed == nil {
		t.Fatalf("no data source: %q", b.Err)
	}
	if b.InstanceID != instance || b.Hostname != host {
		t.Errorf("instance %q on host %q, want %q on %q", b.InstanceID, b.Hostname, instance, host)
	}
	if !slices.Equal(b.PublicKeys, m.SSH.AuthorizedKeys) {
		t.Errorf("keys %q, want %q", b.PublicKeys, m.SSH.AuthorizedKeys)
	}
	for _, f := range m.Files {
		if got, ok := b.Consumed.Files[f.Path]; !ok || string(got.Content) != f.Content.Reveal() {
			t.Errorf("%s is not in the guest, or is something else", f.Path)
		}
	}
	if b.NetworkError != "" || b.MissingNICs != "" {
		t.Errorf("network: %s %s", b.NetworkError, b.MissingNICs)
	}
}

// TestVirtletPod boots the pod of the specification with its objects.
func TestVirtletPod(t *testing.T) {
	m := loadExample(t, "virtlet", "", "pod.yaml", "objects.yaml")
	eachSource(t, func(t *testing.T, r *judge.Release, source string) {
		b := boot(t, r, m, source, "iso", datasource.Options{})
		arrived(t, m, "foobar", "ubuntu-vm", b) // the id is that of its annotation for meta-data
		if n := len(b.Consumed.Config.Get("mounts").Items); n < len(m.Mounts) {
			t.Errorf("%d mounts of %d: %s", n, len(m.Mounts), b.Consumed.Config.Get("mounts").JSON())
		}
	})
}

// TestVirtletNetwork boots the extended pod with the network that CNI plugins made, and looks at what the guest would
// write for its network service.
func TestVirtletNetwork(t *testing.T) {
	m := loadExample(t, "virtlet", "cni-result.json", "extended-pod.yaml", "extended-objects.yaml", "extended-keys.yaml")
	eachSource(t, func(t *testing.T, r *judge.Release, source string) {
		req := request(t, m, source, "iso", datasource.Options{})
		req.Render = []judge.Renderer{"netplan", "eni"}
		b := r.Boot(t, req)
		arrived(t, m, "app-0.lab", "app-0-vm", b) // the name is that of its annotation for meta-data
		if b.NetworkSource != "ds" {
			t.Errorf("network from %q", b.NetworkSource)
		}
		for renderer, patterns := range map[judge.Renderer][]string{
			"netplan": {`10\.244\.3\.11/24`, `fd00:10:244:3::11/64`, `(via|gateway4): 10\.244\.3\.1\b`, `(via|gateway6): fd00:10:244:3::1\b`,
				`10\.96\.0\.0/12`, `- 10\.244\.3\.1\b`, `default\.svc\.cluster\.local`},
			"eni": {`address 10\.244\.3\.11/24`, `address fd00:10:244:3::11/64`, `(gateway|default gw) 10\.244\.3\.1\b`,
				`(gateway|default gw) fd00:10:244:3::1\b`, `10\.96\.0\.0/12`, `dns-nameservers 10\.244\.3\.1\b`, `dns-search default\.svc`},
		} {
			got := b.Rendered[renderer]
			text := strings.Join(slices.Sorted(maps.Values(got.Files)), "\n")
			if got.Err != "" || got.MissingNICs != "" {
				t.Errorf("%s: %s %s", renderer, got.Err, got.MissingNICs)
			}
			for _, p := range patterns {
				if !regexp.MustCompile(p).MatchString(text) {
					t.Errorf("%s has nothing like %s:\n%s", renderer, p, text)
				}
			}
		}
	})
}

// TestInjectedFiles sends files beside a script that is passed as it is: on a config drive cloud-init writes them.
func TestInjectedFiles(t *testing.T) {
	m := machine.Machine{Name: "vm", Identity: machine.Identity{InstanceID: "i", Hostname: "host"}, UserData: machine.UserData{Raw: true, Layers: []machine.Layer{{Data: secret.New("#!/bin/sh\necho user\n")}}},
		Files: []machine.File{{Path: "/etc/one", Content: secret.New("\x00one\xff")}, {Path: "/etc/two", Content: secret.New("two\n"), Mode: 0o400}}}
	eachSource(t, func(t *testing.T, r *judge.Release, source string) {
		if source != "configdrive" {
			return
		}
		b := boot(t, r, m, source, "iso", datasource.Options{})
		arrived(t, m, "i", "host", b)
		for _, f := range m.Files {
			if got := b.Consumed.Files[f.Path]; got.Mode != "0660" {
				t.Errorf("%s has mode %s; the diagnostic says 0660", f.Path, got.Mode)
			}
		}
		if string(b.UserData) != m.UserData.Layers[0].Data.Reveal() {
			t.Errorf("user-data %q", b.UserData)
		}
	})
}

// TestVendorDataBesideOthers puts the author's vendor-data beside the part that a hypervisor adds.
func TestVendorDataBesideOthers(t *testing.T) {
	m := machine.Machine{Name: "vm", VendorData: []machine.Layer{{Data: secret.New("#cloud-config\nlocale: C.UTF-8\nruncmd: [own]\n")}}}
	o := datasource.Options{Extra: []machine.Layer{
		{Data: secret.New("#cloud-config\nmerge_how: list(append)+dict(recurse_array)+str()\ntimezone: Asia/Tokyo\nruncmd: [extra]\n")},
		{Data: secret.New("#!/bin/sh\necho extra\n")}}}
	eachSource(t, func(t *testing.T, r *judge.Release, source string) {
		b := boot(t, r, m, source, "iso", o)
		if b.Err != "" || b.Consumed == nil {
			t.Fatalf("no data source: %q", b.Err)
		}
		v := b.Consumed.Vendor
		if v.Get("locale").Text != "C.UTF-8" || v.Get("timezone").Text != "Asia/Tokyo" || len(v.Get("runcmd").Items) != 2 {
			t.Errorf("vendor-data %s", v.JSON())
		}
		found := false
		for path, f := range b.Consumed.Files {
			found = found || strings.Contains(path, "vendor") && strings.Contains(string(f.Content), "echo extra")
		}
		if !found {
			t.Errorf("the script is not among %v", slices.Sorted(maps.Keys(b.Consumed.Files)))
		}
	})
}

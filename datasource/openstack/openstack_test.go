package openstack

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/configdrive"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func TestConformance(t *testing.T) {
	datasourcetest.Run(t, datasourcetest.Config{DataSource: New()})
}

func render(t *testing.T, m machine.Machine) (seed.Seed, diag.List) {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	s, l := New().Render(m, datasource.Options{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return s, l
}

func blob(s seed.Seed, path string) (seed.Blob, bool) {
	i := slices.IndexFunc(s.Trees[0].Blobs, func(b seed.Blob) bool { return b.Path == path })
	if i < 0 {
		return seed.Blob{}, false
	}
	return s.Trees[0].Blobs[i], true
}

func metaData(t *testing.T, s seed.Seed) (out map[string]any) {
	t.Helper()
	b, _ := blob(s, "meta_data.json")
	if err := json.Unmarshal([]byte(b.Content.Reveal()), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTree holds what the service answers for a machine that says nothing, and what is there besides when it speaks.
func TestTree(t *testing.T) {
	s, _ := render(t, machine.Machine{})
	var names []string
	for _, b := range s.Trees[0].Blobs {
		names = append(names, b.Path)
	}
	if want := []string{"meta_data.json", "user_data", "vendor_data.json", "vendor_data2.json"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	tree, small := s.Trees[0], s.Trees[1]
	if tree.Name != "openstack" || tree.Roots[0] != "openstack/latest" || !slices.IsSorted(tree.Roots[1:]) || tree.Tokens != seed.NoTokens {
		t.Errorf("tree %s below %v, tokens %q", tree.Name, tree.Roots, tree.Tokens)
	}
	if small.Name != "ec2" || small.Roots[0] != "latest" || small.Tokens == seed.TokensRequired {
		t.Errorf("tree %s below %v, tokens %q", small.Name, small.Roots, small.Tokens)
	}
	if len(s.Firmware.SMBIOS) != 1 || s.Firmware.SMBIOS[0] != (seed.SMBIOS{Type: 1, Field: "product", Value: "OpenStack Nova"}) || s.Seal {
		t.Errorf("firmware %v, sealed %v", s.Firmware.SMBIOS, s.Seal)
	}
	meta := metaData(t, s)
	if meta["name"] != "vm" || meta["project_id"] != "default" || meta["uuid"] != s.Identity.InstanceID || meta["uuid"] != s.Identity.UUID {
		t.Errorf("meta-data %v of %+v", meta, s.Identity)
	}

	s, _ = render(t, machine.Machine{Network: machine.Network{NICs: []machine.NIC{{DHCP4: true}}, Format: "eni"}, RunCmd: []machine.Command{{Shell: "true"}},
		VendorData: []machine.Layer{{Data: secret.New("#cloud-config\n{}\n")}}, MetadataOptions: machine.MetadataOptions{Seal: true}})
	if net, ok := blob(s, "network_data.json"); !ok || !strings.Contains(net.Content.Reveal(), "ipv4_dhcp") {
		t.Errorf("network_data.json is %q", net.Content.Reveal())
	}
	if _, eni := metaData(t, s)["network_config"]; eni {
		t.Error("the meta-data name a file of content, which is not served")
	}
	for path, sealable := range map[string]bool{"meta_data.json": false, "network_data.json": false, "user_data": true, "vendor_data.json": true, "vendor_data2.json": false} {
		if b, ok := blob(s, path); !ok || b.Sealable != sealable || b.Content.IsZero() {
			t.Errorf("%s is there: %v, sealable: %v", path, ok, b.Sealable)
		}
	}
	if !s.Seal {
		t.Error("the seed is not sealed")
	}
}

// TestSameAsDrive compares the documents with those of a config drive. They differ where no guest fetches a file that the
// meta-data name.
func TestSameAsDrive(t *testing.T) {
	m := machinetest.Generated()
	m.Network.NICs = m.Network.NICs[:1]
	m.Network.Format = ""
	served, _ := render(t, m)
	placed, _ := machine.Place(m, machine.Facts{})
	drive, _ := configdrive.New().Render(placed, datasource.Options{})
	if served.Identity != drive.Identity {
		t.Errorf("identity %+v, that of the drive %+v", served.Identity, drive.Identity)
	}
	for _, f := range drive.Volumes[0].Files {
		name, ok := strings.CutPrefix(f.Path, "openstack/latest/")
		if !ok {
			t.Errorf("%s has no place in the tree", f.Path)
			continue
		}
		b, ok := blob(served, name)
		if !ok || name != "meta_data.json" && !b.Content.Equal(f.Content) {
			t.Errorf("%s differs, or is not there: %v", name, ok)
		}
	}
	var theirs map[string]any
	text, _ := drive.Volumes[0].File("openstack/latest/meta_data.json")
	if err := json.Unmarshal([]byte(text.Reveal()), &theirs); err != nil {
		t.Fatal(err)
	}
	for k, v := range metaData(t, served) {
		if was, ok := theirs[k]; (k == "name" || k == "project_id") == ok || ok && !equal(was, v) {
			t.Errorf("%s is %v, on the drive %v", k, v, was)
		}
		delete(theirs, k)
	}
	if len(theirs) > 0 {
		t.Errorf("the meta-data lack %v", theirs)
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// TestFiles puts injected files where guests that fetch their documents find them, and says so where they cannot be.
func TestFiles(t *testing.T) {
	files := []machine.File{{Path: "/etc/canary", Content: secret.New("canary")}}
	s, _ := render(t, machine.Machine{Files: files})
	if user, _ := blob(s, "user_data"); !strings.Contains(user.Content.Reveal(), "/etc/canary") || metaData(t, s)["files"] != nil {
		t.Errorf("user-data:\n%s", user.Content.Reveal())
	}
	_, l := render(t, machine.Machine{Files: files, UserData: machine.UserData{Raw: true, Layers: []machine.Layer{{Data: secret.New("#!/bin/sh\n")}}}})
	if !slices.ContainsFunc(l, func(d diag.Diagnostic) bool {
		return strings.HasPrefix(d.Field, "files[0]") && d.Severity == diag.Warning
	}) {
		t.Errorf("the files are lost, and nobody is told: %v", l)
	}
}

// TestSaid tells what the service cannot withdraw, and of a first boot that the guest may not notice.
func TestSaid(t *testing.T) {
	said := func(m machine.Machine, code diag.Code) bool {
		_, l := render(t, m)
		return slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == code })
	}
	password, seal := secret.New("p"), machine.MetadataOptions{Seal: true}
	for name, x := range map[string]struct {
		m    machine.Machine
		code diag.Code
		want bool
	}{
		"sealed":              {machine.Machine{AdminPassword: password, MetadataOptions: seal}, CodeSealed, true},
		"not sealed":          {machine.Machine{AdminPassword: password}, CodeSealed, false},
		"no password":         {machine.Machine{MetadataOptions: seal}, CodeSealed, false},
		"revision":            {machine.Machine{Identity: machine.Identity{Revision: 1}}, CodeRevision, true},
		"no revision":         {machine.Machine{}, CodeRevision, false},
		"revision of another": {machine.Machine{Identity: machine.Identity{Revision: 1, InstanceID: "i-1"}}, CodeRevision, false},
		"Ignition": {machine.Machine{Identity: machine.Identity{Revision: 1}, UserData: machine.UserData{Layers: []machine.Layer{
			{Data: secret.New(`{"ignition": {"version": "3.0.0"}}`)}}}}, CodeRevision, false},
	} {
		if got := said(x.m, x.code); got != x.want {
			t.Errorf("%s: said %v", name, got)
		}
	}
}

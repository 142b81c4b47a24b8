package dir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// served is a seed of two trees, as guests of OpenStack have it.
func served() seed.Seed {
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: "vm"}, DataSource: "openstack",
		Trees: []seed.Tree{
			{Name: "openstack", Roots: []string{"openstack/latest", "openstack/2018-08-27"}, Blobs: []seed.Blob{
				{Path: "meta_data.json", Content: secret.New(`{"uuid":"i"}`)}, {Path: "user_data", Content: secret.New("u")}}},
			{Name: "ec2", Roots: []string{"latest", "1.0"}, Blobs: []seed.Blob{{Path: "meta-data/instance-id", Content: secret.New("i")},
				{Path: "meta-data/public-keys/", Content: secret.New("0=key")}, {Path: "meta-data/public-keys/0/openssh-key", Content: secret.New("k")}}}},
		Firmware:   seed.Firmware{SMBIOS: []seed.SMBIOS{{Type: 1, Field: "serial", Value: "s={{base}}x/"}}},
		KernelArgs: []string{"url={{base}}y"}}
}

// TestTrees writes the root of a web server and reads it back. What needs no file is attached, with the URL if there is one.
func TestTrees(t *testing.T) {
	for base, want := range map[string][]string{"": {"s={{base}}x/", "url={{base}}y"}, "http://192.0.2.1/": {"s=http://192.0.2.1/x/", "url=http://192.0.2.1/y"}} {
		dir := filepath.Join(t.TempDir(), "out")
		r, err := New().Deliver(t.Context(), served(), delivery.Target{Path: dir, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{"openstack/latest/meta_data.json": `{"uuid":"i"}`, "openstack/latest/user_data": "u",
			"latest/meta-data/instance-id": "i", "latest/meta-data/public-keys/0/openssh-key": "k"} {
			if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != text {
				t.Errorf("%s is %q, %v", path, got, err)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "1.0")); err == nil {
			t.Error("the same tree is written more than once")
		}
		var got []string
		for _, a := range r.Attachments {
			got = append(got, a.Value)
		}
		if !slices.Equal(got, want) {
			t.Errorf("attachments %v, want %v", got, want)
		}
		back, err := New().Open(dir)
		if err != nil || back.DataSource != "openstack" || len(back.Trees) != 2 || len(back.Volumes) > 0 || len(back.Trees[1].Blobs) != 2 {
			t.Errorf("read back: %+v, %v", back, err)
		}
		if err := New().Remove(t.Context(), r); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Error("the directory is left over")
		}
	}
}

// TestTreeBesides writes what travels beside a tree, and refuses what is no file.
func TestTreeBesides(t *testing.T) {
	config := secret.New(`{"ignition": {"version": "3.0.0"}}`)
	s := served()
	s.Firmware.FwCfg = []seed.FwCfg{{Name: seed.IgnitionItem, Content: config}}
	s.Volumes = []seed.Volume{{Name: "extra", Files: []seed.File{{Path: "x", Content: config}}}}
	dir := filepath.Join(t.TempDir(), "out")
	if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"config.ign", "latest/meta-data/instance-id", "../ns_vm.extra/x"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	if back, err := New().Open(dir); err != nil || len(back.Trees) != 2 || len(back.Firmware.FwCfg) != 1 {
		t.Errorf("read back: %+v, %v", back, err)
	}
	for name, change := range map[string]func(*seed.Seed){
		"volume": func(s *seed.Seed) {
			s.Volumes = []seed.Volume{{Label: "cidata", Files: []seed.File{{Path: "meta-data"}}}}
		},
		"credentials": func(s *seed.Seed) { s.Firmware.Credentials = []seed.Credential{{Name: "c"}} },
		"item":        func(s *seed.Seed) { s.Firmware.FwCfg = []seed.FwCfg{{Name: "opt/x", Content: config}} },
	} {
		s := served()
		change(&s)
		dir := filepath.Join(t.TempDir(), "out")
		if _, err := New().Deliver(t.Context(), s, delivery.Target{Path: dir}); !errors.Is(err, delivery.ErrPart) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s: the directory is left over", name)
		}
	}
}

package vmseed_test

import (
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestNoDataSource renders machines that are told by media of their own: there is no seed beside these, and what only a
// seed could say is a warning.
func TestNoDataSource(t *testing.T) {
	e := converter()
	file := []machine.File{{Path: "/Unattend.xml", Content: secret.New("<unattend/>")}}
	m := machine.Machine{Name: "desk", DataSource: machine.NoDataSource, Guest: machine.Guest{OS: "windows"}, Identity: machine.Identity{Hostname: "desk"},
		Network: machine.Network{NICs: []machine.NIC{{Name: "nic1", MAC: "56:6f:1a:2b:00:01", Model: "e1000e"}}},
		Media:   []machine.Media{{Name: "sysprep", Kind: "sysprep", Label: "UNATTEND", Bus: "sata", Files: file}, {Name: "more", Kind: "payload", Files: file}}}
	s, l := e.Render(m, vmseed.RenderOptions{})
	if len(l) != 0 || s.DataSource != "" || len(s.Volumes) != 2 || s.Volumes[0].Name != "" || s.Volumes[0].Label != "UNATTEND" || s.Volumes[0].Bus != "sata" || s.Volumes[1].Name != "more" {
		t.Errorf("%+v, %v", s, l)
	}
	m.Packages.Install = []string{"git"}
	if _, l := e.Render(m, vmseed.RenderOptions{}); len(l) != 1 || l[0].Code != vmseed.CodeNotExpressed || l.HasErrors() {
		t.Errorf("packages that nobody installs: %v", l)
	}
	if s, _ := e.Render(machine.Machine{Name: "vm", DataSource: machine.NoDataSource}, vmseed.RenderOptions{}); len(s.Volumes) != 0 || s.Machine.Name != "vm" {
		t.Errorf("%+v", s)
	}
	if s, _ := e.Render(m, vmseed.RenderOptions{DataSource: "nocloud"}); s.DataSource != "nocloud" || len(s.Volumes) != 3 {
		t.Errorf("a user who names a data source gets it: %+v", s)
	}
}

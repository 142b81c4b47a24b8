package vmseed_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/datasource"
	datasources "github.com/vmseed/vmseed/datasource/all"
	"github.com/vmseed/vmseed/datasource/nocloud"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// TestIgnitionBeside renders a machine that has an Ignition config and user-data for cloud-init, as a KubeVirt VM with the
// annotation and a cloud-init volume has: each travels by its own way, and neither is lost.
func TestIgnitionBeside(t *testing.T) {
	config := `{"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": "core"}]}}`
	m := machine.Machine{Name: "vm", DataSource: "nocloud", Files: []machine.File{{Path: "/etc/x", Content: secret.New("x")}},
		UserData: machine.UserData{Layers: []machine.Layer{{Data: secret.New("#cloud-config\n{}\n")}}},
		Ignition: []machine.Layer{{Data: secret.New(config)}}}
	all := &vmseed.Engine{DataSources: datasources.DataSources()}
	for _, c := range []struct {
		name, source, platform, item string
		engine                       *vmseed.Engine
		volumes                      int
		lost                         bool
	}{
		{"cloud-init's volume", "nocloud", "", "opt/com.coreos/config", all, 1, false},
		{"platform that reads a volume", "configdrive", "kubevirt", "opt/com.coreos/config", all, 1, false},
		{"Flatcar", "nocloud", "flatcar", "opt/org.flatcar-linux/config", all, 1, false},
		{"Ignition alone", "ignition", "", "opt/com.coreos/config", all, 0, false},
		{"no such plug-in", "nocloud", "", "", &vmseed.Engine{DataSources: []datasource.DataSource{nocloud.New()}}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m.DataSource, m.Guest.IgnitionPlatform = c.source, c.platform
			s, l := c.engine.Render(m, vmseed.RenderOptions{})
			if l.HasErrors() || len(s.Volumes) != c.volumes {
				t.Fatalf("%d volumes, %v", len(s.Volumes), l)
			}
			lost, elsewhere := false, false
			for _, d := range l {
				elsewhere = elsewhere || d.Code == vmseed.CodeOtherPlatform
				lost = lost || d.Code == vmseed.CodeNotExpressed && strings.HasPrefix(d.Field, "ignition") && d.Severity == diag.Warning
			}
			if lost != c.lost {
				t.Errorf("lost %v, want %v: %v", lost, c.lost, l)
			}
			if elsewhere != (c.platform == "kubevirt") {
				t.Errorf("said to travel elsewhere: %v: %v", elsewhere, l)
			}
			if c.item == "" {
				if len(s.Firmware.FwCfg) > 0 {
					t.Errorf("firmware without a data source for it: %v", s.Firmware.FwCfg)
				}
				return
			}
			if len(s.Firmware.FwCfg) != 1 || s.Firmware.FwCfg[0].Name != c.item || len(s.KernelArgs) == 0 {
				t.Fatalf("%+v %v", s.Firmware.FwCfg, s.KernelArgs)
			}
			if got := s.Firmware.FwCfg[0].Content.Reveal(); c.source != "ignition" && got != config {
				t.Errorf("the config became %s", got)
			}
		})
	}
}

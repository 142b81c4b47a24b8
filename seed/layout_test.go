package seed

import (
	"testing"

	"github.com/vmseed/vmseed/secret"
)

func TestIgnitionVersion(t *testing.T) {
	for text, want := range map[string]string{
		`{"ignition": {"version": "3.4.0"}}`:          "3.4.0",
		" \n\t{\"ignition\":{\"version\":\"2.2.0\"}}": "2.2.0",
		`{"ignition": {"version": 3}}`:                "",
		`{"ignition": {}}`:                            "",
		`{"ignition": {"version": "3.4.0"}`:           "",
		`{"ignition": {"version": "3.4.0"}} more`:     "",
		`["ignition"]`:                                "",
		"#cloud-config\nignition: {version: 3.4.0}":   "",
		"variant: fcos\nversion: 1.5.0\n":             "",
		"":                                            "",
	} {
		if got := IgnitionVersion(secret.New(text)); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestIgnition finds the config of a seed in its firmware before that in its volume, and in no further medium.
func TestIgnition(t *testing.T) {
	config := func(version string) secret.Text { return secret.New(`{"ignition": {"version": "` + version + `"}}`) }
	volume := func(name, path, version string) Volume {
		return Volume{Name: name, Files: []File{{Path: "meta-data"}, {Path: path, Content: config(version)}}}
	}
	for name, tt := range map[string]struct {
		seed       Seed
		want, item string
	}{
		"nothing":       {Seed{}, "", ""},
		"qemu":          {Seed{Firmware: Firmware{FwCfg: []FwCfg{{Name: "opt/x", Content: config("3.1.0")}, {Name: IgnitionItem, Content: config("3.2.0")}}}}, "3.2.0", IgnitionItem},
		"flatcar":       {Seed{Firmware: Firmware{FwCfg: []FwCfg{{Name: FlatcarItem, Content: config("3.2.0")}}}}, "3.2.0", FlatcarItem},
		"another item":  {Seed{Firmware: Firmware{FwCfg: []FwCfg{{Name: "opt/x", Content: config("3.2.0")}}}}, "", ""},
		"a file":        {Seed{Firmware: Firmware{FwCfg: []FwCfg{{Content: config("3.2.0")}}}}, "3.2.0", ""},
		"config drive":  {Seed{Volumes: []Volume{volume("", "openstack/latest/user_data", "3.3.0")}}, "3.3.0", ""},
		"cidata":        {Seed{Volumes: []Volume{volume("", "user-data", "3.3.0")}}, "3.3.0", ""},
		"another file":  {Seed{Volumes: []Volume{volume("", "vendor-data", "3.3.0")}}, "", ""},
		"further media": {Seed{Volumes: []Volume{volume("extra", "user-data", "3.3.0")}}, "", ""},
		"both":          {Seed{Volumes: []Volume{volume("", "user-data", "3.3.0")}, Firmware: Firmware{FwCfg: []FwCfg{{Name: IgnitionItem, Content: config("3.2.0")}}}}, "3.2.0", IgnitionItem},
	} {
		got, item, ok := tt.seed.Ignition()
		if IgnitionVersion(got) != tt.want || item != tt.item || ok != (tt.want != "") {
			t.Errorf("%s: version %q of item %q, %t", name, IgnitionVersion(got), item, ok)
		}
	}
}

func TestLayout(t *testing.T) {
	for path, want := range map[string]string{"openstack/latest/meta_data.json": "configdrive", "meta-data": "nocloud", "user-data": "nocloud", "config.ign": "", "x": ""} {
		if got := Layout(Volume{Files: []File{{Path: path}}}); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

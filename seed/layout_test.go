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
		"openstack":     {Seed{Trees: []Tree{{Name: "openstack", Blobs: []Blob{{Path: "user_data", Content: config("3.3.0")}}}}}, "3.3.0", ""},
		"by URL":        {Seed{Trees: []Tree{{Name: "ignition", Blobs: []Blob{{Path: "config.ign", Content: config("3.3.0")}}}}}, "3.3.0", ""},
		"another blob":  {Seed{Trees: []Tree{{Name: "ec2", Blobs: []Blob{{Path: "meta-data/x", Content: config("3.3.0")}}}}}, "", ""},
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

// TestServed tells the directory of a web server from that of a volume.
func TestServed(t *testing.T) {
	for name, x := range map[string]struct {
		files      []string
		trees      string
		dataSource string
	}{
		"nothing":      {nil, "", ""},
		"volume":       {[]string{"meta-data", "user-data", "nocloud/meta-data"}, "", ""},
		"config drive": {[]string{"openstack/latest/meta_data.json", "openstack/latest/user_data", "ec2/latest/meta-data.json"}, "", ""},
		"openstack": {[]string{"latest/meta-data/instance-id", "openstack/latest/meta_data.json", "openstack/content/0000"},
			"openstack openstack/latest meta_data.json; ec2 latest meta-data/instance-id; ", "openstack"},
		"ec2":      {[]string{"latest/meta-data/instance-id", "latest/user-data", "config.ign"}, "ec2 latest meta-data/instance-id user-data; ", "ec2"},
		"nocloud":  {[]string{"nocloud/meta-data", "nocloud/user-data"}, "nocloud nocloud meta-data user-data; ", "nocloud"},
		"ignition": {[]string{"ignition/config.ign"}, "ignition ignition config.ign; ", "ignition"},
	} {
		var v Volume
		for _, path := range x.files {
			v.Files = append(v.Files, File{Path: path, Content: secret.New(path)})
		}
		trees, dataSource := Served(v)
		got := ""
		for _, tree := range trees {
			got += tree.Name + " " + tree.Roots[0]
			for _, b := range tree.Blobs {
				got += " " + b.Path
				if b.Content.Reveal() != tree.Place(b) {
					t.Errorf("%s: %s has the content of %s", name, tree.Place(b), b.Content.Reveal())
				}
			}
			got += "; "
		}
		if got != x.trees || dataSource != x.dataSource {
			t.Errorf("%s: %q for %q, want %q for %q", name, got, dataSource, x.trees, x.dataSource)
		}
	}
	if got := (Tree{Roots: []string{""}}).Place(Blob{Path: "x"}); got != "x" {
		t.Errorf("below the server's own root: %q", got)
	}
}

package ignition

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/datasourcetest"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestConformanceHTTP tries the fields that the documents beside the config may hold. Other platforms read the config alone,
// which TestHTTP shows to be the same.
func TestConformanceHTTP(t *testing.T) {
	datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{HTTP: true, IgnitionPlatform: "openstack"},
		Only: machine.NewFieldSet("identity", "metaData", "adminPassword", "dsmode", "metadataOptions")})
}

// TestHTTP renders the same config for every platform: where a service of its own is asked, or behind a kernel argument.
func TestHTTP(t *testing.T) {
	m := placed(t, machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "web"}, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}},
		Files: []machine.File{{Path: "/etc/canary", Content: secret.New("canary")}}, MetadataOptions: machine.MetadataOptions{Seal: true}})
	drive, _ := New().Render(m, datasource.Options{})
	want, _, _ := drive.Ignition()
	for _, platform := range Platforms() {
		s, l := New().Render(m, datasource.Options{HTTP: true, IgnitionPlatform: platform})
		if l.HasErrors() || len(s.Volumes)+len(s.Firmware.FwCfg) > 0 || !s.Seal || s.DataSource != "ignition" || s.Identity.Hostname != "web" {
			t.Fatalf("%s: %v, seed %+v", platform, l, s)
		}
		path, root := "config.ign", "ignition"
		if platform == "openstack" {
			path, root = "user_data", "openstack/latest"
		}
		at := slices.IndexFunc(s.Trees[0].Blobs, func(b seed.Blob) bool { return b.Path == path })
		if at < 0 || s.Trees[0].Roots[0] != root {
			t.Fatalf("%s: the tree has no %s/%s", platform, root, path)
		}
		if b := s.Trees[0].Blobs[at]; !b.Sealable || platform != "flatcar" && !b.Content.Equal(want) {
			t.Errorf("%s: sealable %v, config\n%s\nwant\n%s", platform, b.Sealable, b.Content.Reveal(), want.Reveal())
		}
		args := strings.Join(s.KernelArgs, " ")
		said := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeKernel })
		if platform == "openstack" {
			if args != "ignition.firstboot ignition.platform.id=openstack" || said || len(s.Trees) != 2 || len(s.Firmware.SMBIOS) != 1 {
				t.Errorf("%s: arguments %q, said %v, %d trees, firmware %v", platform, args, said, len(s.Trees), s.Firmware.SMBIOS)
			}
			continue
		}
		wanted := "ignition.firstboot ignition.platform.id=metal ignition.config.url={{base}}ignition/config.ign rd.neednet=1 ip=dhcp"
		if platform == "flatcar" {
			wanted = "flatcar.first_boot=1 " + wanted
		}
		if args != wanted || !said || len(s.Trees) != 1 || len(s.Firmware.SMBIOS) > 0 {
			t.Errorf("%s: arguments %q, want %q; said %v", platform, args, wanted, said)
		}
	}
}

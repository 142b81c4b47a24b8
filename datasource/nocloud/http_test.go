package nocloud

import (
	"net/netip"
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

func TestConformanceHTTP(t *testing.T) {
	datasourcetest.Run(t, datasourcetest.Config{DataSource: New(), Options: datasource.Options{HTTP: true}})
}

func render(t *testing.T, m machine.Machine, o datasource.Options) (seed.Seed, diag.List) {
	t.Helper()
	m.Name = "vm"
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	s, l := New().Render(m, o)
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return s, l
}

// TestHTTP has the contents of the volume in a tree, with all four files, and the way to it in the firmware.
func TestHTTP(t *testing.T) {
	nic := []machine.NIC{{DHCP4: true, Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}}
	for name, m := range map[string]machine.Machine{
		"bare": {},
		"all": {Identity: machine.Identity{Hostname: "web"}, RunCmd: []machine.Command{{Shell: "true"}}, Network: machine.Network{NICs: nic},
			VendorData: []machine.Layer{{Data: secret.New("#cloud-config\nntp: {enabled: true}\n")}}, MetadataOptions: machine.MetadataOptions{Seal: true}},
	} {
		drive, _ := render(t, m, datasource.Options{})
		s, _ := render(t, m, datasource.Options{HTTP: true})
		if len(s.Volumes) > 0 || len(s.Trees) != 1 || !slices.Equal(s.Trees[0].Roots, []string{"nocloud"}) || s.Trees[0].Tokens != seed.NoTokens {
			t.Fatalf("%s: %d volumes, trees %v", name, len(s.Volumes), s.Trees)
		}
		if s.Identity != drive.Identity || s.Seal != m.MetadataOptions.Seal {
			t.Errorf("%s: %+v, sealed %v", name, s.Identity, s.Seal)
		}
		var names []string
		for _, b := range s.Trees[0].Blobs {
			names = append(names, b.Path)
			want, _ := drive.Volumes[0].File(b.Path)
			if !b.Content.Equal(want) {
				t.Errorf("%s: %s differs from that of the volume", name, b.Path)
			}
			if b.Sealable != (b.Path == "user-data" || b.Path == "vendor-data") {
				t.Errorf("%s: %s is sealable: %v", name, b.Path, b.Sealable)
			}
		}
		if !slices.Equal(names, []string{"meta-data", "user-data", "vendor-data", "network-config"}) {
			t.Errorf("%s: files %v", name, names)
		}
	}
}

// TestServed says which releases read what over HTTP.
func TestServed(t *testing.T) {
	static := machine.Network{NICs: []machine.NIC{{Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}}}
	dhcp := machine.Network{NICs: []machine.NIC{{DHCP4: true}}}
	for _, x := range []struct {
		guest, mode string
		network     machine.Network
		line        string
		want        []string
	}{
		{"", "", machine.Network{}, "net", nil},
		{"", "", dhcp, "net", nil},
		{"", "net", static, "net", []string{"VS4421 note"}},
		{"", "", machine.Network{NICs: append(slices.Clone(dhcp.NICs), dhcp.NICs...)}, "net", []string{"VS4421 note"}},
		{"", "", machine.Network{Mode: "disabled"}, "net", []string{"VS4421 note"}},
		{"ignition=3.3", "", static, "net", []string{"VS4421 note"}},
		{"debian-12", "", static, "net", []string{"VS4421 warning"}},
		{"debian-12", "", dhcp, "net", nil},
		{"debian-13", "", static, "net", nil},
		{"cloud-init=24.2", "", static, "net", []string{"VS4421 warning"}},
		{"cloud-init=24.3", "", static, "net", nil},
		{"rhel-9", "", machine.Network{}, "net", []string{"VS4420 warning"}},
		{"cloud-init=23.4", "", machine.Network{}, "net", []string{"VS4420 warning"}},
		{"cloud-init=23.4.3", "", machine.Network{}, "net", []string{"VS4420 warning"}},
		{"cloud-init=23.4.4", "", machine.Network{}, "net", nil},
		{"cloud-init=23.3", "", machine.Network{}, "net", nil},
		{"cloud-init=24.1", "", machine.Network{}, "net", nil},
		{"", "local", machine.Network{}, "net", []string{"VS4422 warning"}},
		{"", "disabled", machine.Network{}, "disabled", nil},
	} {
		m := machine.Machine{DSMode: x.mode, Network: x.network}
		s, l := render(t, m, datasource.Options{HTTP: true, Guest: x.guest})
		var got []string
		for _, d := range l {
			if d.Code >= 4420 && d.Code < 4440 {
				got = append(got, d.Code.String()+" "+d.Severity.String())
			}
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%q %q %v: said %v, want %v", x.guest, x.mode, x.network, l, x.want)
		}
		want := seed.SMBIOS{Type: 1, Field: "serial", Value: "ds=nocloud;dsmode=" + x.line + ";s={{base}}nocloud/"}
		if len(s.Firmware.SMBIOS) != 1 || s.Firmware.SMBIOS[0] != want || strings.Contains(want.Value, ",") {
			t.Errorf("%q: firmware %v, want %v", x.mode, s.Firmware.SMBIOS, want)
		}
	}
}

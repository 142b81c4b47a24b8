package ignition

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

const author = `{"ignition": {"version": "3.3.0"}, "storage": {"files": [{"path": "/etc/author"}]}}`

func placed(t *testing.T, m machine.Machine) machine.Machine {
	t.Helper()
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

// TestPlatforms has the same config reach every platform, where that platform looks, and beside it what Afterburn reads.
func TestPlatforms(t *testing.T) {
	m := placed(t, machine.Machine{Name: "vm", Identity: machine.Identity{Hostname: "web"}, SSH: machine.SSH{AuthorizedKeys: []string{"ssh-ed25519 AAAA k"}},
		Ignition: []machine.Layer{{Data: secret.New(author)}}, AdminPassword: secret.New("canary"), Files: []machine.File{{Path: "/etc/x", Content: secret.New("x")}},
		VendorData: []machine.Layer{{Data: secret.New("#cloud-config\n{}\n")}}})
	var first string
	for _, x := range []struct{ platform, item, label, file, meta, arg string }{
		{"", "opt/com.coreos/config", "", "", "", "ignition.platform.id=qemu"},
		{"qemu", "opt/com.coreos/config", "", "", "", "ignition.platform.id=qemu"},
		{"flatcar", "opt/org.flatcar-linux/config", "", "", "", "flatcar.first_boot=1"},
		{"openstack", "", "config-2", "openstack/latest/user_data", "openstack/latest/meta_data.json", "ignition.platform.id=openstack"},
		{"kubevirt", "", "config-2", "openstack/latest/user_data", "openstack/latest/meta_data.json", "ignition.platform.id=kubevirt"},
		{"proxmoxve", "", "cidata", "user-data", "meta-data", "ignition.platform.id=proxmoxve"},
	} {
		t.Run("platform "+x.platform, func(t *testing.T) {
			m.Guest.IgnitionPlatform = "openstack" // which the option overrides
			o := datasource.Options{IgnitionPlatform: x.platform, Extra: []machine.Layer{{Data: secret.New("#cloud-config\nruncmd: [x]\n")}}}
			if x.platform == "" {
				m.Guest.IgnitionPlatform = ""
			}
			s, l := New().Render(m, o)
			if l.HasErrors() {
				t.Fatal(l.Err())
			}
			if !slices.Contains(s.KernelArgs, x.arg) || !slices.Contains(s.KernelArgs, "ignition.firstboot") {
				t.Errorf("kernel arguments %v", s.KernelArgs)
			}
			if s.Identity.Hostname != "web" || s.Identity.InstanceID == "" || s.DataSource != "ignition" || s.Machine.Name != "vm" {
				t.Errorf("%+v %+v", s.Identity, s.Machine)
			}
			text, item, ok := s.Ignition()
			if !ok || item != x.item {
				t.Fatalf("config %v in %q, want %q", ok, item, x.item)
			}
			if first == "" {
				first = text.Reveal()
			}
			switch {
			case x.platform == "flatcar":
			case text.Reveal() != first:
				t.Errorf("the config differs from that of the first platform:\n%s\n%s", text.Reveal(), first)
			}
			if x.label == "" {
				if len(s.Volumes) > 0 {
					t.Errorf("volumes %v", s.Volumes)
				}
				return
			}
			if len(s.Volumes) != 1 || s.Volumes[0].Label != x.label || len(s.Firmware.FwCfg) > 0 || len(s.Volumes[0].Files) != 2 {
				t.Fatalf("%d volumes, %v", len(s.Volumes), s.Firmware)
			}
			if got, _ := s.Volumes[0].File(x.file); !got.Equal(text) {
				t.Errorf("%s is %s", x.file, got.Reveal())
			}
			meta, _ := s.Volumes[0].File(x.meta)
			if !strings.Contains(meta.Reveal(), `"web"`) || !strings.Contains(meta.Reveal(), "ssh-ed25519 AAAA k") || strings.Contains(meta.Reveal(), "canary") {
				t.Errorf("%s is %s", x.meta, meta.Reveal())
			}
		})
	}
}

// TestUnknownPlatform names those that there are.
func TestUnknownPlatform(t *testing.T) {
	_, l := New().Render(placed(t, machine.Machine{Name: "vm"}), datasource.Options{IgnitionPlatform: "metal"})
	if len(l) != 1 || l[0].Code != CodePlatform || l[0].Severity != diag.Error {
		t.Fatal(l)
	}
	for _, name := range Platforms() {
		if !strings.Contains(l[0].Error(), name) {
			t.Errorf("%v does not name %s", l[0], name)
		}
	}
}

// TestSize warns of configs that are slow to read, and of none that a volume carries.
func TestSize(t *testing.T) {
	noise := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteByte(byte(i*i*31 + i>>3*7))
		}
		return b.String()
	}
	for _, x := range []struct {
		size     int
		platform string
		want     string
	}{
		{1 << 10, "qemu", ""}, {300 << 10, "qemu", "slow to read"}, {300 << 10, "openstack", ""}, {1200 << 10, "flatcar", "minutes"},
	} {
		m := placed(t, machine.Machine{Name: "vm", Ignition: []machine.Layer{{Data: secret.New(`{"ignition": {"version": "3.0.0"}, "x": "` +
			strings.Map(func(r rune) rune { return 'a' + r%26 }, noise(x.size)) + `"}`)}}})
		_, l := New().Render(m, datasource.Options{IgnitionPlatform: x.platform})
		said := ""
		for _, d := range l {
			if d.Code == CodeSize {
				said = d.Summary
			}
		}
		if (x.want == "") != (said == "") || !strings.Contains(said, x.want) {
			t.Errorf("%d bytes on %s: %q, want %q: %v", x.size, x.platform, said, x.want, l)
		}
	}
}

// TestNetworkBeside puts the network on the drive where its form can say all of it, and says where it cannot.
func TestNetworkBeside(t *testing.T) {
	static := machine.NIC{Name: "lan", Addrs: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}}
	bridge := machine.NIC{Name: "br0", Kind: "bridge", DHCP4: true, Bridge: machine.Bridge{Links: []string{"lan"}}}
	for name, x := range map[string]struct {
		nics   []machine.NIC
		beside bool
	}{
		"static": {[]machine.NIC{static}, true},
		"bridge": {[]machine.NIC{{Name: "lan"}, bridge}, false},
	} {
		s, l := New().Render(placed(t, machine.Machine{Name: "vm", Network: machine.Network{NICs: x.nics}}), datasource.Options{IgnitionPlatform: "openstack"})
		if l.HasErrors() {
			t.Fatal(name, l.Err())
		}
		_, beside := s.Volumes[0].File("openstack/latest/network_data.json")
		said := slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == CodeNetworkTwice })
		if beside != x.beside || said == x.beside {
			t.Errorf("%s: beside %v, said %v: %v", name, beside, said, l)
		}
		text, _, _ := s.Ignition()
		if !strings.Contains(text.Reveal(), "system-connections") {
			t.Errorf("%s: the config has no network", name)
		}
	}
}

package machine_test

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

func place(t *testing.T, m machine.Machine) machine.Machine {
	t.Helper()
	p, l := machine.Place(m, machine.Facts{})
	if len(l) > 0 {
		t.Fatal(l)
	}
	return p
}

func TestPlaceIdentity(t *testing.T) {
	p := place(t, machine.Machine{Name: "web"})
	// The value is fixed: a different one would make every guest run its first boot again.
	if p.Identity.UUID != "45957c0e-7096-5f55-a799-46dcf206623c" || p.Identity.InstanceID != p.Identity.UUID {
		t.Errorf("got UUID %s, instance id %s", p.Identity.UUID, p.Identity.InstanceID)
	}
	if p.Namespace != "default" || p.Identity.Hostname != "" {
		t.Errorf("got namespace %s, host name %s", p.Namespace, p.Identity.Hostname)
	}
	same := place(t, machine.Machine{Name: "web", Namespace: "default"})
	other := place(t, machine.Machine{Name: "web", Namespace: "other"})
	if same.Identity.UUID != p.Identity.UUID || other.Identity.UUID == p.Identity.UUID {
		t.Error("the UUID is not a function of namespace and name")
	}
	own := place(t, machine.Machine{Name: "web", Identity: machine.Identity{UUID: "u", InstanceID: "i", Hostname: "h"}})
	if own.Identity.UUID != "u" || own.Identity.InstanceID != "i" || own.Identity.Hostname != "h" {
		t.Errorf("stated values were replaced: %+v", own.Identity)
	}
}

func TestPlaceKeepsWhatIsStated(t *testing.T) {
	full := machinetest.Full()
	before := machinetest.Dump(full)
	p := place(t, full)
	for line := range strings.SplitSeq(machinetest.Diff(full, p), "\n") {
		if strings.HasPrefix(line, "- ") {
			t.Errorf("Place changed a stated value: %s", line)
		}
	}
	if machinetest.Dump(full) != before {
		t.Error("Place changed the machine that it was given")
	}
	if d := machinetest.Diff(p, place(t, p)); d != "" {
		t.Errorf("placing a second time changes: %s", d)
	}
}

func TestPlaceCompletes(t *testing.T) {
	p := place(t, machine.Machine{
		Name: "m", Hardware: machine.Hardware{DiskBus: "scsi"},
		Network: machine.Network{NICs: []machine.NIC{{}, {Name: "nic0", MAC: "52-54-00-AA-BB-CC"}, {Name: "br0", Kind: "bridge"}, {PCI: "00:05.1"}}},
		Disks: []machine.Disk{
			{Name: "root"}, {Bus: "virtio"}, {Bus: "virtio", PCI: "0000:00:04.0"}, {Name: "a-name-that-is-longer-than-a-serial"},
			{Name: "sata", Bus: "sata"}, {Name: "third", Unit: 1}, {Name: "fourth", Unit: 7},
		},
		Shares: []machine.Share{{}, {Name: "häusliche Dateien"}},
		Media:  []machine.Media{{}},
	})
	var got []string
	for _, d := range p.Disks {
		got = append(got, fmt.Sprintf("%s %s %s %s %d", d.Name, d.Bus, d.Serial, d.PCI, d.Unit))
	}
	for _, n := range p.Network.NICs {
		got = append(got, fmt.Sprintf("%s %s %s", n.Name, n.MAC, n.PCI))
	}
	got = append(got, p.Shares[0].Name, p.Shares[0].Tag, p.Shares[1].Tag, p.Media[0].Name, p.Media[0].Serial)
	want := []string{
		"root scsi root 0000:00:03.0 0",
		"disk1 virtio disk1 0000:00:06.0 0",
		"disk2 virtio disk2 0000:00:04.0 0",
		"a-name-that-is-longer-than-a-serial scsi a-name-that-83e679b9 0000:00:03.0 2",
		"sata sata sata  0",
		"third scsi third 0000:00:03.0 1",
		"fourth scsi fourth 0000:00:03.0 7",
		"nic1 MAC 0000:00:07.0",
		"nic0 52:54:00:aa:bb:cc 0000:00:08.0",
		"br0  ",
		"nic3 MAC 00:05.1",
		"share0", "share0", "h-usliche-D-", "media0", "media0",
	}
	mac := regexp.MustCompile(`52(:[0-9a-f]{2}){5} `)
	for i := range want {
		if i >= len(got) {
			t.Fatalf("got %v", got)
		}
		line := got[i]
		if strings.Contains(want[i], "MAC") {
			line = mac.ReplaceAllString(line, "MAC ")
		}
		if line != want[i] && !(strings.HasSuffix(want[i], "-") && strings.HasPrefix(line, want[i]) && len(line) == 20) {
			t.Errorf("got  %s\nwant %s", line, want[i])
		}
	}
	if p.Network.NICs[0].MAC == p.Network.NICs[3].MAC {
		t.Error("two derived MACs are equal")
	}
}

func TestPlaceRefuses(t *testing.T) {
	many := make([]machine.Disk, 25)
	places := machine.Places{"": diag.At("f", 1, 1), "network.nics[1].mac": diag.At("f", 7, 5), "disks[1]": diag.At("f", 9, 3)}
	tests := []struct {
		name string
		m    machine.Machine
		want string
	}{
		{"MAC", machine.Machine{Network: machine.Network{NICs: []machine.NIC{{MAC: "52:54:00:aa:bb:cc"}, {MAC: "52-54-00-AA-BB-CC"}}}},
			"f:7:5: error[VS1300]"},
		{"NIC names", machine.Machine{Network: machine.Network{NICs: []machine.NIC{{Name: "a"}, {Name: "a"}}}}, "f:7:5: error[VS1300]"},
		{"serial", machine.Machine{Disks: []machine.Disk{{Name: "a", Serial: "s"}, {Name: "b", Serial: "s"}}}, "f:9:3: error[VS1301]"},
		{"serial of a medium", machine.Machine{Disks: []machine.Disk{{Name: "a"}}, Media: []machine.Media{{Name: "a"}}}, "f:1:1: error[VS1301]"},
		{"long serial", machine.Machine{Disks: []machine.Disk{{Name: "x"}, {Name: "a", Serial: "123456789012345678901"}}}, "f:9:3: warning[VS1302]"},
		{"underscore", machine.Machine{Identity: machine.Identity{Hostname: "web_1.example.org"}}, "f:1:1: warning[VS1304]"},
		{"slots", machine.Machine{Disks: many}, "f:1:1: error[VS1303]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.m.Name, tt.m.Places = "m", places
			_, l := machine.Place(tt.m, machine.Facts{})
			if len(l) != 1 || !strings.HasPrefix(l[0].Error(), tt.want) {
				t.Errorf("got %v, want %s", l, tt.want)
			}
		})
	}
	t.Run("serials that virtio cuts off alike", func(t *testing.T) {
		_, l := machine.Place(machine.Machine{Disks: []machine.Disk{
			{Name: "a", Serial: "12345678901234567890a"}, {Name: "b", Serial: "12345678901234567890b"},
		}}, machine.Facts{})
		if !l.HasErrors() {
			t.Errorf("got %v", l)
		}
	})
}

func TestPlaceFacts(t *testing.T) {
	addr := netip.MustParsePrefix("192.0.2.7/24")
	m := machine.Machine{Name: "m", Network: machine.Network{NICs: []machine.NIC{
		{Name: "br0", Kind: "bridge", DHCP4: true},
		{Name: "a", MAC: "52:54:00:00:00:01", MTU: 9000, Rename: "lan0", Model: "e1000", DHCP4: true},
	}}}
	p, l := machine.Place(m, machine.Facts{
		NICs: []machine.NIC{
			{Name: "eth0", Addrs: []netip.Prefix{addr}, Rename: "eth0"},
			{Name: "eth1", MAC: "52:54:00:00:00:02", MTU: 1400},
		},
		DNS: machine.DNS{Search: []string{"example.org"}},
	})
	if len(l) > 0 {
		t.Fatal(l)
	}
	n := p.Network.NICs
	if len(n) != 3 || n[0].Name != "br0" || !n[0].DHCP4 || n[0].Kind != "bridge" {
		t.Fatalf("the bridge is no NIC of the host: %+v", n)
	}
	if a := n[1]; a.Name != "a" || a.DHCP4 || a.Addrs[0] != addr || a.MAC != "52:54:00:00:00:01" || a.MTU != 9000 || a.Rename != "lan0" || a.Model != "e1000" {
		t.Errorf("got %+v", a)
	}
	if b := n[2]; b.Name != "eth1" || b.MAC != "52:54:00:00:00:02" || b.MTU != 1400 || b.PCI == "" {
		t.Errorf("got %+v", b)
	}
	if p.Network.DNS.Search[0] != "example.org" {
		t.Errorf("got %+v", p.Network.DNS)
	}
	if m.Network.NICs[1].Addrs != nil {
		t.Error("Place changed the machine that it was given")
	}
}

// RFC 9562, appendix A.4.
func TestNameUUID(t *testing.T) {
	dns := "\x6b\xa7\xb8\x10\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
	if got := machine.NameUUID(dns, "www.example.com"); got != "2ed6657d-e927-568b-95e1-2665a8aea6a2" {
		t.Errorf("got %s", got)
	}
	url := "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"
	if got := machine.NameUUID(url, "https://vmseed.dev/machine"); got != "90603f55-f298-57a9-bd68-c2fe90150c90" {
		t.Errorf("the name space of machines is %s", got)
	}
}

func TestInstance(t *testing.T) {
	if got := (machine.Identity{InstanceID: "i"}).Instance(); got != "i" {
		t.Errorf("got %s", got)
	}
	if got := (machine.Identity{InstanceID: "i", Revision: 2}).Instance(); got != "i-r2" {
		t.Errorf("got %s", got)
	}
}

func TestFQDN(t *testing.T) {
	for want, id := range map[string]machine.Identity{
		"":              {Domain: "example.org"},
		"a":             {Hostname: "a"},
		"a.example.org": {Hostname: "a", Domain: "example.org"},
		"b.example.org": {Hostname: "b.example.org", Domain: "example.org"},
	} {
		if got := id.FQDN(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

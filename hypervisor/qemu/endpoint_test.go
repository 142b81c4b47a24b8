package qemu

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// TestNoService: a guest that fetches its seed by HTTP is not started where nobody serves it.
func TestNoService(t *testing.T) {
	const base = "http://169.254.169.254/"
	nic := machine.NIC{Name: "net", DHCP4: true}
	unplugged := machine.NIC{Name: "off", LinkDown: true}
	same := machine.NIC{Name: "same", Addrs: []netip.Prefix{netip.MustParsePrefix("169.254.169.254/16")}}
	for name, c := range map[string]struct {
		net  string
		nics []machine.NIC
		base []string
		want string
	}{
		"stack":              {"stack", []machine.NIC{nic}, []string{base}, ""},
		"default":            {"", []machine.NIC{nic}, []string{base}, ""},
		"one unplugged":      {"", []machine.NIC{unplugged, nic}, []string{base}, ""},
		"another port":       {"", []machine.NIC{nic}, []string{"http://10.0.0.1:8775"}, ""},
		"user":               {"user", []machine.NIC{nic}, []string{base}, "--net user does not lead to; use --net stack"},
		"none":               {"none", []machine.NIC{nic}, []string{base}, "--net none does not lead to; use --net stack"},
		"no NIC":             {"", nil, []string{base}, "the machine has no NIC"},
		"virtual NICs":       {"", []machine.NIC{{Name: "v", Kind: "bridge"}}, []string{base}, "the machine has no NIC"},
		"unplugged":          {"", []machine.NIC{unplugged}, []string{base}, "no NIC of it has its cable plugged in"},
		"the same address":   {"", []machine.NIC{nic, same}, []string{base}, `NIC "same" (network 1) has the address of the metadata service`},
		"two":                {"", []machine.NIC{nic}, []string{base, base}, "it is the second"},
		"a name":             {"", []machine.NIC{nic}, []string{"http://metadata/"}, "no IPv4 address"},
		"IPv6":               {"", []machine.NIC{nic}, []string{"http://[fd00:ec2::254]/"}, "no IPv4 address"},
		"TLS":                {"", []machine.NIC{nic}, []string{"https://169.254.169.254/"}, "of the form http://ADDRESS/"},
		"below a directory":  {"", []machine.NIC{nic}, []string{base + "x/"}, "of the form http://ADDRESS/"},
		"no URL":             {"", []machine.NIC{nic}, []string{"%"}, "of the form http://ADDRESS/"},
		"nothing but a seed": {"user", nil, nil, ""},
	} {
		vm := hypervisor.VM{Machine: machine.Machine{Name: "vm", Hardware: machine.Hardware{Arch: "amd64"}, Network: machine.Network{NICs: c.nics}},
			Options: hypervisor.Options{Net: c.net}}
		for _, b := range c.base {
			vm.Attachments = append(vm.Attachments, seed.Attachment{Kind: seed.Endpoint, Path: "/seed.metadata", Value: b})
		}
		vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
		built, list := build(vm, someHost(vm), "tcg", 0)
		var said []string
		for _, d := range list {
			if d.Code == CodeNoService && d.Severity == diag.Error {
				said = append(said, d.Error())
			}
		}
		if c.want == "" && len(said) > 0 || c.want != "" && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: said %q, want %q", name, said, c.want)
		}
		if c.want == "" && (built.metadata == nil) != (len(c.base) == 0) {
			t.Errorf("%s: served is %+v", name, built.metadata)
		}
	}
}

// TestStatedIdentity: a seed that needs another UUID or serial number than the machine has overrides one that somebody
// stated aloud, and in silence what vmseed had chosen.
func TestStatedIdentity(t *testing.T) {
	const uuid = "11111111-2222-3333-4444-555555555555"
	written := machine.Places{"identity.uuid": diag.Range{File: "vm.yaml"}}
	for name, c := range map[string]struct {
		identity machine.Identity
		places   machine.Places
		want     []string
	}{
		"derived":                {machine.Identity{}, nil, nil},
		"a daemon's":             {machine.Identity{UUID: uuid}, machine.Places{"": diag.Range{File: "vm.yaml"}}, nil},
		"stated":                 {machine.Identity{UUID: uuid}, written, []string{"identity.uuid"}},
		"serial":                 {machine.Identity{Serial: "x"}, nil, []string{"identity.serial"}},
		"a copy":                 {machine.Identity{UUID: uuid, Serial: uuid}, nil, nil},
		"stated with its copy":   {machine.Identity{UUID: uuid, Serial: uuid}, written, []string{"identity.uuid"}},
		"the same as the seed's": {machine.Identity{UUID: "EC2E1916-9099-7CAF-FD21-012345ABCDEF"}, written, nil},
	} {
		vm := hypervisor.VM{Machine: machine.Machine{Name: "vm", Identity: c.identity, Places: c.places, Hardware: machine.Hardware{Arch: "amd64"}}}
		for _, field := range []string{"uuid", "serial"} {
			vm.Attachments = append(vm.Attachments, seed.Attachment{Kind: seed.SMBIOSRow, Type: 1, Field: field, Value: "ec2e1916-9099-7caf-fd21-012345abcdef"})
		}
		vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
		_, list := build(vm, someHost(vm), "tcg", 0)
		var warned []string
		for _, d := range list {
			if d.Code == CodeFirmwareValue {
				warned = append(warned, d.Field)
			}
		}
		if !slices.Equal(warned, c.want) {
			t.Errorf("%s: warnings of %q, want %q", name, warned, c.want)
		}
	}
}

// TestNoSMBIOS: an ARM guest whose kernel is started directly sees no string of the firmware, so it would find no seed.
func TestNoSMBIOS(t *testing.T) {
	row := []seed.Attachment{{Kind: seed.SMBIOSRow, Type: 1, Field: "product", Value: "OpenStack Nova"}}
	for name, c := range map[string]struct {
		arch, firmware string
		attached       []seed.Attachment
		want           bool
	}{
		"amd64":     {"amd64", "", row, false},
		"arm64":     {"arm64", "", row, true},
		"with UEFI": {"arm64", "uefi", row, false},
		"no string": {"arm64", "", nil, false},
	} {
		vm := hypervisor.VM{Machine: machine.Machine{Name: "vm", Hardware: machine.Hardware{Arch: c.arch, Firmware: c.firmware},
			Boot: machine.Boot{Kernel: "/srv/Image"}}, Attachments: c.attached}
		vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
		_, list := build(vm, someHost(vm), "tcg", 0)
		got := slices.ContainsFunc(list, func(d diag.Diagnostic) bool {
			return d.Code == CodeUnsupported && strings.Contains(d.Summary, "SMBIOS")
		})
		if got != c.want {
			t.Errorf("%s: refused %t, want %t: %v", name, got, c.want, list)
		}
	}
}

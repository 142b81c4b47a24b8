package boot

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// TestCredentialsWay: the SMBIOS tables come first, where the guest has some and they have room.
func TestCredentialsWay(t *testing.T) {
	for name, c := range map[string]struct {
		m    machine.Machine
		size int
		want string
	}{
		"small":               {machine.Machine{Hardware: machine.Hardware{Arch: "amd64"}}, 1000, "smbios"},
		"large":               {machine.Machine{Hardware: machine.Hardware{Arch: "amd64"}}, 50_000, "fw_cfg"},
		"a kernel, as well":   {machine.Machine{Hardware: machine.Hardware{Arch: "amd64"}, Boot: machine.Boot{Kernel: "vmlinuz"}}, 1000, "smbios"},
		"ARM":                 {machine.Machine{Hardware: machine.Hardware{Arch: "arm64"}}, 1000, "smbios"},
		"ARM, kernel alone":   {machine.Machine{Hardware: machine.Hardware{Arch: "arm64"}, Boot: machine.Boot{Kernel: "vmlinuz"}}, 1000, "fw_cfg"},
		"ARM, kernel by UEFI": {machine.Machine{Hardware: machine.Hardware{Arch: "arm64", Firmware: "uefi"}, Boot: machine.Boot{Kernel: "vmlinuz"}}, 1000, "smbios"},
	} {
		s := seed.Seed{Firmware: seed.Firmware{Credentials: []seed.Credential{{Name: "x", Content: secret.New(strings.Repeat("x", c.size))}}}}
		if got := credentialsWay(c.m, s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestUncertain: a way on which an old systemd would miss something is noted, unless the guest's is known.
func TestUncertain(t *testing.T) {
	s := seed.Seed{Firmware: seed.Firmware{Credentials: []seed.Credential{{Name: "x", Content: secret.New(strings.Repeat("x", 10_000))}}}}
	l := uncertain(machine.Machine{}, s, "smbios")
	if len(l) != 1 || l.HasErrors() || !strings.Contains(l[0].Summary, "before 257") {
		t.Errorf("by SMBIOS: %v", l)
	}
	if l := uncertain(machine.Machine{}, s, "fw_cfg"); len(l) > 0 {
		t.Errorf("by fw_cfg: %v", l)
	}
	s.Firmware.Systemd = 257
	if l := uncertain(machine.Machine{}, s, "smbios"); len(l) > 0 {
		t.Errorf("for systemd 257: %v", l)
	}
}

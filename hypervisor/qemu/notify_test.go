package qemu

import (
	"testing"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// TestPlain: a VM is one that systemd sets up by itself only if it has nothing for another reader.
func TestPlain(t *testing.T) {
	credential := seed.Attachment{Kind: seed.SMBIOSRow, Type: 11, Name: "tmpfiles.extra", Path: "/x"}
	item := seed.Attachment{Kind: seed.FwCfgFile, Name: "opt/io.systemd.credentials/tmpfiles.extra", Path: "/x"}
	for _, other := range []seed.Attachment{{Kind: seed.Drive, Label: "cidata"}, {Kind: seed.FwCfgFile, Name: seed.IgnitionItem},
		{Kind: seed.SMBIOSRow, Type: 1, Field: "serial", Value: "ds=nocloud"}, {Kind: seed.Endpoint}} {
		if plain([]seed.Attachment{credential, other}) || plain([]seed.Attachment{other}) {
			t.Errorf("%+v is passed over", other)
		}
	}
	if !plain([]seed.Attachment{credential, item}) || plain(nil) {
		t.Error("credentials alone are not told from nothing")
	}
}

// TestNotifies: the guest learns the address from SMBIOS tables, which not every machine has.
func TestNotifies(t *testing.T) {
	for name, c := range map[string]struct {
		m    machine.Machine
		want bool
	}{
		"amd64":             {machine.Machine{Hardware: machine.Hardware{Arch: "amd64"}}, true},
		"Windows":           {machine.Machine{Hardware: machine.Hardware{Arch: "amd64"}, Guest: machine.Guest{OS: "windows"}}, false},
		"ARM":               {machine.Machine{Hardware: machine.Hardware{Arch: "arm64"}}, true},
		"ARM, kernel alone": {machine.Machine{Hardware: machine.Hardware{Arch: "arm64"}, Boot: machine.Boot{Kernel: "vmlinuz"}}, false},
	} {
		if got := notifies(c.m); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

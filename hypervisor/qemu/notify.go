package qemu

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// notifies reports whether a machine's guest may have a systemd that tells its hypervisor how it boots. It learns the
// address from the SMBIOS tables, which an ARM machine has from its UEFI firmware only.
func notifies(m machine.Machine) bool {
	if m.Guest.OS == "windows" {
		return false
	}
	return architecture(m.Hardware) == "amd64" || uefi(m)
}

// plain reports whether the seed is credentials of systemd alone.
func plain(attached []seed.Attachment) bool {
	return len(attached) > 0 && !slices.ContainsFunc(attached, func(a seed.Attachment) bool {
		return !(a.Kind == seed.SMBIOSRow && a.Type == 11 && a.Name != "") &&
			!(a.Kind == seed.FwCfgFile && strings.HasPrefix(a.Name, "opt/io.systemd.credentials/"))
	})
}

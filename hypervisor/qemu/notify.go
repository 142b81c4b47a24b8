package qemu

import "github.com/vmseed/vmseed/machine"

// notifies reports whether a machine's guest may have a systemd that tells its hypervisor how it boots. It learns the
// address from the SMBIOS tables, which an ARM machine has from its UEFI firmware only.
func notifies(m machine.Machine) bool {
	if m.Guest.OS == "windows" {
		return false
	}
	return architecture(m.Hardware) == "amd64" || uefi(m)
}

package boot

import (
	"runtime"

	"github.com/vmseed/vmseed/delivery/firmware"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// credentialsWay is how the guest's systemd gets its credentials: as OEM strings, which are read in an instant, unless they are
// larger than what every systemd reads of those, or the guest has no SMBIOS tables: an ARM machine has them from its UEFI firmware only.
func credentialsWay(m machine.Machine, s seed.Seed) string {
	arch := m.Hardware.Arch
	if arch == "" {
		arch = runtime.GOARCH
	}
	bare := arch == "arm64" && m.Boot.Kernel != "" && m.Hardware.Firmware != "uefi"
	if bare || !firmware.FitsSMBIOS(s) {
		return "fw_cfg"
	}
	return "smbios"
}

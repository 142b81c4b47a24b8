package boot

import (
	"runtime"

	"github.com/vmseed/vmseed/delivery/firmware"
	"github.com/vmseed/vmseed/diag"
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

// uncertain notes that a systemd of which the release is not known may pass over credentials.
func uncertain(m machine.Machine, s seed.Seed, way string) (l diag.List) {
	f, remedy := firmware.FwCfg(), "state guest.release, such as debian-13"
	if way == "smbios" {
		f, remedy = firmware.SMBIOS(), remedy+", or leave --delivery out"
	}
	if text := f.Uncertain(s); text != "" {
		l.Notef(CodeNotRead, m.Places.Find("guest.release"), remedy, "%s", text)
	}
	return l
}

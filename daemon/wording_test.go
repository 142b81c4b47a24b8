//go:build linux

package daemon_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/diag"
)

// TestWorded says what the engine has to say to people who have no flags of commands.
func TestWorded(t *testing.T) {
	for in, want := range map[string]string{
		"leave --delivery out, or choose --datasource credentials":                                    "leave the delivery to auto, or choose the data source credentials",
		"leave --delivery out, or choose another --ignition-platform":                                 "leave the delivery to auto, or choose another Ignition platform",
		"choose --delivery virtio-blk":                                                                "choose the delivery virtio-blk",
		"use --net stack":                                                                             "have the administrator start the daemon with --net stack",
		"join the group kvm, or use --accel tcg":                                                      "join the group kvm, or have the administrator start the daemon with --accel tcg",
		`NIC "a" has the static address 10.0.0.5, which --net user does not route`:                    `NIC "a" has the static address 10.0.0.5, which the network user does not route`,
		"take it out, or have the administrator start the daemon with --allow-share and this":         "take it out, or have the administrator start the daemon with --allow-share and this",
		"add --kernel, or choose another delivery":                                                    "name a kernel in boot.kernel, or choose another delivery",
		"copy the files out of it and run with --kernel and --initrd":                                 "copy the files out of it and name both in boot.kernel and boot.initrd",
		"use an image made for this platform, or add --kernel and --initrd":                           "use an image made for this platform, or name both in boot.kernel and boot.initrd",
		"state guest.release, or use --guest, such as debian-13 or systemd=257":                       "state guest.release, such as debian-13 or systemd=257",
		"ask for 1Gi or more; vmseed run takes --memory":                                              "ask for 1Gi or more; memory may be stated beside the documents",
		"give one with --volume data=DIRECTORY":                                                       "give one in the definition",
		"to run the machine, name its file or device with --volume":                                   "to run the machine, name its file or device in the definition",
		"put it under the key userdata of a Secret, or raise the limit with --userdata-limit":         "put it under the key userdata of a Secret",
		"other plain files are given by flags such as --network-config":                               "other plain files are given by a role such as network-config",
		"convert with --ignition-platform kubevirt for an image":                                      "convert with the Ignition platform kubevirt for an image",
		"merge them first: vmseed convert --to butane":                                                "merge them first: vmseed convert --to butane",
		`put the Ignition JSON here: "vmseed render --format ign -o config.ign" writes it; --x stays`: `put the Ignition JSON here: "vmseed render --format ign -o config.ign" writes it; x stays`,
		"use uefi (--firmware uefi), or choose another data source":                                   "use uefi, or choose another data source",
	} {
		d := diag.Diagnostic{Summary: in, Remedy: in}
		l := diag.List{d}
		got := daemon.Worded(l)
		if got[0].Summary != want || got[0].Remedy != want {
			t.Errorf("%q became %q", in, got[0].Remedy)
		}
		if l[0].Summary != in || strings.ContainsRune(got[0].Summary, 0) {
			t.Errorf("%q: the list itself was changed", in)
		}
	}
}

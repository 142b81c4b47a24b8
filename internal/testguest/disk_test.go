//go:build e2e

package testguest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const smokeUserData = `#cloud-config
write_files:
- path: /run/smoke
  content: |
    exec >/dev/ttyS0 2>&1
    cloud-init status --wait
    echo "SMOKE cloud-init=$? state=$(systemctl is-system-running --wait) user=$(id -u debian):$(id -g debian)" \
      "source=$(cloud-id) firmware=$([ -d /sys/firmware/efi ] && echo uefi || echo bios)"
    systemctl --failed --no-legend
    poweroff
runcmd:
- systemd-run sh /run/smoke
`

// The image boots from both firmwares, with a network and without, finds its
// seed, and comes up without a failed unit. For whoever changes the image's recipe: every e2e test boots the
// image anyway, so this does not run by default.
func TestDiskBoots(t *testing.T) {
	if os.Getenv("VMSEED_GUEST_SMOKE") == "" {
		t.Skip("set VMSEED_GUEST_SMOKE=1 to boot the image from BIOS and from UEFI")
	}
	for _, tool := range [][2]string{{qemuProgram, "qemu-system-x86"}, {"qemu-img", "qemu-utils"}, {"mkfs.fat", "dosfstools"}, {"mcopy", "mtools"}} {
		requireTool(t, tool[0], tool[1])
	}
	disk, seed := Disk(t), smokeSeed(t)
	for firmware, args := range map[string][]string{
		"bios": {"-machine", "pc", "-nic", "user,model=virtio-net-pci,restrict=on"},
		"uefi": {"-machine", "q35", "-bios", "/usr/share/ovmf/OVMF.fd"},
	} {
		t.Run(firmware, func(t *testing.T) {
			overlay := filepath.Join(t.TempDir(), "overlay.qcow2")
			run(t, "qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", disk, overlay)
			args := append(args, "-m", "1024", "-smp", "2")
			args = append(args, diskArgs(t, []Drive{
				{Path: overlay, Format: "qcow2"},
				{Path: seed, ReadOnly: true},
			})...)
			console := runQEMU(t, args)
			want := "SMOKE cloud-init=0 state=running user=1000:1000 source=nocloud firmware=" + firmware
			if !strings.Contains(console, want) {
				t.Errorf("console lacks %q:\n%s", want, console)
			}
		})
	}
}

// smokeSeed makes a NoCloud seed with Debian's own tools.
func smokeSeed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	seed := filepath.Join(dir, "seed.img")
	for name, content := range map[string]string{"user-data": smokeUserData, "meta-data": "instance-id: smoke\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "mkfs.fat", "-C", "-n", "CIDATA", seed, "1024")
	run(t, "mcopy", "-i", seed, filepath.Join(dir, "user-data"), filepath.Join(dir, "meta-data"), "::/")
	return seed
}

func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// Package testguest boots Linux guests for tests.
//
// Initramfs boots Debian's kernel with one Go program of the test's choice as
// its whole user space, in seconds: the way to ask Linux's own file systems and
// drivers about what vmseed wrote. Disk returns the disk image of a whole Debian
// guest, which boots by itself and runs cloud-init.
//
// Everything runs under software emulation, so that a test means the same on
// every machine. A test whose tools are not installed is skipped with a reason
// that starts with "SKIP-MISSING:".
package testguest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module is the module whose e2e/guest holds the scripts; tests of nested
// modules reach it through their replace directive.
const module = "github.com/vmseed/vmseed"

// exitMissing is the scripts' exit status for a tool that is not installed.
const exitMissing = 3

// Flavour names a kernel of Debian.
type Flavour string

// The kernels a guest can boot.
const (
	// Cloud is the kernel of the disk image: virtio devices, isofs and vfat, but
	// no AHCI and no 9p.
	Cloud Flavour = "cloud"
	// Generic is the kernel of installed machines. It has AHCI and 9p.
	Generic Flavour = "generic"
)

// Disk returns the path of the raw disk image of a Debian guest as a cloud
// would hand it out: it boots from BIOS and UEFI, and cloud-init configures it at
// its first boot. The image is shared between tests: back an overlay with it,
// never write to it. It is built when it is not in the cache, which takes
// minutes.
func Disk(tb testing.TB) string {
	tb.Helper()
	return runScript(tb, "build.sh")
}

// DiskKernel returns the kernel and the initramfs that are inside the image
// which Disk returns, for tests that boot it without its own boot loader. Its
// root file system is LABEL=root.
func DiskKernel(tb testing.TB) (kernel, initrd string) {
	tb.Helper()
	dir := filepath.Dir(Disk(tb))
	return filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "initrd.img")
}

// Ignition returns the raw disk image of a Debian guest that the real Ignition
// sets up in its initramfs, with the kernel and the initramfs to boot it by: it
// has no boot loader. Its root file system is LABEL=root. The image is shared
// and built as that of Disk.
func Ignition(tb testing.TB) (image, kernel, initrd string) {
	tb.Helper()
	image = runScript(tb, "build-ignition.sh")
	dir := filepath.Dir(image)
	return image, filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "initrd.img")
}

// IgnitionDisk returns the raw disk image of the same guest as one that boots by itself, as CoreOS does: its boot loader
// asks for Ignition until a first boot is done.
func IgnitionDisk(tb testing.TB) string {
	tb.Helper()
	image, _, _ := Ignition(tb)
	return filepath.Join(filepath.Dir(image), "bootable.img")
}

// kit returns the directory that holds a kernel and its modules.
func kit(tb testing.TB, flavour Flavour) string {
	tb.Helper()
	if flavour == "" {
		flavour = Cloud
	}
	return runScript(tb, "kit.sh", string(flavour))
}

// runScript runs a script of e2e/guest and returns the path that it prints.
func runScript(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		tb.Fatalf("find the sources of %s: %v", module, err)
	}
	script := filepath.Join(strings.TrimSpace(string(root)), "e2e", "guest", name)
	var stderr bytes.Buffer
	cmd := exec.Command(script, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() == exitMissing:
		tb.Skipf("SKIP-MISSING: %s", strings.TrimSpace(stderr.String()))
	case err != nil:
		tb.Fatalf("%s: %v\n%s", script, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// requireTool skips the test when a program is not installed.
func requireTool(tb testing.TB, program, debianPackage string) {
	tb.Helper()
	if _, err := exec.LookPath(program); err != nil {
		tb.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
	}
}

// readFile reads a file that must be there.
func readFile(tb testing.TB, path string) []byte {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

package testguest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// InitramfsConfig describes a guest whose user space is one Go program.
type InitramfsConfig struct {
	// Probe is the import path of the program, a package main. It runs as root
	// with /dev, /proc, /sys and a tmpfs on /tmp and /mnt. Its standard output is
	// what Initramfs returns; the guest powers off when it ends.
	Probe string
	// Init is the import path of process 1, for a guest that needs no probe run by
	// the one here. It gets the files of the others, and must load the modules that
	// /modules/order names.
	Init string
	// Flavour is the kernel to boot; Cloud if empty.
	Flavour Flavour
	// Modules are kernel modules to load before the probe, besides those for
	// virtio-blk, virtio-serial, isofs and vfat. Dependencies come along.
	Modules []string
	// Disks are attached as virtio-blk devices, in this order.
	Disks []Drive
	// Files are put into the guest: slash-separated path, such as "etc/x", to
	// content.
	Files map[string][]byte
	// Args are added to the kernel command line.
	Args []string
	// ExtraQEMU are added to QEMU's arguments.
	ExtraQEMU []string
}

// Drive is a file that a guest sees as a disk.
type Drive struct {
	Path     string
	Format   string // of QEMU, such as "qcow2"; "raw" if empty
	Serial   string // at most 20 bytes; inguest.Disk finds the device by it
	ReadOnly bool
}

// baseModules are loaded in every initramfs guest. The kernel asks user space
// for a character set when it mounts, and there is no modprobe to answer.
var baseModules = []string{
	"virtio_pci", "virtio_blk", "virtio_console", "isofs", "vfat",
	"nls_ascii", "nls_cp437", "nls_iso8859-1", "nls_utf8",
}

// probeSucceeded is what the guest's init reports after a probe that exited
// with status 0.
const probeSucceeded = "probe: exit status 0"

// Initramfs boots a guest that runs cfg.Probe and returns what the probe wrote
// to standard output. The test fails, with the guest's console, when the guest
// does not come up or the probe does not exit with status 0. It takes a few
// seconds on an idle machine.
func Initramfs(tb testing.TB, cfg InitramfsConfig) string {
	tb.Helper()
	requireTool(tb, qemuProgram, "qemu-system-x86")
	dir := tb.TempDir()
	kernelDir := kit(tb, cfg.Flavour)
	initramfs := filepath.Join(dir, "initramfs.cpio")
	output := filepath.Join(dir, "output")
	status := filepath.Join(dir, "status")
	buildInitramfs(tb, initramfs, kernelDir, cfg)

	args := []string{
		"-kernel", filepath.Join(kernelDir, "vmlinuz"),
		"-initrd", initramfs,
		// A panic becomes a reset, which -no-reboot turns into the end of QEMU.
		// The kernel's check of the timer interrupt panics when a busy host gives the emulated CPU no time.
		"-append", strings.Join(append([]string{"console=ttyS0", "quiet", "panic=-1", "mitigations=off", "no_timer_check"}, cfg.Args...), " "),
		"-m", "256",
		"-device", "virtio-serial-pci",
		"-chardev", "file,id=output,path=" + escapeComma(output),
		"-device", "virtserialport,chardev=output,name=output",
		"-chardev", "file,id=status,path=" + escapeComma(status),
		"-device", "virtserialport,chardev=status,name=status",
	}
	args = append(args, diskArgs(tb, cfg.Disks)...)
	console := runQEMU(tb, append(args, cfg.ExtraQEMU...))

	// QEMU makes both files before it starts the guest.
	ended := strings.TrimSpace(string(readFile(tb, status)))
	written := string(readFile(tb, output))
	if ended != probeSucceeded {
		tb.Fatalf("guest ended with %q\n--- probe's output ---\n%s\n--- console ---\n%s", ended, written, console)
	}
	return written
}

// InitramfsFiles builds the kernel and the initramfs of a guest that the test
// starts itself. Only what concerns the contents of the guest counts in cfg.
func InitramfsFiles(tb testing.TB, cfg InitramfsConfig) (kernel, initramfs string) {
	tb.Helper()
	requireTool(tb, qemuProgram, "qemu-system-x86")
	kernelDir := kit(tb, cfg.Flavour)
	initramfs = filepath.Join(tb.TempDir(), "initramfs.cpio")
	buildInitramfs(tb, initramfs, kernelDir, cfg)
	return filepath.Join(kernelDir, "vmlinuz"), initramfs
}

// buildInitramfs writes the archive that the kernel unpacks as its root.
func buildInitramfs(tb testing.TB, file, kernelDir string, cfg InitramfsConfig) {
	tb.Helper()
	modules, err := openModules(filepath.Join(kernelDir, "modules"))
	if err != nil {
		tb.Fatal(err)
	}
	needed, err := modules.resolve(append(append([]string{}, baseModules...), cfg.Modules...))
	if err != nil {
		tb.Fatal(err)
	}
	var order strings.Builder
	var files []cpioFile
	if cfg.Init == "" {
		files = append(files, cpioFile{"init", 0o755, compile(tb, module+"/internal/testguest/init")},
			cpioFile{"probe", 0o755, compile(tb, cfg.Probe)})
	} else {
		files = append(files, cpioFile{"init", 0o755, compile(tb, cfg.Init)})
	}
	for _, m := range needed {
		order.WriteString(filepath.Base(m) + "\n")
		files = append(files, cpioFile{"modules/" + filepath.Base(m), 0o644, readFile(tb, m)})
	}
	files = append(files, cpioFile{"modules/order", 0o644, []byte(order.String())})
	for name, content := range cfg.Files {
		files = append(files, cpioFile{name, 0o644, content})
	}
	sort.Slice(files, func(i, j int) bool { return files[i].name < files[j].name })

	var archive bytes.Buffer
	if err := writeCPIO(&archive, files); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, archive.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// compile builds a main package for the guest, which has no C library.
func compile(tb testing.TB, pkg string) []byte {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "program")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return readFile(tb, file)
}

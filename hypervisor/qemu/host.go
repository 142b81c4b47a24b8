package qemu

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
)

// host is what a plan needs to know about the host. Tests state it, so that a plan is a pure function.
type host struct {
	// Program is QEMU's, Accels those to try in order.
	Program string
	Accels  []string
	// Code and Vars are the UEFI firmware: its program and the template of its variables.
	Code, Vars string
	// Images are the images that disks are made of, by path.
	Images map[string]imageInfo
	// Sandbox says whether QEMU can filter its own system calls.
	Sandbox bool
	// VHost says whether the kernel can carry frames between a tap device and a guest by itself.
	VHost bool
}

// target is what depends on the guest's architecture.
type target struct {
	program string
	// pkg is the Debian package of the program, firmwarePkg that of the UEFI firmware.
	pkg, firmwarePkg string
	// machines are the machine types, the default first.
	machines []string
	// firmware are pairs of program and variables, in order of preference.
	firmware, secure [][2]string
}

// firmwareDirs are where distributions keep UEFI firmware: Debian and Ubuntu, Fedora, Arch, SUSE, Homebrew.
var firmwareDirs = []string{
	"/usr/share/OVMF", "/usr/share/AAVMF", "/usr/share/edk2/ovmf", "/usr/share/edk2/aarch64", "/usr/share/edk2/x64",
	"/usr/share/qemu-efi-aarch64", "/usr/share/qemu", "/opt/homebrew/share/qemu", "/usr/local/share/qemu",
}

var targets = map[string]target{
	"amd64": {
		program: "qemu-system-x86_64", pkg: "qemu-system-x86", firmwarePkg: "ovmf", machines: []string{"q35", "pc"},
		firmware: [][2]string{{"OVMF_CODE_4M.fd", "OVMF_VARS_4M.fd"}, {"OVMF_CODE.fd", "OVMF_VARS.fd"},
			{"OVMF_CODE.4m.fd", "OVMF_VARS.4m.fd"}, {"ovmf-x86_64-code.bin", "ovmf-x86_64-vars.bin"},
			{"edk2-x86_64-code.fd", "edk2-i386-vars.fd"}},
		secure: [][2]string{{"OVMF_CODE_4M.secboot.fd", "OVMF_VARS_4M.ms.fd"}, {"OVMF_CODE.secboot.fd", "OVMF_VARS.secboot.fd"},
			{"OVMF_CODE.secboot.fd", "OVMF_VARS.ms.fd"}},
	},
	"arm64": {
		program: "qemu-system-aarch64", pkg: "qemu-system-arm", firmwarePkg: "qemu-efi-aarch64", machines: []string{"virt"},
		firmware: [][2]string{{"AAVMF_CODE.fd", "AAVMF_VARS.fd"}, {"QEMU_EFI-pflash.raw", "vars-template-pflash.raw"},
			{"edk2-aarch64-code.fd", "edk2-arm-vars.fd"}},
	},
}

// fwCfg are the architectures whose machines have a firmware configuration device (QEMU, docs/specs/fw_cfg.rst).
var fwCfg = map[string]bool{"386": true, "amd64": true, "arm": true, "arm64": true, "loong64": true, "riscv64": true}

// architecture returns the guest's architecture: the machine's, or that of the host.
func architecture(h machine.Hardware) string {
	if h.Arch == "" {
		return runtime.GOARCH
	}
	return h.Arch
}

// survey looks at the host for what a machine needs.
func survey(m machine.Machine, accel string) (host, error) {
	arch := architecture(m.Hardware)
	t, ok := targets[arch]
	if !ok {
		return host{}, &hypervisor.EnvironmentError{What: "vmseed runs no guests of the architecture " + arch, Remedy: "it runs amd64 and arm64"}
	}
	h := host{Sandbox: runtime.GOOS == "linux"}
	var err error
	if h.Program, err = program(t.program, t.pkg); err != nil {
		return host{}, err
	}
	if h.Accels, err = accelerators(accel, arch); err != nil {
		return host{}, err
	}
	if uefi(m) {
		pairs := t.firmware
		if m.Hardware.SecureBoot {
			pairs = t.secure
		}
		if h.Code, h.Vars = firmware(firmwareDirs, pairs); h.Code == "" {
			return host{}, &hypervisor.EnvironmentError{What: "there is no UEFI firmware for " + arch + " on this host",
				Remedy: "install the package " + t.firmwarePkg + " (its name on Debian)"}
		}
	}
	return h, nil
}

// uefi reports whether a machine starts from UEFI. ARM machines have no other firmware, but start a kernel without any.
func uefi(m machine.Machine) bool {
	if architecture(m.Hardware) == "arm64" {
		return m.Hardware.Firmware != "bios" && (m.Boot.Kernel == "" || m.Hardware.Firmware == "uefi")
	}
	return m.Hardware.Firmware == "uefi" || m.Hardware.SecureBoot
}

// firmware returns the first pair that is in one of the directories.
func firmware(dirs []string, pairs [][2]string) (code, vars string) {
	for _, pair := range pairs {
		for _, dir := range dirs {
			code, vars := filepath.Join(dir, pair[0]), filepath.Join(dir, pair[1])
			if exists(code) && exists(vars) {
				return code, vars
			}
		}
	}
	return "", ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// program finds a program in PATH and in the directories of administrators' programs, which users' PATHs lack.
func program(name, pkg string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path, nil
		}
	}
	return "", &hypervisor.EnvironmentError{What: name + " is not installed", Remedy: "install the package " + pkg + " (its name on Debian)"}
}

// accelerators returns what to try for a wish, in order.
func accelerators(wish, arch string) ([]string, error) {
	native := arch == runtime.GOARCH
	switch wish {
	case "", "auto":
		switch {
		case native && runtime.GOOS == "linux" && usable("/dev/kvm") == nil:
			return []string{"kvm", "tcg"}, nil
		case native && runtime.GOOS == "darwin":
			return []string{"hvf", "tcg"}, nil
		}
		return []string{"tcg"}, nil
	case "tcg":
		return []string{"tcg"}, nil
	case "kvm":
		if !native {
			return nil, &hypervisor.EnvironmentError{What: "KVM runs no guests of the architecture " + arch + " here", Remedy: "use --accel tcg"}
		}
		if err := usable("/dev/kvm"); err != nil {
			remedy := "use --accel tcg"
			if errors.Is(err, os.ErrPermission) {
				remedy = "join the group kvm, or use --accel tcg"
			}
			return nil, &hypervisor.EnvironmentError{What: "KVM cannot be used", Remedy: remedy, Err: err}
		}
		return []string{"kvm"}, nil
	case "hvf":
		if !native || runtime.GOOS != "darwin" {
			return nil, &hypervisor.EnvironmentError{What: "HVF is of macOS and runs guests of its own architecture only", Remedy: "use --accel tcg"}
		}
		return []string{"hvf"}, nil
	}
	return nil, &hypervisor.EnvironmentError{What: "there is no accelerator " + wish, Remedy: "choose auto, kvm, hvf or tcg"}
}

// usable opens a device for reading and writing.
func usable(device string) error {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

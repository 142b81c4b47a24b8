package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// finding is what doctor says about one thing.
type finding struct {
	ok           bool
	what, remedy string
}

func (a *app) doctor() *cobra.Command {
	return &cobra.Command{Use: "doctor", Short: "Say what vmseed run misses on this host", Args: cobra.NoArgs,
		Long: `Doctor looks for the programs that vmseed run needs, tries whether a guest starts on
KVM as vmseed run would start it, and checks that the directory of VMs can be written.
It ends with status 3 when vmseed run could not work.

Without a disk no more than the firmware of a guest runs, so doctor cannot promise that
an operating system does. vmseed run watches each boot, and starts it again without KVM
where the guest makes no progress.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			broken := false
			for _, look := range []func() finding{
				qemuFinding,
				func() finding { return programFinding("qemu-img", "qemu-utils", true) },
				func() finding { return programFinding("mke2fs", "e2fsprogs", false) },
				func() finding { return programFinding("ssh", "openssh-client", false) },
				func() finding { return a.kvmFinding(cmd.Context()) },
				stateFinding,
			} {
				f := look()
				mark := "ok  "
				if !f.ok {
					mark = "    "
					if strings.HasPrefix(f.remedy, "!") {
						mark, broken = "FAIL", true
					}
				}
				fmt.Fprintf(a.Out, "%s  %s", mark, f.what)
				if remedy := strings.TrimPrefix(f.remedy, "!"); remedy != "" && !f.ok {
					fmt.Fprintf(a.Out, "; %s", remedy)
				}
				fmt.Fprintln(a.Out)
			}
			if broken {
				return silent(exitEnvironment)
			}
			return nil
		}}
}

// qemuProgram is QEMU for guests of this host's architecture.
func qemuProgram() string {
	return "qemu-system-" + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
}

func qemuFinding() finding {
	path, err := exec.LookPath(qemuProgram())
	if err != nil {
		return finding{what: qemuProgram() + " is not installed", remedy: "!install the package qemu-system-x86 or qemu-system-arm"}
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return finding{what: path + " does not run", remedy: "!reinstall it"}
	}
	version, _, _ := strings.Cut(string(out), "\n")
	return finding{ok: true, what: version}
}

func programFinding(name, pkg string, needed bool) finding {
	if path, err := exec.LookPath(name); err == nil {
		return finding{ok: true, what: path}
	}
	f := finding{what: name + " is not installed", remedy: "install the package " + pkg}
	if needed {
		f.remedy = "!" + f.remedy
	}
	return f
}

// kvmFinding tries whether KVM runs a guest. On some hosts the device is there, and guests never begin or stop soon.
func (a *app) kvmFinding(ctx context.Context) finding {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return finding{what: "there is no /dev/kvm", remedy: emulates}
	case err != nil:
		return finding{what: "/dev/kvm cannot be opened", remedy: "join the group kvm; until then " + emulates}
	}
	_ = f.Close()
	if runtime.GOARCH != "amd64" {
		return finding{ok: true, what: "/dev/kvm can be opened; whether a guest runs on it shows when one boots"}
	}
	a.say("checking whether a guest starts on KVM ...")
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return tryFirmware(ctx, qemuProgram(), "kvm", "host")
}

// emulates says what happens without KVM.
const emulates = "vmseed emulates the processor instead (--accel tcg), which is about ten times slower"

// probeTime is how long the firmware may take until it says that it finds nothing to boot.
const probeTime = 20 * time.Second

// tryFirmware starts the guest that vmseed run starts when nothing else is asked for, with no disk: the machine type q35,
// the given accelerator and processor, a virtio disk controller and random numbers. Its firmware says on its debug port
// when it finds nothing to boot. That is less than an operating system does, so a good end is no promise.
func tryFirmware(ctx context.Context, program, accel, processor string) finding {
	cmd := exec.CommandContext(ctx, program, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", "-accel", accel,
		"-cpu", processor, "-smp", "cpus=1", "-m", "size=1024M", "-device", "virtio-scsi-pci", "-device", "virtio-rng-pci",
		"-chardev", "stdio,id=debug,signal=off", "-device", "isa-debugcon,iobase=0x402,chardev=debug")
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return finding{what: "QEMU does not start with " + accel, remedy: emulates}
	}
	said := false
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if said = strings.Contains(lines.Text(), "No bootable device"); said {
			break
		}
	}
	late := ctx.Err() != nil
	if said {
		_ = cmd.Process.Kill()
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	switch {
	case said:
		return finding{ok: true, what: "the firmware of a guest runs on " + accel + "; whether an operating system does shows when one boots"}
	case late:
		return finding{what: "/dev/kvm is there, but a guest makes no progress on it", remedy: emulates}
	}
	why, _, _ := strings.Cut(strings.TrimSpace(complaints.String()), "\n")
	if _, rest, ok := strings.Cut(why, ": "); ok {
		why = rest // without the name of the program
	}
	return finding{what: "/dev/kvm is there, but QEMU does not run a guest on it (" + cmp.Or(why, cmd.ProcessState.String()) + ")", remedy: emulates}
}

func stateFinding() finding {
	root, err := supervisor.Root()
	if err == nil {
		err = os.MkdirAll(root, 0o700)
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(root, ".doctor-"); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return finding{what: fmt.Sprintf("the directory of VMs cannot be written: %v", err), remedy: "!set XDG_STATE_HOME, or use --state-dir"}
	}
	return finding{ok: true, what: "VMs are kept below " + root}
}

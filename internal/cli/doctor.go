package cli

import (
	"bufio"
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
		Long: `Doctor looks for the programs that vmseed run needs, tries whether KVM really runs a
guest, and checks that the directory of VMs can be written. It ends with status 3 when
vmseed run could not work.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			broken := false
			for _, f := range []finding{qemuFinding(), programFinding("qemu-img", "qemu-utils", true), programFinding("mke2fs", "e2fsprogs", false),
				programFinding("ssh", "openssh-client", false), kvmFinding(cmd.Context()), stateFinding()} {
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

// kvmFinding tries whether KVM runs a guest: the firmware alone, which says so on its debug port when it finds nothing to
// boot. On some hosts the device is there, and guests stop or never begin.
func kvmFinding(ctx context.Context) finding {
	tcg := "vmseed emulates the processor instead (--accel tcg), which is about ten times slower"
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return finding{what: "there is no /dev/kvm", remedy: tcg}
	case err != nil:
		return finding{what: "/dev/kvm cannot be opened", remedy: "join the group kvm; until then " + tcg}
	}
	_ = f.Close()
	if runtime.GOARCH != "amd64" {
		return finding{ok: true, what: "/dev/kvm can be opened"}
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, qemuProgram(), "-accel", "kvm", "-machine", "pc", "-nodefaults", "-display", "none", "-no-reboot",
		"-chardev", "stdio,id=debug,signal=off", "-device", "isa-debugcon,iobase=0x402,chardev=debug")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return finding{what: "QEMU does not start with KVM", remedy: tcg}
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "No bootable device") {
			cancel()
			_ = cmd.Wait()
			return finding{ok: true, what: "KVM runs guests"}
		}
	}
	cancel()
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	return finding{what: "/dev/kvm is there, but a guest makes no progress on it", remedy: tcg}
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

//go:build linux

// Command init is process 1 of the guests that testguest.Initramfs boots: it
// loads the kernel modules it was given, runs the test's probe, passes on how the
// probe ended, and powers the guest off.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	ended := "not started"
	if err := run(&ended); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
	}
	if port, err := openPort("status"); err == nil {
		fmt.Fprintln(port, ended)
		port.Close()
	}
	unix.Sync()
	if err := unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF); err != nil {
		fmt.Fprintln(os.Stderr, "init: power off:", err)
	}
}

// run prepares the guest and runs the probe, whose standard output is the port
// named "output". ended receives how the probe ended.
func run(ended *string) error {
	for _, m := range []struct{ fstype, dir string }{
		{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"tmpfs", "/tmp"}, {"tmpfs", "/mnt"},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fstype, m.dir, m.fstype, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	if err := loadModules("/modules"); err != nil {
		return err
	}
	output, err := openPort("output")
	if err != nil {
		return err
	}
	defer output.Close()
	probe := exec.Command("/probe")
	probe.Env = []string{"HOME=/", "PATH=/", "TMPDIR=/tmp"}
	probe.Dir = "/"
	probe.Stdout, probe.Stderr = output, os.Stderr
	err = probe.Run()
	*ended = "probe: exit status 0"
	if err != nil {
		*ended = "probe: " + err.Error()
	}
	return nil
}

// loadModules loads the files that dir/order names, in that order.
func loadModules(dir string) error {
	order, err := os.Open(filepath.Join(dir, "order"))
	if err != nil {
		return err
	}
	defer order.Close()
	lines := bufio.NewScanner(order)
	for lines.Scan() {
		if err := loadModule(filepath.Join(dir, lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func loadModule(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}
	return nil
}

// openPort opens the virtio-serial port with a name. The kernel numbers the
// ports; sysfs holds their names.
func openPort(name string) (*os.File, error) {
	files, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && strings.TrimSpace(string(content)) == name {
			return os.OpenFile(filepath.Join("/dev", filepath.Base(filepath.Dir(file))), os.O_WRONLY, 0)
		}
	}
	return nil, fmt.Errorf("no virtio-serial port is named %s", name)
}

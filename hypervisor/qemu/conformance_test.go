//go:build conformance

package qemu

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/qmp"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/seed"
)

// The real QEMU takes every plan that needs nothing but files: each device exists, has those properties and a place.
func TestQEMUTakesPlans(t *testing.T) {
	for _, tool := range []string{"qemu-img", "mke2fs"} {
		if _, err := program(tool, ""); err != nil {
			t.Skipf("SKIP-MISSING: %v", err)
		}
	}
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			vm := furnish(t, s.vm)
			h, err := survey(vm.Machine, "tcg")
			if err != nil {
				t.Skipf("SKIP-MISSING: %v", err)
			}
			if h.Images, err = images(vm); err != nil {
				t.Fatal(err)
			}
			c, list := build(vm, h, "tcg", 0)
			if list.HasErrors() {
				t.Fatal(list)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			for name, content := range c.files {
				write(t, filepath.Join(vm.StateDir, name), []byte(content))
			}
			for _, step := range c.volumes {
				if err := step.run(ctx); err != nil {
					t.Fatal(err)
				}
			}
			for _, helper := range c.helpers {
				assist(ctx, t, vm.StateDir, helper)
			}
			accepted(ctx, t, h.Program, vm.StateDir, append(c.args, "-S"))
		})
	}
}

// furnish makes the files that a shape names.
func furnish(t *testing.T, vm hypervisor.VM) hypervisor.VM {
	t.Helper()
	dir := t.TempDir()
	vm.StateDir = filepath.Join(dir, "state")
	if err := os.Mkdir(vm.StateDir, 0o700); err != nil {
		t.Fatal(err)
	}
	blank := make([]byte, 1<<20)
	image := filepath.Join(dir, "debian, 12.raw")
	write(t, image, blank)
	vm.Volumes = map[string]hypervisor.Volume{"root": {Path: image, Overlay: true}}
	vm.Attachments = append([]seed.Attachment(nil), vm.Attachments...)
	for i, a := range vm.Attachments {
		if a.Path != "" {
			vm.Attachments[i].Path = filepath.Join(dir, filepath.Base(a.Path))
			write(t, vm.Attachments[i].Path, blank[:4096])
		}
	}
	kept := vm.Machine.Disks[:0:0]
	for _, d := range vm.Machine.Disks {
		if strings.HasPrefix(d.Source.Path, "/dev/") {
			continue // a device of the host
		}
		if d.Source.Path != "" {
			d.Source.Path, d.Source.Format = filepath.Join(dir, filepath.Base(d.Source.Path)), "raw"
			write(t, d.Source.Path, blank)
		}
		kept = append(kept, d)
	}
	vm.Machine.Disks, vm.Machine.Hardware.HostDevices = kept, nil
	if vm.Machine.Boot.Kernel != "" {
		vm.Machine.Boot.Kernel, vm.Machine.Boot.Initrd = "", "" // QEMU reads a kernel before it starts
		vm.Machine.Boot.Append = ""
		vm.Attachments = vm.Attachments[:1]
	}
	vm.Machine.Shares = append(vm.Machine.Shares[:0:0], vm.Machine.Shares...)
	for i := range vm.Machine.Shares {
		vm.Machine.Shares[i].HostPath = dir
	}
	return vm
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// assist starts a helper and waits for its socket. It ends with QEMU.
func assist(ctx context.Context, t *testing.T, dir string, h supervisor.Helper) {
	t.Helper()
	path, err := program(h.Program, h.Program)
	if err != nil {
		t.Skipf("SKIP-MISSING: %v", err)
	}
	cmd := exec.CommandContext(ctx, path, h.Args...)
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for ctx.Err() == nil {
		if _, err := os.Lstat(filepath.Join(dir, h.Socket)); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the helper makes no socket")
}

// accepted starts QEMU and ends it as soon as it has taken all its arguments, which is when its monitor answers.
func accepted(ctx context.Context, t *testing.T, program, dir string, args []string) {
	t.Helper()
	var words bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &words, &words
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		conn, err := net.Dial("unix", filepath.Join(dir, supervisor.MonitorSocket))
		if err == nil {
			monitor, err := qmp.New(ctx, conn, nil)
			if err == nil {
				err = monitor.Execute(ctx, "quit", nil, nil)
				_ = monitor.Close()
			}
			if waited := <-ended; err != nil || waited != nil {
				t.Errorf("QEMU: %v, %v\n%s", err, waited, &words)
			}
			return
		}
		select {
		case err := <-ended:
			t.Fatalf("QEMU: %v\n%s", err, &words)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

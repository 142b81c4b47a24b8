//go:build e2e

package qemu_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/hypervisor/qemu"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/testguest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
)

// TestMain lets the test's own program be the supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "supervise" {
		if err := supervisor.Main(context.Background(), os.Args[3], os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// limit bounds what should take seconds, so that only what hangs reaches it.
const limit = 5 * time.Minute

// guest makes a VM whose user space is the program in testdata/guest.
func guest(t *testing.T, args string, modules ...string) (*qemu.QEMU, hypervisor.VM) {
	t.Helper()
	return guestWith(t, testguest.InitramfsConfig{Modules: modules}, args)
}

// guestWith makes a VM with modules and files of its own.
func guestWith(t *testing.T, config testguest.InitramfsConfig, args string) (*qemu.QEMU, hypervisor.VM) {
	t.Helper()
	config.Init = "github.com/vmseed/vmseed/hypervisor/qemu/testdata/guest"
	kernel, initrd := testguest.InitramfsFiles(t, config)
	root := t.TempDir()
	q := &qemu.QEMU{Root: root, Supervisor: []string{os.Args[0], "supervise"}}
	m, list := machine.Place(machine.Machine{Name: "vm",
		Hardware: machine.Hardware{MachineType: "pc", Memory: 256 << 20},
		Boot:     machine.Boot{Kernel: kernel, Initrd: initrd, Append: "console=ttyS0 quiet panic=-1 mitigations=off " + args},
	}, machine.Facts{})
	if list.HasErrors() {
		t.Fatal(list)
	}
	dir, keep, _, err := supervisor.Create(root, m.Namespace, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := keep(); err != nil {
		t.Fatal(err)
	}
	return q, hypervisor.VM{Machine: m, StateDir: dir, Options: hypervisor.Options{Accel: "tcg", Net: "none"}}
}

// start starts a VM that ends with the test at the latest.
func start(t *testing.T, q *qemu.QEMU, vm hypervisor.VM) *supervisor.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	h, err := q.Start(ctx, vm)
	if err != nil {
		t.Fatalf("%v\n%s", err, logs(vm.StateDir))
	}
	c := h.(*qemu.Handle).Client()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if t.Failed() {
			t.Log(logs(vm.StateDir))
		}
		if err := c.Remove(ctx); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(vm.StateDir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("after remove the directory is still there: %v", err)
		}
	})
	return c
}

func logs(dir string) string {
	var out strings.Builder
	for _, name := range []string{supervisor.SupervisorLog, supervisor.QEMULog, supervisor.SerialLog} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		fmt.Fprintf(&out, "--- %s ---\n%s\n", name, text)
	}
	return out.String()
}

// expect reads the console until a line holds a text.
func expect(t *testing.T, console io.Reader, text string) {
	t.Helper()
	lines := bufio.NewScanner(console)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	t.Fatalf("the console ended without %q: %v", text, lines.Err())
}

func firstBoot(t *testing.T, c *supervisor.Client) report.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	e, err := c.WaitFirstBoot(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestForeground(t *testing.T) {
	q, vm := guest(t, "vmseed.stay=1")
	c := start(t, q, vm)
	e := firstBoot(t, c)
	if e.Stage != report.Done || e.Result == nil || e.Result.Agent != "test" || e.Source != report.Agent {
		t.Errorf("first boot %+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	console, err := c.Console(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	fmt.Fprintln(console, "hello")
	expect(t, console, `guest: heard "hello"`)
	s, err := c.State(ctx)
	if err != nil || s.Status != supervisor.Running || s.Accel != "tcg" {
		t.Errorf("state %+v, %v", s, err)
	}
	sandboxed(t, s.PID)
	fmt.Fprintln(console, "end")
	if err := c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if s, err = c.State(ctx); err != nil || s.Status != supervisor.Stopped {
		t.Errorf("state after the guest's end %+v, %v", s, err)
	}
	if err := c.Start(ctx, true); err != nil {
		t.Fatalf("second start: %v", err)
	}
	if err := c.Stop(ctx, 0); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// sandboxed checks what the kernel says of QEMU: a filter of system calls, and no way to gain rights.
func sandboxed(t *testing.T, pid int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Seccomp:\t2\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("QEMU's status lacks %q", want)
		}
	}
}

// A foreground VM ends with its supervisor, however that ends.
func TestForegroundSupervisorKilled(t *testing.T) {
	q, vm := guest(t, "vmseed.stay=1")
	c := start(t, q, vm)
	firstBoot(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	gone(t, s.PID)
	if s, err = c.State(ctx); err != nil || s.Status != supervisor.Stopped {
		t.Errorf("state %+v, %v; want stopped", s, err)
	}
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(limit); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

// The automatic choice of an accelerator ends with a guest that runs, whatever this host's KVM is worth.
func TestAccelAuto(t *testing.T) {
	// A broken KVM refuses the host's processor at once, and hangs with a simpler one.
	for _, model := range []string{"host-model", "qemu64"} {
		t.Run(model, func(t *testing.T) {
			q, vm := guest(t, "")
			vm.Options.Accel = "auto"
			vm.Machine.Hardware.CPUModel = model
			automatic(t, start(t, q, vm))
		})
	}
}

// automatic checks that a guest came up, and that a change of accelerator was said.
func automatic(t *testing.T, c *supervisor.Client) {
	t.Helper()
	if e := firstBoot(t, c); e.Stage != report.Done {
		t.Errorf("first boot %+v", e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.State(ctx)
	if err != nil || s.Status != supervisor.Stopped {
		t.Fatalf("state %+v, %v", s, err)
	}
	told := false
	if err := c.Events(ctx, 0, func(e supervisor.Event) error {
		told = told || strings.Contains(e.Note, "does not work here")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if fellBack := s.Accel != plan.Attempts[0].Accel; fellBack != told {
		t.Errorf("the guest runs on %s, planned was %s; told: %v", s.Accel, plan.Attempts[0].Accel, told)
	}
	t.Logf("ran on %s, planned was %s", s.Accel, plan.Attempts[0].Accel)
}

// The host's connections reach the guest on both kinds of network, also after a change of supervisor.
func TestForwardToGuest(t *testing.T) {
	for mode, address := range map[string][2]string{"stack": {"192.168.127.2/24", "192.168.127.1"}, "user": {"169.254.2.15/16", "169.254.2.2"}} {
		t.Run(mode, func(t *testing.T) {
			q, vm := guest(t, fmt.Sprintf("vmseed.try=tcp!127.0.0.1!9 vmseed.address=%s vmseed.gateway=%s vmseed.listen=22 vmseed.stay=1",
				address[0], address[1]), "virtio_net")
			vm.Machine.Network.NICs = []machine.NIC{{Name: "net", DHCP4: true, MTU: 1400}}
			vm.Machine, _ = machine.Place(vm.Machine, machine.Facts{})
			vm.Options.Net, vm.Options.Detach = mode, true
			c := start(t, q, vm)
			firstBoot(t, c)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var port int
			for range 3 {
				s, err := c.State(ctx)
				if err != nil || s.SSHPort == 0 || port != 0 && port != s.SSHPort {
					t.Fatalf("state %+v, %v; want port %d", s, err, port)
				}
				port = s.SSHPort
				greeted(ctx, t, port)
				if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// greeted connects until the guest answers: the network of a new supervisor needs a moment.
func greeted(ctx context.Context, t *testing.T, port int) {
	t.Helper()
	for ctx.Err() == nil {
		conn, err := net.DialTimeout("tcp4", fmt.Sprintf("127.0.0.1:%d", port), 5*time.Second)
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
		word, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		if word == "guest\n" {
			return
		}
	}
	t.Fatalf("the guest does not answer at port %d", port)
}

// A reset and a restart are new boots of the same VM.
func TestResetAndRestart(t *testing.T) {
	q, vm := guest(t, "vmseed.stay=1")
	vm.Options.Detach = true
	c := start(t, q, vm)
	first := firstBoot(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := c.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	done := errors.New("done")
	err := c.Events(ctx, 0, func(e supervisor.Event) error {
		if e.Report != nil && e.Report.Stage.Ended() && e.Report.Boot != first.Boot {
			return done
		}
		return nil
	})
	if !errors.Is(err, done) {
		t.Fatalf("no report after a reset: %v", err)
	}
	if err := c.Stop(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx, true); err != nil {
		t.Fatal(err)
	}
	if again := firstBoot(t, c); again.Boot == first.Boot {
		t.Error("after a restart the report is the old one")
	}
}

// kills is how often the chaos test kills the supervisor.
const kills = 100

// A detached VM survives its supervisor: no kill loses it, and each time console and control come back.
func TestDetachedSupervisorKilled(t *testing.T) {
	q, vm := guest(t, "vmseed.stay=1")
	vm.Options.Detach = true
	c := start(t, q, vm)
	firstBoot(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), 2*limit)
	defer cancel()
	first, err := c.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := range kills {
		s, err := c.State(ctx)
		if err != nil || s.Status != supervisor.Running || s.PID != first.PID {
			t.Fatalf("kill %d: state %+v, %v; want running as process %d", i, s, err, first.PID)
		}
		if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		console, err := c.Console(ctx)
		for err != nil && ctx.Err() == nil { // the killed one may have taken the call
			console, err = c.Console(ctx)
		}
		if err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
		if err := typed(ctx, console, fmt.Sprintf("kill-%d", i)); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
	}
	t.Logf("%d kills in %v", kills, time.Since(begin).Round(time.Millisecond))
	s, err := c.State(ctx)
	if err != nil || s.FirstBoot == nil || s.FirstBoot.Stage != report.Done {
		t.Errorf("the first boot is forgotten: %+v, %v", s, err)
	}
}

// typed types a word until the guest repeats it: a supervisor may not have connected to the console yet.
func typed(ctx context.Context, console io.ReadWriteCloser, word string) error {
	defer console.Close()
	defer context.AfterFunc(ctx, func() { _ = console.Close() })()
	heard := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(console)
		for lines.Scan() {
			if strings.Contains(lines.Text(), fmt.Sprintf("guest: heard %q", word)) {
				heard <- nil
				return
			}
		}
		heard <- fmt.Errorf("the console ended: %v", lines.Err())
	}()
	for {
		if _, err := fmt.Fprintln(console, word); err != nil {
			return err
		}
		select {
		case err := <-heard:
			return err
		case <-time.After(time.Second):
		}
	}
}

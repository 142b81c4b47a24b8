//go:build linux

package supervisor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/report"
)

// limit bounds what should take a moment.
const limit = 2 * time.Minute

// vm makes a VM whose QEMU is the fake, with an attempt for each behaviour.
func vm(t *testing.T, detached bool, behaviours ...string) *supervisor.Client {
	t.Helper()
	root := filepath.Join(t.TempDir(), strings.Repeat("a long name ", 9)) // longer than a socket's address may be
	return vmIn(t, root, func(string, *supervisor.Plan) {}, detached, behaviours...)
}

// vmIn is vm below a directory, with a plan that is changed before it is saved.
func vmIn(t *testing.T, root string, change func(dir string, plan *supervisor.Plan), detached bool, behaviours ...string) *supervisor.Client {
	t.Helper()
	dir, keep, _, err := supervisor.Create(root, "ns", "vm")
	if err != nil {
		t.Fatal(err)
	}
	plan := supervisor.Plan{Namespace: "ns", Name: "vm", Detached: detached, Program: os.Args[0],
		SSH: supervisor.SSH{NIC: -1, None: true}, Silence: 200 * time.Millisecond}
	change(dir, &plan)
	for i, b := range behaviours {
		plan.Attempts = append(plan.Attempts, supervisor.Attempt{Accel: fmt.Sprintf("accel%d", i), Args: supervisortest.Args(b)})
	}
	if err := errors.Join(plan.Save(dir), keep()); err != nil {
		t.Fatal(err)
	}
	c, err := supervisor.Open(dir, supervisortest.Command()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if t.Failed() {
			for _, name := range []string{supervisor.SupervisorLog, supervisor.QEMULog} {
				text, _ := os.ReadFile(filepath.Join(dir, name))
				t.Logf("--- %s ---\n%s", name, text)
			}
		}
		if err := c.Remove(ctx); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
			t.Errorf("after remove: %v, %v", left, err)
		}
	})
	return c
}

// within returns a context for one step.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

func state(t *testing.T, c *supervisor.Client) supervisor.State {
	t.Helper()
	s, err := c.State(within(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// notes are what users were told.
func notes(t *testing.T, c *supervisor.Client) string {
	t.Helper()
	var out []string
	since, done := 0, errors.New("done")
	err := c.Events(within(t), since, func(e supervisor.Event) error {
		out = append(out, e.Note)
		if e.Status == supervisor.Running || e.Status == supervisor.Failed {
			return done
		}
		return nil
	})
	if err != nil && !errors.Is(err, done) {
		t.Fatal(err)
	}
	return strings.Join(out, "\n")
}

func TestLife(t *testing.T) {
	c := vm(t, false, supervisortest.Good)
	if s := state(t, c); s.Status != supervisor.Created {
		t.Errorf("before the start: %+v", s)
	}
	if err := c.Start(within(t), false); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(within(t), false); !errors.Is(err, supervisor.ErrRunning) {
		t.Errorf("second start: %v, want ErrRunning", err)
	}
	reports := 0
	e, err := c.WaitFirstBoot(within(t), func(e supervisor.Event) {
		if e.Report != nil {
			reports++
		}
	})
	if err != nil || e.Stage != report.Done || e.Machine != "ns/vm" || e.Result.Agent != "fake" {
		t.Errorf("first boot: %+v, %v", e, err)
	}
	console, err := c.Console(within(t))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(console, "hello")
	lines := bufio.NewScanner(console)
	for lines.Scan() && lines.Text() != "heard hello" {
	}
	if lines.Text() != "heard hello" {
		t.Errorf("the console ended without an answer: %v", lines.Err())
	}
	if err := c.Stop(within(t), limit); err != nil {
		t.Fatal(err)
	}
	if lines.Scan() {
		t.Errorf("after the end the console says %q", lines.Text())
	}
	console.Close()
	s := state(t, c)
	if s.Status != supervisor.Stopped || s.PID != 0 || s.FirstBoot == nil {
		t.Errorf("after the end: %+v", s)
	}
	// The repeated report counts once.
	if reports != 2 {
		t.Errorf("%d reports, want 2", reports)
	}
	if err := c.Stop(within(t), 0); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("stop of a stopped VM: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "[^c]*.sock")); len(left) > 0 { // that of the supervisor goes last
		t.Errorf("sockets are left: %v", left)
	}
	private(t, c.Dir)
}

// private checks that nobody else can read a VM's files.
func private(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStopAtOnce(t *testing.T) {
	c := vm(t, true, supervisortest.Deaf)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(within(t), 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Status != supervisor.Stopped {
		t.Errorf("state %+v", s)
	}
}

// An accelerator that does not work gives way to the next, and users are told.
func TestFallback(t *testing.T) {
	for behaviour, why := range map[string]string{
		supervisortest.Silent: "no sign of life", supervisortest.Broken: "internal error", supervisortest.Stillborn: "cannot open the display",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			c := vm(t, false, behaviour, supervisortest.Good)
			if err := c.Start(within(t), false); err != nil {
				t.Fatal(err)
			}
			if _, err := c.WaitFirstBoot(within(t), nil); err != nil {
				t.Fatal(err)
			}
			if s := state(t, c); s.Accel != "accel1" || s.Status != supervisor.Running {
				t.Errorf("state %+v", s)
			}
			var said []string
			done := errors.New("done")
			_ = c.Events(within(t), 0, func(e supervisor.Event) error {
				said = append(said, e.Note)
				if e.Report != nil {
					return done
				}
				return nil
			})
			if text := strings.Join(said, "\n"); !strings.Contains(text, "accel0 does not work here") || !strings.Contains(text, why) {
				t.Errorf("users are told\n%s\nwant the accelerator and %q", text, why)
			}
		})
	}
}

// A guest that wrote to its disk is never started again.
func TestNoFallbackAfterWrites(t *testing.T) {
	c := vm(t, false, supervisortest.Wrote, supervisortest.Good)
	_ = c.Start(within(t), false) // the guest may run for a moment
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Status != supervisor.Failed || !strings.Contains(s.Reason, "written to its disk") {
		t.Errorf("state %+v", s)
	}
}

func TestStillborn(t *testing.T) {
	c := vm(t, false, supervisortest.Stillborn)
	if err := c.Start(within(t), false); err == nil || !strings.Contains(err.Error(), "cannot open the display") {
		t.Errorf("start: %v; want QEMU's words", err)
	}
	if s := state(t, c); s.Status != supervisor.Failed {
		t.Errorf("state %+v", s)
	}
}

// A VM that ends without a word on its first boot is not waited for.
func TestEndsBeforeReport(t *testing.T) {
	c := vm(t, false, supervisortest.ShortLife)
	if err := c.Start(within(t), false); err != nil {
		t.Fatal(err)
	}
	if _, err := c.WaitFirstBoot(within(t), nil); !errors.Is(err, supervisor.ErrEnded) {
		t.Errorf("%v, want ErrEnded", err)
	}
	if text := notes(t, c); strings.Contains(text, "does not work") {
		t.Errorf("notes %s", text)
	}
}

// A foreground VM ends with the process that started it, even when that is killed.
func TestStarterKilled(t *testing.T) {
	c := vm(t, false, supervisortest.Good)
	starter := exec.Command(os.Args[0], "start", c.Dir)
	started, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(started).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("the starter says %q, %v", line, err)
	}
	if s := state(t, c); s.Status != supervisor.Running {
		t.Fatalf("state %+v", s)
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait()
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Status != supervisor.Stopped {
		t.Errorf("state %+v", s)
	}
}

// A foreground VM ends with its supervisor, and the next client is told so at once.
func TestForegroundSupervisorKilled(t *testing.T) {
	for range 5 {
		c := vm(t, false, supervisortest.Good)
		if err := c.Start(within(t), false); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(state(t, c).Supervisor, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
		if s := state(t, c); s.Status != supervisor.Stopped {
			t.Errorf("state %+v", s)
		}
	}
}

// Kill after kill, a detached VM and its control come back.
func TestSupervisorKilled(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	first := state(t, c)
	for i := range 20 {
		s := state(t, c)
		if s.Status != supervisor.Running || s.PID != first.PID {
			t.Fatalf("kill %d: %+v", i, s)
		}
		if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
	}
	if _, err := c.WaitFirstBoot(within(t), nil); err != nil {
		t.Errorf("the first boot is forgotten: %v", err)
	}
	// QEMU dies while nobody watches.
	s := state(t, c)
	if err := errors.Join(syscall.Kill(s.Supervisor, syscall.SIGKILL), syscall.Kill(s.PID, syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(within(t)); err != nil {
		t.Fatal(err)
	}
	if s = state(t, c); s.Status.Alive() {
		t.Errorf("state after QEMU's death %+v", s)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Errorf("start after QEMU's death: %v", err)
	}
}

// Arguments for the first boot go when that went well, and not before.
func TestOnce(t *testing.T) {
	const line = "a  b first.boot c"
	for behaviour, want := range map[string]string{supervisortest.Good: "a  b c", supervisortest.Deaf: "a  b c", supervisortest.ShortLife: line} {
		c := vm(t, false, behaviour)
		plan, err := c.Plan()
		if err != nil {
			t.Fatal(err)
		}
		plan.Once, plan.Attempts[0].Args = []string{"first.boot"}, append(plan.Attempts[0].Args, "-append", line)
		if err := plan.Save(c.Dir); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(within(t), false); err != nil {
			t.Fatal(err)
		}
		_, _ = c.WaitFirstBoot(within(t), nil)
		if plan, err = c.Plan(); err != nil || plan.Attempts[0].Args[3] != want || len(plan.Once) > 0 != (want == line) {
			t.Errorf("%s: %+v, %v", behaviour, plan, err)
		}
	}
}

// A guest that restarts does so without the arguments of its first boot, and everything is connected to it again.
func TestRestartOnce(t *testing.T) {
	for _, detached := range []bool{false, true} {
		c := vm(t, detached, supervisortest.Reboots)
		plan, err := c.Plan()
		if err != nil {
			t.Fatal(err)
		}
		plan.Once, plan.Attempts[0].Args = []string{"first.boot"}, append(plan.Attempts[0].Args, "-append", "a first.boot")
		// As swtpm, the helper ends a while after its QEMU.
		plan.Helpers = []supervisor.Helper{{Name: "helper", Program: "sh", Socket: supervisor.TPMSocket,
			Args: []string{"-c", "echo >>helped; : >" + supervisor.TPMSocket + "; sleep 2; exit"}}}
		if err := plan.Save(c.Dir); err != nil {
			t.Fatal(err)
		}
		if err := c.Start(within(t), detached); err != nil {
			t.Fatal(err)
		}
		done := errors.New("done")
		if err := c.Events(within(t), 0, func(e supervisor.Event) error {
			if e.Note == "the guest restarts" {
				return done
			}
			return nil
		}); !errors.Is(err, done) {
			t.Fatal(err)
		}
		console, err := c.Console(within(t))
		if err != nil {
			t.Fatal(err)
		}
		typeUntilHeard(t, console)
		if s := state(t, c); s.Status != supervisor.Running || s.PID == 0 {
			t.Errorf("state %+v", s)
		}
		if starts, err := os.ReadFile(filepath.Join(c.Dir, "helped")); err != nil || len(starts) != 2 {
			t.Errorf("the helper was started %d times, %v", len(starts), err)
		}
		if err := c.Stop(within(t), limit); err != nil {
			t.Fatal(err)
		}
		if s := state(t, c); s.Status != supervisor.Stopped {
			t.Errorf("state %+v", s)
		}
	}
}

// typeUntilHeard types on a console until the guest answers: its new process may not be connected yet.
func typeUntilHeard(t *testing.T, console io.ReadWriteCloser) {
	t.Helper()
	defer console.Close()
	heard := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(console)
		for lines.Scan() && lines.Text() != "heard hello" {
		}
		heard <- lines.Text() == "heard hello"
	}()
	for end := within(t); end.Err() == nil; {
		fmt.Fprintln(console, "hello")
		select {
		case ok := <-heard:
			if !ok {
				t.Error("the console ended")
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Error("the guest does not answer")
}

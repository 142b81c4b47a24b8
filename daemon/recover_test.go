//go:build linux

package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// reopen closes a daemon, lets something happen without it, and opens the next one.
func reopen(t *testing.T, d *daemon.Daemon, o daemon.Options, meanwhile func()) *daemon.Daemon {
	t.Helper()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	return daemontest.Open(t, o)
}

// client is one of a VM's supervisor that the daemon knows nothing of.
func client(t *testing.T, o daemon.Options, m daemon.Machine) *supervisor.Client {
	t.Helper()
	c, err := supervisor.Open(vmDir(o.Dir, m), supervisortest.Command()...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAdoption(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	up, held, ends := addGuest(t, d, "up", supervisortest.Good), addGuest(t, d, "held", supervisortest.Held), addGuest(t, d, "ends", supervisortest.Good)
	speaks := addGuest(t, d, "speaks", supervisortest.Held)
	for _, m := range []daemon.Machine{up, held, ends, speaks} {
		start(t, d, m.ID, daemon.StartOptions{})
	}
	daemontest.WaitStatus(t, d, up.ID, daemon.Up)
	daemontest.WaitStatus(t, d, ends.ID, daemon.Up)
	heldBefore, _ := client(t, o, held).State(t.Context())
	d = reopen(t, d, o, func() {
		if err := client(t, o, ends).Stop(t.Context(), 0); err != nil {
			t.Error(err)
		}
		release(t, o.Dir, speaks)
		if _, err := client(t, o, speaks).WaitFirstBoot(t.Context(), nil); err != nil {
			t.Error(err)
		}
	})
	for m, want := range map[string]daemon.Status{up.ID: daemon.Up, held.ID: daemon.PoweringUp, ends.ID: daemon.Down} {
		if m, err := d.Get(m); err != nil || m.Status != want {
			t.Errorf("%s is %s, not %s: %v", m.Name, m.Status, want, err)
		}
	}
	if m := daemontest.WaitStatus(t, d, speaks.ID, daemon.Up); !m.Initialized {
		t.Error("what a guest said while there was no daemon is lost")
	}
	// Nothing is told twice, however often the daemon comes back.
	told := len(d.Events(0))
	for range 3 {
		d = reopen(t, d, o, func() {})
	}
	if again := d.Events(uint64(told)); len(again) > 0 {
		t.Errorf("told again: %+v", again)
	}
	// A VM that was found again is one like the others.
	release(t, o.Dir, held)
	daemontest.WaitStatus(t, d, held.ID, daemon.Up)
	if now, _ := client(t, o, held).State(t.Context()); now.PID != heldBefore.PID {
		t.Errorf("the VM has another process: %d, before %d", now.PID, heldBefore.PID)
	}
	stop(t, d, up.ID)
	if got := story(d, up.ID); got != "down wait_for_launch powering_up up powering_down down" {
		t.Errorf("statuses: %s", got)
	}
}

// The supervisor of a VM dies while there is no daemon: the next daemon starts another one, and the VM runs on.
func TestAdoptionWithoutASupervisor(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "up", supervisortest.Good)
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	before, _ := client(t, o, m).State(t.Context())
	d = reopen(t, d, o, func() {
		p, err := os.FindProcess(before.Supervisor)
		if err == nil {
			err = p.Kill()
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.Reason != "" {
		t.Errorf("%+v", m)
	}
	if now, _ := client(t, o, m).State(t.Context()); now.PID != before.PID || now.Supervisor == before.Supervisor {
		t.Errorf("processes: %d and %d, before %d and %d", now.PID, now.Supervisor, before.PID, before.Supervisor)
	}
	stop(t, d, m.ID)
}

// A supervisor dies and no other can be started: the VM is not taken to be down, because it may run. When there is one again, the
// VM is what it was.
func TestNotResponding(t *testing.T) {
	t.Parallel() // it waits, mostly
	o := daemontest.Options(t.TempDir())
	o.Supervisor = []string{"false"}
	d := daemontest.Open(t, o)
	d.SetRetry(100 * time.Millisecond)
	m := addGuest(t, d, "up", supervisortest.Good)
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	before, err := client(t, o, m).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(before.Supervisor)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.NotResponding); m.Reason == "" {
		t.Errorf("%+v", m)
	}
	if now, err := client(t, o, m).State(t.Context()); err != nil || now.PID != before.PID { // which starts a supervisor
		t.Errorf("%+v, %v", now, err)
	}
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.Reason != "" {
		t.Errorf("%+v", m)
	}
	stop(t, d, m.ID)
}

// A guest that was asked to reboot ends while there is no daemon: the next daemon starts it again.
func TestRebootOverARestart(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "deaf", supervisortest.Deaf)
	start(t, d, m.ID, daemon.StartOptions{})
	first := daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	if err := d.Reboot(t.Context(), m.ID, 0); err != nil {
		t.Fatal(err)
	}
	d = reopen(t, d, o, func() {
		if err := client(t, o, m).Stop(t.Context(), 0); err != nil {
			t.Error(err)
		}
	})
	m = daemontest.Wait(t, d, m.ID, func(m daemon.Machine) bool { return m.Status == daemon.Up && m.Started.After(first.Started) })
	stop(t, d, m.ID)
}

func TestTwoDaemons(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	daemontest.Open(t, o)
	if _, err := daemon.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("another vmseed serve runs (pid %d)", os.Getpid())) {
		t.Errorf("second daemon: %v", err)
	}
}

func TestKeyFile(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	if err := daemontest.Open(t, o).Close(); err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(o.Dir, "key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 32 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Rename(key, key+".away"); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "key is not there") {
		t.Errorf("without the key: %v", err)
	}
	if err := os.WriteFile(key, make([]byte, 33), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "33 bytes") && !strings.Contains(err.Error(), "large") {
		t.Errorf("a key that is too long: %v", err)
	}
	if err := os.Rename(key+".away", key); err != nil {
		t.Fatal(err)
	}
	for path, modes := range map[string][2]os.FileMode{key: {0o640, 0o600}, o.Dir: {0o707, 0o700}} {
		if err := os.Chmod(path, modes[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := daemon.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), path+" is open to other users") {
			t.Errorf("%s has mode %o: %v", path, modes[0], err)
		}
		if err := os.Chmod(path, modes[1]); err != nil {
			t.Fatal(err)
		}
	}
	daemontest.Open(t, o)
}

// A daemon is killed after it has recorded a start that runs first boot again, and before there is a QEMU. No guest has seen the new
// seed, so the next start is not another first boot.
func TestStartThatNeverCame(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Good)
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	stop(t, d, m.ID)
	started := make(chan error, 1)
	go func() {
		started <- d.Start(t.Context(), m.ID, daemon.StartOptions{Initialize: true,
			Documents: daemontest.Definition("web", supervisortest.Silent, "#cloud-config\ntimezone: UTC")})
	}()
	if m := daemontest.WaitStatus(t, d, m.ID, daemon.WaitForLaunch); m.Generation != 1 {
		t.Errorf("generation %d", m.Generation)
	}
	next := daemontest.Options(t.TempDir())
	for _, name := range []string{"store.db", "key"} {
		text, err := os.ReadFile(filepath.Join(o.Dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(next.Dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	stop(t, d, m.ID)
	if err := <-started; !conflict(err) {
		t.Error(err)
	}
	d = daemontest.Open(t, next)
	if m, err := d.Get(m.ID); err != nil || m.Status != daemon.Down || m.Reason == "" || m.Generation != 0 || m.RunOnce {
		t.Errorf("%+v, %v", m, err)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	if m := daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.Generation != 0 {
		t.Errorf("the next start has the generation %d", m.Generation)
	}
}

// The host goes down with everything that runs on it: the next daemon says so of its VMs, and starts them again when asked.
func TestHostGoesDown(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "up", supervisortest.Good)
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	before, err := client(t, o, m).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d = reopen(t, d, o, func() {
		for _, pid := range []int{before.Supervisor, before.PID} {
			p, err := os.FindProcess(pid)
			if err == nil {
				err = p.Kill()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.Down); m.Reason == "" || m.Ended.IsZero() || !m.Initialized {
		t.Errorf("%+v", m)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
}

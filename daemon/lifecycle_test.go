//go:build linux

package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

const config = "#cloud-config\nlocale: de_DE.UTF-8"

func add(t testing.TB, d *daemon.Daemon, m daemon.Machine) daemon.Machine {
	t.Helper()
	m, err := d.Add(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// addGuest adds a VM whose guest behaves in a way.
func addGuest(t testing.TB, d *daemon.Daemon, name, behaviour string) daemon.Machine {
	t.Helper()
	return add(t, d, daemon.Machine{Documents: daemontest.Definition(name, behaviour, config)})
}

func start(t testing.TB, d *daemon.Daemon, id string, o daemon.StartOptions) {
	t.Helper()
	if err := d.Start(t.Context(), id, o); err != nil {
		t.Fatal(err)
	}
}

func stop(t testing.TB, d *daemon.Daemon, id string) daemon.Machine {
	t.Helper()
	if err := d.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	m, err := d.Get(id)
	if err != nil || m.Status != daemon.Down {
		t.Fatalf("after Stop: %s, %v", m.Status, err)
	}
	return m
}

// release lets a held guest report.
func release(t testing.TB, dir string, m daemon.Machine) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(vmDir(dir, m), supervisortest.Release), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func vmDir(dir string, m daemon.Machine) string {
	return filepath.Join(dir, "vms", m.Namespace+"_"+m.ID)
}

// story returns the statuses that a VM went through.
func story(d *daemon.Daemon, id string) string {
	var out []string
	for _, e := range d.Events(0) {
		if e.Object == id && e.Status != "" {
			out = append(out, string(e.Status))
		}
	}
	return strings.Join(out, " ")
}

func conflict(err error) bool {
	var c *daemon.ConflictError
	return errors.As(err, &c)
}

func TestLife(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Held)
	if m.Status != daemon.Down || m.Name != "web" || m.Namespace != "default" || m.ID == "" {
		t.Fatalf("added: %+v", m)
	}
	if _, err := os.Stat(vmDir(o.Dir, m)); err == nil {
		t.Error("a VM that never ran has a directory")
	}
	start(t, d, m.ID, daemon.StartOptions{})
	if m, _ = d.Get(m.ID); m.Status != daemon.PoweringUp || m.Initialized || m.Started.IsZero() {
		t.Errorf("before the guest's word: %+v", m)
	}
	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{}); !conflict(err) {
		t.Errorf("second start: %v", err)
	}
	release(t, o.Dir, m)
	m = daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	if !m.Initialized || m.FirstBoot == nil || m.FirstBoot.Result.Agent != "fake" {
		t.Errorf("up: %+v", m)
	}
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); !conflict(err) {
		t.Errorf("removing a VM that runs: %v", err)
	}
	if m = stop(t, d, m.ID); m.Ended.IsZero() || !m.Initialized {
		t.Errorf("stopped: %+v", m)
	}
	if err := d.Stop(t.Context(), m.ID); !conflict(err) {
		t.Errorf("second stop: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(vmDir(o.Dir, m), "seed*")); left != nil {
		t.Errorf("the seed of a VM that is down is still there: %s", left)
	}
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(vmDir(o.Dir, m)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
	const want = "down wait_for_launch powering_up up powering_down down"
	if got := story(d, m.ID); got != want {
		t.Errorf("statuses: %s, want %s", got, want)
	}
	var missing *daemon.NotFoundError
	if _, err := d.Get(m.ID); !errors.As(err, &missing) {
		t.Errorf("Get of a removed VM: %v", err)
	}
}

func TestWhatEndsARun(t *testing.T) {
	d := daemontest.New(t)
	t.Run("the guest powers off", func(t *testing.T) {
		m := addGuest(t, d, "short", supervisortest.ShortLife)
		start(t, d, m.ID, daemon.StartOptions{})
		if m = daemontest.WaitStatus(t, d, m.ID, daemon.Down); m.Reason == "" || m.Initialized {
			t.Errorf("%+v", m)
		}
	})
	t.Run("QEMU does not start", func(t *testing.T) {
		m := addGuest(t, d, "stillborn", supervisortest.Stillborn)
		err := d.Start(t.Context(), m.ID, daemon.StartOptions{})
		if err == nil || !strings.Contains(err.Error(), "cannot open the display") {
			t.Errorf("Start: %v", err)
		}
		if m, _ = d.Get(m.ID); m.Status != daemon.Down || !m.Started.IsZero() || m.Generation != 0 {
			t.Errorf("%+v", m)
		}
		if got := story(d, m.ID); got != "down wait_for_launch down" {
			t.Errorf("statuses: %s", got)
		}
	})
	t.Run("shutdown", func(t *testing.T) {
		m := addGuest(t, d, "polite", supervisortest.Good)
		start(t, d, m.ID, daemon.StartOptions{})
		daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		if err := d.Shutdown(t.Context(), m.ID, 0); err != nil {
			t.Fatal(err)
		}
		daemontest.WaitStatus(t, d, m.ID, daemon.Down)
		if got := story(d, m.ID); !strings.HasSuffix(got, "up powering_down down") {
			t.Errorf("statuses: %s", got)
		}
		if err := d.Shutdown(t.Context(), m.ID, 0); !conflict(err) {
			t.Errorf("shutdown of a VM that is down: %v", err)
		}
	})
	t.Run("a deaf guest", func(t *testing.T) {
		m := addGuest(t, d, "deaf", supervisortest.Deaf)
		start(t, d, m.ID, daemon.StartOptions{})
		daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		if err := d.Shutdown(t.Context(), m.ID, 0); err != nil {
			t.Fatal(err)
		}
		if m, _ = d.Get(m.ID); m.Status != daemon.PoweringDown {
			t.Errorf("asked: %s", m.Status)
		}
		stop(t, d, m.ID)
		start(t, d, m.ID, daemon.StartOptions{})
		if err := d.Shutdown(t.Context(), m.ID, time.Millisecond); err != nil {
			t.Fatal(err)
		}
		daemontest.WaitStatus(t, d, m.ID, daemon.Down)
	})
	t.Run("removal by force", func(t *testing.T) {
		m := addGuest(t, d, "forced", supervisortest.Deaf)
		start(t, d, m.ID, daemon.StartOptions{})
		if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.FindByName("", "forced"); err == nil {
			t.Error("it is still there")
		}
	})
}

// A guest that should speak and does not is taken to be up in the end, but its first boot is not taken to be done.
func TestSilentGuest(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	o.BootTimeout = 20 * time.Millisecond
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "held", supervisortest.Held)
	start(t, d, m.ID, daemon.StartOptions{})
	m = daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	if m.Initialized || m.Reason == "" {
		t.Errorf("%+v", m)
	}
	last := d.Events(0)[len(d.Events(0))-1]
	if last.Severity != daemon.Warning || last.Status != daemon.Up {
		t.Errorf("last event: %+v", last)
	}
	release(t, o.Dir, m) // its word counts even then
	daemontest.Wait(t, d, m.ID, func(m daemon.Machine) bool { return m.Initialized })
}

func TestWithoutASeed(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "bare", supervisortest.Silent)
	start(t, d, m.ID, daemon.StartOptions{NoSeed: true})
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.Initialized || m.Reason != "" {
		t.Errorf("%+v", m)
	}
	if found, _ := filepath.Glob(filepath.Join(vmDir(o.Dir, m), "seed*")); found != nil {
		t.Errorf("there is a seed: %s", found)
	}
}

// A guest without a seed is up when its agent answers, which ends the first boot of one that is told by an answer file.
func TestGuestAgent(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	o.SeedlessTimeout = time.Hour
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "bare", supervisortest.AgentOnly)
	start(t, d, m.ID, daemon.StartOptions{NoSeed: true})
	if m = daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.Initialized || m.Reason != "" {
		t.Errorf("without first-boot data: %+v", m)
	}
	answers := daemontest.Definition("windows", supervisortest.AgentOnly, "")
	answers[0].Text = secret.New(answers[0].Text.Reveal() + "  dataSource: none\n")
	w := add(t, d, daemon.Machine{Documents: answers, FirstBootDocuments: answers})
	start(t, d, w.ID, daemon.StartOptions{})
	if w = daemontest.WaitStatus(t, d, w.ID, daemon.Up); !w.Initialized || w.FirstBootDocuments != nil {
		t.Errorf("with an answer file: %+v", w)
	}
}

func TestReboot(t *testing.T) {
	d := daemontest.New(t)
	m := addGuest(t, d, "web", supervisortest.Good)
	once := daemontest.Definition("web", supervisortest.Good, config+"\ntimezone: UTC")
	for _, volatile := range []bool{false, true} {
		start(t, d, m.ID, daemon.StartOptions{Documents: once, Initialize: true, Volatile: volatile})
		daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		first, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error {
			m.NextRun = true
			return nil
		})
		if err != nil || !first.NextRun {
			t.Fatalf("%+v, %v", first, err)
		}
		if err := d.Reboot(t.Context(), m.ID, 0); err != nil {
			t.Fatal(err)
		}
		second := daemontest.Wait(t, d, m.ID, func(m daemon.Machine) bool { return m.Status == daemon.Up && m.Started.After(first.Started) })
		if second.RunOnce == volatile || (second.RunDocuments != nil) == volatile || second.Generation != first.Generation || second.NextRun == volatile {
			t.Errorf("volatile %v: %+v", volatile, second)
		}
		if err := d.Reset(t.Context(), m.ID); err != nil {
			t.Error(err)
		}
		if m := stop(t, d, m.ID); m.RunOnce || m.RunDocuments != nil || m.NextRun {
			t.Errorf("the run-once has not ended: %+v", m)
		}
	}
	if got := story(d, m.ID); !strings.HasPrefix(got, "down wait_for_launch powering_up up reboot_in_progress wait_for_launch powering_up up powering_down down") {
		t.Errorf("statuses: %s", got)
	}
}

func TestConsole(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Good)
	if _, err := d.Console(t.Context(), m.ID); !conflict(err) {
		t.Errorf("console of a VM that is down: %v", err)
	}
	log := func() string {
		r, err := d.SerialLog(m.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := log(); got != "" {
		t.Errorf("log of a VM that never ran: %q", got)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	console, err := d.Console(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer console.Close()
	fmt.Fprintln(console, "hello")
	for lines := bufio.NewScanner(console); lines.Scan(); {
		if strings.Contains(lines.Text(), "heard hello") {
			break
		}
	}
	// QEMU writes the log, and the supervisor moves the older part of it.
	for name, text := range map[string]string{"serial.log.1": "older\n", "serial.log": "newer\n"} {
		if err := os.WriteFile(filepath.Join(vmDir(o.Dir, m), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop(t, d, m.ID)
	if got := log(); got != "older\nnewer\n" {
		t.Errorf("log: %q", got)
	}
}

// Of many that want the same thing at once, one gets it, and the others are told so.
func TestOneStart(t *testing.T) {
	d := daemontest.New(t)
	m := addGuest(t, d, "web", supervisortest.Good)
	var all sync.WaitGroup
	var mutex sync.Mutex
	started := 0
	for range 10 {
		all.Go(func() {
			err := d.Start(t.Context(), m.ID, daemon.StartOptions{})
			mutex.Lock()
			defer mutex.Unlock()
			if err == nil {
				started++
			} else if !conflict(err) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if started != 1 {
		t.Errorf("%d starts", started)
	}
}

// A VM that is stopped while it is being started leaves nothing running that nobody knows of.
func TestStopDuringStart(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Good)
	for range 10 {
		started := make(chan error, 1)
		go func() { started <- d.Start(t.Context(), m.ID, daemon.StartOptions{}) }()
		daemontest.Wait(t, d, m.ID, func(m daemon.Machine) bool { return m.Status.Running() })
		if err := d.Stop(t.Context(), m.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-started; err != nil && !conflict(err) {
			t.Error(err)
		}
		if m, _ := d.Get(m.ID); m.Status != daemon.Down || processes(vmDir(o.Dir, m)) > 0 {
			t.Fatalf("%s (%s), %d processes", m.Status, m.Reason, processes(vmDir(o.Dir, m)))
		}
	}
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
}

// Whoever asks for a start may go away: the VM starts all the same.
func TestAskerGoesAway(t *testing.T) {
	d := daemontest.New(t)
	m := addGuest(t, d, "web", supervisortest.Good)
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := d.LastEvent()
	go func() {
		_ = d.Watch(t.Context(), cancelled, func(daemon.Event) error {
			cancel() // at wait_for_launch
			return daemon.ErrClosed
		})
	}()
	if err := d.Start(ctx, m.ID, daemon.StartOptions{}); err != nil {
		t.Error(err)
	}
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
}

func TestUnsupportedStart(t *testing.T) {
	d := daemontest.New(t)
	m := addGuest(t, d, "web", "")
	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{Paused: true}); !errors.Is(err, daemon.ErrUnsupported) {
		t.Error(err)
	}
}

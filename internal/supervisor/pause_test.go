//go:build linux

package supervisor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// is waits until the VM has a status.
func is(t *testing.T, c *supervisor.Client, want supervisor.Status) supervisor.State {
	t.Helper()
	for limit := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		s, err := c.State(within(t))
		if err != nil || s.Status == want {
			return s
		}
		if time.Now().After(limit) {
			t.Fatalf("the VM is %+v, want %s", s, want)
		}
	}
}

// TestPause stops a guest's processors and lets them go on. A guest that is paused shuts down as others do.
func TestPause(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Pause(within(t)); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("before the start: %v", err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Pause(within(t)); err != nil {
			t.Fatal(err)
		}
		if s := is(t, c, supervisor.Paused); s.Reason != supervisor.ByUser {
			t.Errorf("paused: %+v", s)
		}
	}
	if err := c.Resume(within(t)); err != nil {
		t.Fatal(err)
	}
	is(t, c, supervisor.Running)
	if err := c.Pause(within(t)); err != nil {
		t.Fatal(err)
	}
	is(t, c, supervisor.Paused)
	begin := time.Now()
	if err := c.Stop(within(t), time.Hour); err != nil || time.Since(begin) > limit {
		t.Errorf("the end of a paused guest: %v after %v", err, time.Since(begin))
	}
	if s := state(t, c); s.Status != supervisor.Stopped {
		t.Errorf("it ended as %+v", s)
	}
}

// TestGuestOS asks the guest agent what runs there.
func TestGuestOS(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	os, err := c.GuestOS(within(t))
	if want := (supervisor.OS{ID: "fake", PrettyName: "Fake 1", KernelRelease: "6.1"}); err != nil || os != want {
		t.Errorf("%+v, %v", os, err)
	}
}

package provider

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// switched is a guest that can be paused, and whose agent tells what runs in it.
type switched struct {
	*simGuest
	resets int
	err    error
}

func (s *switched) Pause(context.Context) error {
	s.say(supervisor.Event{Status: supervisor.Paused, Reason: supervisor.ByUser})
	return s.err
}

func (s *switched) Resume(context.Context) error {
	s.say(supervisor.Event{Status: supervisor.Running})
	return s.err
}

func (s *switched) Reset(context.Context) error {
	s.resets++
	return s.err
}

func (*switched) AwaitAgent(context.Context) error { return nil }

func (*switched) GuestOS(context.Context) (supervisor.OS, error) {
	return supervisor.OS{ID: "debian", PrettyName: "Debian 12"}, nil
}

// TestPause pauses a guest, whose probes rest with it, lets it go on and resets it.
func TestPause(t *testing.T) {
	lie(t, func(b *bed) {
		var guest *switched
		b.runner.equip = func(g *simGuest) Guest {
			guest = &switched{simGuest: g}
			return guest
		}
		pod := b.create(func(pod *corev1.Pod) {
			// Nothing answers there: a guest that runs is ended for it.
			pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3,
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
		})
		do := func(command string) error {
			return b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{command}, new(terminal))
		}
		b.runner.guest(pod.UID).boots()
		now := b.is(pod, "Running running ready")
		if m := condition(now, GuestAgentCondition).Message; m != `{"prettyName":"Debian 12","id":"debian"}` {
			t.Errorf("what runs in the guest: %q", m)
		}
		if err := do(PauseCommand); err != nil {
			t.Fatal(err)
		}
		now = b.is(pod, "Running running not:PausedByUser")
		if c := condition(now, corev1.PodReady); c.Message != "a user has paused the guest" {
			t.Errorf("%+v", c)
		}
		b.said("Normal Paused A user has paused the guest")
		b.after(time.Hour)
		b.is(pod, "Running running not:PausedByUser")
		b.close()
		b.open()
		if err := b.p.CreatePod(b.t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.is(pod, "Running running not:PausedByUser")
		if err := errors.Join(do(UnpauseCommand), do(ResetCommand)); err != nil || guest.resets != 1 {
			t.Fatalf("%v, %d resets", err, guest.resets)
		}
		b.is(pod, "Running running ready")
		b.said("Normal Resumed")
		b.after(40 * time.Second)
		b.is(pod, "Running running restarts=1 last=Error not:Booting")
		guest.err = supervisor.ErrTooOld
		if err := do(ResetCommand); !errors.Is(err, supervisor.ErrTooOld) || !strings.HasPrefix(err.Error(), ResetCommand) {
			t.Errorf("an older supervisor: %v", err)
		}
		b.runner.guest(pod.UID).say(supervisor.Event{Status: supervisor.Paused, Reason: "io-error"})
		synctest.Wait()
		b.is(pod, "Running running restarts=1 last=Error not:Paused")
		b.said("Warning Paused The guest's processors were stopped: io-error")
	})
	lie(t, func(b *bed) {
		b.create(nil)
		if err := b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{PauseCommand}, new(terminal)); !errdefs.IsInvalidInput(err) {
			t.Errorf("a guest that cannot be paused: %v", err)
		}
	})
}

// frozen is a switched guest whose programs answer unless it stands still, as it may before the node has heard of that.
type frozen struct {
	switched
	still *atomic.Bool
}

func (f *frozen) Exec(ctx context.Context, _ supervisor.Command) (supervisor.Result, error) {
	if f.still.Load() {
		<-ctx.Done()
		return supervisor.Result{}, ctx.Err()
	}
	return supervisor.Result{}, nil
}

// TestPauseWhileProbed pauses a guest that a probe waits for, and has another process find it so: neither ends the guest.
func TestPauseWhileProbed(t *testing.T) {
	lie(t, func(b *bed) {
		still := new(atomic.Bool)
		b.runner.equip = func(g *simGuest) Guest { return &frozen{switched{simGuest: g}, still} }
		pod := b.create(func(pod *corev1.Pod) {
			pod.Spec.Containers[0].LivenessProbe = &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 1, TimeoutSeconds: 5,
				ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
		})
		b.runner.guest(pod.UID).boots()
		b.is(pod, "Running running ready")
		still.Store(true)
		b.after(12 * time.Second)
		if err := b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{PauseCommand}, new(terminal)); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
		b.is(pod, "Running running not:PausedByUser")
		b.close()
		b.open()
		if err := b.p.CreatePod(b.t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
		b.is(pod, "Running running not:PausedByUser")
		if n := b.runner.count(); n != 1 {
			t.Errorf("the guest was started %d times", n)
		}
	})
}

// TestPauseAtFirstBoot pauses a guest in its first boot: it is not taken to be up for its silence, but has all its time to speak
// when it goes on.
func TestPauseAtFirstBoot(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest { return &switched{simGuest: g} }
		pod := b.create(nil)
		do := func(command string) {
			t.Helper()
			if err := b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{command}, new(terminal)); err != nil {
				t.Fatal(err)
			}
		}
		do(PauseCommand)
		b.after(time.Hour)
		do(UnpauseCommand)
		b.after(DefaultFirstBootTimeout - time.Minute)
		b.is(pod, "Running running not:Booting")
		b.after(2 * time.Minute)
		b.is(pod, "Running running ready")
	})
}

// away is a guest whose supervisor does not answer for a while.
type away struct {
	*simGuest
	// events and states are how many calls get no answer.
	events, states int
}

func (a *away) Events(ctx context.Context, since int, f func(supervisor.Event) error) error {
	if a.events--; a.events >= 0 {
		return errors.New("no answer")
	}
	return a.simGuest.Events(ctx, since, f)
}

func (a *away) State(ctx context.Context) (supervisor.State, error) {
	if a.states--; a.states >= 0 {
		return supervisor.State{}, errors.New("no answer")
	}
	return a.simGuest.State(ctx)
}

// TestAway: a guest whose supervisor answers again is ready again, though nothing has happened meanwhile.
func TestAway(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest {
			g.boots()
			return &away{simGuest: g, events: 1, states: 3}
		}
		pod := b.create(nil)
		b.is(pod, "Running running not:Paused")
		b.after(time.Minute)
		b.is(pod, "Running running ready")
	})
}

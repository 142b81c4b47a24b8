//go:build linux

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
)

func TestWatch(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	const n = 60
	var all sync.WaitGroup
	watch := func(since uint64, count int) {
		all.Go(func() {
			done, last := errors.New("done"), since
			err := d.Watch(t.Context(), since, func(e daemon.Event) error {
				if e.ID != last+1 || e.Time.IsZero() || e.Text == "" {
					return fmt.Errorf("event %d follows %d", e.ID, last)
				}
				if last++; int(last-since) == count {
					return done
				}
				return nil
			})
			if !errors.Is(err, done) {
				t.Error(err)
			}
		})
	}
	watch(0, n)
	watch(0, n)
	watch(20, n-20)
	var adding sync.WaitGroup
	for i := range n {
		adding.Go(func() {
			ctx := daemon.WithOrigin(t.Context(), daemon.Origin{Actor: "admin@internal", Correlation: fmt.Sprint("c", i)})
			if _, err := d.Add(ctx, daemon.Machine{Documents: plain(fmt.Sprint("m", i), "")}); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	all.Wait()
	seen := map[string]bool{}
	for _, e := range d.Events(0) {
		if e.Kind != daemon.MachineAdded || e.Actor != "admin@internal" || seen[e.Correlation] {
			t.Errorf("%+v", e)
		}
		seen[e.Correlation] = true
	}
	if len(seen) != n || d.LastEvent() != n {
		t.Errorf("%d events, the last is %d", len(seen), d.LastEvent())
	}
	d = reopen(t, d, o, func() {})
	watch(30, n-30)
	all.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Watch(ctx, d.LastEvent(), func(daemon.Event) error { return errors.New("an event") }); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A watcher that does nothing holds up nobody, and is told what it missed.
func TestSlowWatcher(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	o.Events = 100
	d := daemontest.Open(t, o)
	add(t, d, daemon.Machine{Documents: plain("m", "")})
	m, _ := d.FindByName("", "m")
	stuck, lost, told := make(chan struct{}), make(chan error, 1), make(chan struct{})
	go func() {
		first := true
		lost <- d.Watch(t.Context(), 0, func(daemon.Event) error {
			if first {
				first = false
				close(told)
				<-stuck
			}
			return nil
		})
	}()
	<-told
	const many = 500
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			for range many / 10 {
				if _, err := d.Update(t.Context(), m.ID, func(*daemon.Machine) error { return nil }); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	close(stuck)
	var l *daemon.LostError
	if err := <-lost; !errors.As(err, &l) || l.Resume != many+1-100 {
		t.Errorf("the slow watcher got %v", err)
	}
	if kept := d.Events(0); len(kept) != 100 || kept[0].ID != l.Resume+1 {
		t.Errorf("%d events are kept", len(kept))
	}
}

func TestClosed(t *testing.T) {
	d := daemontest.New(t)
	m := add(t, d, daemon.Machine{Documents: plain("m", "")})
	watching := make(chan error, 1)
	go func() {
		watching <- d.Watch(context.Background(), d.LastEvent(), func(daemon.Event) error { return nil })
	}()
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if err := <-watching; !errors.Is(err, daemon.ErrClosed) {
		t.Errorf("Watch: %v", err)
	}
	for what, err := range map[string]error{
		"start": d.Start(t.Context(), m.ID, daemon.StartOptions{}), "stop": d.Stop(t.Context(), m.ID), "remove": d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}),
		"shutdown": d.Shutdown(t.Context(), m.ID, 0), "reset": d.Reset(t.Context(), m.ID),
	} {
		if !errors.Is(err, daemon.ErrClosed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

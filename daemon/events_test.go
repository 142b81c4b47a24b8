//go:build linux

package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/secret"
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

// What was said of a VM's documents is said again when it is new, and only then: over updates, starts and restarts of the daemon.
func TestRemarksAreSaidOnce(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	doc := func(more string) []daemon.Document {
		text := "<vm>\n<name>m</name><usb><enabled>true</enabled></usb>" + more + "</vm>"
		return []daemon.Document{{Name: "vm.xml", Text: secret.New(text)}}
	}
	last := uint64(0)
	// news are the places of the warnings and notes that were said since the last call.
	news := func() (places []string) {
		for _, e := range d.Events(last) {
			if last = e.ID; e.Kind == daemon.MachineNote {
				places = append(places, string(e.Severity)+" "+e.Place)
			}
		}
		return places
	}
	const lost, lostBelow = "<stateless>true</stateless>", "<comment/>\n<stateless>true</stateless>"
	m := add(t, d, daemon.Machine{Documents: doc("")})
	if got := news(); !slices.Equal(got, []string{"normal vm.xml:1:1", "normal vm.xml:2:15"}) {
		t.Fatalf("a new VM: %q", got)
	}
	for _, step := range []struct {
		name, more string
		once       bool // as the documents of a run, not as the VM's
		want       []string
	}{
		{"the same", "", false, nil},
		{"a warning more", lost, false, []string{"warning vm.xml:2:49"}},
		{"the same in another line", lostBelow, false, nil},
		{"without it", "", false, nil},
		{"with it again", lost, false, []string{"warning vm.xml:2:49"}},
		{"without it once more", "", false, nil},
		{"a warning of a run-once", lost, true, []string{"warning vm.xml:2:49"}},
		{"the same run-once", lost, true, nil},
		{"a run-once with two", lost + "<nonsense>1</nonsense>", true, []string{"warning vm.xml:2:76"}},
		{"a run-once without", "", true, nil},
		{"a run-once with it again", lost, true, []string{"warning vm.xml:2:49"}},
	} {
		if step.once {
			start(t, d, m.ID, daemon.StartOptions{Documents: doc(step.more)})
			stop(t, d, m.ID)
		} else {
			if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error {
				m.Documents = doc(step.more)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			start(t, d, m.ID, daemon.StartOptions{})
			stop(t, d, m.ID)
		}
		if got := news(); !slices.Equal(got, step.want) {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
		d = reopen(t, d, o, func() {})
	}
}

package daemon

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/vmseed/vmseed/report"
)

// Severity is how much an event matters.
type Severity string

// The severities, in oVirt's words (type LogSeverity).
const (
	Normal  Severity = "normal"
	Warning Severity = "warning"
	Error   Severity = "error"
)

// EventKind says what an event is about.
type EventKind string

// The kinds of events.
const (
	MachineAdded   EventKind = "machine.added"
	MachineChanged EventKind = "machine.changed"
	MachineRemoved EventKind = "machine.removed"
	// MachineStatus: the VM has the Status of the event now.
	MachineStatus EventKind = "machine.status"
	// MachineReport: the guest said what Report holds. Of a boot's stages each is one event.
	MachineReport EventKind = "machine.report"
	// MachineNote: something that a user should know, such as a warning about the documents.
	MachineNote EventKind = "machine.note"
	// TemplateAdded, TemplateChanged and TemplateRemoved are about templates, DiskAdded and DiskRemoved about disks.
	TemplateAdded   EventKind = "template.added"
	TemplateChanged EventKind = "template.changed"
	TemplateRemoved EventKind = "template.removed"
	DiskAdded       EventKind = "disk.added"
	DiskRemoved     EventKind = "disk.removed"
	// DaemonNote is about the daemon itself.
	DaemonNote EventKind = "daemon.note"
)

// Event is something that happened. It never holds a secret.
type Event struct {
	// ID counts the events of a daemon from 1, over its restarts.
	ID       uint64    `json:"id"`
	Time     time.Time `json:"time"`
	Kind     EventKind `json:"kind"`
	Severity Severity  `json:"severity"`
	// Object is the id of the VM, template or disk, and Name its name at that time.
	Object string `json:"object,omitempty"`
	Name   string `json:"name,omitempty"`
	// Text says what happened, in a sentence.
	Text string `json:"text"`
	// Status is the new one, with the kinds MachineAdded and MachineStatus.
	Status Status `json:"status,omitempty"`
	// Report is what the guest said, with the kind MachineReport.
	Report *report.Event `json:"report,omitempty"`
	// Code and Place are those of the diagnostic that an event is about.
	Code  string `json:"code,omitempty"`
	Place string `json:"place,omitempty"`
	// Actor is who asked for it, and Correlation how the asker called the request; see WithOrigin.
	Actor       string `json:"actor,omitempty"`
	Correlation string `json:"correlation,omitempty"`
}

// Origin is who asks for something, for events and jobs.
type Origin struct {
	// Actor is the user, such as admin@internal.
	Actor string
	// Correlation is the client's own name for its request.
	Correlation string
}

type originKey struct{}

// WithOrigin returns a context for the calls that serve a request.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

func origin(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Watch calls f with every event after the one numbered since, in order, until ctx ends or f fails; the error is that of f or
// ctx, or ErrClosed. It never holds up the daemon: a watcher that falls so far behind that events it has not seen are no longer
// kept gets a *LostError. So does one whose since is that old; 0 begins with the oldest event that there is.
func (d *Daemon) Watch(ctx context.Context, since uint64, f func(Event) error) error {
	for {
		fresh, changed, err := d.feed.after(since, watchChunk)
		if err != nil {
			return err
		}
		for _, e := range fresh {
			if err := f(e); err != nil {
				return err
			}
			since = e.ID
		}
		if len(fresh) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		case <-d.ctx.Done():
			return ErrClosed
		}
	}
}

// watchChunk is how many events a watcher takes at a time.
const watchChunk = 256

// Events returns the kept events after the one numbered since, oldest first.
func (d *Daemon) Events(since uint64) []Event {
	fresh, _, err := d.feed.after(since, d.feed.limit)
	var lost *LostError
	if errors.As(err, &lost) {
		fresh, _, _ = d.feed.after(lost.Resume, d.feed.limit)
	}
	return fresh
}

// LastEvent returns the number of the newest event: Watch from there sees what happens from now on.
func (d *Daemon) LastEvent() uint64 {
	d.feed.mutex.Lock()
	defer d.feed.mutex.Unlock()
	return d.feed.last
}

// feed are the kept events, in memory.
type feed struct {
	// limit is how many are kept.
	limit int
	mutex sync.Mutex
	// events have numbers without gaps, and end with last.
	events []Event
	last   uint64
	// changed is closed and replaced when there are more.
	changed chan struct{}
}

// add appends events, which must follow those that there are.
func (f *feed) add(events ...Event) {
	if len(events) == 0 {
		return
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.events = append(f.events, events...)
	f.last = events[len(events)-1].ID
	if len(f.events) > 2*f.limit {
		f.events = slices.Clone(f.events[len(f.events)-f.limit:]) // readers have slices of the old ones
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// after returns at most limit events after a number, and what is closed when there are more.
func (f *feed) after(since uint64, limit int) ([]Event, <-chan struct{}, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	kept := f.events[max(0, len(f.events)-f.limit):]
	if len(kept) == 0 || since >= f.last {
		return nil, f.changed, nil
	}
	oldest := kept[0].ID
	if since > 0 && since < oldest-1 {
		return nil, f.changed, &LostError{Resume: oldest - 1}
	}
	from := 0
	if since >= oldest {
		from = int(since - oldest + 1)
	}
	return kept[from:min(len(kept), from+limit)], f.changed, nil
}

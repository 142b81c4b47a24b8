package daemon

import (
	"context"
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
// ctx. It never holds up the daemon: a watcher that falls so far behind that events it has not seen are no longer kept gets a
// *LostError. So does one whose since is that old; 0 begins with the oldest event that there is.
func (d *Daemon) Watch(ctx context.Context, since uint64, f func(Event) error) error {
	return errUnfinished
}

// Events returns the kept events after the one numbered since, oldest first.
func (d *Daemon) Events(since uint64) []Event { return nil }

// LastEvent returns the number of the newest event: Watch from there sees what happens from now on.
func (d *Daemon) LastEvent() uint64 { return 0 }

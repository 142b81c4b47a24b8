package daemon

import (
	"errors"
	"fmt"
)

// NotFoundError means that there is no such object.
type NotFoundError struct {
	// Kind is what was looked for: machine, template, image, disk, storage domain, job or event.
	Kind string
	// ID is what it was looked for by: an id or a name.
	ID string
}

// Error returns what is missing.
func (e *NotFoundError) Error() string { return fmt.Sprintf("there is no %s %s", e.Kind, e.ID) }

// ConflictError means that an object is not in a state in which this can be done, or that its name is taken.
type ConflictError struct {
	// What is wrong, as a sentence without its full stop.
	What string
}

// Error returns what is wrong.
func (e *ConflictError) Error() string { return e.What }

func conflictf(format string, args ...any) error {
	return &ConflictError{What: fmt.Sprintf(format, args...)}
}

// LostError means that events which a watcher has not seen are no longer kept. It may go on with Watch(ctx, Resume, …)
// after it has looked at the objects anew.
type LostError struct {
	// Resume is the number of the last event that is gone.
	Resume uint64
}

// Error says that events are gone.
func (e *LostError) Error() string {
	return fmt.Sprintf("events up to number %d are no longer kept", e.Resume)
}

var (
	// ErrUnsupported is wrapped by errors about what the daemon never does, whatever the state of the object.
	ErrUnsupported = errors.New("not supported")
	// ErrClosed means that the daemon is ending.
	ErrClosed = errors.New("the daemon is ending")
)

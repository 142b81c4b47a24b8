package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/vmseed/vmseed/daemon/mask"
	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Given returns what the guest of a VM was given at its last start, and the machine that it was started as; when that run is
// over, or the next one does not run yet, the Copy that is kept of it. The error is a *NotFoundError for a VM that never ran.
func (d *Daemon) Given(ctx context.Context, id string) (Rendering, error) {
	_, s, err := d.find(id)
	if err != nil {
		return Rendering{}, err
	}
	never := &NotFoundError{Kind: "run of the machine", ID: id}
	if !s.Status.Running() || s.Status == WaitForLaunch {
		var kept []byte
		if s.run.Kept {
			kept, err = d.store.Get(store.Meta, givenID(s.ID))
		}
		if err == nil && kept == nil {
			err = never
		}
		return Rendering{Copy: kept}, err
	}
	given, err := d.readGiven(s)
	if errors.Is(err, fs.ErrNotExist) {
		err = never
	}
	if err != nil {
		return Rendering{}, err
	}
	m, _ := d.machine(ctx, s.owned(), s.ran())
	return Rendering{Machine: m, Seed: given}, nil
}

// readGiven reads what the guest of a VM that runs was given.
func (d *Daemon) readGiven(s *state) (seed.Seed, error) {
	given, err := d.launcher.Given(d.dir(s))
	given.Machine = seed.Name{Namespace: s.Namespace, Name: s.Name}
	return given, err
}

// ran are the documents that the current run was started with.
func (s *state) ran() []Document {
	switch {
	case s.RunOnce:
		return s.RunDocuments
	case s.started != nil:
		return s.started
	}
	return s.wished()
}

// maxCopy is how much of the files is kept of what a guest was given, in bytes.
const maxCopy = 2 << 20

// givenCopy is what is kept of what the guest of a run was given, for the time when that is removed because of its secrets. It has
// none, as far as anybody can tell; for the others it lies in the store, which is sealed.
type givenCopy struct {
	id   string
	text []byte
}

// givenID is where the copy of a VM is kept.
func givenID(id string) string { return "given/" + id }

func (c givenCopy) change() (store.Change, error) {
	return store.Change{Kind: store.Meta, ID: givenID(c.id), Value: c.text}, nil
}

// copyGiven makes the copy of what the guest of a run is given that was started as a machine. Without one, what is shown of
// the run while it goes on is all that there is.
func (d *Daemon) copyGiven(s *state, m machine.Machine) []changer {
	given, err := d.readGiven(s)
	v := mask.View{Secrets: mask.Of(m), Room: maxCopy}
	text, encodeErr := json.Marshal(v.Seed(given))
	if err = errors.Join(err, encodeErr); err != nil {
		d.log.Warn("what the guest was given cannot be kept", "object", s.ID, "error", err)
		return nil
	}
	return []changer{givenCopy{s.ID, text}}
}

// keepGiven makes the copy for a run of which there is none yet: the last daemon did not come to it.
func (d *Daemon) keepGiven(v *vm) {
	s := d.now(v)
	if s.run.Kept && s.run.Before == nil {
		return
	}
	m, l := d.machine(d.ctx, s.owned(), s.ran())
	if l.HasErrors() {
		return // nobody knows what is secret
	}
	records := d.copyGiven(s, m)
	_ = d.publish(d.ctx, v, func(next *state) error {
		if len(records) == 0 || !next.Started.Equal(s.Started) {
			return errSeen
		}
		next.run.Kept = true
		return nil
	}, told(), records...)
}

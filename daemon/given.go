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
	if !s.goesOn() {
		kept, err := d.kept(s, givenID(s.ID))
		return Rendering{Copy: kept}, err
	}
	given, err := d.readGiven(s)
	if errors.Is(err, fs.ErrNotExist) {
		err = neverRan(s)
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

// Ran returns what the last run of a VM was started with, while it goes on; when it is over, or the next one does not run yet, the
// copy that is kept of that. The error is a *NotFoundError for a VM that never ran.
func (d *Daemon) Ran(ctx context.Context, id string) (Ran, error) {
	_, s, err := d.find(id)
	if err != nil {
		return Ran{}, err
	}
	if s.goesOn() {
		m, _ := d.machine(ctx, s.owned(), s.ran())
		return Ran{Machine: m, Documents: s.ran(), Own: s.RunOnce}, nil
	}
	kept, err := d.kept(s, ranID(s.ID))
	if err != nil {
		return Ran{}, err
	}
	var r ranRecord
	err = json.Unmarshal(kept, &r)
	return Ran{Documents: fromRecords(r.Documents), Own: r.Own, Copy: true}, err
}

// goesOn reports whether the last run is not over, and the next one not only on its way.
func (s *state) goesOn() bool { return s.Status.Running() && s.Status != WaitForLaunch }

// kept returns the copy of this id that is kept of the last run.
func (d *Daemon) kept(s *state, id string) (text []byte, err error) {
	if s.run.Kept {
		text, err = d.store.Get(store.Meta, id)
	}
	if err == nil && text == nil {
		err = neverRan(s)
	}
	return text, err
}

func neverRan(s *state) error { return &NotFoundError{Kind: "run of the machine", ID: s.ID} }

// Ran is what a run was started with.
type Ran struct {
	// Machine is what the documents make, placed. A Copy has none.
	Machine   machine.Machine
	Documents []Document
	// Own means that the documents were given for this run alone.
	Own bool
	// Copy means that the run is over, and that all that is secret in the documents is masked.
	Copy bool
}

// ranRecord is the copy that is kept of a Ran.
type ranRecord struct {
	Documents []documentRecord `json:"documents"`
	Own       bool             `json:"own,omitempty"`
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

// givenCopy is what is kept of a run, for the time when its seed and its documents are removed because of their secrets. It has
// none, as far as anybody can tell; for the others it lies in the store, which is sealed.
type givenCopy struct {
	id   string
	text []byte
}

// givenID is where the copy of what the guest of a VM was given is kept, ranID where that of the documents is.
func givenID(id string) string { return "given/" + id }
func ranID(id string) string   { return givenID(id) + "/documents" }

func (c givenCopy) change() (store.Change, error) {
	return store.Change{Kind: store.Meta, ID: c.id, Value: c.text}, nil
}

// copyGiven makes the copies of what the guest of a run is given that was started as a machine, and of the documents. Without
// them, what is shown of the run while it goes on is all that there is.
func (d *Daemon) copyGiven(s *state, m machine.Machine) []changer {
	given, err := d.readGiven(s)
	v := mask.View{Secrets: mask.Of(m), Room: maxCopy}
	text, encodeErr := json.Marshal(v.Seed(given))
	ran := ranRecord{Own: s.RunOnce}
	room := maxCopy
	for _, x := range s.ran() {
		masked, _ := v.Secrets.Text(x.Text.Reveal())
		if room -= len(masked); room < 0 {
			break // a part of a document would be another one
		}
		ran.Documents = append(ran.Documents, documentRecord{Name: x.Name, Text: masked})
	}
	documents, documentErr := json.Marshal(ran)
	if err = errors.Join(err, encodeErr, documentErr); err != nil {
		d.log.Warn("what the guest was given cannot be kept", "object", s.ID, "error", err)
		return nil
	}
	return []changer{givenCopy{givenID(s.ID), text}, givenCopy{ranID(s.ID), documents}}
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

package daemon

import (
	"context"
	"errors"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
)

// Guests returns the placed machines of the VMs that do not run here, as a metadata service serves them to guests which somebody
// else runs. VMs that run have a service of their own, in a network of their own. A VM whose documents have an error is left
// out, and said in the list as a warning.
func (d *Daemon) Guests(ctx context.Context) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	for _, shown := range d.List() {
		if shown.Status != Down {
			continue
		}
		_, s, err := d.find(shown.ID)
		if err != nil {
			continue // it was removed meanwhile
		}
		documents := s.Documents
		if len(s.FirstBootDocuments) > 0 {
			documents = s.FirstBootDocuments
		}
		m, problems := d.machine(ctx, s.owned(), documents)
		if problems.HasErrors() {
			for _, p := range problems {
				p.Severity = min(p.Severity, diag.Warning)
				l.Add(p)
			}
			continue
		}
		out = append(out, m)
		l = append(l, problems...)
	}
	return out, l
}

// Hear takes in what a guest that somebody else runs says of its first boot: it becomes events of the VM, and the final word
// its first boot, as with a VM that runs here. One that does run here has its own guest, so there the word is dropped.
func (d *Daemon) Hear(e report.Event) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	namespace, name, _ := strings.Cut(e.Machine, "/")
	shown, err := d.FindByName(namespace, name)
	if err != nil {
		return err
	}
	v, _, err := d.find(shown.ID)
	if err != nil {
		return err
	}
	var events []Event
	err = d.publish(d.ctx, v, func(s *state) error {
		if s.Status != Down {
			return errSeen
		}
		if s.run.Stage.Ended() && !e.Stage.Ended() {
			s.run.Told = 0 // another boot
		}
		if events = s.hear(e); len(events) == 0 {
			return errSeen
		}
		return nil
	}, func(*state) []Event { return events })
	if errors.Is(err, errSeen) {
		return nil
	}
	return err
}

// GuestsChanged calls f whenever Guests may return something else than before, until ctx ends or the daemon is closed.
func (d *Daemon) GuestsChanged(ctx context.Context, f func()) {
	since := d.LastEvent()
	for {
		err := d.Watch(ctx, since, func(e Event) error {
			since = e.ID
			switch e.Kind {
			case MachineAdded, MachineChanged, MachineRemoved, MachineStatus, TemplateChanged:
				f()
			case MachineReport:
				if e.Report != nil && e.Report.Stage.Ended() { // what only the first boot needs may be erased
					f()
				}
			}
			return nil
		})
		var lost *LostError
		if !errors.As(err, &lost) {
			return
		}
		since = lost.Resume
		f()
	}
}

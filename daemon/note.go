package daemon

import "context"

// Note adds an event that somebody outside made up: its Kind, Severity, Object, Name and Text. It returns the event as it is
// kept.
func (d *Daemon) Note(ctx context.Context, e Event) (Event, error) {
	events := []Event{{Kind: e.Kind, Severity: e.Severity, Object: e.Object, Name: e.Name, Text: e.Text}}
	err := d.commit(ctx, events, func() {})
	return events[0], err
}

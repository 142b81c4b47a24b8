package daemon

import (
	"context"
	"errors"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// Reports returns what the guest of a VM has said of its current or last run, each module of it: the daemon's events hold the
// stages alone. A VM that never ran has none.
func (d *Daemon) Reports(id string) ([]report.Event, error) {
	client, err := d.past(id)
	if client == nil {
		return nil, err
	}
	events, err := client.History()
	var out []report.Event
	for _, e := range events {
		if e.Report != nil {
			out = append(out, *e.Report)
		}
	}
	return out, err
}

// FollowReports calls f with each report above a number that the guest of a VM made, or makes, in its current or last run, and
// returns when the run is over, or ctx, or f fails, whose error it returns. The numbers rise, and begin anew with each run.
func (d *Daemon) FollowReports(ctx context.Context, id string, since int, f func(number int, e report.Event) error) error {
	client, err := d.past(id)
	if client == nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	return client.Events(ctx, since, func(e supervisor.Event) error {
		if e.Report == nil {
			return nil
		}
		return f(e.Sequence, *e.Report)
	})
}

// past returns the client of a VM that has run at least once, or nil.
func (d *Daemon) past(id string) (*supervisor.Client, error) {
	_, s, err := d.find(id)
	if err != nil {
		return nil, err
	}
	client, err := d.client(s)
	if errors.Is(err, supervisor.ErrNoVM) {
		return nil, nil
	}
	return client, err
}

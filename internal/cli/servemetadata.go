package cli

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/metadataservice"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
)

// besideFlags are what the daemon serves beside its APIs.
type besideFlags struct {
	guests  guestFlags
	listen  []string
	metrics string
}

// check refuses flags that do not fit.
func (f *besideFlags) check() error {
	if len(f.listen) == 0 && (f.guests.url != "" || len(f.guests.addresses)+len(f.guests.leases) > 0) {
		return usagef("--metadata-url, --metadata-address and --metadata-leases need --metadata-listen")
	}
	for _, l := range f.listen {
		if err := checkListen("--metadata-listen", l); err != nil {
			return err
		}
	}
	return checkMetrics(f.metrics)
}

// beside is the metadata service of the daemon, for guests that it does not run, and its metrics.
type beside struct {
	daemon  *daemon.Daemon
	log     *slog.Logger
	service *metadataservice.Service
	// said are the warnings that became events.
	said map[string]bool
}

// serveBeside starts what the flags ask for. stop ends it, and returns when it has ended.
func (a *app) serveBeside(ctx context.Context, d *daemon.Daemon, f *besideFlags, dir string, log *slog.Logger) (stop func() error, err error) {
	m := metadataservice.NewMetrics()
	if err := m.Count("vmseed_daemon_machines", "VMs that the daemon keeps, by what they are doing.", "status", func() map[string]int { return doing(d) }); err != nil {
		return nil, err
	}
	var all servers
	b := &beside{daemon: d, log: log, said: map[string]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, all.close(), b.close())
		}
	}()
	if len(f.listen) > 0 {
		if b.service, err = a.daemonGuests(ctx, b, f, dir, m); err != nil {
			return nil, err
		}
		for _, address := range f.listen {
			l, err := listenFor(address, "--metadata-listen")
			if err != nil {
				return nil, err
			}
			all = append(all, listening{listener: l, serve: b.service.Serve, guests: true})
		}
		for _, url := range all.urls() {
			log.Info("serving metadata", "url", url)
		}
	}
	if f.metrics != "" {
		one, err := listenMetrics(f.metrics, m)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
		log.Info("serving metrics", "url", one.url())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	var failed error
	working.Go(func() {
		if failed = all.run(ctx, func() {}); failed != nil {
			log.Error("the metadata service or the metrics have ended", "error", failed)
		}
	})
	if b.service != nil {
		b.follow(ctx, &working)
	}
	return func() error {
		cancel()
		working.Wait()
		return errors.Join(failed, b.close())
	}, nil
}

// close lets another process have the state of what was served.
func (b *beside) close() error {
	if b.service == nil {
		return nil
	}
	return b.service.Close()
}

// doing counts the VMs by what they are doing.
func doing(d *daemon.Daemon) map[string]int {
	out := map[string]int{}
	for _, m := range d.List() {
		out[string(m.Status)]++
	}
	return out
}

// daemonGuests makes the service for the guests of the daemon's machines that it does not run.
func (a *app) daemonGuests(ctx context.Context, b *beside, f *besideFlags, dir string, m *metadataservice.Metrics) (*metadataservice.Service, error) {
	given, err := f.guests.assignments()
	if err != nil {
		return nil, err
	}
	base, err := f.guests.base(f.listen)
	if err != nil {
		return nil, err
	}
	s, l, err := metadataservice.New(ctx, metadataservice.Options{
		Engine: a.engine, Base: base, Addresses: given, Leases: f.guests.leases, Shared: true, StateDir: filepath.Join(dir, "metadata"),
		Metrics: m, Log: b.log,
		Source: func(ctx context.Context) ([]machine.Machine, diag.List, error) {
			machines, l := b.daemon.Guests(ctx)
			return machines, l, nil
		},
		Hear: func(e report.Event) {
			if err := b.daemon.Hear(e); err != nil {
				b.log.Warn("a report is lost", "machine", e.Machine, "error", err)
			}
		},
	})
	if err != nil {
		return nil, err
	}
	b.tell(ctx, l)
	return s, l.Err() // with an error there is no service
}

// follow keeps what is served what the daemon has, and the addresses what the leases say.
func (b *beside) follow(ctx context.Context, working *sync.WaitGroup) {
	now := make(chan struct{})
	changed := make(chan struct{}, 1)
	working.Go(func() {
		b.daemon.GuestsChanged(ctx, func() {
			select {
			case changed <- struct{}{}:
			default: // there is one that nobody has looked at
			}
		})
	})
	working.Go(func() {
		for {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			// Many changes within a moment are one.
			select {
			case <-time.After(settle):
			case <-ctx.Done():
				return
			}
			select {
			case now <- struct{}{}:
			case <-ctx.Done():
				return
			}
		}
	})
	working.Go(func() {
		last := len(b.service.Machines())
		b.service.Watch(ctx, nil, now, func(r metadataservice.Reloaded) {
			b.tell(ctx, r.Diagnostics)
			switch {
			case r.Failed():
				b.log.Error("the machines are served what they were", "error", errors.Join(r.Err, r.Diagnostics.Err()))
			case r.Machines != last:
				b.log.Info("the metadata service has other machines", "machines", r.Machines, "before", last)
			}
			last = r.Machines
		})
	})
}

// settle is how long the daemon waits for further changes of its VMs.
const settle = 200 * time.Millisecond

// tell makes events of what the service itself has to say of the machines, once for as long as it holds. What there is to say of
// their documents was said when those came.
func (b *beside) tell(ctx context.Context, l diag.List) {
	now := map[string]bool{}
	for _, d := range l {
		if d.Severity < diag.Warning || !metadataservice.Own(d.Code) {
			continue
		}
		now[d.Summary] = true
		if b.said[d.Summary] {
			continue
		}
		if _, err := b.daemon.Note(ctx, daemon.Event{Kind: daemon.DaemonNote, Severity: daemon.Warning, Text: d.Summary}); err != nil {
			b.log.Warn("an event is lost", "text", d.Summary, "error", err)
		}
	}
	b.said = now
}

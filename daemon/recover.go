package daemon

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// contact is how long Open waits for the supervisors of running VMs. Those that take longer are found while the daemon serves.
const contact = 20 * time.Second

// contacts is how many supervisors are asked at a time: one that died has to be started first.
const contacts = 16

// recover finishes or takes back what an earlier daemon had under way, and finds the VMs that run.
func (d *Daemon) recover(ctx context.Context) error {
	errs := []error{supervisor.SweepOwn(d.launcher.Root)}
	for _, x := range d.domains {
		if x.Type == DataDomain {
			errs = append(errs, atomicfile.Sweep(x.Dir))
		}
	}
	d.mutex.RLock()
	all, disks := slices.Collect(maps.Values(d.vms)), slices.Collect(maps.Values(d.disks))
	d.mutex.RUnlock()
	errs = append(errs, d.recoverDisks(disks))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var rest []*vm
	for _, v := range all {
		switch s := d.now(v); {
		case s.run.Removing:
			d.resume(v, func() {
				if err := d.remove(d.ctx, v); err != nil {
					d.log.Error("a VM cannot be removed", "object", s.ID, "error", err)
				}
			})
		case s.Status == ImageLocked:
			disk, _ := d.disk(s.Disks[0])
			job := d.jobOf(s.ID)
			d.resume(v, func() { d.finishMachine(d.ctx, v, disk, job) })
		default:
			rest = append(rest, v)
		}
	}
	d.adoptAll(ctx, rest)
	return d.strangers()
}

// strangers tells of VMs that the store does not know, as after it was restored from an old copy. They are left alone: nobody but
// their owner can say that their disks may go.
func (d *Daemon) strangers() error {
	dirs, err := supervisor.List(d.launcher.Root)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	d.mutex.RLock()
	for _, v := range d.vms {
		known[d.dir(v.state)] = true
	}
	d.mutex.RUnlock()
	for _, dir := range dirs {
		if !known[dir] {
			d.log.Warn("there is a VM that the store does not know; remove it with vmseed rm, or take its directory away", "dir", dir)
		}
	}
	return nil
}

// resume goes on with an operation on a VM.
func (d *Daemon) resume(v *vm, f func()) {
	v.busy <- struct{}{}
	d.background(func() {
		defer func() { <-v.busy }()
		f()
	})
}

// jobOf returns the job about an object that has not ended, or a new one.
func (d *Daemon) jobOf(object string) Job {
	for _, j := range d.Jobs() {
		if j.Object == object && j.Status == JobStarted {
			return j
		}
	}
	return newJob(d.ctx, "Making a disk", object)
}

// recoverDisks goes on with what was made or removed.
func (d *Daemon) recoverDisks(disks []diskRecord) error {
	for _, r := range disks {
		switch {
		case r.Removing:
			var with []changer
			e := Event{Kind: DiskRemoved, Object: r.ID, Name: r.Name, Text: "Disk " + r.Name + " was removed"}
			if t, err := d.Template(r.Template); err == nil {
				e = t.event(TemplateRemoved, "Template "+t.Name+" was removed")
				with = append(with, gone{Kind: store.Template, ID: t.ID})
			}
			if err := d.dropDisk(d.ctx, r, e, with...); err != nil {
				return err
			}
		case r.Status == Locked && r.Template != "":
			job := d.jobOf(r.Template)
			d.background(func() { d.finishTemplate(d.ctx, r.Template, r, job) })
		case r.Status == Locked && r.Machine == "":
			job := d.jobOf(r.ID)
			d.background(func() { d.finishDisk(d.ctx, r, job) })
		}
	}
	return nil
}

// adoptAll matches VMs with the directories of their supervisors. It returns when all have been asked, or when that takes long.
func (d *Daemon) adoptAll(ctx context.Context, vms []*vm) {
	ctx, cancel := context.WithTimeout(ctx, contact)
	defer cancel()
	places := make(chan struct{}, contacts)
	var asking sync.WaitGroup
	for _, v := range vms {
		s := d.now(v)
		client, err := d.client(s)
		if err != nil && !s.Status.Running() {
			continue // it never ran
		}
		asking.Add(1)
		d.background(func() {
			defer asking.Done()
			select {
			case places <- struct{}{}:
			case <-d.ctx.Done():
				return
			}
			defer func() { <-places }()
			d.adopt(v, client, err)
		})
	}
	all := make(chan struct{})
	go func() {
		asking.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-ctx.Done():
	}
}

// adopt finds out what became of a VM while there was no daemon. openErr is why it has no client.
func (d *Daemon) adopt(v *vm, client *supervisor.Client, openErr error) {
	s := d.now(v)
	var now supervisor.State
	err := openErr
	if err == nil {
		now, err = client.State(d.ctx)
	}
	// A directory that tells of no run later than the record is that of a start which never came.
	came := now.Started != nil && !now.Started.Before(s.Started)
	switch {
	case d.ctx.Err() != nil:
	case err == nil && now.Status.Alive():
		d.found(v, client)
	case !s.Status.Running():
		if err := d.removeSeeds(s); err != nil {
			d.log.Warn("the seed of a run that has ended cannot be removed", "object", s.ID, "error", err)
		}
	case err == nil && (came || s.Status != WaitForLaunch):
		d.watch(v, client)
		d.unwatch(v)
	case err != nil && !errors.Is(err, supervisor.ErrNoVM) && !errors.Is(err, fs.ErrNotExist):
		d.watch(v, client) // which goes on asking
	case s.run.Again:
		d.restart(v)
	default:
		if err := d.down(v, "the daemon ended before it was started"); err != nil {
			d.log.Error("a VM that does not run cannot be put down as such", "object", s.ID, "error", err)
		}
	}
}

// found goes on with a VM that runs.
func (d *Daemon) found(v *vm, client *supervisor.Client) {
	d.connect(v, client)
	_ = d.publish(d.ctx, v, func(s *state) error {
		if s.Status.Running() {
			return errSeen
		}
		// Somebody started it with another program.
		s.Status, s.Reason, s.Started, s.Ended = PoweringUp, "", time.Now().UTC(), time.Time{}
		s.run = run{Content: s.run.Content, Seeded: true, FirstBoot: !s.Initialized}
		return nil
	}, func(s *state) []Event { return []Event{s.status("VM " + s.Name + " was found running")} })
	d.watch(v, client)
	if s := d.now(v); s.Status == PoweringDown || s.Status == Rebooting {
		// The last daemon may not have come to it.
		if err := client.Ask(d.ctx, s.run.Grace); err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
			d.log.Warn("the guest cannot be asked to shut down", "object", s.ID, "error", err)
		}
	}
}

// removeDir ends a VM and removes its directory.
func (d *Daemon) removeDir(ctx context.Context, s *state) error {
	client, err := d.client(s)
	if errors.Is(err, supervisor.ErrNoVM) {
		return os.RemoveAll(d.dir(s))
	}
	if err != nil {
		return err
	}
	return client.Remove(ctx)
}

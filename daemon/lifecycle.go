package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/boot"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
)

// StartOptions are how a VM is started.
type StartOptions struct {
	// Documents are the whole definition for this run alone (run once); nil means the VM's own.
	Documents []Document
	// Initialize means that the start asks for the first-boot data of its documents to take effect: when what they render
	// to differs from what the guest took at its last first boot, first boot runs again. When they are the same, it does not.
	Initialize bool
	// NewGeneration runs first boot again whatever the documents say.
	NewGeneration bool
	// NoSeed starts the VM without a seed.
	NoSeed bool
	// Paused would leave the guest's processors stopped; the daemon does not do that (ErrUnsupported).
	Paused bool
	// Volatile ends the run-once with Reboot: the VM comes back with its own documents.
	Volatile bool
	// Delivery is how the guest of this run gets its seed; empty means the VM's way.
	Delivery string
}

// Start starts a VM that is down and returns when its guest runs. On an error the VM is down: a *ConflictError for one that is
// not down, a diag.List for documents that cannot be started as they ask.
func (d *Daemon) Start(ctx context.Context, id string, o StartOptions) error {
	if o.Paused {
		return fmt.Errorf("a start that leaves the VM paused is %w", ErrUnsupported)
	}
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	v, s, err := d.find(id)
	if err != nil {
		return err
	}
	if err := s.mustBe(Down); err != nil {
		return err
	}
	release, err := d.acquire(ctx, v)
	if err != nil {
		return err
	}
	defer release()
	s = d.now(v)
	if err := s.mustBe(Down); err != nil {
		return err
	}
	return d.launch(ctx, v, o)
}

// mustBe complains of a VM in another state.
func (s *state) mustBe(these ...Status) error {
	switch {
	case s.run.Removing:
		return conflictf("VM %s is being removed", s.Name)
	case slices.Contains(these, s.Status):
		return nil
	case s.Status == ImageLocked:
		return conflictf("the disks of VM %s are still being made", s.Name)
	case s.Status.Running():
		return conflictf("VM %s is running (%s)", s.Name, s.Status)
	}
	return conflictf("VM %s is not running", s.Name)
}

// status makes the event of a new status.
func (s *state) status(text string) Event {
	e := s.event(MachineStatus, text)
	e.Status = s.Status
	return e
}

// dir is the directory of a VM's supervisor. It has the VM's id, so that names may change.
func (d *Daemon) dir(s *state) string {
	return filepath.Join(d.launcher.Root, supervisor.DirName(s.Namespace, s.ID))
}

// launch starts a VM. The caller has acquired it.
func (d *Daemon) launch(ctx context.Context, v *vm, o StartOptions) error {
	// The asker may go; the start goes on, until Close or a Stop.
	ctx, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	defer context.AfterFunc(d.ctx, abort)()
	d.mutex.Lock()
	v.abort = abort
	d.mutex.Unlock()
	old := d.now(v)
	documents := old.wished()
	if o.Documents != nil {
		documents = o.Documents
	}
	m, l := d.machine(ctx, old.owned(), documents)
	if l.HasErrors() {
		return l
	}
	next, generation, problems := d.plan(old, &m, &o)
	if problems.HasErrors() {
		return problems
	}
	options, err := d.bootOptions(old, m, o, &l)
	if err != nil || l.HasErrors() {
		return errors.Join(err, l.Err())
	}
	err = d.publish(ctx, v, func(s *state) error {
		s.Status, s.Reason, s.Started, s.Ended, s.Generation, s.run = WaitForLaunch, "", time.Now().UTC(), time.Time{}, generation, next
		if generation != old.Generation {
			s.PostedPassword = ""
		}
		if next.FirstBoot {
			s.Login = boot.Login(m, options)
		}
		s.RunOnce, s.RunDocuments, s.started = o.Documents != nil, o.Documents, nil
		s.NextRun = s.NextRun && s.RunOnce // a run-once that is rebooted keeps what it was started with
		return nil
	}, func(s *state) []Event { return []Event{s.status("VM " + s.Name + " is being started")} })
	if err != nil {
		return err
	}
	options.VM.Booted = old.booted(generation)
	client, problems, err := d.boot(ctx, m, options)
	l = append(l, problems...)
	if err != nil || l.HasErrors() {
		switch {
		case d.ctx.Err() != nil:
			err = ErrClosed
		case ctx.Err() != nil:
			err = conflictf("VM %s was stopped while it was being started", old.Name)
		case err == nil:
			err = l
		}
		undone := d.publish(context.WithoutCancel(ctx), v, func(s *state) error {
			s.backTo(old)
			return nil
		}, func(s *state) []Event {
			e := s.status("VM " + s.Name + " cannot be started: " + err.Error())
			e.Severity = Error
			return []Event{e}
		})
		return errors.Join(err, undone)
	}
	d.connect(v, client)
	copied := d.copyGiven(d.now(v), m)
	err = d.publish(context.WithoutCancel(ctx), v, func(s *state) error {
		s.Status, s.run.Before, s.run.Kept = PoweringUp, nil, len(copied) > 0
		return nil
	}, func(s *state) []Event {
		return append([]Event{s.status("The guest of VM " + s.Name + " boots")}, s.begin(l)...)
	}, copied...)
	d.watch(v, client)
	return err
}

// plan says what a start becomes: the run, and the generation of first boot, which the machine gets. It drops a seed that is stale.
func (d *Daemon) plan(old *state, m *machine.Machine, o *StartOptions) (next run, generation int, l diag.List) {
	none := m.DataSource == machine.NoDataSource
	next = run{Seeded: !o.NoSeed && !none, AnswerFile: !o.NoSeed && none, Volatile: o.Volatile, Delivery: o.Delivery, Content: old.run.Content, Kept: old.run.Kept,
		Before: &setup{old.Generation, old.run.Content, old.Login}}
	generation = old.Generation
	if next.Seeded {
		content, problems := d.content(*m)
		if problems.HasErrors() {
			return next, generation, problems
		}
		if old.stale(*m, *o, content) {
			o.NoSeed, next.Seeded = true, false
		} else if generation, next.Content = old.generation(*o, content); generation != old.Generation {
			revise(m, generation-old.Generation)
		}
	}
	next.FirstBoot = (next.Seeded || next.AnswerFile) && !old.booted(generation)
	return next, generation, nil
}

// booted reports whether the guest was set up by a generation of first boot.
func (s *state) booted(generation int) bool { return s.Initialized && generation == s.Generation }

// wished are the documents of a start that brings none.
func (s *state) wished() []Document {
	if len(s.FirstBootDocuments) > 0 {
		return s.FirstBootDocuments
	}
	return s.Documents
}

// stale reports whether the seed of a plain start would tell the guest something else than it was set up with, as after a
// run-once. An engine attaches none then, and guests of oVirt do not look for one in vain. With one, cloud-init would not
// set up the guest again, but would change its host name.
func (s *state) stale(m machine.Machine, o StartOptions, content string) bool {
	return m.Compat == "ovirt" && s.Initialized && !o.Initialize && !o.NewGeneration && s.run.Content != "" && s.run.Content != content
}

// generation decides whether first boot runs again, and returns the content that the generation stands for.
func (s *state) generation(o StartOptions, content string) (int, string) {
	last := s.run.Content
	switch {
	case last == "":
		return s.Generation, content
	case o.NewGeneration, content != last && (o.Initialize || !s.Initialized):
		return s.Generation + 1, content
	}
	return s.Generation, last
}

// backTo makes the VM what it was before a start that failed.
func (s *state) backTo(old *state) {
	s.Status, s.Reason, s.Started, s.Ended, s.Generation, s.run = old.Status, old.Reason, old.Started, old.Ended, old.Generation, old.run
	s.RunOnce, s.RunDocuments, s.NextRun, s.PostedPassword, s.Login = old.RunOnce, old.RunDocuments, old.NextRun, old.PostedPassword, old.Login
	if s.Status != Down { // a reboot
		s.Status, s.Ended, s.RunOnce, s.RunDocuments, s.NextRun, s.run.Again = Down, time.Now().UTC(), false, nil, false, false
	}
}

// bootOptions are those of the road to a running VM.
func (d *Daemon) bootOptions(s *state, m machine.Machine, o StartOptions, l *diag.List) (boot.Options, error) {
	out := boot.Options{ID: s.ID, Login: d.defaults(s.Template).Login, NoSeed: o.NoSeed, Delivery: cmp.Or(o.Delivery, s.Delivery),
		VM: d.options.Hypervisor}
	if err := checkDelivery(o.Delivery); err != nil {
		return out, err
	}
	if len(m.Disks) == 0 && m.Boot.Kernel == "" {
		l.Add(diag.Diagnostic{Code: CodeNothingToBoot, Severity: diag.Error, Range: m.Places.Find("disks"),
			Summary: "the VM has neither a disk nor a kernel to boot", Remedy: "make it from a template that has a disk, or name an image"})
		return out, nil
	}
	for _, id := range s.Disks {
		disk, ok := d.disk(id)
		switch {
		case !ok:
			return out, &NotFoundError{Kind: "disk", ID: id}
		case disk.Status != OK:
			return out, conflictf("disk %s of VM %s cannot be used: %s", disk.Name, s.Name, disk.Reason)
		}
		for _, x := range m.Disks {
			if x.Root {
				out.Volumes = append(out.Volumes, boot.Volume{Name: x.Name, Volume: hypervisor.Volume{Path: disk.File, Format: "qcow2"}})
			}
		}
	}
	return out, nil
}

// boot goes the road to a running VM: for the first time, or again in the directory of the last.
func (d *Daemon) boot(ctx context.Context, m machine.Machine, o boot.Options) (*supervisor.Client, diag.List, error) {
	prepare := d.launcher.New
	if _, err := supervisor.Open(d.launcher.Dir(m, o)); err == nil {
		prepare = d.launcher.Again
	}
	p, l, err := prepare(ctx, m, o)
	l = Worded(l)
	if cannot := unfit(m, err); cannot != nil {
		return nil, append(l, cannot...), nil
	}
	if err != nil || l.HasErrors() {
		return nil, l, wordedError(err)
	}
	client, err := p.Start(ctx)
	err = wordedError(err)
	if err == nil && len(d.options.Supervisor) > 0 {
		client.Command = d.options.Supervisor
	}
	return client, l, err
}

// supply says how users of the APIs give the contents of a disk.
func supply(machine.Disk) string {
	return "by a definition that names a file of the image repository, or by a template that has a disk"
}

// client returns that of a VM's supervisor.
func (d *Daemon) client(s *state) (*supervisor.Client, error) {
	return supervisor.Open(d.dir(s), d.options.Supervisor...)
}

// running returns the client of a VM that has a process.
func (d *Daemon) running(id string) (*vm, *state, *supervisor.Client, error) {
	v, s, err := d.find(id)
	if err != nil {
		return nil, nil, nil, err
	}
	if !s.Status.Running() || s.Status == WaitForLaunch {
		return v, s, nil, conflictf("VM %s is not running (%s)", s.Name, s.Status)
	}
	client, err := d.client(s)
	return v, s, client, err
}

// abort ends a start that is under way.
func (d *Daemon) abort(v *vm) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	if v.abort != nil {
		v.abort()
	}
}

// Stop ends a VM at once, as pulling its plug does, and returns when it is down.
func (d *Daemon) Stop(ctx context.Context, id string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	v, s, err := d.find(id)
	if err != nil {
		return err
	}
	if !s.Status.Running() {
		return conflictf("VM %s is not running (%s)", s.Name, s.Status)
	}
	if s.Status == WaitForLaunch || s.Status == Rebooting {
		d.abort(v)
	}
	release, err := d.acquire(ctx, v)
	if err != nil {
		return err
	}
	defer release()
	if s = d.now(v); !s.Status.Running() {
		return nil
	}
	err = d.publish(ctx, v, func(s *state) error {
		s.Status, s.run.Again, s.run.Grace = PoweringDown, false, 0
		return nil
	}, func(s *state) []Event { return []Event{s.status("VM " + s.Name + " is stopped")} })
	if err != nil {
		return err
	}
	client, err := d.client(s)
	if err == nil {
		err = client.Stop(ctx, 0)
	}
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) && !errors.Is(err, supervisor.ErrNoVM) {
		return err
	}
	if err := d.settled(ctx, v); err != nil {
		return err
	}
	return d.down(v, "")
}

// down makes a VM that has ended, and that nobody watches any more, one that is down.
func (d *Daemon) down(v *vm, reason string) error {
	err := d.publish(d.ctx, v, func(s *state) error {
		if !s.Status.Running() {
			return errSeen
		}
		s.over(supervisor.State{Reason: reason})
		return nil
	}, func(s *state) []Event {
		e := s.status("VM " + s.Name + " is down")
		if reason != "" {
			e.Text, e.Severity = e.Text+": "+reason, Error
		}
		return []Event{e}
	})
	if errors.Is(err, errSeen) {
		return nil
	}
	return err
}

// settled waits until nobody watches a VM any more: it is down then.
func (d *Daemon) settled(ctx context.Context, v *vm) error {
	d.mutex.RLock()
	watched := v.watched
	d.mutex.RUnlock()
	if watched == nil {
		return nil
	}
	select {
	case <-watched:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// asLongAsItRuns is a time of grace that never ends.
const asLongAsItRuns = 100 * 365 * 24 * time.Hour

// Shutdown asks the guest to shut down and returns at once: the VM is powering_down until it is down. After grace it is cut
// off; with a grace of 0 it is asked for as long as it runs, and never cut off.
func (d *Daemon) Shutdown(ctx context.Context, id string, grace time.Duration) error {
	return d.ask(ctx, id, grace, PoweringDown, "The guest of VM %s was asked to shut down")
}

// Reboot asks the guest to shut down, as Shutdown does, and starts it again. It returns at once: the VM is reboot_in_progress.
func (d *Daemon) Reboot(ctx context.Context, id string, grace time.Duration) error {
	return d.ask(ctx, id, grace, Rebooting, "The guest of VM %s was asked to restart")
}

// ask asks a guest to end its run.
func (d *Daemon) ask(ctx context.Context, id string, grace time.Duration, status Status, text string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	v, _, client, err := d.running(id)
	if err != nil {
		return err
	}
	release, err := d.acquire(ctx, v)
	if err != nil {
		return err
	}
	defer release()
	if grace <= 0 {
		grace = asLongAsItRuns
	}
	err = d.publish(ctx, v, func(s *state) error {
		if !s.Status.Running() {
			return conflictf("VM %s is not running (%s)", s.Name, s.Status)
		}
		s.Status, s.run.Again, s.run.Grace = status, status == Rebooting, grace
		return nil
	}, func(s *state) []Event { return []Event{s.status(fmt.Sprintf(text, s.Name))} })
	if err != nil {
		return err
	}
	// It is asked while no other operation goes on: a wish that came late would be for another run.
	err = client.Ask(d.ctx, grace)
	if errors.Is(err, supervisor.ErrNotRunning) {
		return nil // it has ended by itself
	}
	return err
}

// Reset restarts the guest at once, as a reset button does.
func (d *Daemon) Reset(ctx context.Context, id string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	_, _, client, err := d.running(id)
	if err != nil {
		return err
	}
	return afterEnd(client.Reset(ctx), id)
}

// afterEnd is the error of a call on a VM that ended meanwhile.
func afterEnd(err error, id string) error {
	if errors.Is(err, supervisor.ErrNotRunning) {
		return conflictf("VM %s is not running", id)
	}
	return err
}

// Console connects to the serial console of a VM that runs.
func (d *Daemon) Console(ctx context.Context, id string) (io.ReadWriteCloser, error) {
	leave, err := d.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	_, _, client, err := d.running(id)
	if err != nil {
		return nil, err
	}
	console, err := client.Console(ctx)
	return console, afterEnd(err, id)
}

// SerialLog opens what the guest wrote to its serial console in the current or last run. A VM that never ran has written
// nothing.
func (d *Daemon) SerialLog(id string) (io.ReadCloser, error) {
	_, s, err := d.find(id)
	if err != nil {
		return nil, err
	}
	var out logs
	for _, end := range []string{".1", ""} {
		f, err := os.Open(filepath.Join(d.dir(s), supervisor.SerialLog+end))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, out.Close())
		}
		out.files = append(out.files, f)
	}
	var readers []io.Reader
	for _, f := range out.files {
		readers = append(readers, f)
	}
	out.Reader = io.MultiReader(readers...)
	return &out, nil
}

// logs are files that are read one after the other.
type logs struct {
	io.Reader
	files []*os.File
}

// Close closes the files.
func (l *logs) Close() error {
	var errs []error
	for _, f := range l.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// removeSeeds removes what was rendered for a run that has ended: it holds secrets, and the next start renders its own.
func (d *Daemon) removeSeeds(s *state) error {
	dir := d.dir(s)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, "seed.") || strings.HasPrefix(name, "seed-") || strings.HasPrefix(name, s.Namespace+"_") {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// heard bounds how many events of one run a guest can cause.
const heard = 200

// retryPause is how long the daemon waits before it asks again for a supervisor that does not come.
const retryPause = 30 * time.Second

// watch follows a VM until its end, with one goroutine that waits for its supervisor's events.
func (d *Daemon) watch(v *vm, client *supervisor.Client) {
	done := make(chan struct{})
	d.mutex.Lock()
	v.watched = done
	d.mutex.Unlock()
	d.arm(v)
	leave, err := d.enter()
	if err != nil {
		close(done)
		return
	}
	go func() {
		defer leave()
		ctx, end := context.WithCancel(d.ctx)
		if s := d.now(v); !s.run.Seeded && !s.run.Greeted {
			d.background(func() { d.await(ctx, v, client) })
		}
		again := d.follow(v, client)
		end()
		close(done)
		if again {
			d.restart(v)
		}
	}()
}

// unwatch waits for the end of the watching.
func (d *Daemon) unwatch(v *vm) { _ = d.settled(d.ctx, v) }

// follow takes in a VM's events until it has ended, and reports whether it shall be started again.
func (d *Daemon) follow(v *vm, client *supervisor.Client) (again bool) {
	d.keepGiven(v)
	for {
		d.answers(v, client)
		err := client.Events(d.ctx, d.now(v).run.Sequence, func(e supervisor.Event) error {
			if e.Status == supervisor.Running {
				d.connect(v, client)
			}
			return d.observe(v, e)
		})
		if d.ctx.Err() != nil {
			return false
		}
		now, stateErr := client.State(d.ctx)
		if errors.Is(stateErr, os.ErrNotExist) || stateErr == nil && !now.Status.Alive() {
			again, err := d.ended(v, now)
			if err == nil || !d.pause() {
				return again
			}
			continue // the disk may be full
		}
		if err = errors.Join(err, stateErr); err == nil {
			continue // another supervisor came between the two calls
		}
		if errors.Is(err, ErrClosed) || d.ctx.Err() != nil {
			return false
		}
		d.log.Warn("a supervisor does not answer", "object", d.now(v).ID, "error", err)
		_ = d.publish(d.ctx, v, func(s *state) error {
			s.Status, s.Reason = NotResponding, err.Error()
			return nil
		}, func(s *state) []Event {
			e := s.status("The supervisor of VM " + s.Name + " does not answer")
			e.Severity = Error
			return []Event{e}
		})
		if !d.pause() {
			return false
		}
	}
}

// pause waits before something is tried again, and reports whether it shall be.
func (d *Daemon) pause() bool {
	select {
	case <-time.After(d.retry):
		return true
	case <-d.ctx.Done():
		return false
	}
}

// answers makes a VM whose supervisor had not answered one that runs, when that does again.
func (d *Daemon) answers(v *vm, client *supervisor.Client) {
	if d.now(v).Status != NotResponding {
		return
	}
	if now, err := client.State(d.ctx); err != nil || !now.Status.Alive() {
		return
	}
	_ = d.publish(d.ctx, v, func(s *state) error {
		if s.Status != NotResponding {
			return errSeen
		}
		s.runs()
		return nil
	}, func(s *state) []Event { return []Event{s.status("The supervisor of VM " + s.Name + " answers again")} })
	d.arm(v)
}

// runs gives a VM the status of one whose guest runs.
func (s *state) runs() {
	s.Status, s.Reason = PoweringUp, ""
	if s.run.Ready {
		s.Status = Up
	}
}

// connect asks for the port that leads to the guest's SSH server.
func (d *Daemon) connect(v *vm, client *supervisor.Client) {
	if now, err := client.State(d.ctx); err == nil && now.Status.Alive() {
		d.mutex.Lock()
		v.port = now.SSHPort
		d.mutex.Unlock()
	}
}

// observe takes in one event of a supervisor. What it changes is written together with its number, so that none counts twice.
func (d *Daemon) observe(v *vm, e supervisor.Event) error {
	var events []Event
	if e.Report != nil {
		d.mutex.Lock()
		v.progress = e.Report
		d.mutex.Unlock()
	}
	err := d.publish(d.ctx, v, func(s *state) error {
		if e.Sequence <= s.run.Sequence {
			return errSeen
		}
		s.run.Sequence = e.Sequence
		before, setup := s.Status, s.run.Before
		events = s.take(e)
		if s.Status != before {
			events = append(events, s.status(s.says()))
		}
		if len(events) == 0 && s.run.Before == setup {
			return errSeen // nothing that must be remembered
		}
		return nil
	}, func(*state) []Event { return events })
	if errors.Is(err, errSeen) {
		err = nil
	}
	if e.Report != nil && e.Report.Stage.Ended() || e.Status != "" {
		d.arm(v)
	}
	return err
}

// errSeen means that an event changes nothing.
var errSeen = errors.New("seen")

// take makes an event of a supervisor part of the state, and returns what is told of it.
func (s *state) take(e supervisor.Event) (events []Event) {
	switch {
	case e.Status == supervisor.Running:
		s.run.Before = nil
		if s.Status == WaitForLaunch || s.Status == Paused || s.Status == NotResponding {
			s.runs()
		}
	case e.Status == supervisor.Paused:
		s.Status, s.Reason = Paused, e.Reason
	case e.Report != nil:
		return s.hear(*e.Report)
	case e.Note != "" || e.Condition != nil:
		if e.Password != nil {
			s.PostedPassword = e.Password.Encrypted
		}
		if s.run.Told++; s.run.Told > heard {
			return nil
		}
		text := e.Note
		if c := e.Condition; c != nil {
			if text = "the guest agent has set the credentials"; !c.Status {
				text = c.Type + ": " + c.Message
			}
		}
		events = append(events, s.event(MachineNote, "VM "+s.Name+": "+text))
	}
	return events
}

// hear takes in what the guest reports.
func (s *state) hear(r report.Event) []Event {
	r.Modules, r.Uptime = nil, 0 // Reports has them
	if !r.Stage.Ended() {
		if r.Stage == s.run.Stage {
			return nil
		}
		if s.run.Told++; s.run.Told > heard {
			return nil
		}
	}
	s.run.Stage = r.Stage
	e := s.event(MachineReport, fmt.Sprintf("The guest of VM %s reports: %s", s.Name, r.Stage))
	e.Report = &r
	if !r.Stage.Ended() {
		return []Event{e}
	}
	if s.run.Told++; s.run.Told > 2*heard {
		return nil
	}
	s.run.Ready = true
	if s.Status == PoweringUp || s.Status == WaitForLaunch {
		s.Status, s.Reason = Up, ""
	}
	if r.Result != nil {
		s.run.Addresses = r.Result.Addresses
	}
	if r.Result != nil && !r.Result.FirstBoot {
		e.Text = "The guest of VM " + s.Name + " is up; it had been set up before"
		return []Event{e}
	}
	ok, reasons := report.Judge(r, report.FailOnWarning)
	s.FirstBoot = &r
	e.Text = "The first boot of VM " + s.Name + " is done"
	if !ok {
		e.Severity = Warning
		e.Text = "The first boot of VM " + s.Name + " ended with trouble: " + strings.Join(reasons, "; ")
	}
	if r.Stage == report.Failed {
		e.Severity = Error
		return []Event{e}
	}
	// What only this boot needed in clear is not kept.
	s.Initialized, s.FirstBootDocuments = true, nil
	return []Event{e}
}

// says puts a status in a sentence.
func (s *state) says() string {
	switch s.Status {
	case Up:
		return "VM " + s.Name + " is up"
	case Paused:
		return "VM " + s.Name + " is paused: " + s.Reason
	case PoweringUp:
		return "The guest of VM " + s.Name + " boots"
	}
	return "VM " + s.Name + " is " + string(s.Status)
}

// await waits for the guest agent of a VM without a seed, and takes its answer for the word that the guest is up.
func (d *Daemon) await(ctx context.Context, v *vm, client *supervisor.Client) {
	started := d.now(v).Started
	if err := client.AwaitAgent(ctx); err != nil {
		return // the VM has ended, or Close has come
	}
	_ = d.publish(d.ctx, v, func(s *state) error {
		if !s.Started.Equal(started) || !s.Status.Running() || s.run.Greeted {
			return errSeen
		}
		s.run.Greeted, s.run.Ready = true, true
		if s.Status == PoweringUp || s.Status == WaitForLaunch {
			s.Status, s.Reason = Up, ""
		}
		if s.run.AnswerFile {
			s.Initialized, s.FirstBootDocuments = true, nil
		}
		return nil
	}, func(s *state) []Event { return []Event{s.status("The guest agent of VM " + s.Name + " answers")} })
	d.arm(v)
}

// arm sets the time after which a guest that says nothing is taken to be up, and ends it for one that has spoken.
func (d *Daemon) arm(v *vm) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	v.calm()
	s := v.state
	if d.closed || s.Status != PoweringUp {
		return
	}
	limit := d.options.BootTimeout
	if !s.run.Seeded {
		limit = d.options.SeedlessTimeout
	}
	v.patience = time.AfterFunc(time.Until(s.Started.Add(limit)), func() { d.background(func() { d.giveUp(v, s.Started) }) })
}

// giveUp ends the waiting for the word of a guest in the run that began at a time.
func (d *Daemon) giveUp(v *vm, started time.Time) {
	err := d.publish(d.ctx, v, func(s *state) error {
		if s.Status != PoweringUp || !s.Started.Equal(started) {
			return errSeen
		}
		s.Status, s.run.Ready = Up, true
		if s.run.Seeded {
			s.Reason = "the guest said nothing about its boot"
		}
		return nil
	}, func(s *state) []Event {
		e := s.status("VM " + s.Name + " is up")
		if s.run.Seeded {
			e.Severity, e.Text = Warning, "VM "+s.Name+" is taken to be up: "+s.Reason
		}
		return []Event{e}
	})
	if err != nil && !errors.Is(err, errSeen) && d.pause() {
		d.arm(v) // the disk may be full
	}
}

// ended takes in that a VM's run is over, and reports whether it shall be started again. On an error the store does not know yet.
func (d *Daemon) ended(v *vm, last supervisor.State) (again bool, err error) {
	err = d.publish(d.ctx, v, func(s *state) error {
		again = s.run.Again && !s.run.Removing
		if again {
			return errSeen // restart goes on from here, after a crash of the daemon as well
		}
		s.over(last)
		return nil
	}, func(s *state) []Event {
		e := s.status("VM " + s.Name + " is down")
		if s.Reason != "" {
			e.Text += ": " + s.Reason
		}
		if last.Status == supervisor.Failed {
			e.Severity = Error
		}
		return []Event{e}
	})
	d.mutex.Lock()
	v.port = 0
	v.calm()
	d.mutex.Unlock()
	var gone *NotFoundError
	if errors.Is(err, errSeen) || errors.As(err, &gone) {
		err = nil
	}
	if err != nil {
		return false, err
	}
	if err := d.removeSeeds(d.now(v)); err != nil {
		d.log.Warn("the seed of a run that has ended cannot be removed", "object", d.now(v).ID, "error", err)
	}
	return again, nil
}

// over makes a VM one that does not run.
func (s *state) over(last supervisor.State) {
	s.started = nil
	s.Reason, s.Ended = last.Reason, time.Now().UTC()
	if s.Status == PoweringDown && s.run.Grace == 0 {
		s.Reason = "it was stopped"
	}
	s.Status = Down
	if b := s.run.Before; b != nil { // no guest has seen the new seed
		s.Generation, s.run.Content, s.Login, s.run.Before = b.Generation, b.Content, b.Login, nil
	}
	if last.Ended != nil {
		s.Ended = *last.Ended
	}
	if s.run.Removing {
		s.Status = ImageLocked
	}
	s.RunOnce, s.RunDocuments, s.NextRun, s.run.Again = false, nil, false, false
}

// restart starts a VM again whose guest shut down because it was asked to reboot.
func (d *Daemon) restart(v *vm) {
	release, err := d.acquire(d.ctx, v)
	if err != nil {
		return
	}
	defer release()
	s := d.now(v)
	if !s.run.Again {
		_ = d.down(v, "") // a Stop came first
		return
	}
	o := StartOptions{NoSeed: !s.run.Seeded && !s.run.AnswerFile, Volatile: s.run.Volatile}
	if !s.run.Volatile {
		o.Delivery = s.run.Delivery
	}
	if s.RunOnce && !s.run.Volatile {
		o.Documents = s.RunDocuments
	}
	if err := d.launch(context.WithoutCancel(d.ctx), v, o); err != nil {
		_ = d.down(v, "it could not be started again: "+err.Error())
	}
}

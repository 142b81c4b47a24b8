package cli

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// there is the host of a daemon.
type there struct {
	app    *app
	client *client.Client
}

// list describes the daemon's VMs in the order of their creation.
func (t there) list(ctx context.Context) ([]vmInfo, error) {
	machines, err := t.client.Machines(ctx, client.Filter{})
	if err != nil {
		return nil, t.trouble(err)
	}
	all := []vmInfo{}
	for _, m := range machines {
		all = append(all, describe(m))
	}
	return all, nil
}

func (t there) find(ctx context.Context, name string) (vm, error) {
	m, err := t.client.Find(ctx, name)
	if client.IsNotFound(err) {
		return nil, t.unknown(ctx, name)
	}
	if err != nil {
		return nil, t.trouble(err)
	}
	return remoteVM{t, m.ID, supervisor.Plan{Namespace: m.Namespace, Name: m.Name, UUID: m.ID}}, nil
}

// unknown is the error for a VM that the daemon does not have.
func (t there) unknown(ctx context.Context, name string) error {
	machines, err := t.client.Machines(ctx, client.Filter{Limit: 20})
	if err != nil {
		return t.trouble(err)
	}
	if len(machines) == 0 {
		return usagef("there is no VM %q; there are none", name)
	}
	var have []string
	for _, m := range machines {
		have = append(have, m.Namespace+"/"+m.Name)
	}
	return usagef("there is no VM %q; there are %s", name, strings.Join(have, ", "))
}

// trouble gives the errors of a daemon the exit status that the same errors have on this host.
func (t there) trouble(err error) error {
	var no *client.Error
	var exit *exitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return interrupted()
	case errors.As(err, &exit), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, supervisor.ErrRunning), errors.Is(err, supervisor.ErrNotRunning):
		return err
	case client.IsUnauthorized(err):
		return &exitError{exitEnvironment, fmt.Errorf("%s: %w; set $%s and $%s, or $%s", t.client.URL(), err, envUser, envPassword, envToken)}
	case client.IsForeign(err):
		return &exitError{exitEnvironment, fmt.Errorf("%s: %w", t.client.URL(), err)}
	case client.IsNotFound(err), client.IsConflict(err):
		return &exitError{exitUsage, err}
	case errors.As(err, &no) && (len(no.Diagnostics) > 0 || no.Status >= 400 && no.Status < 500 && no.Status != 429):
		return &exitError{exitInput, err}
	}
	return &exitError{exitEnvironment, unreachable(err)}
}

// unreachable adds what to do to an error of the way to a daemon.
func unreachable(err error) error {
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("%w; say which authority to trust with --ca or $%s (pki/ca.pem in the daemon's state directory)", err, envCA)
	case errors.As(err, &name):
		return fmt.Errorf("%w; call the daemon by one of these names, or start it with --tls-name", err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w; nobody listens there: is vmseed serve running?", err)
	}
	return err
}

// describe is what list and inspect print of a daemon's VM. Its status is in the daemon's words.
func describe(m client.Machine) vmInfo {
	s := state(m)
	s.Status = supervisor.Status(m.Status)
	return vmInfo{ID: m.ID, Namespace: m.Namespace, Name: m.Name, State: s, Machine: &m}
}

// statuses are the daemon's words in those of a supervisor.
var statuses = map[string]supervisor.Status{
	"image_locked": supervisor.Created, "down": supervisor.Stopped, "wait_for_launch": supervisor.Starting, "paused": supervisor.Paused,
	"powering_up": supervisor.Running, "up": supervisor.Running, "powering_down": supervisor.Running, "reboot_in_progress": supervisor.Running,
	"not_responding": supervisor.Running,
}

// state is how a daemon's VM is, as a supervisor would say it.
func state(m client.Machine) supervisor.State {
	s := supervisor.State{Status: statuses[m.Status], Reason: m.Reason, SSHPort: m.SSHPort}
	if !m.Started.IsZero() {
		s.Started = &m.Started
	}
	if !m.Ended.IsZero() && !s.Status.Alive() {
		s.Ended = &m.Ended
	}
	if m.FirstBoot != nil {
		s.FirstBoot = &m.FirstBoot.Event
	}
	if m.PostedPassword != "" {
		s.Password = &supervisor.Password{Encrypted: m.PostedPassword}
	}
	return s
}

// event is an event of the daemon as a supervisor would tell it. Others have no number.
func event(e client.Event) (out supervisor.Event) {
	switch e.Kind {
	case "machine.status":
		out = supervisor.Event{Status: statuses[e.Status], Reason: e.Text}
	case "machine.report":
		out = supervisor.Event{Report: e.Report}
	case "machine.note":
		out = supervisor.Event{Note: e.Text}
	default:
		return out
	}
	out.Sequence, out.Time = int(e.ID), e.Time
	return out
}

// remoteVM is a VM of a daemon.
type remoteVM struct {
	there
	id   string
	plan supervisor.Plan
}

func (v remoteVM) machine(ctx context.Context) (client.Machine, error) {
	m, err := v.client.Machine(ctx, v.id)
	return m, v.trouble(err)
}

// running returns an error unless the VM runs, or does not when that is wanted.
func (v remoteVM) running(ctx context.Context, want bool) error {
	s, err := v.State(ctx)
	switch {
	case err != nil:
		return err
	case want && !s.Status.Alive():
		return supervisor.ErrNotRunning
	case !want && s.Status.Alive():
		return supervisor.ErrRunning
	}
	return nil
}

// Start starts the VM. A daemon's VMs are always detached.
func (v remoteVM) Start(ctx context.Context, _ bool) error {
	if err := v.running(ctx, false); err != nil {
		return err
	}
	_, err := v.client.Start(ctx, v.id, client.StartRequest{})
	return v.trouble(err)
}

// Stop ends the VM and returns when it is down.
func (v remoteVM) Stop(ctx context.Context, grace time.Duration) error {
	err := v.running(ctx, true)
	switch {
	case err != nil:
		return err
	case grace == 0:
		_, err = v.client.Stop(ctx, v.id)
	default:
		_, err = v.client.Shutdown(ctx, v.id, grace)
	}
	if err != nil {
		return v.trouble(err)
	}
	return v.Wait(ctx)
}

// Reset restarts the guest at once.
func (v remoteVM) Reset(ctx context.Context) error {
	if err := v.running(ctx, true); err != nil {
		return err
	}
	_, err := v.client.Reset(ctx, v.id)
	return v.trouble(err)
}

// Remove ends and removes the VM.
func (v remoteVM) Remove(ctx context.Context) error {
	return v.trouble(v.client.Remove(ctx, v.id, true))
}

// Events calls f with the events of the VM's run.
func (v remoteVM) Events(ctx context.Context, since int, f func(supervisor.Event) error) error {
	m, err := v.machine(ctx)
	if err != nil {
		return err
	}
	return v.run(ctx, m, since, func(e client.Event) error {
		if out := event(e); out.Sequence != 0 {
			return f(out)
		}
		return nil
	})
}

// run calls f with the events of the run that a machine is in, and returns when that has ended.
func (v remoteVM) run(ctx context.Context, m client.Machine, since int, f func(client.Event) error) error {
	if !state(m).Status.Alive() {
		return nil
	}
	ended := errors.New("ended")
	err := v.client.Events(ctx, client.EventFilter{Since: uint64(since), Machine: v.id}, func(e client.Event) error {
		if e.Time.Before(m.Started) {
			return nil // of an earlier run
		}
		if err := f(e); err != nil {
			return err
		}
		if e.Kind == "machine.removed" || e.Kind == "machine.status" && e.Status == "down" {
			return ended
		}
		return nil
	})
	switch {
	case errors.Is(err, ended):
		return nil
	case errors.Is(err, client.ErrLost):
		return v.Wait(ctx)
	}
	return v.trouble(err)
}

// replayTime is how long a daemon may take to tell what has happened already.
const replayTime = 10 * time.Second

// WaitFirstBoot returns the guest's final word on this run. What the daemon keeps as the word on the first boot may be that
// of an earlier one, and all that there is: a guest that was set up then may be up without another.
func (v remoteVM) WaitFirstBoot(ctx context.Context, f func(supervisor.Event)) (report.Event, error) {
	m, err := v.machine(ctx)
	if err != nil {
		return report.Event{}, err
	}
	if m.FirstBoot != nil && !m.FirstBoot.Time.Before(m.Started) {
		return m.FirstBoot.Event, nil
	}
	settled := m.FirstBoot != nil && m.Status == "up"
	limited, cancel := context.WithCancel(ctx)
	if settled {
		limited, cancel = context.WithTimeout(ctx, replayTime)
	}
	defer cancel()
	reason := m.Reason
	var final *report.Event
	done := errors.New("done")
	err = v.run(limited, m, 0, func(e client.Event) error {
		if out := event(e); f != nil && out.Sequence != 0 {
			f(out)
		}
		switch {
		case e.Report != nil && e.Report.Stage.Ended():
			final = e.Report
			return done
		case e.Status == "up" && m.FirstBoot != nil: // its word on this run would have come before
			final = &m.FirstBoot.Event
			return done
		case e.Status != "":
			reason = e.Text
		}
		return nil
	})
	switch {
	case final != nil:
		return *final, nil
	case settled && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return m.FirstBoot.Event, nil
	case err != nil:
		return report.Event{}, err
	}
	return report.Event{}, fmt.Errorf("%w (%s)", supervisor.ErrEnded, reason)
}

// WaitCredentials returns at once: the daemon says in its events how far the guest agent is.
func (v remoteVM) WaitCredentials(context.Context, func(supervisor.Event)) error { return nil }

// Wait returns when the VM is down.
func (v remoteVM) Wait(ctx context.Context) error {
	_, err := v.client.Wait(ctx, v.id, "down")
	return v.trouble(err)
}

// State asks the daemon how the VM is.
func (v remoteVM) State(ctx context.Context) (supervisor.State, error) {
	m, err := v.machine(ctx)
	return state(m), err
}

// Plan has the VM's names; the rest is the daemon's business.
func (v remoteVM) Plan() (supervisor.Plan, error) { return v.plan, nil }

// Console connects to the serial console through the daemon.
func (v remoteVM) Console(ctx context.Context) (io.ReadWriteCloser, error) {
	if err := v.running(ctx, true); err != nil {
		return nil, err
	}
	conn, err := v.client.Console(ctx, v.id)
	return conn, v.trouble(err)
}

func (v remoteVM) log(ctx context.Context, out io.Writer, follow, qemu bool) error {
	if qemu {
		return usagef("a daemon does not hand out what QEMU itself said; look at qemu.log on its host")
	}
	r, err := v.client.Log(ctx, v.id, follow)
	if err != nil {
		return v.trouble(err)
	}
	defer r.Close()
	_, err = io.Copy(out, r)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (v remoteVM) describe(ctx context.Context) (vmInfo, error) {
	m, err := v.machine(ctx)
	return describe(m), err
}

// words are the flags of a command about the same VM, which the environment may have.
func (v remoteVM) words() string {
	if !v.app.hostGiven {
		return ""
	}
	return " --host " + shellWord(v.app.host)
}

func (v remoteVM) way(_ supervisor.Plan, port int) string {
	return fmt.Sprintf("SSH on 127.0.0.1:%d of the daemon's host", port)
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// progress shows how far a boot has come: on a terminal the phase that runs, with its seconds; else a plain line for
// each phase.
type progress struct {
	out      io.Writer
	live     bool
	name     string
	start    time.Time
	open     bool // a line without its end is on the terminal
	ending   string
	lastLine string
	// seen is the number of the last event that was shown.
	seen int
}

func (a *app) progress(name string) *progress {
	f, ok := a.Err.(*os.File)
	return &progress{out: a.Err, live: ok && term.IsTerminal(int(f.Fd())), name: name, start: time.Now(), ending: "\n"}
}

// phase begins a phase and ends the one before.
func (p *progress) phase(name, detail string) {
	line := strings.TrimRight(fmt.Sprintf("%-10s %s", name, detail), " ")
	if line == p.lastLine {
		return
	}
	p.lastLine = line
	since := time.Since(p.start).Round(100 * time.Millisecond)
	p.end()
	fmt.Fprintf(p.out, "%7s  %s", since, line)
	if p.open = p.live; !p.live {
		fmt.Fprint(p.out, p.ending)
	}
}

// end ends the line of the phase that runs.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.out, p.ending)
		p.open = false
	}
}

// stages are the words for the stages of a first boot.
var stages = map[report.Stage]string{
	report.Booting: "kernel and init run",
	report.Local:   "finding the seed",
	report.Init:    "setting up network, disks and users",
	report.Config:  "configuring",
	report.Final:   "running scripts",
}

// event shows an event of the VM, once.
func (p *progress) event(e supervisor.Event) {
	if e.Sequence != 0 && e.Sequence <= p.seen {
		return
	}
	p.seen = e.Sequence
	switch {
	case e.Condition != nil && e.Condition.Status:
		p.phase("agent", "the guest agent has set the credentials")
	case e.Condition != nil:
		p.phase("agent", "credentials wait: "+e.Condition.Message)
	case e.Note != "":
		p.phase("note", e.Note)
	case e.Report != nil:
		if what := stages[e.Report.Stage]; what != "" {
			p.phase("first boot", what)
		}
	case e.Status == supervisor.Starting:
		p.phase("boot", p.name)
	case e.Status == supervisor.Stopped, e.Status == supervisor.Failed:
		p.phase(string(e.Status), e.Reason)
	}
}

// follow shows a VM's first boot, and ends as the flags say: on the guest's word, on the VM's end, or at once.
func (a *app) follow(ctx context.Context, v vm, p *progress, f *runFlags, failOn report.FailOn) error {
	if f.options.Console {
		defer a.consoleBeside(ctx, v, p)()
	}
	if f.options.Detach && !f.wait {
		return a.sayRunning(ctx, v, p)
	}
	timeout := time.Duration(0)
	if f.wait {
		timeout = f.timeout
	}
	var failed error
	last, err := awaitFirstBoot(ctx, v, p, timeout)
	if err == nil {
		failed = a.withLogs(a.verdict(p, last, failOn), v, f.remove)
	}
	if err == nil && failed == nil && f.wait {
		err = awaitCredentials(ctx, v, p, agentPatience)
	}
	if f.options.Detach {
		if err != nil {
			return err
		}
		return errors.Join(failed, a.sayRunning(ctx, v, p))
	}
	if err == nil && !f.wait {
		if err = toTheEnd(ctx, v, p); ctx.Err() != nil {
			err = interrupted()
		}
	}
	return errors.Join(hostTrouble(err), failed, finish(ctx, v, f.remove))
}

// awaitFirstBoot waits for the guest's final word on its first boot, at most timeout unless that is 0.
func awaitFirstBoot(ctx context.Context, v vm, p *progress, timeout time.Duration) (report.Event, error) {
	limited, cancel := context.WithCancel(ctx)
	if timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	last, err := v.WaitFirstBoot(limited, p.event)
	switch {
	case err == nil:
		return last, nil
	case ctx.Err() != nil:
		return last, interrupted()
	case errors.Is(err, context.DeadlineExceeded):
		return last, &exitError{exitGuest, fmt.Errorf("the guest did not report within %s; its console is in vmseed logs", timeout)}
	case errors.Is(err, supervisor.ErrEnded):
		return last, &exitError{exitGuest, err}
	}
	return last, hostTrouble(err)
}

// agentPatience is how long after the first boot the guest agent may take to set the credentials that it was handed.
const agentPatience = 2 * time.Minute

// awaitCredentials waits until the guest agent has set the machine's credentials, if it has any, and no longer than
// patience.
func awaitCredentials(ctx context.Context, v vm, p *progress, patience time.Duration) error {
	if s, err := v.State(ctx); err != nil || s.Credentials == nil || s.Credentials.Status {
		return hostTrouble(err)
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := v.WaitCredentials(limited, p.event)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return interrupted()
	case errors.Is(err, context.DeadlineExceeded):
		why := ""
		if s, err := v.State(ctx); err == nil && s.Credentials != nil {
			why = ": " + s.Credentials.Message
		}
		return &exitError{exitGuest, fmt.Errorf("the credentials were not set within %s of the first boot%s", patience, why)}
	case errors.Is(err, supervisor.ErrEnded):
		return &exitError{exitGuest, err}
	}
	return hostTrouble(err)
}

// toTheEnd waits for the end of a VM, and shows how its credentials come along meanwhile.
func toTheEnd(ctx context.Context, v vm, p *progress) error {
	err := v.Events(ctx, p.seen, func(e supervisor.Event) error {
		if e.Condition != nil {
			p.event(e)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return v.Wait(ctx)
}

func interrupted() error { return &exitError{exitEnvironment, errors.New("interrupted")} }

// finish ends a VM that was not detached, also when the user has interrupted the command.
func finish(ctx context.Context, v vm, remove bool) error {
	grace := 30 * time.Second
	if plan, err := v.Plan(); err == nil && plan.StopGrace > 0 {
		grace = plan.StopGrace
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+time.Minute)
	defer cancel()
	if remove {
		return v.Remove(end)
	}
	if err := v.Stop(end, grace); !errors.Is(err, supervisor.ErrNotRunning) {
		return err
	}
	return nil
}

// consoleBeside connects the terminal to the console until the returned function is called, which gives the terminal
// back.
func (a *app) consoleBeside(ctx context.Context, v vm, p *progress) (stop func()) {
	p.end()
	p.live, p.ending = false, "\r\n" // the terminal is raw meanwhile
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- a.attach(ctx, v) }()
	return func() {
		select {
		case err := <-done:
			if err != nil {
				p.phase("console", err.Error())
			}
		default:
			cancel()
			<-done
		}
		cancel()
	}
}

// verdict shows what the guest said at the end of its first boot, and returns an error when that is a failure.
func (a *app) verdict(p *progress, last report.Event, failOn report.FailOn) error {
	ok, reasons := report.Judge(last, failOn)
	if r := last.Result; r != nil {
		p.phase("guest", strings.TrimSpace(strings.Join([]string{r.Hostname, r.Agent, r.DataSource, strings.Join(r.Addresses, " ")}, "  ")))
		for _, m := range r.Mounts {
			p.phase("mounted", m.Path+"  "+m.Device)
		}
		for _, d := range r.Deprecations {
			p.phase("deprecated", d)
		}
	}
	if ok {
		for _, r := range reasons {
			p.phase("warning", r)
		}
		p.phase("done", "first boot went well")
		p.end()
		return nil
	}
	for _, r := range reasons {
		p.phase("failed", r)
	}
	p.end()
	what := "first boot"
	if last.Result != nil && last.Result.Instance != "" && !last.Result.FirstBoot {
		what = "boot"
	}
	return &exitError{exitGuest, fmt.Errorf("the %s failed", what)}
}

// withLogs adds to the error of a guest where its console is.
func (a *app) withLogs(err error, v vm, removed bool) error {
	if err == nil {
		return nil
	}
	plan, planErr := v.Plan()
	switch {
	case planErr != nil:
		return err
	case removed:
		return &exitError{statusOf(err), fmt.Errorf("%w; without --rm vmseed logs %s shows its console", err, plan.Name)}
	}
	return &exitError{statusOf(err), fmt.Errorf("%w; vmseed logs %s%s shows its console", err, plan.Name, v.words())}
}

// stateDirWords are the words that a command about the same VM needs.
func (a *app) stateDirWords() string {
	if a.stateDir == "" {
		return ""
	}
	return " --state-dir " + shellWord(a.stateDir)
}

// sayRunning tells how to reach a VM that runs on.
func (a *app) sayRunning(ctx context.Context, v vm, p *progress) error {
	p.end()
	s, err := v.State(ctx)
	if err != nil {
		return hostTrouble(err)
	}
	plan, err := v.Plan()
	if err != nil {
		return hostTrouble(err)
	}
	fmt.Fprintf(a.Err, "%s/%s is %s", plan.Namespace, plan.Name, s.Status)
	if s.SSHPort > 0 {
		fmt.Fprint(a.Err, "; ", v.way(plan, s.SSHPort))
	}
	fmt.Fprintln(a.Err)
	return nil
}

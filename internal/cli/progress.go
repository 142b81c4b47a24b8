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
	lastLine string
}

func (a *app) progress(name string) *progress {
	f, ok := a.Err.(*os.File)
	return &progress{out: a.Err, live: ok && term.IsTerminal(int(f.Fd())), name: name, start: time.Now()}
}

// phase begins a phase and ends the one before.
func (p *progress) phase(name, detail string) {
	line := strings.TrimRight(fmt.Sprintf("%-10s %s", name, detail), " ")
	if line == p.lastLine {
		return
	}
	p.lastLine = line
	since := time.Since(p.start).Round(100 * time.Millisecond)
	if p.open {
		fmt.Fprintln(p.out)
	}
	fmt.Fprintf(p.out, "%7s  %s", since, line)
	p.open = p.live
	if !p.live {
		fmt.Fprintln(p.out)
	}
}

// end ends the line of the phase that runs.
func (p *progress) end() {
	if p.open {
		fmt.Fprintln(p.out)
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

// event shows an event of the VM.
func (p *progress) event(e supervisor.Event) {
	switch {
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
func (a *app) follow(ctx context.Context, c *supervisor.Client, f *runFlags, failOn report.FailOn) error {
	p := a.progress(c.Dir[strings.LastIndexByte(c.Dir, os.PathSeparator)+1:])
	defer p.end()
	cleanup := func() error {
		if f.options.Detach {
			return nil
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		var err error
		if f.remove {
			err = c.Remove(end)
		} else if err = c.Stop(end, 30*time.Second); errors.Is(err, supervisor.ErrNotRunning) {
			err = nil
		}
		return err
	}
	if f.options.Console {
		go func() { _ = a.attach(ctx, c) }()
	}
	if f.options.Detach && !f.wait {
		return a.sayRunning(ctx, c, p)
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if f.wait {
		limited, cancel = context.WithTimeout(ctx, f.timeout)
	}
	defer cancel()
	last, err := c.WaitFirstBoot(limited, p.event)
	if err == nil && !f.wait {
		a.verdict(p, last, failOn)
		p.end()
		if waitErr := c.Wait(ctx); waitErr != nil && ctx.Err() == nil {
			return errors.Join(hostTrouble(waitErr), cleanup())
		}
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(&exitError{exitEnvironment, errors.New("interrupted")}, cleanup())
	case errors.Is(err, context.DeadlineExceeded):
		return errors.Join(&exitError{exitGuest, fmt.Errorf("the guest did not report within %s; its console is in vmseed logs", f.timeout)}, cleanup())
	case errors.Is(err, supervisor.ErrEnded):
		return errors.Join(&exitError{exitGuest, err}, cleanup())
	case err != nil:
		return errors.Join(hostTrouble(err), cleanup())
	}
	var failed error
	if f.wait {
		failed = a.verdict(p, last, failOn)
	} else if ok, _ := report.Judge(last, failOn); !ok {
		failed = silent(exitGuest)
	}
	if f.options.Detach {
		return errors.Join(failed, a.sayRunning(ctx, c, p))
	}
	return errors.Join(failed, cleanup())
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
	return &exitError{exitGuest, errors.New("the first boot failed")}
}

// sayRunning tells how to reach a VM that runs on.
func (a *app) sayRunning(ctx context.Context, c *supervisor.Client, p *progress) error {
	p.end()
	s, err := c.State(ctx)
	if err != nil {
		return hostTrouble(err)
	}
	plan, err := c.Plan()
	if err != nil {
		return hostTrouble(err)
	}
	fmt.Fprintf(a.Err, "%s/%s is %s", plan.Namespace, plan.Name, s.Status)
	if s.SSHPort > 0 {
		fmt.Fprintf(a.Err, "; SSH on 127.0.0.1:%d (vmseed ssh %s)", s.SSHPort, plan.Name)
	}
	fmt.Fprintln(a.Err)
	return nil
}

package controlplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Process is a program that runs beside this one. It ends with this one at the latest.
type Process struct {
	name, log string
	// from is where in the log this run begins.
	from  int64
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// Launch starts a program that writes what it says to the end of a file.
func Launch(name, log, program string, args ...string) (*Process, error) {
	return launch(name, log, program, nil, args)
}

// launch starts a program with variables beside those of this process's environment.
func launch(name, log, program string, variables, args []string) (*Process, error) {
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	p := &Process{name: name, log: log, from: info.Size(), cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = f, f
	p.cmd.Env = append(os.Environ(), variables...)
	p.cmd.SysProcAttr = leash()
	started := make(chan error, 1)
	go p.hold(started)
	return p, <-started
}

// hold starts the process and waits for its end, on a thread of its own: the process ends with that thread.
func (p *Process) hold(started chan<- error) {
	pin()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	close(p.ended)
}

// Await returns when ready has no error.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.Tail(2000))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.name, last, p.Tail(2000))
		case <-tick.C:
		}
	}
}

// Stop asks the process to end, and waits for it. One that has ended is stopped.
func (p *Process) Stop() error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	select {
	case <-p.ended:
		return nil
	case <-limit.C:
	}
	p.Kill()
	return fmt.Errorf("%s did not end by itself", p.name)
}

// Kill ends the process at once, as a crash does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// Said is what this run of the process has said.
func (p *Process) Said() string {
	text, err := os.ReadFile(p.log)
	if err != nil || int64(len(text)) < p.from {
		return ""
	}
	return string(text[p.from:])
}

// Tail is the end of what this run of the process has said.
func (p *Process) Tail(most int) string {
	text := p.Said()
	return text[max(0, len(text)-most):]
}

// run starts a part and returns when url says that it is ready.
func (c *ControlPlane) run(ctx context.Context, program string, flags []string, url string, client *http.Client) error {
	var variables []string
	if program == "kube-apiserver" {
		variables = leisure(os.LookupEnv)
	}
	p, err := launch(program, filepath.Join(c.dir, "logs", program+".log"), filepath.Join(c.programs, program), variables, flags)
	if err != nil {
		return err
	}
	c.processes = append(c.processes, p)
	return p.Await(ctx, func(ctx context.Context) error { return ask(ctx, client, url) })
}

// leisure has the API server collect its garbage less often than Go's programs do by themselves, until it has so much memory that it
// should: a seventh of its time goes into that. Who sets one of the variables decides instead (package runtime, "Environment Variables").
func leisure(lookup func(string) (string, bool)) []string {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, ok := lookup(name); ok {
			return nil
		}
	}
	return []string{"GOGC=400", "GOMEMLIMIT=2GiB"}
}

// ask returns no error when a URL answers that all is well.
func ask(ctx context.Context, client *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(response.Status + ": " + strings.TrimSpace(string(text)))
	}
	return err
}

// insecure is a client for the health of parts whose certificates are their own. It sends nothing.
func insecure() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
}

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
)

// Process is a part of the cluster that runs by itself. It may be ended and started again.
type Process struct {
	Name string

	dir, program string
	args         []string
	cmd          *exec.Cmd
	ended        chan struct{}
	err          error
	// from is where in the log this run begins.
	from int64
}

// Start starts the process again and returns when it is ready.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.await(ctx)
}

func (p *Process) logFile() string { return filepath.Join(p.dir, "log") }

func (p *Process) launch() error {
	log, err := os.OpenFile(p.logFile(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return err
	}
	p.from = info.Size()
	p.cmd, p.ended = exec.Command(p.program, p.args...), make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = controlplane.Leash()
	started := make(chan error, 1)
	go func() {
		controlplane.Pin()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	return <-started
}

// await returns when the process has said that it is ready.
func (p *Process) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !bytes.Contains(p.said(), []byte(" is ready\"")) {
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %w\n%s", p.Name, p.err, p.said())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w\n%s", p.Name, ctx.Err(), p.said())
		case <-tick.C:
		}
	}
	return nil
}

// said is what this run of the process has written so far.
func (p *Process) said() []byte {
	text, err := os.ReadFile(p.logFile())
	if err != nil || int64(len(text)) < p.from {
		return nil
	}
	return text[p.from:]
}

// Stop asks the process to end, and waits for it.
func (p *Process) Stop() error {
	if p.cmd == nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	limit := time.NewTimer(2 * time.Minute)
	defer limit.Stop()
	select {
	case <-p.ended:
		return nil
	case <-limit.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not end by itself", p.Name)
	}
}

// Kill ends the process at once, as a crash does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Log is the end of what the process has said.
func (p *Process) Log() string {
	text := p.said()
	if most := 6000; len(text) > most {
		text = text[len(text)-most:]
	}
	return string(text)
}

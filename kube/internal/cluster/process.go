package cluster

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
)

// Process is a part of the cluster that may be ended and started again.
type Process struct {
	// Name is that of the node, or controller, controller2 …
	Name string

	dir, program string
	args         []string
	run          *controlplane.Process
}

// Start starts the process again and returns when it is ready.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	return p.await(ctx)
}

func (p *Process) launch() (err error) {
	p.run, err = controlplane.Launch(p.Name, filepath.Join(p.dir, "log"), p.program, p.args...)
	return err
}

// await returns when the process has said that it is ready.
func (p *Process) await(ctx context.Context) error {
	return p.run.Await(ctx, func(context.Context) error {
		if strings.Contains(p.run.Said(), ` is ready"`) {
			return nil
		}
		return errors.New("it has not said so")
	})
}

// Stop asks the process to end, and waits for it.
func (p *Process) Stop() error {
	if p.run == nil {
		return nil
	}
	return p.run.Stop()
}

// Kill ends the process at once, as a crash does.
func (p *Process) Kill() { p.run.Kill() }

// Log is the end of what the process has said.
func (p *Process) Log() string {
	if p.run == nil {
		return ""
	}
	return p.run.Tail(6000)
}

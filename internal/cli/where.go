package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// place is where VMs are: this host, or a daemon's. The commands about VMs are the same for both.
type place interface {
	// list describes the VMs, in an order that stays.
	list(ctx context.Context) ([]vmInfo, error)
	// find returns the VM that a user calls NAME or NAMESPACE/NAME.
	find(ctx context.Context, name string) (vm, error)
}

// vm is a VM somewhere.
type vm interface {
	powered
	heard
	seen
	described
}

// powered can be started and ended. Of VMs that run already or not at all the errors are supervisor.ErrRunning and
// supervisor.ErrNotRunning.
type powered interface {
	// Start starts the VM. Without detached it ends with this process, where that is possible.
	Start(ctx context.Context, detached bool) error
	// Stop asks the guest to shut down, cuts it off after grace or at once when that is 0, and returns when the VM has ended.
	Stop(ctx context.Context, grace time.Duration) error
	// Reset restarts the guest at once.
	Reset(ctx context.Context) error
	// Remove ends the VM at once and removes all that belongs to it.
	Remove(ctx context.Context) error
}

// heard tells what happens to it and in its guest.
type heard interface {
	// Events calls f with each event of the VM's run whose number is above since, and returns when the VM has ended.
	Events(ctx context.Context, since int, f func(supervisor.Event) error) error
	// WaitFirstBoot returns the guest's final word on its first boot.
	WaitFirstBoot(ctx context.Context, f func(supervisor.Event)) (report.Event, error)
	// WaitCredentials returns when the guest agent has set what it was given.
	WaitCredentials(ctx context.Context, f func(supervisor.Event)) error
	// Wait returns when the VM has ended.
	Wait(ctx context.Context) error
}

// seen can be looked at.
type seen interface {
	// State is how the VM is now.
	State(ctx context.Context) (supervisor.State, error)
	// Plan is what is known of how the VM is started: its names at least.
	Plan() (supervisor.Plan, error)
	// Console connects to the guest's serial console.
	Console(ctx context.Context) (io.ReadWriteCloser, error)
	// log copies what the guest wrote to its serial console, or what QEMU said, and with follow what comes as well.
	log(ctx context.Context, out io.Writer, follow, qemu bool) error
}

// described can be told about in words.
type described interface {
	// describe returns what list and inspect print.
	describe(ctx context.Context) (vmInfo, error)
	// words are the flags that another command about the same VM needs.
	words() string
	// way says how to log in, when the guest's SSH server is behind a port.
	way(plan supervisor.Plan, port int) string
}

// vmInfo is what list and inspect print as JSON.
type vmInfo struct {
	// ID is the UUID by which a daemon knows the VM.
	ID        string           `json:"id,omitempty"`
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Dir       string           `json:"dir,omitempty"`
	State     supervisor.State `json:"state"`
	Plan      *supervisor.Plan `json:"plan,omitempty"`
	// Machine is what a daemon says of the VM.
	Machine *client.Machine `json:"machine,omitempty"`
}

// sshAddress is where the guest's SSH server is reached, on the host that runs the VM.
func (v vmInfo) sshAddress() string {
	// A daemon names the port of guests that run, and of no others.
	if v.State.SSHPort == 0 || v.Machine == nil && !v.State.Status.Alive() {
		return "-"
	}
	return fmt.Sprintf("127.0.0.1:%d", v.State.SSHPort)
}

// placeFlags give a command the flags for where VMs are.
func (a *app) placeFlags(cmd *cobra.Command) {
	a.stateDirFlag(cmd)
	a.hostFlags(cmd)
}

// where is the place that the flags and the environment name.
func (a *app) where() (place, error) {
	if a.remote() == "" {
		return here{a}, nil
	}
	if a.stateDir != "" {
		return nil, usagef("--state-dir is for VMs of this host, and --host for those of another; choose one")
	}
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	return there{a, c}, nil
}

// find returns a VM by its name.
func (a *app) find(ctx context.Context, name string) (vm, error) {
	p, err := a.where()
	if err != nil {
		return nil, err
	}
	return p.find(ctx, name)
}

package provider

import (
	"context"
	"fmt"
	"slices"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/launch"
)

// What exec does to the VM itself, instead of having the guest agent run it. A kubelet's API has no other way for that, and
// who may run programs in a guest as root may have this as well.
const (
	// PauseCommand stops the guest's processors, UnpauseCommand lets them go on.
	PauseCommand   = "vmseed.dev/pause"
	UnpauseCommand = "vmseed.dev/unpause"
	// ResetCommand restarts the guest at once, as a reset button does.
	ResetCommand = "vmseed.dev/reset"
)

// Switch is the optional power of a Guest to be paused and reset.
type Switch interface {
	// Pause stops the guest's processors; Events tells of it.
	Pause(ctx context.Context) error
	// Resume lets them go on.
	Resume(ctx context.Context) error
	// Reset restarts the guest at once.
	Reset(ctx context.Context) error
}

// Informer is the optional power of a Guest to say what runs in it.
type Informer interface {
	// GuestOS asks the guest agent, which answers.
	GuestOS(ctx context.Context) (supervisor.OS, error)
}

// ordered reports whether a command is for the VM itself.
func ordered(command []string) bool {
	return len(command) == 1 && slices.Contains([]string{PauseCommand, UnpauseCommand, ResetCommand}, command[0])
}

// order does to a VM what a command says.
func (p *Provider) order(ctx context.Context, namespace, pod, container, command string) error {
	guest, err := p.guestOf(ctx, namespace, pod, container)
	if err != nil {
		return err
	}
	s, ok := guest.(Switch)
	if !ok {
		return errdefs.InvalidInput("the guests of this node cannot be paused or reset")
	}
	switch command {
	case PauseCommand:
		err = s.Pause(ctx)
	case UnpauseCommand:
		err = s.Resume(ctx)
	case ResetCommand:
		err = s.Reset(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// osOf asks what runs in a guest whose agent answers, for the condition that says so. It is empty when the agent does not tell.
func osOf(ctx context.Context, guest Guest) string {
	i, ok := guest.(Informer)
	if !ok {
		return ""
	}
	os, err := i.GuestOS(ctx)
	if err != nil {
		return ""
	}
	return launch.OSMessage(launch.GuestOS{Name: os.Name, KernelRelease: os.KernelRelease, Version: os.Version,
		PrettyName: os.PrettyName, VersionID: os.VersionID, KernelVersion: os.KernelVersion, Machine: os.Machine, ID: os.ID})
}

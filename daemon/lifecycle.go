package daemon

import (
	"context"
	"io"
	"time"
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
}

// Start starts a VM that is down and returns when its guest runs. On an error the VM is down: a *ConflictError for one that is
// not down, a diag.List for documents that cannot be started as they ask.
func (d *Daemon) Start(ctx context.Context, id string, o StartOptions) error { return errUnfinished }

// Stop ends a VM at once, as pulling its plug does, and returns when it is down.
func (d *Daemon) Stop(ctx context.Context, id string) error { return errUnfinished }

// Shutdown asks the guest to shut down and returns at once: the VM is powering_down until it is down. After grace it is cut
// off; with a grace of 0 it is asked for as long as it runs, and never cut off.
func (d *Daemon) Shutdown(ctx context.Context, id string, grace time.Duration) error {
	return errUnfinished
}

// Reboot asks the guest to shut down, as Shutdown does, and starts it again. It returns at once: the VM is reboot_in_progress.
func (d *Daemon) Reboot(ctx context.Context, id string, grace time.Duration) error {
	return errUnfinished
}

// Reset restarts the guest at once, as a reset button does.
func (d *Daemon) Reset(ctx context.Context, id string) error { return errUnfinished }

// Console connects to the serial console of a VM that runs.
func (d *Daemon) Console(ctx context.Context, id string) (io.ReadWriteCloser, error) {
	return nil, errUnfinished
}

// SerialLog opens what the guest wrote to its serial console in the current or last run. A VM that never ran has written
// nothing.
func (d *Daemon) SerialLog(id string) (io.ReadCloser, error) { return nil, errUnfinished }

package daemon

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/image"
)

// DefaultBootTimeout is how long a guest with a seed may boot in silence before it is taken to be up.
const DefaultBootTimeout = 15 * time.Minute

// Options are what a daemon works with.
type Options struct {
	// Dir is the state directory. It is made, with mode 0700, when it is not there.
	Dir string
	// Engine reads, renders and starts. Its first hypervisor is the one that is used.
	Engine *vmseed.Engine
	// Images is the store of images that documents name.
	Images *image.Store
	// ImageDir is the directory of the storage domain ovirt-image-repository; empty means Dir/images.
	ImageDir string
	// StorageDomains are data domains beside the one called data: directories by name.
	StorageDomains map[string]string
	// Supervisor is the command that starts a supervisor; empty means that of the running program.
	Supervisor []string
	// Hypervisor is how VMs are started. They are always detached.
	Hypervisor hypervisor.Options
	// BootTimeout is how long a guest with a seed may boot in silence before it is taken to be up; 0 means DefaultBootTimeout.
	BootTimeout time.Duration
	// Log gets what an administrator wants to know; nil means nowhere.
	Log *slog.Logger
}

// Daemon keeps VMs. Its methods may be called by several goroutines.
type Daemon struct{ options Options }

var errUnfinished = errors.New("not there yet")

// Open opens the state directory, finishes or takes back what an earlier daemon had under way, and finds the VMs that run. The
// error says so when another daemon has the directory, with its process id.
func Open(ctx context.Context, o Options) (*Daemon, error) { return nil, errUnfinished }

// Close lets go of the VMs, which run on, and of the state directory.
func (d *Daemon) Close() error { return nil }

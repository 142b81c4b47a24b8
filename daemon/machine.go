package daemon

import (
	"context"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/secret"
)

// Status is what a VM is doing, in oVirt's words (ovirt-engine API model, type VmStatus).
type Status string

// The statuses.
const (
	// ImageLocked: the VM's disks are being made.
	ImageLocked Status = "image_locked"
	// Down: it does not run.
	Down Status = "down"
	// WaitForLaunch: it is being started.
	WaitForLaunch Status = "wait_for_launch"
	// PoweringUp: the guest boots, and has not said yet that it is ready.
	PoweringUp Status = "powering_up"
	// Up: the guest said its final word on this boot, or has been running for so long that none is expected any more.
	Up Status = "up"
	// Paused: the hypervisor stopped the guest, for the Reason.
	Paused Status = "paused"
	// PoweringDown: the guest was asked to shut down.
	PoweringDown Status = "powering_down"
	// Rebooting: the guest was asked to shut down, and is started again then.
	Rebooting Status = "reboot_in_progress"
	// NotResponding: it should run, but its supervisor does not answer and cannot be replaced, for the Reason.
	NotResponding Status = "not_responding"
)

// Running reports whether the VM has a process, or is getting one.
func (s Status) Running() bool { return s != ImageLocked && s != Down }

// Document is a file with a definition, or a part of one. What the engine reads together, it may say in several.
type Document struct {
	// Name is what diagnostics call it, such as vm.xml.
	Name string
	// Text is the document. It may hold secrets.
	Text secret.Text
}

// Machine is a VM that the daemon keeps.
type Machine struct {
	// ID is the UUID of the VM: its SMBIOS UUID and, unless the documents state one, its instance id.
	ID string
	// Namespace and Name are unique among the VMs, whatever the case of their letters. They are the VM's even when its
	// documents say something else. The namespace never changes.
	Namespace, Name string
	// Documents are the definition: exactly one machine, of any form that the engine reads.
	Documents []Document
	// FirstBootDocuments, when there are any, are started instead of Documents until the guest has reported its first
	// boot, and are erased then: what only a first boot needs in clear, such as the password that Windows' setup takes.
	FirstBootDocuments []Document
	// Template is the id of the template that the VM was made from; empty means none, BlankTemplate the empty one.
	Template string
	// Disks are the ids of the disks that the daemon made for the VM, the root disk first.
	Disks   []string
	Created time.Time

	// What follows is the daemon's to say. Add and Update do not read it.

	Status Status
	// Reason is why the VM has this status, where that is worth a sentence.
	Reason string
	// Initialized means that a first boot of the VM ended with the guest's own word.
	Initialized bool
	// FirstBoot is that word; report.Judge says whether it is a success.
	FirstBoot *report.Event
	// Started and Ended are when the last run began and ended; zero when it did not.
	Started, Ended time.Time
	// SSHPort on 127.0.0.1 leads to the SSH server of the running guest; 0 means that there is none.
	SSHPort int
	// RunOnce means that the VM runs with documents that were given for this run alone; RunDocuments are those.
	RunOnce      bool
	RunDocuments []Document
	// Generation counts how often first boot was asked to run again: the revision of the instance id.
	Generation int
	// Jobs are the ids of jobs about the VM that have not ended.
	Jobs []string
}

// List returns the VMs in the order of their creation. It reads memory only. The documents are shared: do not write to them.
func (d *Daemon) List() []Machine { return nil }

// Get returns a VM. The error is a *NotFoundError when there is none.
func (d *Daemon) Get(id string) (Machine, error) { return Machine{}, errUnfinished }

// FindByName returns the VM of a name, in any case of its letters. An empty namespace is "default".
func (d *Daemon) FindByName(namespace, name string) (Machine, error) { return Machine{}, errUnfinished }

// Add takes in a VM. The id is the one given, else the UUID that the documents state, else a random one; the name is the one
// given, else that of the documents. The documents are loaded and checked: what is wrong with them is a diag.List, whose
// warnings become events. Where the template has a disk, the VM is image_locked until its own, an overlay on that, is made;
// it is down then. A name or id that is taken is a *ConflictError, an unknown template a *NotFoundError.
func (d *Daemon) Add(ctx context.Context, m Machine) (Machine, error) {
	return Machine{}, errUnfinished
}

// Update changes a VM's name and documents. change gets a copy of the VM; when it fails, so does Update, with nothing changed.
// A VM that runs is changed too, for its next start.
func (d *Daemon) Update(ctx context.Context, id string, change func(*Machine) error) (Machine, error) {
	return Machine{}, errUnfinished
}

// RemoveOptions are how a VM is removed.
type RemoveOptions struct {
	// Force stops a VM that runs.
	Force bool
	// KeepDisks leaves the disks there, attached to nothing.
	KeepDisks bool
}

// Remove removes a VM and all that belongs to it. One that runs is a *ConflictError unless forced.
func (d *Daemon) Remove(ctx context.Context, id string, o RemoveOptions) error { return errUnfinished }

// Placed returns the machine that the VM's documents make, complete as its next start would make it: with the template's
// defaults, MACs, UUID and instance id. It may hold secrets.
func (d *Daemon) Placed(ctx context.Context, id string) (machine.Machine, diag.List, error) {
	return machine.Machine{}, nil, errUnfinished
}

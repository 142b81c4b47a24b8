// Package hypervisor is the room of the hypervisors: they start a placed machine with its seed attached. Whoever wants to
// add one copies qemu below this directory and adds a line to hypervisor/all.
package hypervisor

import (
	"context"
	"io"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/seed"
)

// Hypervisor starts machines.
type Hypervisor interface {
	// Name is the hypervisor's name: qemu.
	Name() string
	// Expresses lists the hardware fields of a machine that it honours.
	Expresses() machine.FieldSet
	// Start starts a machine. On an error nothing is left running and nothing is left behind.
	Start(ctx context.Context, vm VM) (Handle, error)
	// Open finds a machine that was started earlier, perhaps by another process.
	Open(ctx context.Context, id string) (Handle, error)
}

// VM is what is started.
type VM struct {
	// Machine is placed. Hypervisors never persist it: it may hold secrets.
	Machine     machine.Machine
	Attachments []seed.Attachment
	// StateDir is the directory of this VM, mode 0700, that the hypervisor owns from now on.
	StateDir string
	// Volumes names the image or device of each disk by the disk's name. The root disk is under its own name.
	Volumes map[string]Volume
	// Options are the user's wishes for this start.
	Options Options
	// Login is the guest's user whom people log in as, as far as that is known.
	Login string
}

// Volume is where the contents of a disk are on this host.
type Volume struct {
	Path   string
	Format string
	// Overlay makes the disk a copy-on-write overlay, so that Path is never written to.
	Overlay bool
	// Create makes a new image at Path of Size bytes, with one partition holding a Filesystem when that is given.
	Create     bool
	Size       machine.Bytes
	Filesystem string
}

// Options are the user's wishes for a start.
type Options struct {
	// Accel is auto, kvm, hvf or tcg.
	Accel string
	// Net is stack (in-process network, the default), user (slirp) or none.
	Net string
	// SSHPort is the port on 127.0.0.1 that leads to the guest's SSH; 0 picks a free one.
	SSHPort int
	// Console connects the terminal to the guest's serial console.
	Console bool
	// Detach lets the VM outlive the process that starts it, and the one that watches it.
	Detach bool
	// Booted says that the guest's first boot is over, so what is for that alone is left out.
	Booted bool
	// Taps are the host's tap devices that NICs are plugged into. A NIC without one gets the network that Net names.
	Taps []Tap
	// Supply says how whoever asks for the start gives the contents of a disk that are missing, for remedies, such as "with
	// --image". Nil means the flags of vmseed run.
	Supply func(machine.Disk) string
}

// Supplied says how the contents of a disk are given; see Supply.
func (o Options) Supplied(d machine.Disk) string {
	switch {
	case o.Supply != nil:
		return o.Supply(d)
	case d.Root:
		return "with --image"
	}
	return "with --volume " + d.Name + "=PATH"
}

// Tap is a tap device of the host that somebody else has made and connected, for one NIC of a VM.
type Tap struct {
	// NIC is the name of the machine's NIC.
	NIC string
	// Device is the name of the tap device, and Namespace the path of the network namespace that it is in; empty is the
	// host's.
	Device, Namespace string
	// Answer has the guest's DHCP requests and router solicitations answered on that device, with the addresses of the
	// NIC. It is for guests that are told of their network in no other way.
	Answer bool
}

// State is the state of a VM.
type State string

// The states of a VM.
const (
	Starting State = "starting"
	Running  State = "running"
	Paused   State = "paused"
	Stopped  State = "stopped"
	Failed   State = "failed"
)

// Handle is a VM that was started.
type Handle interface {
	// State asks how the VM is.
	State(ctx context.Context) (State, error)
	// Stop asks the guest to shut down and cuts it off after grace. A grace of 0 cuts it off at once.
	Stop(ctx context.Context, grace time.Duration) error
	// Wait returns when the VM has ended.
	Wait(ctx context.Context) error
	// Console connects to the serial console.
	Console(ctx context.Context) (io.ReadWriteCloser, error)
}

// Checker is the optional power to say before a start what of a VM cannot be as asked.
type Checker interface {
	Check(vm VM) diag.List
}

// FirmwareConfigurer is the optional power to hand a guest files without a disk or a network: QEMU's firmware
// configuration device.
type FirmwareConfigurer interface {
	// HasFwCfg reports whether a machine has that device, which not every architecture does.
	HasFwCfg(m machine.Machine) bool
}

// Lister is the optional power to find the VMs that were started, whoever did.
type Lister interface {
	// List returns the ids of VMs, for Open.
	List(ctx context.Context) ([]string, error)
}

// Planner is the optional power to say what Start would run, without running it.
type Planner interface {
	Plan(ctx context.Context, vm VM) ([]string, error)
}

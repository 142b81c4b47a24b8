// Package qemu starts machines with QEMU on this host, without any right of the administrator. Each VM has a supervisor
// process; this package turns a placed machine into the plan that the supervisor carries out.
package qemu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/machine"
)

// QEMU is the hypervisor. The zero value keeps its VMs below the user's state directory.
type QEMU struct {
	// Root is the directory of the VMs; empty means supervisor.Root.
	Root string
	// Supervisor is the command that starts a supervisor; empty means `vmseed supervise`.
	Supervisor []string
}

// Name returns qemu.
func (q *QEMU) Name() string { return "qemu" }

// Expresses lists the hardware fields that end in QEMU's arguments or in what is made for them.
func (q *QEMU) Expresses() machine.FieldSet {
	return machine.NewFieldSet(
		"identity.uuid", "identity.serial",
		"network.nics.mac", "network.nics.mtu", "network.nics.addresses", "network.nics.gateway4", "network.nics.routes.via",
		"network.nics.model", "network.nics.pciAddress", "network.nics.bootOrder", "network.nics.linkDown",
		"hardware.arch", "hardware.machineType", "hardware.cpus", "hardware.sockets", "hardware.cores", "hardware.threads",
		"hardware.cpuModel", "hardware.cpuFeatures", "hardware.memory", "hardware.diskBus", "hardware.firmware",
		"hardware.secureBoot", "hardware.tpm", "hardware.rng", "hardware.watchdog", "hardware.smbios",
		"hardware.hostDevices.pciAddress",
		"boot",
		"disks.name", "disks.root", "disks.device", "disks.size", "disks.bus", "disks.readOnly", "disks.serial",
		"disks.pciAddress", "disks.unit", "disks.bootOrder", "disks.cache", "disks.shareable",
		"disks.source.path", "disks.source.format", "disks.source.blank", "disks.source.filesystem",
		"shares.tag", "shares.driver", "shares.hostPath", "shares.readOnly",
		"agentUsers",
	)
}

// HasFwCfg reports whether a machine has a firmware configuration device.
func (q *QEMU) HasFwCfg(m machine.Machine) bool { return fwCfg[architecture(m.Hardware)] }

// derive makes the launch plan of a VM, and says what must be made before it can be carried out.
func (q *QEMU) derive(vm hypervisor.VM) (supervisor.Plan, command, diag.List, error) {
	var none supervisor.Plan
	dir, err := filepath.Abs(vm.StateDir)
	if err != nil {
		return none, command{}, nil, err
	}
	vm.StateDir = dir
	h, err := survey(vm.Machine, vm.Options.Accel)
	if err != nil {
		return none, command{}, nil, err
	}
	if h.Images, err = images(vm); err != nil {
		return none, command{}, nil, err
	}
	h.VHost = len(vm.Options.Taps) > 0 && usable(vhostDevice) == nil
	port := vm.Options.SSHPort
	if vm.Options.Net == "user" && port == 0 {
		if port, err = freePort(); err != nil {
			return none, command{}, nil, err
		}
	}
	plan := supervisor.Plan{Namespace: vm.Machine.Namespace, Name: vm.Machine.Name, UUID: vm.Machine.Identity.UUID,
		Detached: vm.Options.Detach, Program: h.Program, StopGrace: vm.Machine.StopGrace, Login: vm.Login}
	var c command
	var list diag.List
	for _, accel := range h.Accels {
		c, list = build(vm, h, accel, port)
		plan.Attempts = append(plan.Attempts, supervisor.Attempt{Accel: accel, Args: c.args})
	}
	plan.NICs, plan.Taps, plan.LinksDown, plan.SSH, plan.Helpers = c.nics, c.taps, c.down, c.ssh, c.helpers
	plan.Metadata, plan.Once = c.metadata, c.once
	plan.Notify, plan.Plain = notifies(vm.Machine), plain(vm.Attachments)
	if vm.Options.Booted {
		plan = plan.Later()
	}
	return plan, c, list, nil
}

// Check says what of a VM cannot be built as asked.
func (q *QEMU) Check(vm hypervisor.VM) diag.List {
	_, _, list, err := q.derive(vm)
	if err != nil {
		return nil // trouble with the host is for Start to report
	}
	return list
}

// Plan returns the command that Start would run first, in the VM's state directory: the names of its sockets are
// relative to that. Start adds -S and lets the guest run when everything is connected to it.
func (q *QEMU) Plan(_ context.Context, vm hypervisor.VM) ([]string, error) {
	plan, _, list, err := q.derive(vm)
	if err = errors.Join(err, list.Err()); err != nil {
		return nil, err
	}
	return append([]string{plan.Program}, plan.Attempts[0].Args...), nil
}

// prepare makes what a start needs, the plan last: a VM's directory with a plan is complete.
func (q *QEMU) prepare(ctx context.Context, vm hypervisor.VM) (command, error) {
	if vm.StateDir == "" {
		return command{}, errors.New("the VM has no state directory")
	}
	plan, c, list, err := q.derive(vm)
	if err != nil {
		return c, err
	}
	if list.HasErrors() {
		return c, list.Err()
	}
	for i, h := range plan.Helpers {
		if plan.Helpers[i].Program, err = program(h.Program, h.Name); err != nil {
			return c, err
		}
	}
	for name, text := range c.files {
		if err := atomicfile.WriteBytes(filepath.Join(vm.StateDir, name), []byte(text)); err != nil {
			return c, err
		}
	}
	for _, s := range c.volumes {
		if err := s.run(ctx); err != nil {
			return c, err
		}
	}
	return c, plan.Save(vm.StateDir)
}

// Start starts a placed machine and returns when its guest runs.
func (q *QEMU) Start(ctx context.Context, vm hypervisor.VM) (hypervisor.Handle, error) {
	c, err := q.prepare(ctx, vm)
	if err != nil {
		return nil, err
	}
	client, err := supervisor.Open(vm.StateDir, q.Supervisor...)
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx, vm.Options.Detach); err != nil {
		return nil, err
	}
	if len(c.agent) > 0 {
		if err := client.SetCredentials(ctx, c.agent); err != nil {
			return nil, errors.Join(err, client.Stop(context.WithoutCancel(ctx), 0))
		}
	}
	return &Handle{client}, nil
}

// root returns the directory of the VMs.
func (q *QEMU) root() (string, error) {
	if q.Root != "" {
		return q.Root, nil
	}
	return supervisor.Root()
}

// Open finds a VM by its id, which is the name of its directory: namespace_name.
func (q *QEMU) Open(_ context.Context, id string) (hypervisor.Handle, error) {
	root, err := q.root()
	if err != nil {
		return nil, err
	}
	if id != filepath.Base(id) || id == "" || id[0] == '.' {
		return nil, fmt.Errorf("%q: %w", id, supervisor.ErrNoVM)
	}
	client, err := supervisor.Open(filepath.Join(root, id), q.Supervisor...)
	if err != nil {
		return nil, err
	}
	return &Handle{client}, nil
}

// List returns the ids of the VMs.
func (q *QEMU) List(context.Context) ([]string, error) {
	root, err := q.root()
	if err != nil {
		return nil, err
	}
	dirs, err := supervisor.List(root)
	for i, dir := range dirs {
		dirs[i] = filepath.Base(dir)
	}
	return dirs, err
}

// Handle is a VM of this hypervisor.
type Handle struct{ client *supervisor.Client }

// Client returns the client of the VM's supervisor, which can do more than a hypervisor.Handle.
func (h *Handle) Client() *supervisor.Client { return h.client }

// State returns the VM's state.
func (h *Handle) State(ctx context.Context) (hypervisor.State, error) {
	s, err := h.client.State(ctx)
	if s.Status == supervisor.Created {
		return hypervisor.Stopped, err
	}
	return hypervisor.State(s.Status), err
}

// Stop ends the VM.
func (h *Handle) Stop(ctx context.Context, grace time.Duration) error {
	return h.client.Stop(ctx, grace)
}

// Wait returns when the VM has ended.
func (h *Handle) Wait(ctx context.Context) error { return h.client.Wait(ctx) }

// Console connects to the serial console.
func (h *Handle) Console(ctx context.Context) (io.ReadWriteCloser, error) {
	return h.client.Console(ctx)
}

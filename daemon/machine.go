package daemon

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/boot"
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
	// Delivery is how the guest gets its seed, one of Deliveries; empty means auto.
	Delivery string
	// Disks are the ids of the disks that the daemon made for the VM, the root disk first.
	Disks   []string
	Created time.Time

	// What follows is the daemon's to say. Add and Update read nothing of it but NextRun.

	Status Status
	// Reason is why the VM has this status, where that is worth a sentence.
	Reason string
	// Initialized means that a first boot of the VM ended with the guest's own word. For a guest that is told by an answer file,
	// and has no other way to say so, that is the first answer of its guest agent.
	Initialized bool
	// FirstBootRunning means that the current run sets its guest up, and that this is not over, whatever Initialized says of before.
	FirstBootRunning bool
	// FirstBoot is that word; report.Judge says whether it is a success.
	FirstBoot *report.Event
	// Started and Ended are when the last run began and ended; zero when it did not.
	Started, Ended time.Time
	// PostedPassword is what the guest of this generation has posted to OpenStack's metadata service: its administrator's
	// password, encrypted with the machine's first SSH key, in base64.
	PostedPassword string
	// Addresses are the IP addresses that the running guest has reported.
	Addresses []string
	// Progress is the last thing that the guest of a boot that goes on has said; nil when it has said nothing.
	Progress *report.Event
	// SSHPort on 127.0.0.1 leads to the SSH server of the running guest; 0 means that there is none.
	SSHPort int
	// RunOnce means that the VM runs with documents that were given for this run alone; RunDocuments are those.
	RunOnce      bool
	RunDocuments []Document
	// NextRun means that the documents say something that the current run does not have yet. Update sets it when its change
	// does: which changes those are is known to who makes them.
	NextRun bool
	// Login is the user whom people log in as, by what the guest was set up with the last time; for one that was not yet, by
	// the documents. It is empty when neither these nor the template tell.
	Login string
	// Revision counts the changes of what Add and Update take; the daemon's own notes change nothing of it.
	Revision int
	// Generation counts how often first boot was asked to run again: the revision of the instance id.
	Generation int
	// Jobs are the ids of jobs about the VM that have not ended.
	Jobs []string
}

// List returns the VMs in the order of their creation. It reads memory only. The documents are shared: do not write to them.
func (d *Daemon) List() []Machine {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	out := make([]Machine, len(d.order))
	for i, id := range d.order {
		out[i] = d.vms[id].show()
	}
	return out
}

// show returns the VM as callers see it. Daemon.mutex is held.
func (v *vm) show() Machine {
	m := v.state.Machine
	m.SSHPort = v.port
	if m.Status.Running() {
		m.Addresses = v.state.run.Addresses
	}
	m.FirstBootRunning = m.Status.Running() && v.state.run.FirstBoot && !v.state.run.Ready
	if m.Status == PoweringUp && v.progress != nil && v.progress.Time.After(m.Started) {
		m.Progress = v.progress
	}
	return m
}

// Get returns a VM. The error is a *NotFoundError when there is none.
func (d *Daemon) Get(id string) (Machine, error) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	v, ok := d.vms[strings.ToLower(id)]
	if !ok {
		return Machine{}, &NotFoundError{Kind: "machine", ID: id}
	}
	return v.show(), nil
}

// FindByName returns the VM of a name, in any case of its letters. An empty namespace is "default".
func (d *Daemon) FindByName(namespace, name string) (Machine, error) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	v, ok := d.vms[d.names[nameKey(cmp.Or(namespace, defaultNamespace), name)]]
	if !ok {
		return Machine{}, &NotFoundError{Kind: "machine", ID: name}
	}
	return v.show(), nil
}

const defaultNamespace = "default"

// find returns a VM and its state.
func (d *Daemon) find(id string) (*vm, *state, error) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	v, ok := d.vms[strings.ToLower(id)]
	if !ok {
		return nil, nil, &NotFoundError{Kind: "machine", ID: id}
	}
	return v, v.state, nil
}

// now returns the state of a VM.
func (d *Daemon) now(v *vm) *state {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	return v.state
}

// insert takes a VM into the lists. Daemon.mutex is held.
func (d *Daemon) insert(v *vm) {
	s := v.state
	d.vms[s.ID] = v
	d.names[nameKey(s.Namespace, s.Name)] = s.ID
	at, _ := slices.BinarySearchFunc(d.order, s, func(id string, s *state) int { return compareStates(d.vms[id].state, s) })
	d.order = slices.Insert(d.order, at, s.ID)
}

func compareStates(a, b *state) int {
	return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID))
}

// acquire waits until no other operation on a VM goes on.
func (d *Daemon) acquire(ctx context.Context, v *vm) (release func(), err error) {
	select {
	case v.busy <- struct{}{}:
		return func() { <-v.busy }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-d.ctx.Done():
		return nil, ErrClosed
	}
}

// publish makes the next state of a VM, writes it with events and further records, and shows it. mutate may refuse.
func (d *Daemon) publish(ctx context.Context, v *vm, mutate func(*state) error, events func(*state) []Event, records ...changer) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	d.mutex.RLock()
	old, there := v.state, d.vms[v.state.ID] == v
	d.mutex.RUnlock()
	next := *old
	if !there {
		return &NotFoundError{Kind: "machine", ID: next.ID}
	}
	if err := mutate(&next); err != nil {
		return err
	}
	err := d.commit(ctx, events(&next), func() {
		v.state = &next
		for _, r := range records {
			d.keep(r)
		}
	}, append(records, &next)...)
	if err == nil && (len(next.FirstBootDocuments) < len(old.FirstBootDocuments) || len(next.RunDocuments) < len(old.RunDocuments) ||
		len(next.started) < len(old.started)) {
		d.erase()
	}
	return err
}

// keep takes a record that was written into memory. Daemon.mutex is held.
func (d *Daemon) keep(r changer) {
	switch r := r.(type) {
	case diskRecord:
		d.disks[r.ID] = r
	case Template:
		d.templates[r.ID] = r
	case Job:
		d.jobs[r.ID] = r
	case gone:
		switch r.Kind {
		case store.Disk:
			delete(d.disks, r.ID)
		case store.Template:
			delete(d.templates, r.ID)
		case store.Job:
			delete(d.jobs, r.ID)
		}
	}
}

// told makes the events of publish for one that is at hand.
func told(e ...Event) func(*state) []Event {
	return func(*state) []Event { return e }
}

// Add takes in a VM. The id is the one given, else the UUID that the documents state, else a random one; the name is the one
// given, else that of the documents. The documents are loaded and checked: what is wrong with them is a diag.List, whose
// warnings and notes become events. Where the template has a disk, the VM is image_locked until its own, an overlay on that, is
// made; it is down then. A name or id that is taken is a *ConflictError, an unknown template a *NotFoundError.
func (d *Daemon) Add(ctx context.Context, m Machine) (Machine, error) {
	leave, err := d.enter()
	if err != nil {
		return Machine{}, err
	}
	defer leave()
	d.shaping.RLock()
	defer d.shaping.RUnlock()
	template, base, err := d.base(m.Template)
	if err != nil {
		return Machine{}, err
	}
	loaded, l := d.readOne(ctx, m.Documents)
	if l.HasErrors() {
		return Machine{}, l
	}
	s := &state{Machine: Machine{Namespace: cmp.Or(m.Namespace, loaded.Namespace, defaultNamespace), Name: cmp.Or(m.Name, loaded.Name),
		ID: strings.ToLower(cmp.Or(m.ID, loaded.Identity.UUID, newID())), Documents: m.Documents, FirstBootDocuments: m.FirstBootDocuments,
		Template: m.Template, Delivery: m.Delivery, Created: time.Now().UTC(), Status: Down, Revision: 1}}
	if err := checkName("VM", s.Name); err != nil {
		return Machine{}, err
	}
	if err := checkDelivery(m.Delivery); err != nil {
		return Machine{}, err
	}
	if err := checkIDs(s.Machine); err != nil {
		return Machine{}, err
	}
	placed, problems := d.place(loaded, s.owned())
	if problems.HasErrors() {
		return Machine{}, append(l, problems...)
	}
	s.Login = boot.Login(placed, boot.Options{Login: template.Defaults.Login})
	l = d.ofNextStart(ctx, s.Machine, l)
	release, err := d.reserve(nameKey(s.Namespace, s.Name), s)
	if err != nil {
		return Machine{}, err
	}
	defer release()
	v := newVM(s)
	added := "VM " + s.Name + " was added"
	if template.Name != "" {
		added += " from template " + template.Name
	}
	events := []Event{s.event(MachineAdded, added)}
	records := []changer{s}
	var disk diskRecord
	var job Job
	if template.Disk != "" {
		disk = base.above(s.Name+"_root", base.Domain, filepath.Dir(base.File))
		disk.Machine, disk.Size = s.ID, max(disk.Size, rootSize(loaded))
		job = newJob(ctx, "Making the disk of VM "+s.Name, s.ID)
		s.Status, s.Disks, s.Jobs = ImageLocked, []string{disk.ID}, []string{job.ID}
		records = append(records, disk, job)
		v.busy <- struct{}{}
	}
	events[0].Status = s.Status
	events = append(events, s.define(l)...)
	if err := d.commit(ctx, events, func() {
		d.insert(v)
		for _, r := range records {
			d.keep(r)
		}
	}, records...); err != nil {
		return Machine{}, err
	}
	shown := s.Machine
	if template.Disk != "" {
		d.background(func() {
			defer func() { <-v.busy }()
			d.finishMachine(context.WithoutCancel(ctx), v, disk, job)
		})
	}
	return shown, nil
}

// rootSize is the size that a machine wants its root disk to have at least.
func rootSize(m machine.Machine) int64 {
	for _, x := range m.Disks {
		if x.Root {
			return int64(x.Size) / 512 * 512
		}
	}
	return 0
}

// reserve keeps a name and an id for a VM that is being added. A VM that was added meanwhile keeps them after release.
func (d *Daemon) reserve(key string, s *state) (release func(), err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if _, taken := d.names[key]; taken {
		return nil, conflictf("there is a VM called %s already", s.Name)
	}
	// An id is reserved as a name that no VM can have.
	if _, taken := d.names["/"+s.ID]; taken || d.vms[s.ID] != nil {
		return nil, conflictf("there is a VM with the id %s already", s.ID)
	}
	d.names[key], d.names["/"+s.ID] = s.ID, s.ID
	return func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		delete(d.names, "/"+s.ID)
		if v := d.vms[s.ID]; v == nil || nameKey(v.state.Namespace, v.state.Name) != key {
			delete(d.names, key)
		}
	}, nil
}

// Update changes a VM's name and documents. change gets a copy of the VM; when it fails, so does Update, with nothing changed;
// it must not change anything through the daemon itself. A VM that runs is changed too, for its next start. Warnings and notes that
// the documents did not get before become events.
func (d *Daemon) Update(ctx context.Context, id string, change func(*Machine) error) (Machine, error) {
	leave, err := d.enter()
	if err != nil {
		return Machine{}, err
	}
	defer leave()
	v, _, err := d.find(id)
	if err != nil {
		return Machine{}, err
	}
	var shown Machine
	var l diag.List
	err = d.update(v, func(next *state) error {
		m := next.Machine
		if err := change(&m); err != nil {
			return err
		}
		if err := checkDelivery(m.Delivery); err != nil {
			return err
		}
		if m.Name != next.Name {
			if err := checkName("VM", m.Name); err != nil {
				return err
			}
		}
		var placed machine.Machine
		if placed, l = d.changed(ctx, next, m); l.HasErrors() {
			return l
		}
		if next.Started.IsZero() && placed.Name != "" {
			next.Login = boot.Login(placed, boot.Options{Login: d.defaults(next.Template).Login})
		}
		if m.Name != next.Name || m.Delivery != next.Delivery || !SameDocuments(m.Documents, next.Documents) || !SameDocuments(m.FirstBootDocuments, next.FirstBootDocuments) {
			next.Revision++
		}
		if next.Status.Running() && next.started == nil {
			next.started = next.wished()
		}
		next.Name, next.Documents, next.FirstBootDocuments, next.Delivery = m.Name, m.Documents, m.FirstBootDocuments, m.Delivery
		next.NextRun = m.NextRun && next.Status.Running()
		l = d.ofNextStart(ctx, next.Machine, l)
		return nil
	}, func(next, old *state) error {
		text := "VM " + old.Name + " was changed"
		if next.Name != old.Name {
			text = "VM " + old.Name + " is called " + next.Name + " now"
		}
		return d.commit(ctx, append([]Event{next.event(MachineChanged, text)}, next.define(l)...), func() {
			delete(d.names, nameKey(old.Namespace, old.Name))
			d.names[nameKey(next.Namespace, next.Name)] = next.ID
			v.state = next
			shown = v.show()
		}, next)
	})
	if err == nil {
		d.erase()
	}
	return shown, err
}

// changed returns the machine that a VM becomes by a change. What is wrong with its documents already refuses no change of anything
// else: then there is no machine.
func (d *Daemon) changed(ctx context.Context, s *state, m Machine) (machine.Machine, diag.List) {
	named := s.owned()
	named.name = m.Name
	placed, l := d.machine(ctx, named, m.Documents)
	if l.HasErrors() && SameDocuments(m.Documents, s.Documents) {
		if _, before := d.machine(ctx, s.owned(), s.Documents); before.HasErrors() {
			return machine.Machine{}, nil
		}
	}
	return placed, l
}

// SameDocuments reports whether documents have the same names and texts, in the same order.
func SameDocuments(a, b []Document) bool {
	return slices.EqualFunc(a, b, func(x, y Document) bool { return x.Name == y.Name && x.Text.Equal(y.Text) })
}

// update changes a VM whose name may change with it.
func (d *Daemon) update(v *vm, mutate func(*state) error, write func(next, old *state) error) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	old := d.now(v)
	next := *old
	if err := mutate(&next); err != nil {
		return err
	}
	d.mutex.Lock()
	key := nameKey(next.Namespace, next.Name)
	owner, taken := d.names[key]
	there := d.vms[old.ID] == v && !old.run.Removing
	if there && !taken {
		d.names[key] = old.ID
	}
	d.mutex.Unlock()
	switch {
	case !there:
		return &NotFoundError{Kind: "machine", ID: old.ID}
	case taken && owner != old.ID:
		return conflictf("there is a VM called %s already", next.Name)
	}
	err := write(&next, old)
	if err != nil && !taken {
		d.mutex.Lock()
		delete(d.names, key)
		d.mutex.Unlock()
	}
	return err
}

// RemoveOptions are how a VM is removed.
type RemoveOptions struct {
	// Force stops a VM that runs.
	Force bool
	// KeepDisks leaves the disks there, attached to nothing.
	KeepDisks bool
}

// Remove removes a VM and all that belongs to it. One that runs is a *ConflictError unless forced.
func (d *Daemon) Remove(ctx context.Context, id string, o RemoveOptions) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	v, s, err := d.find(id)
	if err != nil {
		return err
	}
	if s.Status == WaitForLaunch && o.Force {
		d.abort(v)
	}
	if s.Status.Running() && !o.Force {
		return conflictf("VM %s runs; stop it first", s.Name)
	}
	release, err := d.acquire(ctx, v)
	if err != nil {
		return err
	}
	defer release()
	err = d.publish(ctx, v, func(next *state) error {
		if next.Status.Running() && !o.Force {
			return conflictf("VM %s runs; stop it first", next.Name)
		}
		next.run.Removing, next.run.KeepDisks, next.run.Again = true, o.KeepDisks, false
		if !next.Status.Running() {
			next.Status = ImageLocked
		}
		return nil
	}, told())
	if err != nil {
		return err
	}
	return d.remove(context.WithoutCancel(ctx), v)
}

// remove removes a VM that is marked for it. What a crash leaves of it is removed by Open.
func (d *Daemon) remove(ctx context.Context, v *vm) error {
	if err := d.removeDir(ctx, d.now(v)); err != nil {
		return err
	}
	d.unwatch(v)
	v.writing.Lock()
	defer v.writing.Unlock()
	s := d.now(v)
	records := []changer{gone{Kind: store.VM, ID: s.ID}, gone{Kind: store.Meta, ID: givenID(s.ID)}, gone{Kind: store.Meta, ID: ranID(s.ID)}}
	for _, id := range s.Disks {
		disk, ok := d.disk(id)
		if !ok {
			continue
		}
		if s.run.KeepDisks {
			disk.Machine = ""
			records = append(records, disk)
			continue
		}
		if err := removeFile(disk.File); err != nil {
			return err
		}
		records = append(records, gone{Kind: store.Disk, ID: id})
	}
	defer d.erase()
	return d.commit(ctx, []Event{s.event(MachineRemoved, "VM "+s.Name+" was removed")}, func() {
		for _, r := range records {
			d.keep(r)
		}
		delete(d.vms, s.ID)
		delete(d.names, nameKey(s.Namespace, s.Name))
		d.order = slices.DeleteFunc(d.order, func(id string) bool { return id == s.ID })
	}, records...)
}

// Placed returns the machine that the VM's documents make, complete as its next start would make it: with the template's
// defaults, MACs, UUID and instance id. It may hold secrets.
func (d *Daemon) Placed(ctx context.Context, id string) (machine.Machine, diag.List, error) {
	_, s, err := d.find(id)
	if err != nil {
		return machine.Machine{}, nil, err
	}
	m, l := d.one(ctx, s.Documents)
	if l.HasErrors() {
		return m, l, nil
	}
	// What the administrator no longer allows is an error here too, but not one that hides the machine.
	l = append(l, d.host.check(&m)...)
	m, problems := d.place(m, s.owned())
	return m, append(l, problems...), nil
}

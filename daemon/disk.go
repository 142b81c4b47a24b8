package daemon

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/format/qcow2"
	"github.com/vmseed/vmseed/internal/atomicfile"
)

// Disk is a disk image that the daemon made.
type Disk struct {
	ID, Name string
	// Domain is the id of the storage domain where it is; File its path.
	Domain, File string
	Status       TemplateStatus
	// Reason is why it is illegal.
	Reason string
	// Format is qcow2; Base the file that it is an overlay on.
	Format, Base string
	// Size is the one that the guest sees; Used is what the file takes.
	Size, Used int64
	// Machine or Template is the id of the one that it belongs to; both are empty for a disk of its own.
	Machine, Template string
	Created           time.Time
}

// show returns the disk as callers see it.
func (r diskRecord) show() Disk {
	x := Disk{ID: r.ID, Name: r.Name, Domain: r.Domain, File: r.File, Status: r.Status, Reason: r.Reason, Format: "qcow2", Base: r.Base,
		Size: r.Size, Machine: r.Machine, Template: r.Template, Created: r.Created}
	if info, err := os.Stat(r.File); err == nil {
		x.Used = info.Size()
	}
	return x
}

// diskFile is the file of a disk.
func diskFile(dir, id string) string { return filepath.Join(dir, id+".qcow2") }

// above plans a disk that is an overlay on r.
func (r diskRecord) above(name, domain, dir string) diskRecord {
	id := newID()
	return diskRecord{ID: id, Name: name, Domain: domain, File: diskFile(dir, id), Status: Locked, Base: r.File, BaseFormat: "qcow2",
		Size: r.Size, Created: time.Now().UTC()}
}

// disk returns the record of a disk.
func (d *Daemon) disk(id string) (diskRecord, bool) {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	r, ok := d.disks[strings.ToLower(id)]
	return r, ok
}

// Disks returns the disks in the order of their creation.
func (d *Daemon) Disks() []Disk {
	d.mutex.RLock()
	records := slices.Collect(maps.Values(d.disks))
	d.mutex.RUnlock()
	slices.SortFunc(records, func(a, b diskRecord) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	out := make([]Disk, len(records))
	for i, r := range records {
		out[i] = r.show()
	}
	return out
}

// Disk returns a disk.
func (d *Daemon) Disk(id string) (Disk, error) {
	r, ok := d.disk(id)
	if !ok {
		return Disk{}, &NotFoundError{Kind: "disk", ID: id}
	}
	return r.show(), nil
}

// RemoveDisk removes a disk that belongs to nothing; one that something needs is a *ConflictError.
func (d *Daemon) RemoveDisk(ctx context.Context, id string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	d.shaping.Lock()
	defer d.shaping.Unlock()
	r, ok := d.disk(id)
	switch {
	case !ok:
		return &NotFoundError{Kind: "disk", ID: id}
	case r.Status == Locked:
		return conflictf("disk %s is still being made", r.Name)
	case r.Machine != "" || r.Template != "":
		return conflictf("disk %s belongs to a VM or a template", r.Name)
	}
	for _, x := range d.Disks() {
		if x.Base == r.File {
			return conflictf("disk %s is the base of disk %s", r.Name, x.Name)
		}
	}
	return d.dropDisk(ctx, r, Event{Kind: DiskRemoved, Object: r.ID, Name: r.Name, Text: "Disk " + r.Name + " was removed"})
}

// dropDisk removes a disk, and records with it. It marks the disk first, so that Open can finish this after a crash.
func (d *Daemon) dropDisk(ctx context.Context, r diskRecord, e Event, records ...changer) error {
	r.Removing = true
	if err := d.commit(ctx, nil, func() { d.keep(r) }, r); err != nil {
		return err
	}
	if err := removeFile(r.File); err != nil {
		return err
	}
	records = append(records, gone{Kind: store.Disk, ID: r.ID})
	return d.commit(ctx, []Event{e}, func() {
		for _, x := range records {
			d.keep(x)
		}
	}, records...)
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// make makes the file of a disk, which no VM has used yet.
func (r diskRecord) make() error {
	if _, err := os.Stat(r.Base); err != nil {
		return err
	}
	image, err := qcow2.Overlay{Base: r.Base, Format: r.BaseFormat, Size: r.Size}.Bytes()
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(r.File, image)
}

// made makes the file and says in the record and the job how that went.
func (r diskRecord) made(j Job) (diskRecord, Job) {
	err := r.make()
	r.Status, j.Status, j.Ended = OK, JobFinished, time.Now().UTC()
	if err != nil {
		r.Status, r.Reason = Illegal, err.Error()
		j.Status, j.Error = JobFailed, err.Error()
	}
	return r, j
}

// finishDisk makes a disk that belongs to nothing.
func (d *Daemon) finishDisk(ctx context.Context, r diskRecord, j Job) {
	r, j = r.made(j)
	e := Event{Kind: DiskAdded, Object: r.ID, Name: r.Name, Text: "Disk " + r.Name + " is there"}
	if r.Status != OK {
		e.Severity, e.Text = Error, "Disk "+r.Name+" cannot be made: "+r.Reason
	}
	_ = d.commit(ctx, []Event{e}, func() {
		d.keep(r)
		d.keep(j)
	}, r, j)
	d.forgetJobs(ctx)
}

// finishTemplate makes the disk of a template.
func (d *Daemon) finishTemplate(ctx context.Context, id string, r diskRecord, j Job) {
	r, j = r.made(j)
	d.shaping.Lock()
	defer d.shaping.Unlock()
	t, err := d.Template(id)
	if err != nil {
		return
	}
	t.Status, t.Reason = r.Status, r.Reason
	e := t.event(TemplateChanged, "Template "+t.Name+" can be used")
	if r.Status != OK {
		e.Severity, e.Text = Error, "Template "+t.Name+" cannot be made: "+r.Reason
	}
	_ = d.commit(ctx, []Event{e}, func() {
		d.keep(t)
		d.keep(r)
		d.keep(j)
	}, t, r, j)
	d.forgetJobs(ctx)
}

// finishMachine makes the disk of a VM, which is down then.
func (d *Daemon) finishMachine(ctx context.Context, v *vm, r diskRecord, j Job) {
	r, j = r.made(j)
	err := d.publish(ctx, v, func(s *state) error {
		s.Status, s.Reason = Down, r.Reason
		s.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(id string) bool { return id == j.ID })
		return nil
	}, func(s *state) []Event {
		e := s.status("VM " + s.Name + " is ready to be started")
		if r.Status != OK {
			e.Severity, e.Text = Error, "The disk of VM "+s.Name+" cannot be made: "+r.Reason
		}
		return []Event{e}
	}, r, j)
	if err == nil {
		d.forgetJobs(ctx)
	}
}

package daemon

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/store"
)

// BlankTemplate is the id of the template Blank, which every daemon has.
const BlankTemplate = "00000000-0000-0000-0000-000000000000"

// TemplateStatus is how far a template or a disk is.
type TemplateStatus string

// The statuses of templates and disks, in oVirt's words (types TemplateStatus and DiskStatus).
const (
	Locked  TemplateStatus = "locked"
	OK      TemplateStatus = "ok"
	Illegal TemplateStatus = "illegal"
)

// Template is what VMs are made from.
type Template struct {
	ID, Name, Description string
	Status                TemplateStatus
	// Reason is why it is illegal.
	Reason string
	// Documents belong to the API that made the template; the daemon keeps them and does not read them.
	Documents []Document
	// Disk is the id of the disk on which those of its VMs are overlays; Blank has none.
	Disk     string
	Defaults Defaults
	Created  time.Time
}

// blank returns the template that every daemon has.
func blank() Template {
	return Template{ID: BlankTemplate, Name: "Blank", Description: "Blank template", Status: OK, Created: time.Unix(0, 0).UTC()}
}

// event makes one about the template.
func (t Template) event(kind EventKind, text string) Event {
	return Event{Kind: kind, Object: t.ID, Name: t.Name, Text: text}
}

// Templates returns the templates: Blank, then the others in the order of their creation.
func (d *Daemon) Templates() []Template {
	d.mutex.RLock()
	out := slices.Collect(maps.Values(d.templates))
	d.mutex.RUnlock()
	slices.SortFunc(out, func(a, b Template) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return append([]Template{blank()}, out...)
}

// Template finds one by its id.
func (d *Daemon) Template(id string) (Template, error) {
	if id == BlankTemplate {
		return blank(), nil
	}
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	t, ok := d.templates[strings.ToLower(id)]
	if !ok {
		return Template{}, &NotFoundError{Kind: "template", ID: id}
	}
	return t, nil
}

// TemplateByName finds one by its name, in any case of its letters.
func (d *Daemon) TemplateByName(name string) (Template, error) {
	for _, t := range d.Templates() {
		if strings.EqualFold(t.Name, name) {
			return t, nil
		}
	}
	return Template{}, &NotFoundError{Kind: "template", ID: name}
}

// base returns the template that a VM is to be made from, and its disk.
func (d *Daemon) base(id string) (Template, diskRecord, error) {
	if id == "" {
		return Template{}, diskRecord{}, nil
	}
	t, err := d.Template(id)
	if err != nil || t.Disk == "" {
		return t, diskRecord{}, err
	}
	disk, _ := d.disk(t.Disk)
	switch {
	case disk.Removing:
		return t, disk, conflictf("template %s is being removed", t.Name)
	case t.Status == Locked:
		return t, disk, conflictf("template %s is still being made", t.Name)
	case t.Status != OK:
		return t, disk, conflictf("template %s cannot be used: %s", t.Name, t.Reason)
	}
	return t, disk, nil
}

// templateKey is what names of templates are reserved by.
func templateKey(name string) string { return "//" + strings.ToLower(name) }

// reserveTemplate keeps a name for a template until release.
func (d *Daemon) reserveTemplate(name, id string) (release func(), err error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	_, taken := d.names[templateKey(name)]
	for _, t := range d.templates {
		taken = taken || t.ID != id && strings.EqualFold(t.Name, name)
	}
	if taken || strings.EqualFold(name, blank().Name) {
		return nil, conflictf("there is a template called %s already", name)
	}
	d.names[templateKey(name)] = id
	return func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		delete(d.names, templateKey(name))
	}, nil
}

// UpdateTemplate changes a template's name, description and documents. Blank does not change. What holds for the function that
// Update calls holds for this one.
func (d *Daemon) UpdateTemplate(ctx context.Context, id string, change func(*Template) error) (Template, error) {
	leave, err := d.enter()
	if err != nil {
		return Template{}, err
	}
	defer leave()
	if id == BlankTemplate {
		return Template{}, conflictf("the template Blank cannot be changed")
	}
	d.shaping.Lock()
	defer d.shaping.Unlock()
	old, err := d.Template(id)
	if err != nil {
		return Template{}, err
	}
	t := old
	if err := change(&t); err != nil {
		return Template{}, err
	}
	next := old
	next.Name, next.Description, next.Documents = t.Name, t.Description, t.Documents
	if err := checkName("template", next.Name); err != nil {
		return Template{}, err
	}
	release, err := d.reserveTemplate(next.Name, id)
	if err != nil {
		return Template{}, err
	}
	defer release()
	return next, d.commit(ctx, []Event{next.event(TemplateChanged, "Template "+next.Name+" was changed")}, func() { d.keep(next) }, next)
}

// RemoveTemplate removes a template and its disk. One that VMs are made from is a *ConflictError.
func (d *Daemon) RemoveTemplate(ctx context.Context, id string) error {
	leave, err := d.enter()
	if err != nil {
		return err
	}
	defer leave()
	if id == BlankTemplate {
		return conflictf("the template Blank cannot be removed")
	}
	d.shaping.Lock()
	defer d.shaping.Unlock()
	t, err := d.Template(id)
	if err != nil {
		return err
	}
	if t.Status == Locked {
		return conflictf("template %s is still being made", t.Name)
	}
	disk, _ := d.disk(t.Disk)
	if user := d.userOf(t, disk); user != "" {
		return conflictf("template %s cannot be removed: %s is made from it", t.Name, user)
	}
	return d.dropDisk(ctx, disk, t.event(TemplateRemoved, "Template "+t.Name+" was removed"), gone{Kind: store.Template, ID: t.ID})
}

// userOf names a VM or disk that needs a template; "" when there is none.
func (d *Daemon) userOf(t Template, base diskRecord) string {
	d.mutex.RLock()
	defer d.mutex.RUnlock()
	for _, v := range d.vms {
		if v.state.Template == t.ID {
			return "VM " + v.state.Name
		}
	}
	for _, x := range d.disks {
		if x.Base == base.File && x.ID != base.ID {
			return "disk " + x.Name
		}
	}
	return ""
}

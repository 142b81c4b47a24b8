package ovirtapi

import (
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// disc is what a definition says about the CD that a request names: a file of the image repository by its path, so that
// the definition means the same to every reader. An empty name is no CD.
func (a *API) disc(cdrom element.Element) (element.Element, error) {
	file := cdrom.Child("file")
	wanted := strings.TrimSpace(file.Attr("id"))
	if wanted == "" {
		wanted = strings.TrimSpace(file.Child("name").Text)
	}
	if wanted == "" {
		return element.List("cdroms"), nil
	}
	discs, err := a.discs()
	if err != nil {
		return element.Element{}, err
	}
	for _, d := range discs {
		if wanted == d.name || wanted == d.path {
			return element.List("cdroms", element.New("cdrom", element.New("file").WithAttr("id", d.path)).WithAttr("id", emptyID)), nil
		}
	}
	return element.Element{}, noEntity("File", "id", wanted)
}

// cdrom is the one CD drive of a VM, with what is in it. Of a VM that runs, "current" asks for what is in it now, which
// differs from its definition in a run-once.
func (a *API) cdrom(v vm, current bool) element.Element {
	doc := v.doc
	if run := a.parsed.of(v.ID+"/run", v.RunDocuments, "action"); current && v.RunOnce && run.Exists() {
		doc = run.Child("vm")
	}
	e := object("cdrom", emptyID, "vms", v.ID, "cdroms", emptyID).Append(element.Text("name", ""), object("vm", v.ID, "vms", v.ID))
	if path := doc.Get("cdroms/cdrom/file").Attr("id"); path != "" {
		name := filepath.Base(path)
		domain := own("storagedomain", isoDomain)
		e = e.Append(object("file", name, "storagedomains", domain, "files", name).Append(element.Text("name", name)))
	}
	return e
}

func (a *API) cdroms(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	current, bad := q.address.flag("current", false)
	if bad != nil {
		return nil, bad
	}
	return []element.Element{a.cdrom(v, current)}, nil
}

// updateCdrom puts a CD into the drive or takes it out, from the next start on. A disc is not changed under a guest that runs.
func (a *API) updateCdrom(q *request) (reply, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return reply{}, err
	}
	if q.id(1) != emptyID {
		return reply{}, notFound()
	}
	current, bad := q.address.flag("current", false)
	if bad != nil {
		return reply{}, bad
	}
	wanted, err := a.disc(q.body)
	if err != nil {
		return reply{}, err
	}
	if current {
		now := a.cdrom(v, true).Child("file").Attr("id")
		if then := wanted.Get("cdrom/file").Attr("id"); then == "" && now == "" || then != "" && filepath.Base(then) == now {
			return ok(a.cdrom(v, true)), nil
		}
		if !v.Status.Running() {
			return reply{}, failed("Cannot change CD. VM is not running.")
		}
		return reply{}, failed("Cannot change CD. vmseed does not change the CD of a VM that runs; without current=true it changes at the next start.")
	}
	m, err := a.d.Update(q.ctx, v.ID, func(m *daemon.Machine) error {
		return a.redefine(m, func(doc element.Element) (element.Element, error) { return doc.With(wanted), nil })
	})
	if err != nil {
		return reply{}, err
	}
	return ok(a.cdrom(a.asVM(m), false)), nil
}

// attachmentView is how a disk hangs on a VM or template; owner is "vm" or "template".
func (a *API) attachmentView(d daemon.Disk, owner, ownerID string) element.Element {
	path := []string{owner + "s", ownerID}
	return object("disk_attachment", d.ID, append(path[:2:2], "diskattachments", d.ID)...).Append(
		element.Bool("active", true), element.Bool("bootable", true), element.Text("interface", "virtio"), element.Text("logical_name", ""),
		element.Bool("pass_discard", false), element.Bool("read_only", false), element.Bool("uses_scsi_reservation", false),
		object("disk", d.ID, "disks", d.ID), object(owner, ownerID, path...))
}

func (a *API) vmAttachments(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	var list []element.Element
	for n, id := range v.Disks {
		if d, err := a.d.Disk(id); err == nil {
			list = append(list, a.attachmentView(d, "vm", v.ID).With(element.Bool("bootable", n == 0)))
		}
	}
	return list, nil
}

func (a *API) vmDisks(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	var list []element.Element
	for _, id := range v.Disks {
		if d, err := a.d.Disk(id); err == nil {
			list = append(list, a.diskView(q, d))
		}
	}
	return list, nil
}

func (a *API) templateAttachments(q *request) ([]element.Element, error) {
	t, err := a.d.Template(q.id(0))
	if err != nil {
		return nil, err
	}
	d, err := a.d.Disk(t.Disk)
	if err != nil {
		return nil, nil
	}
	return []element.Element{a.attachmentView(d, "template", t.ID)}, nil
}

package ovirtapi

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/secret"
)

// settle is how long a request that waits for its VM or job is held. It is longer than any disk takes to make, and less
// than clients and proxies wait.
const settle = 2 * time.Minute

func (a *API) getVM(q *request) (reply, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return reply{}, err
	}
	allContent, bad := q.allContent()
	if bad != nil {
		return reply{}, bad
	}
	return ok(a.vmView(v, allContent)), nil
}

func (a *API) listVMs(q *request) (reply, error) {
	allContent, bad := q.allContent()
	if bad != nil {
		return reply{}, bad
	}
	return collection[vm]{name: "vms", search: a.vmSearch(), list: a.vms,
		view: func(_ *request, v vm) element.Element { return a.vmView(v, allContent) }}.get(q)
}

// knowCluster fails when a request names a cluster that is not there. Naming none is fine.
func (a *API) knowCluster(e element.Element) error {
	id, name := reference(e)
	p := a.d.Cluster()
	switch {
	case id != "" && id != p.ID:
		return noEntity("Cluster", "id", id)
	case id == "" && name != "" && !strings.EqualFold(name, p.Name):
		return noEntity("Cluster", "name", name)
	}
	return nil
}

// templateOf finds the template that a request names.
func (a *API) templateOf(e element.Element) (daemon.Template, error) {
	id, name := reference(e)
	if id != "" {
		t, err := a.d.Template(id)
		if err != nil {
			return t, noEntity("Template", "id", id)
		}
		return t, nil
	}
	t, err := a.d.TemplateByName(name)
	if err != nil {
		return t, noEntity("Template", "name", name)
	}
	return t, nil
}

// addVM makes a VM of a template: the template's document with the request's laid over it, on an overlay of the template's disk.
func (a *API) addVM(q *request) (reply, error) {
	name := strings.TrimSpace(q.body.Child("name").Text)
	if bad := checkName("Vm", name, false); bad != nil {
		return reply{}, bad
	}
	for _, needed := range []string{"cluster", "template"} {
		if id, name := reference(q.body.Child(needed)); id == "" && name == "" {
			return reply{}, incomplete("Vm", "add", needed+".id or name")
		}
	}
	for _, parameter := range []string{"clone", "clone_permissions", "seal"} {
		if _, bad := q.address.flag(parameter, false); bad != nil {
			return reply{}, bad
		}
	}
	if err := a.knowCluster(q.body.Child("cluster")); err != nil {
		return reply{}, err
	}
	t, err := a.templateOf(q.body.Child("template"))
	if err != nil {
		return reply{}, err
	}
	if t.Status != daemon.OK {
		return reply{}, failed(fmt.Sprintf("Cannot add VM. Template %s is %s.", t.Name, t.Status))
	}
	if bad := checkDisks(q.body, t); bad != nil {
		return reply{}, bad
	}
	m := daemon.Machine{ID: newID(), Name: name, Template: t.ID}
	doc, err := a.newDefinition(m.ID, q.body, t)
	if err != nil {
		return reply{}, err
	}
	if m.Documents, m.FirstBootDocuments, err = a.vmDocuments(m.ID, doc); err != nil {
		return reply{}, err
	}
	if m, err = a.d.Add(q.ctx, m); err != nil {
		return reply{}, a.placed(q, err)
	}
	if q.waits() {
		if m, err = a.settled(q.ctx, m.ID); err != nil {
			return reply{}, err
		}
	}
	unlocked := m.Status != daemon.ImageLocked
	view := a.vmView(a.asVM(m), false)
	if !unlocked {
		view = view.Append(element.Text("creation_status", "in_progress"))
	}
	return created(view, unlocked), nil
}

// newID is a random UUID (RFC 9562, version 4).
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkDisks refuses disks that a new VM would get beside those of its template. Disks of the template are named by clients that
// choose a format or a storage domain for them; they are overlays here in any case.
func checkDisks(body element.Element, t daemon.Template) *fault {
	for _, attachment := range body.Get("disk_attachments").All("disk_attachment") {
		id := attachment.Child("disk").Attr("id")
		if id == "" || id != t.Disk {
			return notOffered(fmt.Sprintf("%s: vmseed gives a VM the disk of its template; further disks cannot be made or attached", attachment.Place))
		}
	}
	return nil
}

// newDefinition is the document of a new VM.
func (a *API) newDefinition(id string, body element.Element, t daemon.Template) (element.Element, error) {
	base := a.parsed.of("template/"+t.ID, t.Documents, "template")
	if !base.Exists() {
		base = element.New("template")
	}
	base = withHardware(base.Without(append(serverMembers(), "name", "description", "comment", "cluster", "template")...), t.Defaults)
	over, err := a.resolved(element.New("vm", body.Without(append(serverMembers(), "cluster", "template")...).Children...))
	if err != nil {
		return over, err
	}
	// What the request says about its processors alone says it about all of them: four cores of the template and two sockets
	// of the request would be eight.
	if over.Get("cpu/topology").Exists() {
		base = base.Without("cpu")
	}
	doc := withHardware(ovirt.Merge(base, over), t.Defaults)
	doc.Attrs = nil
	if bad := checkHardware(doc); bad != nil {
		return doc, bad
	}
	return a.withNICs(id, doc.WithAttr("id", id))
}

// settled waits until a VM's disks are made.
func (a *API) settled(ctx context.Context, id string) (daemon.Machine, error) {
	return a.await(ctx, id, func(s daemon.Status) bool { return s != daemon.ImageLocked })
}

// await waits until a VM has a status, or for as long as a request is held. It returns the VM as it is then.
func (a *API) await(ctx context.Context, id string, done func(daemon.Status) bool) (daemon.Machine, error) {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	since := a.d.LastEvent()
	if m, err := a.d.Get(id); err != nil || done(m.Status) {
		return m, err
	}
	_ = a.d.Watch(ctx, since, func(e daemon.Event) error {
		if e.Object != id {
			return nil
		}
		if m, err := a.d.Get(id); err != nil || done(m.Status) {
			return errSeen
		}
		return nil
	})
	return a.d.Get(id)
}

// finished waits until a job ends, or for as long as a request is held. The error is that of the job.
func (a *API) finished(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	since := a.d.LastEvent()
	over := func() (bool, error) {
		j, err := a.d.Job(id)
		switch {
		case err != nil:
			return true, err
		case j.Status == daemon.JobFailed:
			return true, failed(sentence(j.Error))
		}
		return j.Status != daemon.JobStarted, nil
	}
	ended, err := over()
	if ended {
		return err
	}
	_ = a.d.Watch(ctx, since, func(daemon.Event) error {
		if ended, _ := over(); ended {
			return errSeen
		}
		return nil
	})
	_, err = over()
	return err
}

// errSeen ends a watch that has seen what it waited for.
var errSeen = errors.New("seen")

// placed gives errors about a definition the places that they have in the request. The daemon speaks about the whole
// definition, which the client has not written and cannot see; where the same is wrong with the request alone, the places
// in it are those to look at.
func (a *API) placed(q *request, err error) error {
	var list diag.List
	if !errors.As(err, &list) {
		return err
	}
	var out diag.List
	seen := map[diag.Code]bool{}
	for _, d := range a.d.Check(q.ctx, []daemon.Document{{Name: bodyName, Text: secret.FromBytes(q.data)}}, daemon.RenderOptions{}) {
		same := slices.ContainsFunc(list, func(e diag.Diagnostic) bool { return e.Code == d.Code && e.Severity == d.Severity })
		if d.Severity == diag.Error && same {
			out, seen[d.Code] = append(out, d), true
		}
	}
	for _, d := range list {
		if d.Severity == diag.Error && !seen[d.Code] {
			d.Range = diag.Range{}
			out = append(out, d)
		}
	}
	f := refused(list)
	if len(seen) == 0 && q.endpoint.body == "action" {
		f.status, f.reason = http.StatusConflict, reasonFailed // the action is right, and the VM is not one for it
	}
	f.detail = out.Error()
	return f
}

// updateVM lays a request over a VM's definition, as a whole or not at all.
func (a *API) updateVM(q *request) (reply, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return reply{}, err
	}
	if err := a.knowCluster(q.body.Child("cluster")); err != nil {
		return reply{}, err
	}
	if t := q.body.Child("template"); t.Exists() {
		wanted, err := a.templateOf(t)
		if err != nil {
			return reply{}, err
		}
		if wanted.ID != cmp.Or(v.Template, daemon.BlankTemplate) {
			return reply{}, failed("Cannot update VM. The template of a VM does not change.")
		}
	}
	name := strings.TrimSpace(q.body.Child("name").Text)
	if name == v.displayName() {
		name = ""
	}
	if q.body.Child("name").Exists() && name != "" {
		if bad := checkName("Vm", name, false); bad != nil {
			return reply{}, bad
		}
	}
	over, err := a.resolved(element.New("vm", q.body.Without(append(serverMembers(), "cluster", "template", "nics", "cdroms")...).Children...))
	if err != nil {
		return reply{}, err
	}
	m, err := a.d.Update(q.ctx, v.ID, func(m *daemon.Machine) error {
		if name != "" {
			m.Name = name
		}
		if len(over.Without("name").Children) == 0 && (name == "" || v.foreign) {
			return nil
		}
		return a.redefine(m, func(doc element.Element) (element.Element, error) { return overlaid(doc, over) })
	})
	if err != nil {
		return reply{}, a.placed(q, err)
	}
	return ok(a.vmView(a.asVM(m), false)), nil
}

// overlaid lays the members of a request over a definition.
func overlaid(doc, over element.Element) (element.Element, error) {
	attrs := doc.Attrs
	doc = withHardware(ovirt.Merge(doc, over), daemon.Defaults{})
	doc.Attrs = attrs
	if bad := checkHardware(doc); bad != nil {
		return doc, bad
	}
	return doc, nil
}

// redefine changes the definition that the daemon keeps for a VM. What Windows is told in clear changes with it, as long as
// the VM has not been set up.
func (a *API) redefine(m *daemon.Machine, change func(element.Element) (element.Element, error)) error {
	v := a.asVM(*m)
	if v.foreign {
		return failed("Cannot update VM. Its definition did not come through this API; change it where it came from.")
	}
	whole := v.doc
	if clear := a.parsed.of(m.ID+"/first", m.FirstBootDocuments, "vm"); clear.Exists() {
		whole = clear
	}
	doc, err := change(whole)
	if err != nil {
		return err
	}
	doc = doc.With(element.Text("name", m.Name))
	m.NextRun = m.NextRun || !ofRun(doc).Equal(ofRun(whole))
	m.Documents, m.FirstBootDocuments, err = a.vmDocuments(m.ID, doc)
	return err
}

// ofRun is what a run of a VM has of its definition until it ends. What a guest is told at its first boot is not among it: that is
// over, or waits for the next one.
func ofRun(doc element.Element) element.Element {
	return doc.Without("name", "description", "comment", "delete_protected", "initialization")
}

// removeVM removes a VM that does not run.
func (a *API) removeVM(q *request) (reply, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return reply{}, err
	}
	force, bad := q.address.flag("force", strings.EqualFold(q.body.Child("force").Text, "true"))
	if bad != nil {
		return reply{}, bad
	}
	keep, bad := q.address.flag("detach_only", strings.EqualFold(q.body.Get("vm/disks/detach_only").Text, "true"))
	if bad != nil {
		return reply{}, bad
	}
	if protected, _ := parseFlag(v.doc.Child("delete_protected").Text); protected && v.doc.Child("delete_protected").Exists() {
		return reply{}, failed("Cannot remove VM. Delete protection is enabled. In order to delete, disable Delete protection first.")
	}
	// Force is for VMs whose disks are locked. An engine does not remove a VM that runs either way.
	if v.Status.Running() {
		return reply{}, failed("Cannot remove VM. VM is running; stop it first.")
	}
	if err := a.d.Remove(q.ctx, v.ID, daemon.RemoveOptions{Force: force, KeepDisks: keep}); err != nil {
		return reply{}, err
	}
	return removed(), nil
}

// removed is the answer to a DELETE: SDKs take no status but 200 for success.
func removed() reply { return ok(element.New("action", element.Text("status", "complete"))) }

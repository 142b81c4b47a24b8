package ovirtapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
)

// templateDoc is a template's definition in oVirt's words.
func (a *API) templateDoc(t daemon.Template) element.Element {
	doc := a.parsed.of("template/"+t.ID, t.Documents, "template")
	if !doc.Exists() {
		doc = element.New("template")
	}
	return withHardware(doc, t.Defaults)
}

func (a *API) templateView(_ *request, t daemon.Template) element.Element {
	path := []string{"templates", t.ID}
	doc := a.templateDoc(t)
	e := object("template", t.ID, path...).Append(actions(path),
		element.Text("name", t.Name), element.Text("description", cmp.Or(t.Description, doc.Child("description").Text)), element.Text("comment", doc.Child("comment").Text))
	e = e.Append(links(path, "cdroms", "diskattachments", "graphicsconsoles", "nics", "permissions", "tags", "watchdogs")...)
	stored := completed(ovirt.Mask(doc)).Without("name", "description", "comment", "nics", "cdroms", "id", "href", "cluster", "status", "payloads")
	e = e.Append(stored.Children...)
	if init := e.Child("initialization"); init.Exists() {
		e = e.With(initializationView(init, false))
	}
	version := element.New("version", object("base_template", t.ID, path...), element.Text("version_name", "base version"), element.Int("version_number", 1))
	e = set(e, a.clusterRef(), element.Text("status", string(t.Status)), date("creation_time", t.Created), version)
	if t.Reason != "" {
		e = e.With(element.Text("status_detail", t.Reason))
	}
	return withDefaults(e, a.defaults...)
}

// template answers with the template in the path.
func (a *API) getTemplate(q *request) (reply, error) {
	t, err := a.d.Template(q.id(0))
	if err != nil {
		return reply{}, err
	}
	return ok(a.templateView(q, t)), nil
}

// listTemplates gives the templates; those of a storage domain are the ones with their disk there.
func (a *API) listTemplates(q *request) ([]daemon.Template, error) {
	templates := a.d.Templates()
	if len(q.ids) == 0 {
		return templates, nil
	}
	d, err := a.domain(q.id(0))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(templates), func(t daemon.Template) bool {
		disk, err := a.d.Disk(t.Disk)
		return err != nil || disk.Domain != d.id
	}), nil
}

func (a *API) templateSearch() searchable[daemon.Template] {
	text := func(read func(daemon.Template) string) field[daemon.Template] { return value(read) }
	always := func(s string) field[daemon.Template] { return text(func(daemon.Template) string { return s }) }
	// Names of the VMs that are made from a template: the Ansible modules find a VM's template by them.
	vmNames := func(t daemon.Template) []string {
		var names []string
		for _, m := range a.d.List() {
			if cmp.Or(m.Template, daemon.BlankTemplate) == t.ID {
				names = append(names, vm{Machine: m}.displayName())
			}
		}
		return names
	}
	fields := map[string]field[daemon.Template]{
		"id":              text(func(t daemon.Template) string { return t.ID }),
		"name":            text(func(t daemon.Template) string { return t.Name }),
		"description":     text(func(t daemon.Template) string { return t.Description }),
		"comment":         text(func(t daemon.Template) string { return a.templateDoc(t).Child("comment").Text }),
		"status":          text(func(t daemon.Template) string { return string(t.Status) }),
		"os":              text(func(t daemon.Template) string { return a.templateDoc(t).Get("os/type").Text }),
		"memory":          text(func(t daemon.Template) string { return a.templateDoc(t).Child("memory").Text }),
		"creationdate":    text(func(t daemon.Template) string { return date("", t.Created).Text }),
		"version_name":    always("base version"),
		"version_number":  always("1"),
		"cluster":         always(placeName),
		"cluster.name":    always(placeName),
		"datacenter":      always(placeName),
		"datacenter.name": always(placeName),
		"vm.name":         vmNames,
		"vms.name":        vmNames,
		"storage.name": func(t daemon.Template) []string {
			disk, err := a.d.Disk(t.Disk)
			if err != nil {
				return nil
			}
			s, err := a.domain(disk.Domain)
			if err != nil {
				return nil
			}
			return []string{s.name}
		},
	}
	fields["template.name"], fields["storage"] = fields["name"], fields["storage.name"]
	fields["clusters.name"], fields["datacenters.name"] = fields["cluster"], fields["datacenter"]
	return searchable[daemon.Template]{noun: "templates", fields: fields, text: []string{"name", "description", "comment"},
		absent: []string{"childcount", "quota", "domain", "tag", "user", "network"}}
}

// getDomainTemplate answers with a template of a storage domain.
func (a *API) getDomainTemplate(q *request) (reply, error) {
	templates, err := a.listTemplates(q)
	if err != nil {
		return reply{}, err
	}
	if i := slices.IndexFunc(templates, func(t daemon.Template) bool { return t.ID == q.id(1) }); i >= 0 {
		return ok(a.templateView(q, templates[i])), nil
	}
	return reply{}, notFound()
}

// updateTemplate changes what a request says about a template.
func (a *API) updateTemplate(q *request) (reply, error) {
	name := strings.TrimSpace(q.body.Child("name").Text)
	if q.body.Child("name").Exists() {
		if bad := checkName("Template", name, false); bad != nil {
			return reply{}, bad
		}
	}
	if q.id(0) == daemon.BlankTemplate {
		return reply{}, failed("Cannot edit Template. The Blank template does not change.")
	}
	over, err := a.resolved(element.New("template", q.body.Without(append(serverMembers(), "cluster", "nics", "cdroms", "name")...).Children...))
	if err != nil {
		return reply{}, err
	}
	if bad := checkHardware(over); bad != nil {
		return reply{}, bad
	}
	t, err := a.d.UpdateTemplate(q.ctx, q.id(0), func(t *daemon.Template) error {
		t.Name = cmp.Or(name, t.Name)
		if d := q.body.Child("description"); d.Exists() {
			t.Description = d.Text
		}
		if len(over.Children) == 0 {
			return nil
		}
		doc, err := overlaid(a.templateDoc(*t), over)
		if err != nil {
			return err
		}
		doc.Name = "template"
		t.Documents, err = a.templateDocuments(t.ID, doc)
		return err
	})
	if err != nil {
		return reply{}, err
	}
	return ok(a.templateView(q, t)), nil
}

func (a *API) removeTemplate(q *request) (reply, error) {
	if q.id(0) == daemon.BlankTemplate {
		return reply{}, failed("Cannot remove Template. The Blank template cannot be removed.")
	}
	if err := a.d.RemoveTemplate(q.ctx, q.id(0)); err != nil {
		return reply{}, err
	}
	return removed(), nil
}

func (a *API) templateNICs(q *request) ([]element.Element, error) {
	t, err := a.d.Template(q.id(0))
	if err != nil {
		return nil, err
	}
	list := []element.Element{}
	for _, nic := range a.templateDoc(t).Child("nics").Children {
		if nic.Attr("id") == "" {
			nic = nic.WithAttr("id", own("nic", t.ID+"/"+nic.Child("name").Text))
		}
		list = append(list, nicView(nic, "template", t.ID))
	}
	return list, nil
}

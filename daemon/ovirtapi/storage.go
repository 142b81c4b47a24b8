package ovirtapi

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/secret"
)

// isoDomain is the name of the storage domain of the CDs: the ISO images of the image repository, as files. Clients look
// for CDs in domains of the type iso.
const isoDomain = "ovirt-iso-repository"

// domain is a storage domain of the daemon's, or that of the CDs.
type domain struct {
	id, name    string
	kind        string // image, data or iso
	description string
	// dir is where the disks of a data domain are.
	dir string
}

func (a *API) domains() []domain {
	var list []domain
	for _, d := range a.d.StorageDomains() {
		description := "disks of this host"
		if d.Type == daemon.ImageDomain {
			description = "images to import"
		}
		list = append(list, domain{d.ID, d.Name, string(d.Type), description, d.Dir})
	}
	return append(list, domain{own("storagedomain", isoDomain), isoDomain, "iso", "the ISO images among the images to import", ""})
}

// domain finds a storage domain by its id.
func (a *API) domain(id string) (domain, error) {
	for _, d := range a.domains() {
		if d.id == id {
			return d, nil
		}
	}
	return domain{}, notFound()
}

// target finds the data domain that a request names by id or name.
func (a *API) target(e element.Element) (domain, error) {
	id, name := reference(e)
	for _, d := range a.domains() {
		if id != "" && d.id == id || id == "" && strings.EqualFold(d.name, name) {
			if d.kind != "data" {
				return domain{}, failed("Cannot import. Storage domain " + d.name + " is of the type " + d.kind + "; disks go to one of the type data.")
			}
			return d, nil
		}
	}
	if id != "" {
		return domain{}, noEntity("StorageDomain", "id", id)
	}
	return domain{}, noEntity("StorageDomain", "name", name)
}

func domainRef(id string) element.Element { return object("storage_domain", id, "storagedomains", id) }

func (a *API) domainView(_ *request, d domain) element.Element {
	storage, rels, acts := "localfs", []string{"disks", "templates", "permissions", "diskprofiles"}, []string(nil)
	switch d.kind {
	case "image":
		storage, rels = "glance", []string{"images", "permissions"}
	case "iso":
		rels = []string{"files", "permissions"}
	}
	path := []string{"storagedomains", d.id}
	e := object("storage_domain", d.id, path...).Append(actions(path, acts...),
		element.Text("comment", ""), element.Text("description", d.description), element.Text("name", d.name),
		element.Text("external_status", "ok"), element.Bool("master", d.kind == "data"), element.Text("status", "active"),
		element.New("storage", element.Text("type", storage)), element.Text("storage_format", "v1"), element.Text("type", d.kind))
	if d.kind != "image" {
		e = e.Append(element.List("data_centers", a.dataCenterRef()))
	}
	if d.kind == "data" {
		// Ansible's modules take the domain with the most space where they are told none.
		if available, used, known := space(d.dir); known {
			e = e.Append(element.Int("available", available), element.Int("used", used))
		}
	}
	return e.Append(links(path, rels...)...)
}

func (a *API) domainSearch() searchable[domain] {
	text := func(read func(domain) string) field[domain] { return value(read) }
	return searchable[domain]{noun: "storage domains", text: []string{"name", "description"}, fields: map[string]field[domain]{
		"id":              text(func(d domain) string { return d.id }),
		"name":            text(func(d domain) string { return d.name }),
		"storage.name":    text(func(d domain) string { return d.name }),
		"description":     text(func(d domain) string { return d.description }),
		"status":          text(func(domain) string { return "active" }),
		"type":            text(func(d domain) string { return d.kind }),
		"datacenter":      text(func(domain) string { return placeName }),
		"datacenter.name": text(func(domain) string { return placeName }),
		"cluster.name":    text(func(domain) string { return placeName }),
	}, absent: []string{"comment", "external_status", "size", "used", "committed", "wipe_after_delete", "low_space_threshold", "critical_space_threshold"}}
}

func (a *API) listDomains(*request) ([]domain, error) { return a.domains(), nil }

func (a *API) getDomain(q *request) (reply, error) {
	d, err := a.domain(q.id(0))
	if err != nil {
		return reply{}, err
	}
	return ok(a.domainView(q, d)), nil
}

// images gives the images of a domain. CDs are no images to an engine: it has them as files.
func (a *API) images(q *request) ([]daemon.Image, error) {
	d, err := a.domain(q.id(0))
	if err != nil {
		return nil, err
	}
	if d.kind != "image" {
		return nil, nil
	}
	images, err := a.d.Images(d.id)
	return slices.DeleteFunc(images, func(i daemon.Image) bool { return i.CD }), err
}

func (a *API) imageView(q *request, i daemon.Image) element.Element {
	path := []string{"storagedomains", q.id(0), "images", i.ID}
	return object("image", i.ID, path...).Append(actions(path, "import"),
		element.Text("description", i.Description), element.Text("name", i.Name), element.Int("size", i.VirtualSize), element.Text("type", imageType(i)),
		domainRef(q.id(0)))
}

// imageType is the kind of an image in oVirt's words (type ImageFileType).
func imageType(i daemon.Image) string {
	if isDisc(i.File) {
		return "iso"
	}
	return "disk"
}

func isDisc(file string) bool { return strings.EqualFold(filepath.Ext(file), ".iso") }

func (a *API) image(q *request) (daemon.Image, error) {
	images, err := a.images(q)
	if err != nil {
		return daemon.Image{}, err
	}
	if i := slices.IndexFunc(images, func(i daemon.Image) bool { return i.ID == q.id(1) }); i >= 0 {
		return images[i], nil
	}
	return daemon.Image{}, notFound()
}

func (a *API) getImage(q *request) (reply, error) {
	i, err := a.image(q)
	if err != nil {
		return reply{}, err
	}
	return ok(a.imageView(q, i)), nil
}

// importImage makes an image a template or a disk. The answer does not wait for it: clients look at the template's status.
func (a *API) importImage(q *request) (reply, error) {
	i, err := a.image(q)
	if err != nil {
		return reply{}, err
	}
	asTemplate, bad := flagMember(q.body, "import_as_template", false)
	if bad != nil {
		return reply{}, bad
	}
	if id, name := reference(q.body.Child("storage_domain")); id == "" && name == "" {
		return reply{}, incomplete("Action", "import", "storageDomain.id or name")
	}
	if err := a.knowCluster(q.body.Child("cluster")); err != nil {
		return reply{}, err
	}
	if id, name := reference(q.body.Child("cluster")); asTemplate && id == "" && name == "" {
		return reply{}, incomplete("Action", "import", "cluster.id or name")
	}
	target, err := a.target(q.body.Child("storage_domain"))
	if err != nil {
		return reply{}, err
	}
	r := daemon.ImportRequest{Image: i.ID, Target: target.id, AsTemplate: asTemplate}
	if asTemplate {
		template := q.body.Child("template")
		r.Name = strings.TrimSpace(template.Child("name").Text)
		if bad := checkName("Template", r.Name, true); bad != nil {
			return reply{}, bad
		}
		if template, err = a.resolved(template); err != nil {
			return reply{}, err
		}
		if r.Documents, err = a.templateDocuments(newID(), a.importedTemplate(template, i)); err != nil {
			return reply{}, err
		}
	} else {
		disk := q.body.Child("disk")
		r.Name = cmp.Or(strings.TrimSpace(disk.Child("alias").Text), strings.TrimSpace(disk.Child("name").Text))
	}
	started, err := a.d.Import(q.ctx, r)
	if err != nil {
		return reply{}, err
	}
	if q.waits() {
		if err := a.finished(q.ctx, started.Job); err != nil {
			return reply{}, err
		}
	}
	answer := done(q)
	answer.body = answer.body.Append(jobRef(started.Job))
	return answer, nil
}

// importedTemplate is the document of a template that is made of an image: what the request says about it, then what
// the image's sidecar says.
func (a *API) importedTemplate(request element.Element, i daemon.Image) element.Element {
	e := element.New("template").Append(request.Without(serverMembers()...).Children...)
	return withHardware(e, i.Defaults)
}

// templateDocuments are what the daemon keeps for a template. The id is for salts alone: that of the template, or a new one.
func (a *API) templateDocuments(id string, e element.Element) ([]daemon.Document, error) {
	if ovirt.KindOf(e) == ovirt.Sysprep {
		e = ovirt.Mask(e) // nobody would erase it: each VM gets its own
	}
	e, err := a.hashed(id, e)
	if err != nil {
		return nil, err
	}
	data, err := e.XML()
	if err != nil {
		return nil, badValue(err.Error())
	}
	return []daemon.Document{{Name: "template.xml", Text: secret.FromBytes(data)}}, nil
}

// disc is a file that can be put into the CD drive of a VM.
type disc struct {
	// name is that of the file, and its id.
	name string
	// path is absolute.
	path string
	size int64
}

// files are the CDs of the ISO domain.
func (a *API) files(q *request) ([]disc, error) {
	d, err := a.domain(q.id(0))
	if err != nil || d.kind != "iso" {
		return nil, err
	}
	return a.discs()
}

// discs are the ISO images in the directory of the image repository, by name.
func (a *API) discs() ([]disc, error) {
	repository, err := a.d.StorageDomain(daemon.ImageRepository)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(repository.Dir)
	if err != nil {
		return nil, err
	}
	var list []disc
	for _, e := range entries {
		if e.Name()[0] == '.' || !isDisc(e.Name()) {
			continue
		}
		path := filepath.Join(repository.Dir, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			list = append(list, disc{e.Name(), path, info.Size()})
		}
	}
	return list, nil
}

func (a *API) fileView(q *request, d disc) element.Element {
	return object("file", d.name, "storagedomains", q.id(0), "files", d.name).Append(
		element.Text("name", d.name), element.Int("size", d.size), element.Text("type", "iso"), domainRef(q.id(0)))
}

func (a *API) getFile(q *request) (reply, error) {
	files, err := a.files(q)
	if err != nil {
		return reply{}, err
	}
	if i := slices.IndexFunc(files, func(d disc) bool { return d.name == q.id(1) }); i >= 0 {
		return ok(a.fileView(q, files[i])), nil
	}
	return reply{}, notFound()
}

// disks are those of a storage domain, or with no domain in the path all of them.
func (a *API) disks(q *request) ([]daemon.Disk, error) {
	disks := a.d.Disks()
	if len(q.ids) == 0 {
		return disks, nil
	}
	d, err := a.domain(q.id(0))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(disks), func(k daemon.Disk) bool { return k.Domain != d.id }), nil
}

func (a *API) diskView(_ *request, d daemon.Disk) element.Element {
	path := []string{"disks", d.ID}
	e := object("disk", d.ID, path...).Append(
		element.Text("alias", d.Name), element.Text("comment", ""), element.Text("description", ""), element.Text("name", d.Name),
		element.Int("actual_size", d.Used), element.Text("backup", "none"), element.Text("content_type", "data"),
		element.Text("format", diskFormat(d.Format)), element.Text("image_id", d.ID), element.Bool("propagate_errors", false),
		element.Int("provisioned_size", d.Size), element.Bool("shareable", false), element.Bool("sparse", true),
		element.Text("status", string(d.Status)), element.Text("storage_type", "image"), element.Int("total_size", d.Used),
		element.Bool("wipe_after_delete", false), element.List("storage_domains", domainRef(d.Domain)))
	return e.Append(links(path, "permissions", "statistics")...)
}

// diskFormat is the format in oVirt's words (type DiskFormat).
func diskFormat(format string) string {
	if format == "qcow2" {
		return "cow"
	}
	return "raw"
}

func (a *API) diskSearch() searchable[daemon.Disk] {
	return searchable[daemon.Disk]{noun: "disks", text: []string{"alias"}, fields: map[string]field[daemon.Disk]{
		"id":     value(func(d daemon.Disk) string { return d.ID }),
		"alias":  value(func(d daemon.Disk) string { return d.Name }),
		"name":   value(func(d daemon.Disk) string { return d.Name }),
		"status": value(func(d daemon.Disk) string { return string(d.Status) }),
		"format": value(func(d daemon.Disk) string { return diskFormat(d.Format) }),
		"storage.name": func(d daemon.Disk) []string {
			s, err := a.domain(d.Domain)
			if err != nil {
				return nil
			}
			return []string{s.name}
		},
		"vm_names": func(d daemon.Disk) []string {
			if m, err := a.d.Get(d.Machine); err == nil {
				return []string{m.Name}
			}
			return nil
		},
		"provisioned_size": value(func(d daemon.Disk) string { return element.Int("", d.Size).Text }),
		"creation_date":    value(func(d daemon.Disk) string { return date("", d.Created).Text }),
	}, absent: []string{"description", "comment", "quota", "bootable", "disk_type", "storage_type", "wipe_after_delete", "number_of_vms", "size"}}
}

func (a *API) disk(q *request) (daemon.Disk, error) { return a.d.Disk(q.ids[len(q.ids)-1]) }

func (a *API) getDisk(q *request) (reply, error) {
	d, err := a.disk(q)
	if err != nil {
		return reply{}, err
	}
	return ok(a.diskView(q, d)), nil
}

func (a *API) removeDisk(q *request) (reply, error) {
	if err := a.d.RemoveDisk(q.ctx, q.ids[len(q.ids)-1]); err != nil {
		return reply{}, err
	}
	return removed(), nil
}

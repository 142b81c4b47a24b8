package ovirtapi

import (
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// part makes the handler of a collection below an object.
func part(name string, list func(*request) ([]element.Element, error)) handler {
	return collection[element.Element]{name: name, list: list, view: func(_ *request, e element.Element) element.Element { return e }}.get
}

// partOf makes the handler of one object of such a collection: that with the last id of the path.
func partOf(list func(*request) ([]element.Element, error)) handler {
	return func(q *request) (reply, error) {
		all, err := list(q)
		if err != nil {
			return reply{}, err
		}
		for _, e := range all {
			if e.Attr("id") == q.ids[len(q.ids)-1] {
				return ok(e), nil
			}
		}
		return reply{}, notFound()
	}
}

// nothing makes the list of a collection below an object in which nothing ever is; the object must be there.
func nothing(exists func(id string) error) func(*request) ([]element.Element, error) {
	return func(q *request) ([]element.Element, error) { return nil, exists(q.id(0)) }
}

// endpoints are all resources that are offered. A method that oVirt has there, and this API has not, is in none.
func (a *API) endpoints() []endpoint {
	var list []endpoint
	list = append(list, a.systemEndpoints()...)
	list = append(list, a.storageEndpoints()...)
	list = append(list, a.templateEndpoints()...)
	return append(list, a.vmEndpoints()...)
}

func (a *API) systemEndpoints() []endpoint {
	jobs := collection[daemon.Job]{name: "jobs", search: a.jobSearch(), list: a.jobs, view: a.jobView}
	events := collection[daemon.Event]{name: "events", search: a.eventSearch(), list: a.events, view: a.eventView}
	one := func(list func(*request) []element.Element, id string) func(string) error {
		return func(wanted string) error {
			if wanted != id {
				return notFound()
			}
			return nil
		}
	}
	cluster, dc, host := one(a.clusters, a.d.Cluster().ID), one(a.dataCenters, a.d.DataCenter().ID), one(a.hosts, hostID())
	below := func(view func(*request) []element.Element, exists func(string) error) func(*request) ([]element.Element, error) {
		return func(q *request) ([]element.Element, error) { return view(q), exists(q.id(0)) }
	}
	allIn := func(name string, view func(*request) []element.Element, exists func(string) error) handler {
		return part(name, below(view, exists))
	}
	oneIn := func(view func(*request) []element.Element, exists func(string) error) handler {
		return partOf(below(view, exists))
	}
	network, profile := one(a.networks, networkID()), one(a.vnicProfiles, profileID())
	domainViews := func(q *request) []element.Element {
		var list []element.Element
		for _, d := range a.domains() {
			if d.kind != "image" {
				list = append(list, a.domainView(q, d))
			}
		}
		return list
	}
	return []endpoint{
		{path: "", get: a.entryPoint},
		{path: "users", get: a.listUsers, none: "POST"},
		{path: "users/{user}", get: a.user, none: "DELETE"},
		{path: "users/{user}/permissions", get: empty("permissions"), none: "POST"},
		{path: "users/{user}/tags", get: empty("tags"), none: "POST"},
		{path: "operatingsystems", get: always("operation_systems", operatingSystemViews)},
		{path: "operatingsystems/{os}", get: oneOf(operatingSystemViews, 0)},
		{path: "tags", get: always("tags", tags), none: "POST"},
		{path: "tags/{tag}", get: oneOf(tags, 0), none: "PUT DELETE"},
		{path: "instancetypes", get: searched("instance_types", "instance types", instanceTypes), none: "POST"},
		{path: "instancetypes/{type}", get: oneOf(instanceTypes, 0), none: "PUT DELETE"},
		{path: "affinitylabels", get: empty("affinity_labels"), none: "POST"},
		{path: "bookmarks", get: empty("bookmarks"), none: "POST"},
		{path: "macpools", get: empty("mac_pools"), none: "POST"},
		{path: "permissions", get: empty("permissions"), none: "POST"},
		{path: "vmpools", get: empty("vm_pools"), none: "POST"},
		{path: "datacenters", get: searched("data_centers", "data centres", a.dataCenters), none: "POST"},
		{path: "datacenters/{dc}", get: oneOf(a.dataCenters, 0), none: "PUT DELETE"},
		{path: "datacenters/{dc}/clusters", get: allIn("clusters", a.clusters, dc), none: "POST"},
		{path: "datacenters/{dc}/clusters/{cluster}", get: oneIn(a.clusters, dc), none: "PUT DELETE"},
		{path: "datacenters/{dc}/networks", get: allIn("networks", a.networks, dc), none: "POST"},
		{path: "datacenters/{dc}/networks/{network}", get: oneIn(a.networks, dc), none: "PUT DELETE"},
		{path: "datacenters/{dc}/storagedomains", get: allIn("storage_domains", domainViews, dc), none: "POST"},
		{path: "datacenters/{dc}/storagedomains/{domain}", get: oneIn(domainViews, dc), none: "DELETE"},
		{path: "datacenters/{dc}/permissions", get: part("permissions", nothing(dc)), none: "POST"},
		{path: "datacenters/{dc}/quotas", get: part("quotas", nothing(dc)), none: "POST"},
		{path: "clusters", get: searched("clusters", "clusters", a.clusters), none: "POST"},
		{path: "clusters/{cluster}", get: oneOf(a.clusters, 0), none: "PUT DELETE"},
		{path: "clusters/{cluster}/networks", get: allIn("networks", a.networks, cluster), none: "POST"},
		{path: "clusters/{cluster}/networks/{network}", get: oneIn(a.networks, cluster), none: "PUT DELETE"},
		{path: "clusters/{cluster}/affinitygroups", get: part("affinity_groups", nothing(cluster)), none: "POST"},
		{path: "clusters/{cluster}/cpuprofiles", get: part("cpu_profiles", nothing(cluster)), none: "POST"},
		{path: "clusters/{cluster}/permissions", get: part("permissions", nothing(cluster)), none: "POST"},
		{path: "hosts", get: searched("hosts", "hosts", a.hosts), none: "POST"},
		{path: "hosts/{host}", get: oneOf(a.hosts, 0), none: "PUT DELETE"},
		{path: "hosts/{host}/permissions", get: part("permissions", nothing(host)), none: "POST"},
		{path: "hosts/{host}/tags", get: part("tags", nothing(host)), none: "POST"},
		{path: "hosts/{host}/statistics", get: part("statistics", nothing(host))},
		{path: "hosts/{host}/affinitylabels", get: part("affinity_labels", nothing(host)), none: "POST"},
		{path: "networks", get: searched("networks", "networks", a.networks), none: "POST"},
		{path: "networks/{network}", get: oneOf(a.networks, 0), none: "PUT DELETE"},
		{path: "networks/{network}/vnicprofiles", get: allIn("vnic_profiles", a.vnicProfiles, network), none: "POST"},
		{path: "networks/{network}/vnicprofiles/{profile}", get: oneIn(a.vnicProfiles, network), none: "DELETE"},
		{path: "networks/{network}/permissions", get: part("permissions", nothing(network)), none: "POST"},
		{path: "networks/{network}/networklabels", get: part("network_labels", nothing(network)), none: "POST"},
		{path: "vnicprofiles", get: searched("vnic_profiles", "vNIC profiles", a.vnicProfiles), none: "POST"},
		{path: "vnicprofiles/{profile}", get: oneOf(a.vnicProfiles, 0), none: "PUT DELETE"},
		{path: "vnicprofiles/{profile}/permissions", get: part("permissions", nothing(profile)), none: "POST"},
		{path: "jobs", get: jobs.get, none: "POST"},
		{path: "jobs/{job}", get: a.getJob},
		{path: "jobs/{job}/steps", get: part("steps", a.steps), none: "POST"},
		{path: "jobs/{job}/steps/{step}", get: partOf(a.steps)},
		{path: "events", get: events.get, post: a.addEvent, body: "event"},
		{path: "events/{event}", get: a.getEvent, none: "DELETE POST"},
	}
}

func (a *API) storageEndpoints() []endpoint {
	domains := collection[domain]{name: "storage_domains", search: a.domainSearch(), list: a.listDomains, view: a.domainView}
	images := collection[daemon.Image]{name: "images", list: a.images, view: a.imageView}
	files := collection[disc]{name: "files", list: a.files, view: a.fileView, search: searchable[disc]{noun: "files", text: []string{"name"},
		fields: map[string]field[disc]{"name": value(func(d disc) string { return d.name })}}}
	disks := collection[daemon.Disk]{name: "disks", search: a.diskSearch(), list: a.disks, view: a.diskView}
	templates := collection[daemon.Template]{name: "templates", list: a.listTemplates, view: a.templateView}
	exists := func(id string) error { _, err := a.domain(id); return err }
	disk := func(id string) error { _, err := a.d.Disk(id); return err }
	return []endpoint{
		{path: "storagedomains", get: domains.get, none: "POST"},
		{path: "storagedomains/{domain}", get: a.getDomain, none: "PUT DELETE"},
		{path: "storagedomains/{domain}/images", get: images.get},
		{path: "storagedomains/{domain}/images/{image}", get: a.getImage},
		{path: "storagedomains/{domain}/images/{image}/import", post: a.importImage, body: "action"},
		{path: "storagedomains/{domain}/files", get: files.get},
		{path: "storagedomains/{domain}/files/{file}", get: a.getFile},
		{path: "storagedomains/{domain}/disks", get: disks.get, none: "POST"},
		{path: "storagedomains/{domain}/disks/{disk}", get: a.getDisk, del: a.removeDisk, none: "PUT"},
		{path: "storagedomains/{domain}/templates", get: templates.get},
		{path: "storagedomains/{domain}/templates/{template}", get: a.getDomainTemplate},
		{path: "storagedomains/{domain}/permissions", get: part("permissions", nothing(exists)), none: "POST"},
		{path: "storagedomains/{domain}/diskprofiles", get: part("disk_profiles", nothing(exists)), none: "POST"},
		{path: "disks", get: disks.get, none: "POST"},
		{path: "disks/{disk}", get: a.getDisk, del: a.removeDisk, none: "PUT"},
		{path: "disks/{disk}/permissions", get: part("permissions", nothing(disk)), none: "POST"},
		{path: "disks/{disk}/statistics", get: part("statistics", nothing(disk))},
	}
}

func (a *API) templateEndpoints() []endpoint {
	templates := collection[daemon.Template]{name: "templates", search: a.templateSearch(), list: a.listTemplates, view: a.templateView}
	exists := func(id string) error { _, err := a.d.Template(id); return err }
	list := []endpoint{
		{path: "templates", get: templates.get, none: "POST"},
		{path: "templates/{template}", get: a.getTemplate, put: a.updateTemplate, del: a.removeTemplate, body: "template"},
		{path: "templates/{template}/diskattachments", get: part("disk_attachments", a.templateAttachments)},
		{path: "templates/{template}/diskattachments/{disk}", get: partOf(a.templateAttachments), none: "DELETE"},
		{path: "templates/{template}/nics", get: part("nics", a.templateNICs), none: "POST"},
		{path: "templates/{template}/nics/{nic}", get: partOf(a.templateNICs), none: "PUT DELETE"},
	}
	for _, name := range []string{"cdroms", "graphics_consoles", "permissions", "tags", "watchdogs"} {
		list = append(list, endpoint{path: "templates/{template}/" + joined(name), get: part(name, nothing(exists)), none: "POST"})
	}
	return list
}

func (a *API) vmEndpoints() []endpoint {
	exists := func(id string) error { _, err := a.d.Get(id); return err }
	list := []endpoint{
		{path: "vms", get: a.listVMs, post: a.addVM, body: "vm"},
		{path: "vms/{vm}", get: a.getVM, put: a.updateVM, del: a.removeVM, body: "vm"},
		{path: "vms/{vm}/start", post: a.simple(a.startVM), body: "action"},
		{path: "vms/{vm}/stop", post: a.simple(a.stopVM), body: "action"},
		{path: "vms/{vm}/shutdown", post: a.simple(a.shutdownVM), body: "action"},
		{path: "vms/{vm}/reboot", post: a.simple(a.rebootVM), body: "action"},
		{path: "vms/{vm}/reset", post: a.simple(a.resetVM), body: "action"},
		{path: "vms/{vm}/nics", get: part("nics", a.nics), post: a.addNIC, body: "nic"},
		{path: "vms/{vm}/nics/{nic}", get: partOf(a.nics), put: a.updateNIC, del: a.removeNIC, body: "nic"},
		{path: "vms/{vm}/nics/{nic}/reporteddevices", get: part("reported_devices", a.reportedDevices)},
		{path: "vms/{vm}/nics/{nic}/statistics", get: part("statistics", nothing(exists))},
		{path: "vms/{vm}/nics/{nic}/networkfilterparameters", get: part("network_filter_parameters", nothing(exists)), none: "POST"},
		{path: "vms/{vm}/diskattachments", get: part("disk_attachments", a.vmAttachments), none: "POST"},
		{path: "vms/{vm}/diskattachments/{disk}", get: partOf(a.vmAttachments), none: "PUT DELETE"},
		{path: "vms/{vm}/cdroms", get: part("cdroms", a.cdroms), none: "POST"},
		{path: "vms/{vm}/cdroms/{cdrom}", get: partOf(a.cdroms), put: a.updateCdrom, body: "cdrom"},
		{path: "vms/{vm}/reporteddevices", get: part("reported_devices", a.reportedDevices)},
		{path: "vms/{vm}/reporteddevices/{device}", get: partOf(a.reportedDevices)},
		{path: "vms/{vm}/snapshots", get: part("snapshots", a.snapshots), none: "POST"},
		{path: "vms/{vm}/snapshots/{snapshot}", get: partOf(a.snapshots), none: "DELETE"},
		{path: "vms/{vm}/snapshots/{snapshot}/cdroms", get: part("cdroms", a.inSnapshot(a.cdroms))},
		{path: "vms/{vm}/snapshots/{snapshot}/disks", get: part("disks", a.inSnapshot(a.vmDisks))},
		{path: "vms/{vm}/snapshots/{snapshot}/nics", get: part("nics", a.inSnapshot(a.nics))},
		{path: "vms/{vm}/statistics", get: part("statistics", a.vmStatistics)},
		{path: "vms/{vm}/statistics/{statistic}", get: partOf(a.vmStatistics)},
	}
	for _, name := range []string{"affinity_labels", "applications", "graphics_consoles", "host_devices", "katello_errata", "permissions", "sessions", "tags",
		"watchdogs"} {
		list = append(list, endpoint{path: "vms/{vm}/" + joined(name), get: part(name, nothing(exists)), none: "POST"})
	}
	return append(list, endpoint{path: "vms/{vm}/numanodes", get: part("vm_numa_nodes", nothing(exists)), none: "POST"})
}

// reportedDevices are the addresses that the guest said it has, without the names of its interfaces, which it did not say.
func (a *API) reportedDevices(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	addresses := v.addresses()
	if len(addresses) == 0 {
		return nil, nil
	}
	ips := element.List("ips")
	for _, address := range addresses {
		address, _, _ = strings.Cut(address, "/")
		version := "v4"
		if strings.Contains(address, ":") {
			version = "v6"
		}
		ips = ips.Append(element.New("ip", element.Text("address", address), element.Text("version", version)))
	}
	id := own("reporteddevice", v.ID)
	e := object("reported_device", id, "vms", v.ID, "reporteddevices", id).Append(
		element.Text("name", "guest"), element.Text("description", "the addresses that the guest reported at its first boot"), element.Text("type", "network"), ips,
		object("vm", v.ID, "vms", v.ID))
	if mac := v.doc.Get("nics/nic/mac/address").Text; mac != "" && len(v.doc.Child("nics").Children) == 1 {
		e = e.Append(element.New("mac", element.Text("address", mac)))
	}
	return []element.Element{e}, nil
}

// snapshots are the one that an engine has of every VM: the state in which it is.
func (a *API) snapshots(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	id := snapshotID(v.ID)
	path := []string{"vms", v.ID, "snapshots", id}
	return []element.Element{object("snapshot", id, path...).Append(
		date("date", v.Created), element.Text("description", "Active VM"), element.Bool("persist_memorystate", false),
		element.Text("snapshot_status", "ok"), element.Text("snapshot_type", "active"), object("vm", v.ID, "vms", v.ID)).
		Append(links(path, "cdroms", "disks", "nics")...)}, nil
}

func snapshotID(vm string) string { return own("snapshot", vm) }

// inSnapshot makes the list of what a snapshot has. Of the state in which a VM is that is what the VM has.
func (a *API) inSnapshot(list func(*request) ([]element.Element, error)) func(*request) ([]element.Element, error) {
	return func(q *request) ([]element.Element, error) {
		if q.id(1) != snapshotID(q.id(0)) {
			return nil, notFound()
		}
		return list(q)
	}
}

package ovirtapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/frontend/ovirt"
)

// vmActions are the actions of a VM that are offered, vmRels its collections.
func vmActions() []string { return []string{"reboot", "reset", "shutdown", "start", "stop"} }

func vmRels() []string {
	return []string{"affinitylabels", "applications", "cdroms", "diskattachments", "graphicsconsoles", "hostdevices", "katelloerrata", "nics",
		"numanodes", "permissions", "reporteddevices", "sessions", "snapshots", "statistics", "tags", "watchdogs"}
}

// vmView is a VM as clients see it: its definition with passwords masked, what an engine adds to every VM, and what the VM
// is doing. go-ovirt-client fails when one of the members is missing.
func (a *API) vmView(v vm, allContent bool) element.Element {
	path := []string{"vms", v.ID}
	e := object("vm", v.ID, path...)
	e.Children = append(make([]element.Element, 0, 80), actions(path, vmActions()...),
		element.Text("name", v.displayName()), v.text("description"), v.text("comment"))
	e.Children = append(e.Children, links(path, vmRels()...)...)
	for _, c := range completed(ovirt.Mask(v.doc)).Children {
		switch c.Name {
		case "name", "description", "comment", "nics", "cdroms", "id", "href", "cluster", "template":
		case "payloads":
			if allContent {
				e.Children = append(e.Children, c)
			}
		case "initialization":
			e.Children = append(e.Children, initializationView(c, allContent))
		default:
			e.Children = append(e.Children, c)
		}
	}
	return withDefaults(set(e, a.vmState(v)...), a.defaults...)
}

// vmState is what a VM belongs to and what it is doing.
func (a *API) vmState(v vm) []element.Element {
	template := cmp.Or(v.Template, daemon.BlankTemplate)
	list := []element.Element{a.clusterRef(), object("template", template, "templates", template), object("original_template", template, "templates", template),
		element.Text("status", string(v.Status)), date("creation_time", v.Created), element.Bool("run_once", v.RunOnce),
		element.Bool("next_run_configuration_exists", v.NextRun)}
	if v.Reason != "" {
		list = append(list, element.Text("status_detail", v.Reason))
	}
	if !v.Started.IsZero() {
		list = append(list, date("start_time", v.Started))
	}
	if !v.Ended.IsZero() && !v.Status.Running() {
		list = append(list, date("stop_time", v.Ended))
	}
	if v.Status.Running() {
		list = append(list, hostRef())
		if name := v.guestName(); name != "" {
			list = append(list, element.Text("fqdn", name))
		}
	}
	return list
}

func (v vm) text(name string) element.Element {
	return element.Text(name, v.doc.Child(name).Text)
}

// guestName is what the guest calls itself, as far as it said so at its first boot.
func (v vm) guestName() string {
	if v.FirstBoot == nil || v.FirstBoot.Result == nil {
		return ""
	}
	return v.FirstBoot.Result.Hostname
}

// vmDefaults are what an engine says about a VM that says nothing itself.
func vmDefaults() []element.Element {
	return []element.Element{
		element.New("bios", element.New("boot_menu", element.Bool("enabled", false)), element.Text("type", "q35_sea_bios")),
		element.Int("cpu_shares", 0), element.Bool("delete_protected", false),
		element.New("display", element.Bool("copy_paste_enabled", false), element.Bool("file_transfer_enabled", false), element.Int("monitors", 0),
			element.Bool("smartcard_enabled", false)),
		element.New("high_availability", element.Bool("enabled", false), element.Int("priority", 0)),
		element.New("io", element.Int("threads", 0)), element.Bool("multi_queues_enabled", false), element.Text("origin", "ovirt"),
		element.New("placement_policy", element.Text("affinity", "pinned")), element.Bool("start_paused", false), element.Bool("stateless", false),
		element.Text("storage_error_resume_behaviour", "leave_paused"), element.New("time_zone", element.Text("name", "Etc/GMT")),
		element.Text("type", "server"), element.New("usb", element.Bool("enabled", false)), element.Bool("use_latest_template_version", false),
		element.Bool("tpm_enabled", false), element.New("console", element.Bool("enabled", true)), element.Bool("soundcard_enabled", false),
		element.New("virtio_scsi", element.Bool("enabled", false)),
	}
}

// initializationView completes stored first-boot data as an engine does: the lists and the flag are there whatever was stored,
// and addresses are there and empty where a NIC has none, without which go-ovirt-client panics.
func initializationView(init element.Element, allContent bool) element.Element {
	if !allContent {
		init = init.Without("configuration")
	}
	nics := element.List("nic_configurations")
	for _, nic := range init.Get("nic_configurations").All("nic_configuration") {
		nics = nics.Append(nic.With(addressView(nic.Child("ip"), "ip")).With(addressView(nic.Child("ipv6"), "ipv6")))
	}
	return withDefaults(init.With(nics), element.Bool("regenerate_ssh_keys", false))
}

func addressView(ip element.Element, name string) element.Element {
	if !ip.Exists() {
		ip = element.New(name)
	}
	// The API of version 3 wrote these as attributes.
	for _, member := range []string{"address", "gateway", "netmask"} {
		if !ip.Child(member).Exists() {
			ip = ip.Append(element.Text(member, ip.Attr(member)))
		}
	}
	ip.Attrs = nil
	return ip
}

func (a *API) vmSearch() searchable[vm] {
	text := func(read func(vm) string) field[vm] { return value(read) }
	member := func(path string) field[vm] { return text(func(v vm) string { return v.doc.Get(path).Text }) }
	always := func(s string) field[vm] { return text(func(vm) string { return s }) }
	fields := map[string]field[vm]{
		"id":            text(func(v vm) string { return v.ID }),
		"name":          text(vm.displayName),
		"status":        text(func(v vm) string { return string(v.Status) }),
		"description":   member("description"),
		"comment":       member("comment"),
		"os":            member("os/type"),
		"type":          text(func(v vm) string { return cmp.Or(v.doc.Child("type").Text, "server") }),
		"memory":        member("memory"),
		"architecture":  always(architecture()),
		"run_once":      text(func(v vm) string { return element.Bool("", v.RunOnce).Text }),
		"creation_date": text(func(v vm) string { return date("", v.Created).Text }),
		"created_date":  text(func(v vm) string { return date("", v.Created).Text }),
		"cluster":       always(placeName),
		"datacenter":    always(placeName),
		"network":       always(networkName),
		"fqdn":          text(vm.guestName),
		"ip":            vm.addresses,
		"template":      text(a.templateName),
		"storage":       a.storageNames,
		"host": text(func(v vm) string {
			return map[bool]string{true: a.hosts(nil)[0].Child("name").Text}[v.Status.Running()]
		}),
		"cluster.id":             text(func(vm) string { return a.d.Cluster().ID }),
		"template.id":            text(func(v vm) string { return cmp.Or(v.Template, daemon.BlankTemplate) }),
		"next_run_config_exists": text(func(v vm) string { return element.Bool("", v.NextRun).Text }),
		"initialized":            text(func(v vm) string { return element.Bool("", v.Initialized).Text }),
		"delete_protected":       text(func(v vm) string { return cmp.Or(v.doc.Child("delete_protected").Text, "false") }),
	}
	for _, related := range []string{"cluster", "datacenter", "host", "network", "template", "storage"} {
		fields[related+".name"], fields[related+"s.name"] = fields[related], fields[related]
	}
	return searchable[vm]{noun: "VMs", fields: fields, text: []string{"name", "description", "comment"},
		absent: []string{"tag", "tags", "uptime", "domain", "apps", "application", "cpu_usage", "mem_usage", "network_usage", "loggedinuser", "custom_emulated_machine",
			"custom_cpu_type", "has_illegal_images", "quota", "pool", "user", "cpu_profile", "compatibility_level", "namespace", "migration_progress_percent"}}
}

// addresses are the IP addresses that the guest reported at its first boot.
func (v vm) addresses() []string {
	if !v.Status.Running() || v.FirstBoot == nil || v.FirstBoot.Result == nil {
		return nil
	}
	return v.FirstBoot.Result.Addresses
}

func (a *API) templateName(v vm) string {
	t, err := a.d.Template(cmp.Or(v.Template, daemon.BlankTemplate))
	if err != nil {
		return ""
	}
	return t.Name
}

func (a *API) storageNames(v vm) []string {
	var names []string
	for _, id := range v.Disks {
		if disk, err := a.d.Disk(id); err == nil {
			if s, err := a.domain(disk.Domain); err == nil && !slices.Contains(names, s.name) {
				names = append(names, s.name)
			}
		}
	}
	return names
}

// statistics of a VM: those that are known without a guest agent.
func (a *API) vmStatistics(q *request) ([]element.Element, error) {
	v, err := a.vm(q.id(0))
	if err != nil {
		return nil, err
	}
	return []element.Element{statistic(q, v, "memory.installed", "Total memory configured", "bytes", strings.TrimSpace(v.doc.Child("memory").Text))}, nil
}

func statistic(q *request, v vm, name, description, unit, datum string) element.Element {
	id := own("statistic", name)
	n := element.Text("datum", datum)
	n.Kind = element.Number
	return object("statistic", id, "vms", v.ID, "statistics", id).Append(element.Text("name", name), element.Text("description", description),
		element.Text("kind", "gauge"), element.Text("type", "integer"), element.Text("unit", unit),
		element.List("values", element.New("value", n)), object("vm", v.ID, "vms", v.ID))
}

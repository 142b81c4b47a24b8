package ovirtapi

import (
	"os"
	"runtime"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// NetworkName is the name of the only network, of its vNIC profile, and of an engine's management network.
const networkName = "ovirtmgmt"

func networkID() string { return own("network", networkName) }
func profileID() string { return own("vnicprofile", networkName) }

// named finds objects that are elements already by their members.
func named(noun string, members ...string) searchable[element.Element] {
	fields := map[string]field[element.Element]{"id": value(func(e element.Element) string { return e.Attr("id") })}
	for _, m := range append(members, "name", "description", "comment", "status", "type") {
		fields[m] = value(func(e element.Element) string { return e.Child(m).Text })
	}
	fields["datacenter"] = func(element.Element) []string { return []string{placeName} }
	for _, related := range []string{"datacenter.name", "datacenters.name", "cluster", "cluster.name", "clusters.name"} {
		fields[related] = fields["datacenter"]
	}
	return searchable[element.Element]{noun: noun, fields: fields, text: []string{"name", "description", "comment"},
		absent: []string{"tag", "sortby", "compatibility_version", "vlanid", "stp", "mtu", "vmnetwork", "label", "provider_name", "network", "quota"}}
}

// placeName is the name of data centre and cluster.
const placeName = "Default"

// searched answers with those of some elements that the request searches.
func searched(name, noun string, view func(*request) []element.Element) handler {
	return collection[element.Element]{name: name, search: named(noun), list: func(q *request) ([]element.Element, error) { return view(q), nil },
		view: func(_ *request, e element.Element) element.Element { return e }}.get
}

func place(name string, p daemon.Place, path ...string) element.Element {
	return object(name, p.ID, path...).Append(element.Text("comment", ""), element.Text("description", p.Description), element.Text("name", p.Name))
}

func (a *API) dataCenters(*request) []element.Element {
	p := a.d.DataCenter()
	path := []string{"datacenters", p.ID}
	compatible := element.New("version", element.Int("major", engineMajor), element.Int("minor", 7))
	return []element.Element{place("data_center", p, path...).Append(
		element.Bool("local", true), element.Text("quota_mode", "disabled"), element.Text("status", "up"), element.Text("storage_format", "v5"),
		element.New("supported_versions", compatible), compatible).
		Append(links(path, "clusters", "networks", "storagedomains", "permissions", "quotas")...)}
}

func (a *API) dataCenterRef() element.Element {
	return object("data_center", a.d.DataCenter().ID, "datacenters", a.d.DataCenter().ID)
}

func (a *API) clusterRef() element.Element {
	return object("cluster", a.d.Cluster().ID, "clusters", a.d.Cluster().ID)
}

func (a *API) clusters(*request) []element.Element {
	p := a.d.Cluster()
	path := []string{"clusters", p.ID}
	return []element.Element{place("cluster", p, path...).Append(
		element.Bool("ballooning_enabled", false), element.Text("bios_type", "q35_sea_bios"),
		element.New("cpu", element.Text("architecture", architecture()), element.Text("type", "")), element.Text("firewall_type", "firewalld"),
		element.Bool("gluster_service", false), element.Text("switch_type", "legacy"), element.Bool("virt_service", true),
		element.New("version", element.Int("major", engineMajor), element.Int("minor", 7)), a.dataCenterRef()).
		Append(links(path, "networks", "affinitygroups", "cpuprofiles", "permissions")...)}
}

// architecture is the host's, in oVirt's words (type Architecture).
func architecture() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	case "ppc64le":
		return "ppc64"
	case "s390x":
		return "s390x"
	}
	return "undefined"
}

func hostID() string { return own("host", placeName) }

func hostRef() element.Element { return object("host", hostID(), "hosts", hostID()) }

// hosts are this one.
func (a *API) hosts(*request) []element.Element {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	id := hostID()
	path := []string{"hosts", id}
	active := 0
	for _, m := range a.d.List() {
		if m.Status.Running() {
			active++
		}
	}
	topology := element.New("topology", element.Int("cores", int64(runtime.NumCPU())), element.Int("sockets", 1), element.Int("threads", 1))
	return []element.Element{object("host", id, path...).Append(
		element.Text("address", "127.0.0.1"), element.Text("comment", ""), element.Text("description", ""), element.Text("name", name),
		element.New("cpu", element.Text("architecture", architecture()), topology), element.Text("status", "up"), element.Text("external_status", "ok"),
		element.Text("type", "rhel"), element.New("summary", element.Int("active", int64(active)), element.Int("total", int64(active))), a.clusterRef()).
		Append(links(path, "permissions", "tags", "statistics", "affinitylabels")...)}
}

func (a *API) networks(*request) []element.Element {
	id := networkID()
	path := []string{"networks", id}
	return []element.Element{object("network", id, path...).Append(
		element.Text("comment", ""), element.Text("description", "the network of the VMs of this host: NAT, with a DHCP server"), element.Text("name", networkName),
		element.Int("mtu", 0), element.Text("status", "operational"), element.Bool("stp", false), element.List("usages", element.Text("usage", "vm")), a.dataCenterRef()).
		Append(links(path, "vnicprofiles", "permissions", "networklabels")...)}
}

func (a *API) vnicProfiles(*request) []element.Element {
	id := profileID()
	path := []string{"vnicprofiles", id}
	return []element.Element{object("vnic_profile", id, path...).Append(
		element.Text("comment", ""), element.Text("description", ""), element.Text("name", networkName), element.New("pass_through", element.Text("mode", "disabled")),
		element.Bool("port_mirroring", false), object("network", networkID(), "networks", networkID())).
		Append(links(path, "permissions")...)}
}

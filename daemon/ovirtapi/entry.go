package ovirtapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/format/element"
)

// The version of oVirt whose API this is. go-ovirt-client asks for features by it, and the Ansible modules compare it.
const (
	engineMajor    = 4
	engineMinor    = 5
	engineBuild    = 7
	engineRevision = 0
)

// collections are those that the entry point leads to, with "search" where one can be searched.
func collections() []string {
	return []string{"affinitylabels", "clusters", "datacenters", "disks", "disks search", "events", "events search", "hosts", "hosts search",
		"instancetypes", "jobs", "networks", "networks search", "operatingsystems", "storagedomains", "storagedomains search", "tags", "templates",
		"templates search", "users", "vms", "vms search", "vnicprofiles"}
}

// entryPoint answers GET on the API itself: who asks, what there is, and how much of it.
func (a *API) entryPoint(q *request) (reply, error) {
	id := userID(q.user)
	api := element.New("api",
		object("authenticated_user", id, "users", id), object("effective_user", id, "users", id),
		element.New("product_info",
			element.Text("instance_id", own("instance", a.d.Cluster().ID)), element.Text("name", "vmseed"), element.Text("vendor", "vmseed"),
			versionElement("version").Append(element.Text("full_version", engineVersion()+" (vmseed "+a.version+")"))),
		element.New("special_objects",
			object("blank_template", daemon.BlankTemplate, "templates", daemon.BlankTemplate),
			object("root_tag", emptyID, "tags", emptyID)),
		a.summary(), date("time", time.Now()))
	answer := ok(api)
	for _, c := range collections() {
		rel, search, _ := strings.Cut(c, " ")
		address := href(rel)
		if search != "" {
			rel, address = rel+"/search", address+"?search={query}"
		}
		l := element.New("link").WithAttr("href", address).WithAttr("rel", rel)
		l.Many = true
		answer.body = answer.body.Append(l)
		answer.links = append(answer.links, "<"+address+">; rel="+rel)
	}
	return answer, nil
}

// emptyID is the id of objects that there is only one of, as an engine has it.
const emptyID = daemon.BlankTemplate

func engineVersion() string {
	return strings.Join([]string{strconv.Itoa(engineMajor), strconv.Itoa(engineMinor), strconv.Itoa(engineBuild), strconv.Itoa(engineRevision)}, ".")
}

func versionElement(name string) element.Element {
	return element.New(name, element.Int("build", engineBuild), element.Int("major", engineMajor), element.Int("minor", engineMinor),
		element.Int("revision", engineRevision))
}

func (a *API) summary() element.Element {
	count := func(name string, active, total int) element.Element {
		return element.New(name, element.Int("active", int64(active)), element.Int("total", int64(total)))
	}
	running := 0
	machines := a.d.List()
	for _, m := range machines {
		if m.Status.Running() {
			running++
		}
	}
	domains := len(a.domains())
	return element.New("summary", count("hosts", 1, 1), count("storage_domains", domains, domains), count("users", 1, 1), count("vms", running, len(machines)))
}

func userID(name string) string { return own("user", name) }

// users are those that the API knows about: the one who asks.
func (a *API) users(q *request) []element.Element {
	principal, domain, _ := strings.Cut(q.user, "@")
	id := userID(q.user)
	return []element.Element{object("user", id, "users", id).Append(
		element.Text("department", ""), element.Text("email", ""), element.Text("last_name", ""), element.Text("name", principal),
		element.Text("namespace", "*"), element.Text("principal", principal), element.Text("user_name", q.user),
		object("domain", own("domain", domain), "domains", own("domain", domain)).Append(element.Text("name", domain)),
		link("permissions", "users", id, "permissions"), link("tags", "users", id, "tags"))}
}

func userSearch() searchable[element.Element] {
	s := named("users", "user_name", "principal", "last_name", "email", "department", "namespace")
	s.fields["login"] = s.fields["principal"]
	s.fields["directory"] = value(func(e element.Element) string { return e.Get("domain/name").Text })
	s.fields["usrname"] = func(e element.Element) []string {
		return []string{e.Child("principal").Text, e.Child("user_name").Text}
	}
	return s
}

// listUsers answers with the users that a request searches.
func (a *API) listUsers(q *request) (reply, error) {
	return collection[element.Element]{name: "users", search: userSearch(), list: func(q *request) ([]element.Element, error) { return a.users(q), nil },
		view: func(_ *request, e element.Element) element.Element { return e }}.get(q)
}

// user answers with the user of an id, or with the one who asks for "current".
func (a *API) user(q *request) (reply, error) {
	if strings.EqualFold(q.id(0), "current") {
		q.ids[0] = userID(q.user)
	}
	return oneOf(a.users, 0)(q)
}

// operatingSystem is a type that a VM's guest may have: its number in an engine, its name and its description.
type operatingSystem struct {
	number            int
	name, description string
}

// operatingSystems are the types that clients choose from (packaging/conf/osinfo-defaults.properties). A VM may have
// another one: what counts is whether it is Windows, CoreOS or anything else.
func operatingSystems() []operatingSystem {
	return []operatingSystem{
		{0, "other", "Other OS"}, {5, "other_linux", "Linux"}, {18, "rhel_6", "Red Hat Enterprise Linux 6.x"}, {19, "rhel_6x64", "Red Hat Enterprise Linux 6.x x64"},
		{24, "rhel_7x64", "Red Hat Enterprise Linux 7.x x64"}, {30, "rhel_8x64", "Red Hat Enterprise Linux 8.x x64"},
		{34, "rhel_9x64", "Red Hat Enterprise Linux 9.x x64"}, {35, "rhcos_x64", "Red Hat Enterprise Linux CoreOS"},
		{26, "windows_10", "Windows 10"}, {27, "windows_10x64", "Windows 10 x64"}, {36, "windows_11", "Windows 11"},
		{29, "windows_2016x64", "Windows 2016 x64"}, {31, "windows_2019x64", "Windows 2019 x64"}, {37, "windows_2022", "Windows 2022"},
		{1252, "ubuntu_12_04", "Ubuntu Precise Pangolin LTS"}, {1256, "ubuntu_18_04", "Ubuntu Bionic Beaver LTS+"},
		{1300, "debian_7", "Debian 7+"}, {1301, "debian_9", "Debian 9+"}, {1500, "freebsd", "FreeBSD 9.2"}, {1501, "freebsdx64", "FreeBSD 9.2 x64"},
	}
}

// operatingSystemViews is the list of them, whose name in the API's schema is operation_systems.
func operatingSystemViews(*request) []element.Element {
	var list []element.Element
	for _, os := range operatingSystems() {
		id := strconv.Itoa(os.number)
		list = append(list, object("operating_system", id, "operatingsystems", id).Append(
			element.Text("architecture", "x86_64"), element.Text("description", os.description), element.Text("name", os.name)))
	}
	return list
}

// tags are the root tag alone: objects here have none.
func tags(*request) []element.Element {
	return []element.Element{object("tag", emptyID, "tags", emptyID).Append(element.Text("description", "root"), element.Text("name", "root"))}
}

// instanceTypes are the sizes that VMs can be made in: one, which says nothing.
func instanceTypes(*request) []element.Element {
	id := own("instancetype", "custom")
	return []element.Element{object("instance_type", id, "instancetypes", id).Append(
		element.Text("name", "Custom"), element.Text("description", "no values of its own"))}
}

// created is the answer to a POST that made an object, which is there at once or soon.
func created(body element.Element, done bool) reply {
	status := http.StatusCreated
	if !done {
		status = http.StatusAccepted
	}
	return reply{status: status, body: body, location: body.Attr("href")}
}

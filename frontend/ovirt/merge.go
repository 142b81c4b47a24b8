package ovirt

import (
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/element"
)

// Masked is what stands in the place of a password in whatever an engine returns. Sent back, it keeps the stored one.
const Masked = "******"

// replacedWhole are elements that name another object, so that the parts of two of them make no sense together.
var replacedWhole = []string{"cluster", "cpu_profile", "host", "instance_type", "large_icon", "original_template", "quota", "small_icon",
	"storage_domain", "template", "vm_pool", "configuration", "lease", "serial_number", "watchdog"}

// collections are elements that hold others of one name.
var collections = []string{"affinity_labels", "authorized_keys", "boot_devices", "cdroms", "custom_properties", "devices", "disk_attachments", "files",
	"floppies", "graphics_consoles", "host_devices", "hosts", "monitors", "nic_configurations", "nics", "numa_nodes", "payloads", "permissions",
	"search_domains", "servers", "sessions", "snapshots", "tags", "users", "vcpu_pins", "watchdogs"}

// cleared are elements that are emptied by an empty one (oVirt bug 1506449).
var cleared = []string{"initialization", "cloud_init"}

// twins are paths below an initialization that say the same: when a request states one, what is stored under the others goes.
var twins = [][]string{
	{"host_name", "cloud_init/host", "host"},
	{"authorized_ssh_keys", "cloud_init/authorized_keys", "authorized_keys"},
	{"regenerate_ssh_keys", "cloud_init/regenerate_ssh_keys"},
	{"timezone", "cloud_init/timezone"},
	{"nic_configurations", "cloud_init/network_configuration/nics"},
	{"dns_servers", "cloud_init/network_configuration/dns/servers"},
	{"dns_search", "cloud_init/network_configuration/dns/search_domains"},
	{"cloud_init/users", "users"},
	{"cloud_init/files", "files"},
}

// Merge lays one element over another as an engine does for add, update and start: what over does not state stays as in
// base, an empty initialization clears it, lists are replaced as a whole, and a masked password keeps the stored one. The
// result has over's name, so base may be a template and over the vm that is made of it.
func Merge(base, over element.Element) element.Element {
	if !base.Exists() {
		base = element.New(over.Name)
	}
	return withoutCleared(overlay(base, unmask(base, over)))
}

// withoutCleared leaves out what was emptied: it says no more than what is not there.
func withoutCleared(e element.Element) element.Element {
	if len(e.Children) == 0 {
		return e
	}
	out := make([]element.Element, 0, len(e.Children))
	for _, c := range e.Children {
		if c = withoutCleared(c); !c.Empty() || !slices.Contains(cleared, c.Name) {
			out = append(out, c)
		}
	}
	e.Children = out
	return e
}

// overlay keeps the order of base; what is new comes behind.
func overlay(base, over element.Element) element.Element {
	if over.Name == "initialization" {
		base = withoutTwins(base, over)
	}
	out := base
	out.Name = over.Name
	again := map[string]bool{}
	for _, a := range over.Attrs {
		again[a.Name] = true
	}
	out.Attrs = slices.DeleteFunc(slices.Clone(base.Attrs), func(a element.Attr) bool { return again[a.Name] })
	out.Attrs = append(out.Attrs, over.Attrs...)
	stored, asked := groupsOf(base.Children), groupsOf(over.Children)
	out.Children = nil
	for _, name := range stored.names {
		children := stored.of[name]
		if request, ok := asked.of[name]; ok {
			children = laid(children, request)
		}
		out.Children = append(out.Children, children...)
	}
	for _, name := range asked.names {
		if _, ok := stored.of[name]; !ok {
			out.Children = append(out.Children, laid(nil, asked.of[name])...)
		}
	}
	return out
}

// groups are elements by their names.
type groups struct {
	names []string
	of    map[string][]element.Element
}

func groupsOf(children []element.Element) groups {
	g := groups{of: map[string][]element.Element{}}
	for _, c := range children {
		if _, ok := g.of[c.Name]; !ok {
			g.names = append(g.names, c.Name)
		}
		g.of[c.Name] = append(g.of[c.Name], c)
	}
	return g
}

// laid lays the elements of one name over those of that name that are stored.
func laid(stored, over []element.Element) []element.Element {
	var have element.Element
	if len(stored) > 0 {
		have = stored[0]
	}
	switch c := over[0]; {
	case len(over) > 1 || len(stored) > 1:
		return over
	case c.Empty() && slices.Contains(cleared, c.Name):
		return nil
	case !replaces(have, c):
		return []element.Element{overlay(have, c)}
	}
	return over
}

// replaces reports whether an element takes the place of the one that is there, rather than to be laid over it.
func replaces(have, c element.Element) bool {
	switch {
	case !have.Exists(), c.Collection, slices.Contains(replacedWhole, c.Name), slices.Contains(collections, c.Name):
		return true
	case len(c.Children) == 0 && len(c.Attrs) == 0:
		// An empty element clears a text, and says nothing about one with parts.
		return len(have.Children) == 0 && len(have.Attrs) == 0
	}
	return len(have.Children) == 0 && len(have.Attrs) == 0
}

// withoutTwins takes out of a stored initialization what the request says in another form.
func withoutTwins(stored, over element.Element) element.Element {
	for _, paths := range twins {
		for _, p := range paths {
			if !over.Get(p).Exists() {
				continue
			}
			for _, other := range paths {
				if other != p && !over.Get(other).Exists() {
					stored = without(stored, strings.Split(other, "/"), always)
				}
			}
		}
	}
	return withoutAccounts(stored, over)
}

// withoutAccounts is withoutTwins for the user of user_name and the one among the users of the older forms, who both may have
// the password.
func withoutAccounts(stored, over element.Element) element.Element {
	names := userNames(over)
	if slices.Contains(names, stored.Child("user_name").Text) && !over.Child("root_password").Exists() && !over.Child("user_name").Exists() {
		stored = stored.Without("user_name", "root_password")
	}
	if !over.Child("root_password").Exists() {
		return stored
	}
	user := over.Child("user_name").Text
	for _, path := range []string{"cloud_init/users", "users"} {
		if !over.Get(path).Exists() {
			stored = without(stored, append(strings.Split(path, "/"), "user"), func(u element.Element) bool {
				name := u.Child("user_name").Text
				return name == user || user == "" && name == superuser
			})
		}
	}
	return stored
}

func userNames(initialization element.Element) []string {
	var out []string
	for _, path := range []string{"cloud_init/users", "users"} {
		for _, u := range initialization.Get(path).All("user") {
			out = append(out, u.Child("user_name").Text)
		}
	}
	return out
}

// without removes the elements at a path for which gone holds, and what becomes empty by that.
func without(e element.Element, path []string, gone func(element.Element) bool) element.Element {
	child := e.Child(path[0])
	switch {
	case !child.Exists():
		return e
	case len(path) == 1:
		e.Children = slices.DeleteFunc(slices.Clone(e.Children), func(c element.Element) bool { return c.Name == path[0] && gone(c) })
		return e
	}
	rest := without(child, path[1:], gone)
	if rest.Empty() && !child.Empty() {
		return e.Without(path[0])
	}
	return e.With(rest)
}

func always(element.Element) bool { return true }

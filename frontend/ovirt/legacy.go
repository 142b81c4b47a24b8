package ovirt

import (
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// legacy are the values of the form that the API had first and deprecates since 3.4: the element cloud_init. Its elements may
// stand in the initialization itself as well, as in the feature page that described the form before there was a release.
type legacy struct {
	host, timezone, regenerate tree.Value
	keys, users, files         []tree.Value
	nics                       []tree.Value
	nicsAt                     tree.Value
	servers, search            []tree.Value
}

// legacy finds them.
func (r *reader) legacy() legacy {
	var out legacy
	v := r.init.Get("cloud_init")
	if r.isMap(v) {
		v.Only(&r.list, "authorized_keys", "files", "host", "network_configuration", "regenerate_ssh_keys", "timezone", "users")
		out.timezone, out.regenerate = v.Get("timezone"), v.Get("regenerate_ssh_keys")
		if n := v.Get("network_configuration"); r.isMap(n) {
			n.Only(&r.list, "dns", "nics")
			out.nicsAt = n.Get("nics")
			out.nics = r.items(out.nicsAt, "nic")
			if dns := n.Get("dns"); r.isMap(dns) {
				dns.Only(&r.list, "search_domains", "servers")
				out.servers, out.search = r.hosts(dns.Get("servers")), r.hosts(dns.Get("search_domains"))
			}
		}
	}
	for _, from := range []tree.Value{v, r.init} {
		if from.Kind() != tree.Map {
			continue
		}
		if host := from.Get("host"); r.isMap(host) {
			host.Only(&r.list, "address")
			out.host = r.either(out.host, host.Get("address"))
		}
		out.keys = append(out.keys, r.items(from.Get("authorized_keys"), "authorized_key")...)
		out.users = append(out.users, r.items(from.Get("users"), "user")...)
		out.files = append(out.files, r.items(from.Get("files"), "file")...)
	}
	return out
}

// hosts returns the addresses of a collection of hosts.
func (r *reader) hosts(v tree.Value) []tree.Value {
	var out []tree.Value
	hosts := r.items(v, "host")
	for _, h := range hosts {
		if r.isMap(h) {
			r.only(h, "address")
			out = append(out, r.listed(h.Get("address"))...)
		}
	}
	return out
}

// twice reports that a list is given in two forms.
func (r *reader) twice(old, v tree.Value) {
	r.list.Add(diag.Diagnostic{Code: CodeTwice, Severity: diag.Error, Range: old.Range(), Field: old.Path(),
		Summary: "this says what " + v.Path() + " says as well", Remedy: "keep one of the two"}.With(v.Range(), "the other one is here"))
}

// Package cniresult reads what the network plugins of a host report after they have set up a pod's network, and turns
// it into the NICs of the pod's VM: the guest takes over the addresses, routes and MACs that the plugins chose.
//
// The form is the success result of the Container Network Interface specification, versions 0.3.0 to 1.1.0 (section
// "Result Types"). Several results in a JSON array, or in documents of a YAML stream, are those of several networks.
package cniresult

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
)

// versions are those whose results have the form that Read understands.
var versions = []string{"0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"}

// Read reads results. The facts hold a NIC for each interface inside the pod, in the order of the results. They are
// incomplete when there are errors.
func Read(file string, data []byte) (machine.Facts, diag.List) {
	docs, l := tree.Parse(file, data, bounded.Defaults())
	if len(docs) == 0 && !l.HasErrors() {
		l.Errorf(CodeResult, diag.At(file, 1, 1), "", "the file holds no CNI result")
	}
	var facts machine.Facts
	for _, doc := range docs {
		results := []tree.Value{doc}
		if doc.Kind() == tree.List {
			results = doc.Items()
		}
		for _, v := range results {
			r := result{v: v, list: &l}
			r.read()
			facts.NICs = append(facts.NICs, r.pod()...)
			facts.DNS = join(facts.DNS, r.dns)
		}
	}
	distinct(facts.NICs)
	return facts, l
}

// nic is an interface of a result with what the result says about its addresses.
type nic struct {
	machine.NIC
	host     bool // outside the pod
	gateways []netip.Addr
}

// route is a route of a result, which names no interface.
type route struct {
	machine.Route
	value tree.Value
}

type result struct {
	v    tree.Value
	list *diag.List
	nics []nic
	dns  machine.DNS
}

func (r *result) read() {
	if r.v.Kind() != tree.Map {
		r.v.Errorf(r.list, CodeResult, "", "a CNI result should stand here")
		r.v.Consume()
		return
	}
	if r.v.Get("code").Exists() && r.v.Get("msg").Exists() {
		r.v.Errorf(r.list, CodeResult, "set up the network again", "this is the error of a network plugin, not a result")
		r.v.Consume()
		return
	}
	r.version()
	r.known(r.v, "cniVersion", "interfaces", "ips", "routes", "dns")
	r.interfaces()
	r.addresses()
	r.routes()
	r.readDNS()
}

func (r *result) version() {
	v := r.v.Get("cniVersion")
	text := v.Str(r.list)
	switch {
	case !v.Exists():
		r.v.Warnf(r.list, CodeVersion, `add "cniVersion": "1.0.0"`, "the result does not say its cniVersion, and is read as 1.0.0")
	case slices.Contains(versions, text) || text == "":
	default:
		v.Errorf(r.list, CodeVersion, "convert it to 1.0.0", "results of this cniVersion are not read; those of %s are", strings.Join(versions, ", "))
	}
}

// known reports fields that the specification does not have.
func (r *result) known(v tree.Value, names ...string) {
	v.Want(r.list, tree.Map)
	for _, e := range v.Entries() {
		if !slices.Contains(names, e.Key) {
			r.list.Add(diag.Diagnostic{Code: CodeIgnored, Severity: diag.Warning, Range: e.Place, Field: e.Value.Path(),
				Summary: fmt.Sprintf("CNI results have no field %q here, so it is ignored", e.Key), Remedy: tree.Suggest(e.Key, names)})
			e.Value.Consume()
		}
	}
}

var (
	macForm  = regexp.MustCompile(`^[0-9a-f]{2}(:[0-9a-f]{2}){5}$`)
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$`)
)

func (r *result) interfaces() {
	list := r.v.Get("interfaces")
	list.Want(r.list, tree.List)
	for _, v := range list.Items() {
		r.known(v, "name", "mac", "mtu", "sandbox", "socketPath", "pciID")
		v.Get("pciID").Consume() // the address on the host, not in the guest
		name, mac := v.Get("name").Str(r.list), v.Get("mac")
		n := nic{NIC: machine.NIC{Name: name}, host: v.Get("sandbox").Str(r.list) == ""}
		if socket := v.Get("socketPath"); socket.Exists() {
			socket.Consume()
			socket.Warnf(r.list, CodeIgnored, "", "interface %q is a socket of the host, which vmseed cannot attach", name)
		}
		n.MTU = int(v.Get("mtu").Int(r.list, 0, 65535))
		if n.MAC = strings.ToLower(strings.ReplaceAll(mac.Str(r.list), "-", ":")); n.MAC != "" && !macForm.MatchString(n.MAC) {
			mac.Errorf(r.list, CodeValue, "", "a MAC of six octets should stand here")
			n.MAC = ""
		}
		switch {
		case name == "":
			v.Errorf(r.list, CodeValue, "", "the interface has no name")
		case nameForm.MatchString(name):
			n.Rename = name
		case !n.host:
			v.Get("name").Warnf(r.list, CodeValue, "", "%q cannot be the name of an interface, so the guest keeps its own", name)
		}
		if !n.host && name == "lo" {
			n.host = true // every guest has its own
		}
		r.nics = append(r.nics, n)
	}
}

// inside returns the indexes of the interfaces inside the pod.
func (r *result) inside() []int {
	var out []int
	for i, n := range r.nics {
		if !n.host {
			out = append(out, i)
		}
	}
	return out
}

func (r *result) addresses() {
	list := r.v.Get("ips")
	list.Want(r.list, tree.List)
	if len(r.nics) == 0 && len(list.Items()) > 0 {
		r.nics = []nic{{NIC: machine.NIC{Name: "eth0"}}} // a plugin that hands out addresses alone
	}
	for _, v := range list.Items() {
		r.known(v, "version", "address", "gateway", "interface")
		address, gateway := v.Get("address"), v.Get("gateway")
		prefix, err := netip.ParsePrefix(address.Str(r.list))
		if err != nil || prefix.Addr().Is4In6() {
			if !address.Exists() {
				address = v
			}
			address.Errorf(r.list, CodeValue, "", "an address with its prefix length should stand here")
			v.Consume()
			continue
		}
		if version := v.Get("version").Loose(r.list); version != "" && version != map[bool]string{true: "4", false: "6"}[prefix.Addr().Is4()] {
			v.Get("version").Errorf(r.list, CodeValue, "", "the version does not fit the address")
		}
		gw := r.addr(gateway, prefix.Addr())
		n := r.owner(v)
		if n == nil {
			continue
		}
		n.Addrs, n.gateways = append(n.Addrs, prefix), append(n.gateways, gw)
	}
}

// owner returns the interface that an address belongs to, or nil when it is outside the pod or not known.
func (r *result) owner(v tree.Value) *nic {
	index := v.Get("interface")
	inside := r.inside()
	if index.Kind() == tree.Scalar {
		i := index.Int(r.list, 0, int64(max(len(r.nics)-1, 0)))
		if n := &r.nics[i]; !n.host {
			return n
		}
		r.note(v, "the address is that of interface %q, which is outside the pod", r.nics[i].Name)
		return nil
	}
	index.Consume()
	switch len(inside) {
	case 1:
		return &r.nics[inside[0]]
	case 0:
		v.Errorf(r.list, CodeValue, "name the sandbox of the pod's interface", "no interface of the result is inside the pod")
	default:
		v.Errorf(r.list, CodeValue, "add the index of the interface", "the address names none of the pod's %d interfaces", len(inside))
	}
	return nil
}

func (r *result) note(v tree.Value, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: CodeIgnored, Severity: diag.Note, Range: v.Range(), Field: v.Path(), Summary: fmt.Sprintf(format, args...)})
}

// addr reads an optional address of the same family as another. The unspecified address means none.
func (r *result) addr(v tree.Value, like netip.Addr) netip.Addr {
	text := v.Str(r.list)
	if text == "" {
		return netip.Addr{}
	}
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil || a.Zone() != "" || a.Is4In6():
		v.Errorf(r.list, CodeValue, "", "an IP address should stand here")
	case a.Is4() != like.Is4():
		v.Errorf(r.list, CodeValue, "", "the address is not of the same family as the other one")
	case !a.IsUnspecified():
		return a
	}
	return netip.Addr{}
}

func (r *result) readDNS() {
	v := r.v.Get("dns")
	r.known(v, "nameservers", "domain", "search", "options")
	for _, s := range v.Get("nameservers").Items() {
		if a, err := netip.ParseAddr(s.Str(r.list)); err != nil {
			s.Errorf(r.list, CodeValue, "", "an IP address should stand here")
		} else {
			r.dns.Servers = append(r.dns.Servers, a)
		}
	}
	v.Get("nameservers").Want(r.list, tree.List)
	r.dns.Search = v.Get("search").Strings(r.list)
	// resolv.conf(5): domain and search exclude each other, and a domain is a search list of one.
	if domain := v.Get("domain").Str(r.list); domain != "" && !slices.Contains(r.dns.Search, domain) {
		r.dns.Search = slices.Insert(r.dns.Search, 0, domain)
	}
	r.dns.Options = v.Get("options").Strings(r.list)
}

// join unites the name resolution of several networks.
func join(a, b machine.DNS) machine.DNS {
	return machine.DNS{Servers: union(a.Servers, b.Servers), Search: union(a.Search, b.Search), Options: union(a.Options, b.Options)}
}

func union[T comparable](a, b []T) []T {
	for _, x := range b {
		if !slices.Contains(a, x) {
			a = append(a, x)
		}
	}
	return a
}

// pod returns the NICs of the interfaces inside the pod. One without an address asks for a lease.
func (r *result) pod() []machine.NIC {
	var out []machine.NIC
	for _, n := range r.nics {
		if n.host {
			continue
		}
		if len(n.Addrs) == 0 {
			n.DHCP4 = true
		}
		out = append(out, n.NIC)
	}
	if len(out) == 0 && !r.list.HasErrors() {
		r.v.Errorf(r.list, CodeResult, "give the result of the plugin that adds the pod's interface", "no interface of the result is inside the pod")
	}
	return out
}

// distinct gives NICs of several results names of their own. A name that two of them have is left to the guest.
func distinct(nics []machine.NIC) {
	seen := map[string]bool{}
	for i := range nics {
		n := &nics[i]
		if seen[n.Name] {
			n.Rename = ""
			n.Name = fmt.Sprintf("%s.%d", n.Name, i)
		}
		seen[n.Name] = true
	}
}

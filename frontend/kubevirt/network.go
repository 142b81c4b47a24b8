package kubevirt

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/format/netconfig"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/machine"
)

// network is an entry of spec.networks.
type network struct {
	name string
	path string // as KubeVirt's messages write it: spec.networks[0]
	// definition names a network that the cluster defines. That of the pod has none.
	definition string
	value      tree.Value
	used       bool
}

// network reads networks and interfaces. KubeVirt writes no network document of its own: unless the definition has network
// data, the guest does with its interfaces what it does by itself, so nothing is said about addresses.
func (r *reader) network() {
	devices := r.spec.At("domain", "devices")
	list := devices.Get("interfaces")
	networks := r.networks()
	list.Want(&r.list, tree.List)
	for i, v := range list.Items() {
		if v.Want(&r.list, tree.Map) {
			r.networkInterface(i, v, networks)
		}
	}
	for _, n := range networks {
		if !n.used {
			r.refuse(n.value.Get("name"), CodeNetwork, "add an interface of this name", "%s '%s' not found.", n.path+".name", n.name)
		}
	}
	auto := devices.Get("autoattachPodInterface")
	attach := true
	if auto.Exists() && auto.Kind() != tree.Null {
		attach = auto.Bool(&r.list)
		if len(list.Items()) > 0 {
			r.note(auto, CodeTuning, "there are interfaces, so none is attached by itself")
		}
	}
	if len(list.Items()) == 0 && len(networks) == 0 && attach {
		r.m.Network.NICs = []machine.NIC{{Name: "default"}}
		r.at(devices.Range(), "network.nics[0]")
	}
}

func (r *reader) networks() []*network {
	list := r.spec.Get("networks")
	list.Want(&r.list, tree.List)
	var out []*network
	pods := 0
	for i, v := range list.Items() {
		if !v.Want(&r.list, tree.Map) {
			continue
		}
		before := len(r.list)
		r.sort(v, networkFields)
		misspelt := len(r.list) > before
		n := &network{value: v, path: r.in("networks[%d]", i), name: v.Get("name").Str(&r.list)}
		if slices.ContainsFunc(out, func(o *network) bool { return o.name == n.name }) {
			r.refuse(v.Get("name"), CodeNetwork, "", "Network with name %q already exists, every network must have a unique name", n.name)
			v.Consume()
			continue
		}
		kinds := 0
		for _, kind := range []string{"pod", "multus", "genie"} {
			if src := v.Get(kind); src.Want(&r.list, tree.Map) {
				if kinds++; kinds > 1 {
					src.Consume()
					continue
				}
				n.definition = r.networkSource(kind, src)
			}
		}
		switch {
		case kinds == 0 && misspelt:
			// The field that is not known was meant to be the type.
		case kinds == 0:
			r.refuse(v, CodeNetwork, "write \"pod: {}\"", "should have a network type")
		case kinds > 1:
			r.refuse(v, CodeNetwork, "", "should have only one network type")
		}
		if v.Get("pod").Kind() == tree.Map {
			if pods++; pods == 2 {
				r.refuse(v, CodeNetwork, "", "more than one interface is connected to a pod network in %s", r.in("interfaces"))
			}
		}
		out = append(out, n)
	}
	return out
}

// networkSource reads where a network comes from, and returns the name of one that the cluster defines.
func (r *reader) networkSource(kind string, src tree.Value) string {
	if kind == "pod" {
		r.sort(src, podNetworkFields)
		return ""
	}
	src.Only(&r.list, "networkName", "default")
	if first := src.Get("default"); first.Exists() {
		first.Bool(&r.list)
		r.note(first, CodeNoGuest, "which network is the pod's first concerns the cluster")
	}
	name := src.Get("networkName")
	text := name.Str(&r.list)
	if text == "" {
		r.refuse(name, CodeNetwork, "", "CNI delegating plugin must have a networkName")
	}
	return text
}

// bindings are the ways to connect an interface to the network of its pod. They are the cluster's concern but for those
// that give the guest other hardware.
var bindings = []string{"bridge", "masquerade", "sriov", "slirp", "macvtap", "passt", "passtBinding"}

var (
	nicModels = []string{"e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio"}
	// longMAC matches addresses of more than 48 bits, which only other kinds of networks have.
	longMAC = regexp.MustCompile(`^([0-9A-Fa-f]{2}[:-]){7,}[0-9A-Fa-f]{2}$`)
	nicName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
)

func (r *reader) networkInterface(i int, v tree.Value, networks []*network) {
	r.sort(v, interfaceFields)
	path := r.in("domain.devices.interfaces[%d]", i)
	name := v.Get("name")
	nic := machine.NIC{Name: name.Str(&r.list)}
	if !nicName.MatchString(nic.Name) {
		r.refuse(name, CodeNetwork, "", "Network interface name can only contain alphabetical characters, numbers, dashes (-) or underscores (_)")
	}
	if slices.ContainsFunc(r.m.Network.NICs, func(o machine.NIC) bool { return o.Name == nic.Name }) {
		r.refuse(name, CodeNetwork, "", "Only one interface can be connected to one specific network")
	}
	if at := slices.IndexFunc(networks, func(n *network) bool { return n.name == nic.Name }); at >= 0 {
		networks[at].used = true
		nic.Network = networks[at].definition
	} else {
		var names []string
		for _, n := range networks {
			names = append(names, n.name)
		}
		remedy := tree.SuggestOf("networks", nic.Name, names)
		if len(names) == 0 {
			remedy = "add it under networks, with \"pod: {}\""
		}
		r.refuse(name, CodeNetwork, remedy, "%s '%s' not found.", path+".name", nic.Name)
	}
	model, mac, state := v.Get("model"), v.Get("macAddress"), v.Get("state")
	if nic.Model = model.Str(&r.list); nic.Model != "" && !slices.Contains(nicModels, nic.Model) {
		r.refuse(model, CodeNetwork, tree.SuggestOf("models", nic.Model, nicModels), "interface %s uses model %s that is not supported.", path+".name", nic.Model)
	}
	nic.MAC = r.mac(mac, path)
	nic.PCI = r.pci(v.Get("pciAddress"), "interface "+path+".name")
	nic.BootOrder = r.bootOrder(v.Get("bootOrder"), path)
	nic.Tag = v.Get("tag").Str(&r.list)
	r.binding(v)
	switch text := state.Str(&r.list); text {
	case "", "up":
	case "down":
		nic.LinkDown = true
	case "absent":
		r.note(v, CodeNetwork, "the interface is absent, so the guest does not see it")
		for _, n := range networks {
			if n.name == nic.Name {
				r.note(n.value, CodeNetwork, "the only interface of the network is absent")
			}
		}
		return
	default:
		state.Errorf(&r.list, CodeNetwork, "", "the state of an interface is up, down or absent")
	}
	at := len(r.m.Network.NICs)
	r.at(v.Range(), "network.nics[%d]", at)
	for _, f := range []struct{ path, field string }{{"model", "model"}, {"mac", "macAddress"}, {"pciAddress", "pciAddress"},
		{"bootOrder", "bootOrder"}, {"tag", "tag"}, {"linkDown", "state"}} {
		r.at(v.Get(f.field).Range(), "network.nics[%d].%s", at, f.path)
	}
	r.m.Network.NICs = append(r.m.Network.NICs, nic)
}

// mac reads a MAC address of 48 bits in any of the usual spellings.
func (r *reader) mac(v tree.Value, path string) string {
	text := v.Loose(&r.list)
	if text == "" {
		return ""
	}
	mac, ok := netconfig.ParseMAC(text)
	switch {
	case ok:
	case longMAC.MatchString(text):
		r.refuse(v, CodeNetwork, "write six octets", "interface %s has MAC address (%s) that is too long.", path+".name", text)
	default:
		r.refuse(v, CodeNetwork, "write it as 02:00:00:ab:cd:ef", "interface %s has malformed MAC address (%s).", path+".name", text)
	}
	return mac
}

// binding reads how an interface is connected, which the guest cannot tell, passed-through hardware apart.
func (r *reader) binding(v tree.Value) {
	var found []string
	for _, e := range v.Entries() {
		switch {
		case e.Value.Kind() == tree.Null:
		case e.Key == "binding":
			found = append(found, e.Key)
			if e.Value.Want(&r.list, tree.Map) {
				e.Value.Only(&r.list, "name")
				plugin := e.Value.Get("name")
				plugin.Str(&r.list)
				r.note(plugin, CodeNoGuest, "how the interface is connected concerns the cluster; vmseed has a network of its own")
			}
		case slices.Contains(bindings, e.Key):
			found = append(found, e.Key)
			r.empty(e.Value)
			if e.Key == "sriov" {
				e.Value.Warnf(&r.list, CodeNoEffect, "", "the guest gets an emulated NIC, not a function of one of the host's")
			}
		}
	}
	if len(found) > 1 {
		v.Errorf(&r.list, CodeNetwork, "keep one", "the interface is connected in several ways: %s", strings.Join(found, ", "))
	}
}

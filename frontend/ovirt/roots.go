package ovirt

import (
	"maps"
	"slices"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// rootsOf finds the machines of a document. XML names its outermost element and JSON does not, so that of JSON is told by
// its members: {"vm": […]} is a list of them, an object with flags is an action, one with the members of an initialization and
// none of a vm is that, and anything else is a vm.
func rootsOf(doc tree.Value) ([]root, diag.List) {
	var l diag.List
	if !doc.Want(&l, tree.Map) {
		if len(l) == 0 {
			doc.Errorf(&l, CodeNotVM, "", "a vm, template, action or initialization should stand here")
		}
		return nil, l
	}
	entries := doc.Entries()
	if len(entries) == 1 {
		v := entries[0].Value
		switch entries[0].Key {
		case "vms":
			return each(v, "vm", &l), l
		case "templates":
			return each(v, "template", &l), l
		case "vm", "template":
			if v.Kind() == tree.List {
				return each(doc, entries[0].Key, &l), l
			}
			return one(root{vm: v}, v, &l), l
		case "action":
			return one(root{action: v}, v, &l), l
		case "initialization":
			return one(root{init: v}, v, &l), l
		case "Envelope":
			return one(root{ovf: v}, v, &l), l
		}
	}
	has := func(known []string) bool {
		return slices.ContainsFunc(entries, func(e tree.Entry) bool { return slices.Contains(known, e.Key) })
	}
	switch {
	case has(flags) || doc.Get("vm").Exists():
		return one(root{action: doc}, doc, &l), l
	case !has(slices.Collect(maps.Keys(vmMembersOf()))) && !has(initMembers):
		doc.Errorf(&l, CodeNotVM, "", "this is no vm, template, action or initialization of oVirt's")
		return nil, l
	case has(initMembers) && !has([]string{"name", "initialization", "id", "os", "memory", "cpu", "nics", "template", "cluster"}):
		return one(root{init: doc}, doc, &l), l
	}
	return one(root{vm: doc}, doc, &l), l
}

// each returns the machines of a collection.
func each(collection tree.Value, name string, l *diag.List) []root {
	if !isMap(collection, l) {
		collection.Errorf(l, CodeNotVM, "", "there is no %s in it", name)
		return nil
	}
	for _, e := range collection.Entries() {
		if slices.Contains(hypermedia, e.Key) {
			e.Value.Consume()
		}
	}
	v := collection.Get(name)
	items := v.Items()
	if v.Kind() != tree.List {
		items = []tree.Value{v}
	}
	var out []root
	for _, item := range items {
		out = append(out, one(root{vm: item}, item, l)...)
	}
	return out
}

// one completes the root of one machine.
func one(r root, v tree.Value, l *diag.List) []root {
	if !isMap(v, l) {
		if v.Kind() == tree.Null || !v.Exists() {
			v.Errorf(l, CodeNotVM, "say what the machine should be", "there is nothing in it")
		}
		return nil
	}
	if r.action.Exists() {
		r.vm = r.action.Get("vm")
		if !isMap(r.vm, l) {
			r.vm = tree.Value{}
		}
	}
	if r.vm.Exists() {
		r.init = r.vm.Get("initialization")
	}
	if !isMap(r.init, l) {
		r.init = tree.Value{}
	}
	return []root{r}
}

package ovirt

import (
	"slices"

	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/internal/bounded"
)

// VMOf returns the vm that a document in XML or JSON is: its outermost element, or the only one in a list, in an action or
// around an initialization; a template counts as one. It is absent when the document is anything else, is broken, or says
// more than a vm can, such as an action whose flags ask for another kind of first boot than the vm in it.
func VMOf(name string, data []byte) element.Element {
	if (Frontend{}).Sniff(data) == frontend.No {
		return element.Element{}
	}
	e, root, ok := outermost(name, data)
	if !ok || root.ovf.Exists() {
		return element.Element{}
	}
	vm := e
	switch {
	case root.action.Exists():
		if vm = e.Child("vm"); !vm.Exists() || KindOf(vm) != KindOf(e) {
			return element.Element{}
		}
	case !root.vm.Exists():
		e.Name = "initialization"
		vm = element.New("vm", e)
	case e.Name == "vms" || e.Name == "templates":
		members := append(e.All("vm"), e.All("template")...)
		if len(members) != 1 {
			return element.Element{}
		}
		vm = members[0]
	}
	vm.Name = "vm"
	return vm
}

// outermost reads the outermost element of a document of one machine. In JSON it may be the only member of an object, or the
// object itself, which is a vm by name whatever it is.
func outermost(name string, data []byte) (element.Element, root, bool) {
	var e element.Element
	var doc tree.Value
	if element.IsXML(data) {
		parsed, l := element.ParseXML(name, data, bounded.Limits{})
		if l.HasErrors() {
			return e, root{}, false
		}
		e, doc = parsed, parsed.Document(name)
	} else {
		parsed, l := element.ParseJSON(name, data, "vm", bounded.Limits{})
		if l.HasErrors() {
			return e, root{}, false
		}
		e, doc = parsed, parsed.Tree(name)
		wrappers := []string{"vm", "vms", "template", "templates", "action", "initialization"}
		if len(e.Attrs) == 0 && len(e.Children) == 1 && slices.Contains(wrappers, e.Children[0].Name) {
			e = e.Children[0]
		}
	}
	list, l := rootsOf(doc)
	if l.HasErrors() || len(list) != 1 {
		return e, root{}, false
	}
	if list[0].action.Exists() {
		e.Name = "action"
	}
	return e, list[0], true
}

// WithSize returns the vm with another memory in bytes and another number of processors, as far as they are not 0.
func WithSize(vm element.Element, memory int64, cpus int) element.Element {
	if memory > 0 {
		vm = vm.With(element.Int("memory", memory))
	}
	if cpus > 0 {
		cpu := vm.Child("cpu")
		if !cpu.Exists() {
			cpu = element.New("cpu")
		}
		vm = vm.With(cpu.With(element.New("topology", element.Int("cores", int64(cpus)), element.Int("sockets", 1), element.Int("threads", 1))))
	}
	return vm
}

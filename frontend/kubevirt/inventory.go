package kubevirt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
)

// inventory is what the documents of an input say that are no machines: KubeVirt's own configuration, instance types, and
// volumes that its importer fills.
type inventory struct {
	gates gates
	// objects are the instance types and volumes by kind, namespace and name. A name alone is that of the cluster.
	objects map[kubeobject.Ref]tree.Value
	order   []kubeobject.Ref
	wanted  map[kubeobject.Ref]bool
}

// The kinds of objects that machines refer to by name.
const (
	kindDataVolume  = "DataVolume"
	kindType        = "VirtualMachineInstancetype"
	kindClusterType = "VirtualMachineClusterInstancetype"
)

// kindMigration is what moves a machine to another node, in the group of the machines themselves.
const kindMigration = "VirtualMachineInstanceMigration"

// referred are the kinds that machines refer to, with the API group of each.
var referred = map[string]string{kindDataVolume: "cdi.kubevirt.io", kindType: "instancetype.kubevirt.io", kindClusterType: "instancetype.kubevirt.io"}

// referredVersions are the versions of those API groups, which differ in nothing that is read here.
var referredVersions = []string{"v1alpha1", "v1alpha2", "v1beta1", "v1"}

// take reads a document that is no machine. It returns false for all others.
func (n *inventory) take(doc tree.Value, l *diag.List) bool {
	if doc.Kind() != tree.Map {
		return false
	}
	kind := peek(doc.Get("kind"))
	apiGroup, _, _ := strings.Cut(peek(doc.Get("apiVersion")), "/")
	switch {
	case kind == "KubeVirt" && apiGroup == group[:len(group)-1]:
		n.gates.configuration(doc, l)
	case referred[kind] != "" && apiGroup == referred[kind]:
		n.keep(doc, kind, l)
	case slices.Contains(makers, kind):
		return false
	case strings.HasSuffix(apiGroup, "."+group[:len(group)-1]), kind == kindMigration && apiGroup == group[:len(group)-1]:
		// Preferences, snapshots, exports and the like.
		doc.Get("kind").Warnf(l, CodeNoEffect, "remove it from the input", "vmseed makes nothing of a %s", kind)
		doc.Consume()
	default:
		return false
	}
	return true
}

func (n *inventory) keep(doc tree.Value, kind string, l *diag.List) {
	version := doc.Get("apiVersion")
	if _, text, _ := strings.Cut(peek(version), "/"); !slices.Contains(referredVersions, text) {
		version.Warnf(l, CodeVersion, "use v1beta1", "vmseed does not know version %q of a %s, and reads it as v1beta1", text, kind)
	}
	name, namespace := doc.At("metadata", "name"), doc.At("metadata", "namespace")
	ref := kubeobject.Ref{Kind: kind, Name: name.Str(l), Namespace: namespace.Str(l)}
	if ref.Namespace == "" && kind != kindClusterType {
		ref.Namespace = kubeobject.DefaultNamespace
	}
	if !kubeobject.ValidName(ref.Name) {
		name.Errorf(l, CodeName, "give it metadata.name", "the %s has no name that an object can have", kind)
		doc.Consume()
		return
	}
	if first, twice := n.objects[ref]; twice {
		l.Add(diag.Diagnostic{Code: CodeName, Severity: diag.Error, Range: name.Range(), Summary: fmt.Sprintf("%s stands twice in the input", ref),
			Remedy: "remove or rename one of the two"}.With(first.Range(), "the first one is here"))
		doc.Consume()
		return
	}
	if n.objects == nil {
		n.objects, n.wanted = map[kubeobject.Ref]tree.Value{}, map[kubeobject.Ref]bool{}
	}
	n.objects[ref] = doc
	n.order = append(n.order, ref)
}

// find returns an object that a machine refers to.
func (n *inventory) find(ref kubeobject.Ref) (tree.Value, bool) {
	v, ok := n.objects[ref]
	if ok {
		n.wanted[ref] = true
	}
	return v, ok
}

// leftOver reports the objects that no machine refers to, and what no guest sees of the others.
func (n *inventory) leftOver(l *diag.List) {
	for _, ref := range n.order {
		doc := n.objects[ref]
		if !n.wanted[ref] {
			kubedoc.Note(l, doc.At("metadata", "name"), CodeNoGuest, "nothing refers to %s", ref)
			doc.Consume()
			continue
		}
		for _, e := range doc.Unread() {
			l.Add(diag.Diagnostic{Code: CodeNoGuest, Severity: diag.Note, Range: e.Span(), Field: e.Value.Path(),
				Summary: fmt.Sprintf("the field %s concerns the cluster, not the guest", e.Key)})
			e.Value.Consume()
		}
	}
}

// instanceType reads which object decides about CPUs and memory, and finds it in the input.
func (r *reader) instanceType(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	v.Only(&r.list, "name", "kind", "revisionName", "inferFromVolume", "inferFromVolumeFailurePolicy")
	for _, field := range []string{"revisionName", "inferFromVolume", "inferFromVolumeFailurePolicy"} {
		if x := v.Get(field); x.Exists() {
			r.note(x, CodeNoGuest, "%s concerns the cluster", field)
			x.Consume()
		}
	}
	name, kind := v.Get("name"), v.Get("kind")
	ref := kubeobject.Ref{Kind: kindClusterType, Name: name.Str(&r.list)}
	switch text := kind.Str(&r.list); {
	case text == "" || strings.EqualFold(strings.TrimSuffix(text, "s"), kindClusterType):
	case strings.EqualFold(strings.TrimSuffix(text, "s"), kindType):
		ref.Kind, ref.Namespace = kindType, r.namespace
	default:
		kind.Errorf(&r.list, CodeInstanceType, tree.SuggestOf("kinds", text, []string{kindType, kindClusterType}), "there is no kind of instance type %q", text)
	}
	if ref.Name != "" {
		r.m.Identity.InstanceType = ref.Name
		r.at(name.Range(), "identity.instanceType")
	}
	doc, ok := r.inventory.find(ref)
	if !ok {
		if stated := r.options.Stated; !stated.Has("hardware.cpus") || !stated.Has("hardware.memory") {
			name.Warnf(&r.list, CodeInstanceType, "add the object to the input, or run with --cpus and --memory",
				"the instance type decides how many CPUs and how much memory the machine has, and %s is not in the input", ref.Kind+" "+ref.Name)
		} else if kind.Exists() {
			r.note(kind, CodeInstanceType, "%s is not in the input", strings.TrimSpace(ref.Kind+" "+ref.Name))
		}
		return
	}
	r.typeSpec = doc.Get("spec")
	r.typeSpec.Want(&r.list, tree.Map)
}

// conflict reports fields that the machine states although its instance type decides about them.
func (r *reader) conflict(values ...tree.Value) {
	for _, v := range values {
		if v.Exists() && v.Kind() != tree.Null {
			r.refuse(v, CodeInstanceType, "remove it, or the instance type", "VM field(s) %s conflicts with selected instance type", r.inSpec(v))
			v.Consume()
		}
	}
}

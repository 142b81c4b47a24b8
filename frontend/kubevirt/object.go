package kubevirt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
)

const group = "kubevirt.io/"

// versions are the API versions that are read, with what became of the old ones.
var versions = map[string]string{"v1": "", "v1alpha3": "v1alpha3 is deprecated; v1 has the same fields",
	"v1alpha2": "no KubeVirt of today serves v1alpha2", "v1alpha1": "no KubeVirt of today serves v1alpha1"}

// instanceKinds are the names that the kind of a running machine had in the course of time.
var instanceKinds = []string{"VirtualMachineInstance", "VM"}

// vmKinds are the names of the kind of a machine that exists whether it runs or not.
var vmKinds = []string{"VirtualMachine", "OfflineVirtualMachine"}

// makers are kinds of objects that make definitions from a template.
var makers = []string{"VirtualMachineInstanceReplicaSet", "VirtualMachinePool", "VirtualMachineReplicaSet"}

// presets are kinds of objects that change definitions on their way.
var presets = []string{"VirtualMachineInstancePreset", "VirtualMachinePreset"}

// peek returns a text that somebody else reads, without complaint.
func peek(v tree.Value) string {
	var unheard diag.List
	return v.Loose(&unheard)
}

// identify finds out what the document is, and where its instance stands.
func (r *reader) identify() bool {
	if r.doc.Kind() != tree.Map {
		r.doc.Errorf(&r.list, CodeNotVM, "", "a VirtualMachine or VirtualMachineInstance should stand here")
		return false
	}
	kind, version := r.doc.Get("kind"), r.doc.Get("apiVersion")
	name := kind.Loose(&r.list)
	switch {
	case slices.Contains(makers, name):
		kind.Errorf(&r.list, CodeNotVM, "give the machine that it makes, with a name of its own: the template as metadata and spec of a VirtualMachineInstance",
			"vmseed reads machines, not the template of a %s", name)
		return false
	case slices.Contains(presets, name):
		kind.Errorf(&r.list, CodeNotVM, "write its fields into the machines", "vmseed applies no presets")
		return false
	}
	if r.version = readVersion(version, &r.list); r.version == "" {
		return false
	}
	spec := r.doc.Get("spec")
	isInstance := slices.Contains(instanceKinds, name)
	// The kind of a running machine was VirtualMachine once.
	isInstance = isInstance || r.version == "v1alpha1" && name == "VirtualMachine" && spec.Kind() == tree.Map && spec.Get("domain").Exists()
	switch {
	case isInstance:
		r.prefix, r.spec, r.meta = "spec", spec, r.doc.Get("metadata")
	case slices.Contains(vmKinds, name):
		r.prefix, r.vm = "spec.template.spec", spec
		r.spec, r.meta = spec.At("template", "spec"), spec.At("template", "metadata")
		if !spec.Exists() {
			r.doc.Errorf(&r.list, CodeNotVM, "give it spec.template", "missing virtual machine template.")
			return false
		}
	default:
		known := slices.Concat(vmKinds[:1], instanceKinds[:1], []string{"KubeVirt"})
		remedy := "remove the object from the input"
		if meant, ok := tree.Closest(name, known); ok {
			remedy = fmt.Sprintf("did you mean %q?", meant)
		}
		kind.Errorf(&r.list, CodeNotVM, remedy, "a VirtualMachine or VirtualMachineInstance should stand here")
		return false
	}
	return true
}

// owners are the VirtualMachines of an input, by namespace and name.
type owners map[string]bool

// machinesOf finds the VirtualMachines among some documents.
func machinesOf(definitions []frontend.Document) owners {
	out := owners{}
	for _, doc := range definitions {
		if slices.Contains(vmKinds, peek(doc.Tree.Get("kind"))) {
			meta := doc.Tree.Get("metadata")
			out[ownerKey(meta, peek(meta.Get("name")))] = true
		}
	}
	return out
}

// ownerKey names an object in the namespace of another one.
func ownerKey(meta tree.Value, name string) string {
	namespace := peek(meta.Get("namespace"))
	if namespace == "" {
		namespace = kubeobject.DefaultNamespace
	}
	return namespace + "/" + name
}

// runs reports whether a document is the instance that a cluster made of one of the machines, as "kubectl get vm,vmi" prints
// both. It is no machine of its own, and what it says is the machine's or the cluster's.
func (o owners) runs(doc tree.Value, l *diag.List) bool {
	meta := doc.Get("metadata")
	if !slices.Contains(instanceKinds, peek(doc.Get("kind"))) {
		return false
	}
	for _, owner := range meta.Get("ownerReferences").Items() {
		name := ownerKey(meta, peek(owner.Get("name")))
		if peek(owner.Get("kind")) == vmKinds[0] && o[name] {
			kubedoc.Note(l, doc.Get("kind"), CodeNoGuest, "a cluster made this instance of the VirtualMachine %s, which is in the input as well and counts", name)
			doc.Consume()
			return true
		}
	}
	return false
}

// readVersion returns an API version without its group, or nothing when it is none of KubeVirt's.
func readVersion(v tree.Value, l *diag.List) string {
	text := v.Loose(l)
	name, ok := strings.CutPrefix(text, group)
	remark, known := versions[name]
	switch {
	case !v.Exists():
		v.Errorf(l, CodeNotVM, "add \"apiVersion: kubevirt.io/v1\"", "the document has no apiVersion")
	case !ok:
		v.Errorf(l, CodeNotVM, `write "kubevirt.io/v1"`, "an object of the API group kubevirt.io should stand here")
	case !known:
		v.Errorf(l, CodeVersion, tree.SuggestOf("versions", name, slices.Sorted(maps.Keys(versions))), "KubeVirt has no API version %q", name)
	default:
		if remark != "" {
			kubedoc.Note(l, v, CodeVersion, "%s", remark)
		}
		return name
	}
	return ""
}

// The annotations that mean something here. What others say is the author's.
const (
	ignitionAnnotation = "kubevirt.io/ignitiondata"
	hooksAnnotation    = "hooks.kubevirt.io/hookSidecars"
	appliedAnnotation  = "kubectl.kubernetes.io/last-applied-configuration"
)

// typeAnnotations name the instance type that made the machine. The first one counts.
var typeAnnotations = []string{"kubevirt.io/cluster-instancetype-name", "kubevirt.io/instancetype-name"}

// metadata reads the names of the object, and labels and annotations of the instance.
func (r *reader) metadata() {
	own := r.doc.Get("metadata")
	own.Want(&r.list, tree.Map)
	fields := []string{"name", "namespace", "uid", "generateName"}
	if r.vm.Exists() {
		// What stands at the machine itself is not handed on to its instance.
		if note := own.At("annotations", ignitionAnnotation); note.Exists() {
			note.Warnf(&r.list, CodeIgnition, "move it to spec.template.metadata.annotations",
				"KubeVirt does not look for Ignition configs here: annotations of the VirtualMachine do not reach its instance")
		}
		r.sortMeta(own, kubedoc.Meta(fields...))
		r.meta.Want(&r.list, tree.Map)
		r.sortMeta(r.meta, kubedoc.Meta("labels", "annotations"))
	} else {
		r.sortMeta(own, kubedoc.Meta(append(fields, "labels", "annotations")...))
	}
	r.names(own)
	uid := own.Get("uid")
	r.m.Identity.UID = uid.Str(&r.list)
	r.at(uid.Range(), "identity.uid")
	r.m.Labels = r.meta.Get("labels").StringMap(&r.list)
	r.at(r.meta.Get("labels").Range(), "labels")
	r.annotations(r.meta.Get("annotations"))
}

func (r *reader) names(own tree.Value) {
	name, namespace, generate := own.Get("name"), own.Get("namespace"), own.Get("generateName")
	text, ok := r.text(name)
	r.m.Name, r.m.Namespace = text, namespace.Str(&r.list)
	generate.Consume()
	switch {
	case !ok:
	case text == "" && generate.Exists():
		generate.Errorf(&r.list, CodeName, "give it metadata.name", "the cluster completes generateName, so the machine's name is not known")
	case text == "":
		name.Errorf(&r.list, CodeName, "give it metadata.name", "the machine has no name")
	case !kubeobject.ValidName(text):
		name.Errorf(&r.list, CodeName, "use lower-case letters, digits, dashes and dots", "%q cannot be the name of a machine", text)
	}
	if r.m.Namespace == "" {
		r.m.Namespace = kubeobject.DefaultNamespace
	} else if wrong := dnsLabel(r.m.Namespace); wrong != "" {
		namespace.Errorf(&r.list, CodeName, "", "%q cannot be a namespace: %s", r.m.Namespace, wrong)
	}
	r.namespace = r.m.Namespace
	r.at(name.Range(), "name")
	r.at(namespace.Range(), "namespace")
}

// annotations keeps those that are the author's own. That for Ignition is read where the data source is known.
func (r *reader) annotations(v tree.Value) {
	if !v.Want(&r.list, tree.Map) {
		return
	}
	r.at(v.Range(), "annotations")
	for _, e := range v.Entries() {
		switch {
		case e.Key == ignitionAnnotation:
		case e.Key == appliedAnnotation:
			e.Value.Consume()
			r.remark(e, CodeNoGuest, "kubectl's own copy of the definition is passed over")
		case e.Key == hooksAnnotation:
			e.Value.Consume()
			r.warn(e, CodeNoEffect, "put what they do into user-data", "vmseed runs no hook sidecars, so nothing changes the seed that they would change")
		case slices.Contains(typeAnnotations, e.Key):
			text := e.Value.Str(&r.list)
			if r.m.Identity.InstanceType == "" || e.Key == typeAnnotations[0] {
				r.m.Identity.InstanceType = text
				r.at(e.Value.Range(), "identity.instanceType")
			} else {
				e.Value.Warnf(&r.list, CodeInstanceType, "remove one of the two", "%s takes the place of this annotation", typeAnnotations[0])
			}
		default:
			text := e.Value.Str(&r.list)
			if r.m.Annotations == nil {
				r.m.Annotations = map[string]string{}
			}
			r.m.Annotations[e.Key] = text
		}
	}
}

// sharedIDs warns about machines of one input that have the same firmware UUID, and with it the same instance id.
func sharedIDs(machines []machine.Machine) diag.List {
	var l diag.List
	first := map[string]int{}
	for i, m := range machines {
		id := m.Identity.UUID
		if id == "" {
			continue // it has no name
		}
		j, taken := first[id]
		if !taken {
			first[id] = i
			continue
		}
		other := machines[j]
		l.Add(diag.Diagnostic{Code: CodeUUID, Severity: diag.Warning, Range: m.Places.Find("identity.uuid"), Field: "spec.domain.firmware.uuid",
			Summary: fmt.Sprintf("%s/%s and %s/%s share the firmware UUID %s, and with it the instance id of their guests",
				other.Namespace, other.Name, m.Namespace, m.Name, id),
			Remedy: "give each its own in spec.domain.firmware.uuid; without one KubeVirt made it of the name alone until version 1.6"}.
			With(other.Places.Find("identity.uuid"), "the other machine takes it from here"))
	}
	return l
}

// Package kubevirt reads the definitions of KubeVirt: VirtualMachine and VirtualMachineInstance in the versions v1,
// v1alpha3 and v1alpha2, and the layout that came before them. What KubeVirt's admission would refuse is refused here with
// its words; what it lets through and then loses is reported as well. docs/compat/kubevirt.md lists the differences.
package kubevirt

import (
	"context"
	"fmt"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Frontend is the front end for KubeVirt. Its zero value is ready for use.
type Frontend struct{}

var _ frontend.Frontend = Frontend{}

// Name returns kubevirt.
func (Frontend) Name() string { return "kubevirt" }

// Read turns definitions into machines, one for each document that is not KubeVirt's own configuration.
func (Frontend) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	for _, doc := range src.Documents {
		if !doc.Tree.Exists() {
			l.Errorf(CodeNotVM, diag.At(doc.File, 1, 1), "", "a VirtualMachine or VirtualMachineInstance should stand here")
			continue
		}
		r := reader{ctx: ctx, resolver: src.Resolver, options: src.Options, doc: doc.Tree, m: &machine.Machine{}, places: machine.Places{}}
		r.m.Document = machine.Document{Form: "kubevirt", Text: secret.FromBytes(doc.Data)}
		if r.read() {
			r.m.Places = r.places
			out = append(out, *r.m)
		}
		l = append(l, r.list...)
	}
	return out, l
}

// reader reads one definition. Its methods report troubles in list and go on, so that one run shows them all.
type reader struct {
	ctx      context.Context
	resolver frontend.Resolver
	options  frontend.Options
	list     diag.List

	// doc is the whole object, meta and spec are the metadata and spec of the instance: for a VirtualMachine those of
	// its template.
	doc, meta, spec tree.Value
	// prefix is the path of spec, with which KubeVirt's messages begin: spec.template.spec or spec.
	prefix string
	// namespace is that of the object and of all it refers to.
	namespace string

	m      *machine.Machine
	places machine.Places

	// volumes are those of the spec in their order, and disks the entries that name them.
	volumes []volume
	disks   []disk
	// seed is the kind of the first cloud-init volume, cloudInitNoCloud or cloudInitConfigDrive.
	seed string
}

// volume is an entry of spec.volumes.
type volume struct {
	name  string
	kind  string     // the field that holds its source, such as containerDisk
	value tree.Value // the entry
	src   tree.Value // what stands below kind
}

// disk is an entry of spec.domain.devices.disks.
type disk struct {
	name   string // of its volume
	device string // disk, cdrom, lun or floppy
	value  tree.Value
	target tree.Value // what stands below device
	used   bool
}

// volumeKinds says how the volumes of each kind are read, each with the entry of the disk that names it; that is absent
// when there is none.
var volumeKinds = map[string]func(r *reader, v volume, d disk){
	"secret":         (*reader).medium,
	"configMap":      (*reader).medium,
	"sysprep":        (*reader).medium,
	"serviceAccount": (*reader).medium,
	"downwardAPI":    (*reader).medium,
}

func (r *reader) medium(v volume, d disk) { r.mediaVolume(v.kind, v.value, d.value) }

// hasSeed reports whether there is a volume of a kind, such as cloudInitNoCloud.
func (r *reader) hasVolume(kind string) bool {
	for _, v := range r.volumes {
		if v.kind == kind {
			return true
		}
	}
	return false
}

func (r *reader) read() bool {
	if isLegacy(r.spec) {
		r.legacyLayout()
		return true
	}
	r.accessCredentials(r.spec)
	return true
}

// isLegacy reports whether a spec has the layout from before v1alpha2, in which disks hold their sources themselves.
func isLegacy(spec tree.Value) bool {
	for _, d := range spec.At("domain", "devices", "disks").Items() {
		if d.Kind() == tree.Map && (d.Get("type").Exists() || d.Get("target").Exists() || d.Get("source").Exists() || d.Get("cloudinit").Exists()) {
			return true
		}
	}
	return false
}

func (r *reader) add(s diag.Severity, code diag.Code, e tree.Entry, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: s, Range: e.Span(), Field: e.Value.Path(),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

// note adds a remark that asks for nothing.
func (r *reader) note(v tree.Value, code diag.Code, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: diag.Note, Range: v.Span(), Field: v.Path(), Summary: fmt.Sprintf(format, args...)})
}

// at records where a value of the machine stands in the document.
func (r *reader) at(place diag.Range, path string, args ...any) {
	if !place.IsZero() {
		r.places[fmt.Sprintf(path, args...)] = place
	}
}

// text reads a text, and says whether it could.
func (r *reader) text(v tree.Value) (string, bool) {
	before := len(r.list)
	text := v.Str(&r.list)
	return text, len(r.list) == before
}

// resolve finds an object that v refers to by name, in the definition's namespace. A missing one is an error at v, or a
// note when it is optional.
func (r *reader) resolve(v tree.Value, kind, name string, optional bool) (kubeobject.Object, bool) {
	return kubeobject.Object{}, false
}

// missingKey reports that an object lacks a key, and names those that it has.
func (r *reader) missingKey(v tree.Value, o kubeobject.Object, keys []string, optional bool) {}

// layerBase64 reads a text in base64 as a layer whose name says where it is from, such as "volume cloudinitdisk, userData".
// The message of KubeVirt for text that is no base64 names the field behind path, such as spec.volumes[0].cloudInitNoCloud.
func (r *reader) layerBase64(v tree.Value, path, name string) (machine.Layer, bool) {
	return machine.Layer{}, false
}

// layerSecret reads the value under the first key that a Secret has.
func (r *reader) layerSecret(v tree.Value, secretName string, keys ...string) (machine.Layer, bool) {
	return machine.Layer{}, false
}

// Package kubevirt reads the definitions of KubeVirt: VirtualMachine and VirtualMachineInstance in the versions v1,
// v1alpha3 and v1alpha2, and the layout that came before them. What KubeVirt's admission would refuse is refused here with
// its words; what it lets through and then loses is reported as well. docs/compat/kubevirt.md lists the differences.
package kubevirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/internal/kubedoc"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Frontend is the front end for KubeVirt. Its zero value is ready for use.
type Frontend struct {
	// Sources are those of cloud-init data that the engine has a data source for and KubeVirt does not know.
	Sources []Source
}

var _ frontend.Frontend = Frontend{}

// Name returns kubevirt.
func (Frontend) Name() string { return "kubevirt" }

// Read turns definitions into machines, one for each VirtualMachine and VirtualMachineInstance. Other documents of
// KubeVirt are read for what they say about them: feature gates, instance types, volumes.
func (f Frontend) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	inventory := inventory{gates: gates{ctx: ctx, resolver: src.Resolver, flags: src.Options.FeatureGates}}
	definitions := slices.DeleteFunc(slices.Clone(src.Documents), func(doc frontend.Document) bool { return inventory.take(doc.Tree, &l) })
	machines := machinesOf(definitions)
	for _, doc := range definitions {
		if machines.runs(doc.Tree, &l) {
			continue
		}
		if !doc.Tree.Exists() {
			l.Errorf(CodeNotVM, diag.At(doc.File, 1, 1), "", "a VirtualMachine or VirtualMachineInstance should stand here")
			continue
		}
		r := reader{sources: f.Sources, ctx: ctx, resolver: src.Resolver, options: src.Options, inventory: &inventory, doc: doc.Tree, m: &machine.Machine{}, places: machine.Places{}}
		r.m.Document = machine.Document{Form: "kubevirt", Text: secret.FromBytes(doc.Data)}
		if r.read() {
			r.m.Places = r.places
			out = append(out, *r.m)
		}
		l = append(l, r.list...)
	}
	inventory.leftOver(&l)
	return out, append(l, sharedIDs(out)...)
}

// reader reads one definition. Its methods report troubles in list and go on, so that one run shows them all.
type reader struct {
	ctx      context.Context
	resolver frontend.Resolver
	options  frontend.Options
	sources  []Source
	list     diag.List

	inventory *inventory

	// doc is the whole object, meta and spec are the metadata and spec of the instance: for a VirtualMachine those of
	// its template.
	doc, meta, spec tree.Value
	// vm is the spec of a VirtualMachine, and absent for an instance.
	vm tree.Value
	// prefix is the path of spec, with which KubeVirt's messages begin: spec.template.spec or spec.
	prefix string
	// version is the API version without its group, such as v1.
	version string
	// namespace is that of the object and of all it refers to.
	namespace string

	m      *machine.Machine
	places machine.Places

	// volumes are those of the spec in their order, disks the entries that name them, and templates the volumes that the
	// cluster makes for the machine, by name.
	volumes   []volume
	unread    []string // the names of volumes without a kind
	disks     []disk
	templates map[string]tree.Value
	// typeSpec is the spec of the machine's instance type, absent when there is none.
	typeSpec tree.Value
	// bootOrders are the places of the boot orders that are taken.
	bootOrders map[int64]tree.Value
	// seed is the first cloud-init volume; its kind is empty when there is none.
	seed volume
}

// read fills the machine. It returns false when the document is no definition at all.
func (r *reader) read() bool {
	if !r.identify() {
		r.doc.Consume()
		return false
	}
	r.sort(r.doc, objectFields)
	r.m.Compat = "kubevirt"
	r.at(r.doc.Range(), "")
	r.metadata()
	if r.vm.Exists() {
		r.virtualMachine()
	}
	if r.spec.Want(&r.list, tree.Map) {
		r.instance()
	} else if !r.spec.Exists() && r.prefix == "spec" {
		r.doc.Errorf(&r.list, CodeNotVM, "give it a spec", "the VirtualMachineInstance has no spec")
	}
	for _, e := range r.doc.Unread() {
		r.warn(e, CodeUnread, "", "nothing reads %s, so what it says is lost", e.Value.Path())
	}
	return true
}

// instance reads the spec of an instance.
func (r *reader) instance() {
	r.identity()
	if isLegacy(r.spec) {
		r.legacyLayout()
		r.lifecycle()
		r.ignition()
		return
	}
	r.sort(r.spec, specFields)
	r.noCloudInit(r.spec.Get("cloudInit"))
	r.lifecycle()
	r.hardware()
	r.findVolumes()
	r.findDisks()
	r.devices()
	r.readVolumes()
	r.chooseRoot()
	r.network()
	r.accessCredentials(r.spec)
	r.ignition()
	if r.m.DataSource == "" && slices.ContainsFunc(r.m.Media, func(x machine.Media) bool { return x.Kind == "sysprep" }) {
		r.m.DataSource = machine.NoDataSource // Windows reads its answer file and no seed
		return
	}
	if r.m.DataSource == "" && !slices.ContainsFunc(r.m.Media, func(x machine.Media) bool { return strings.EqualFold(x.Label, "cidata") }) {
		r.note(r.spec.Get("volumes"), CodeNoSeed, "there is no cloud-init volume, so on KubeVirt the guest gets no seed; that of vmseed tells it no more than its name")
	}
}

// isLegacy reports whether a spec has the layout from before volumes existed, in which disks hold their sources themselves.
func isLegacy(spec tree.Value) bool {
	for _, d := range spec.At("domain", "devices", "disks").Items() {
		for _, field := range []string{"type", "target", "source", "cloudinit", "cloudInit"} {
			if d.Get(field).Exists() {
				return true
			}
		}
	}
	return false
}

// refuse reports what KubeVirt's admission refuses, in its words. Most of them name the field; where they do, the
// diagnostic does not do it again.
func (r *reader) refuse(v tree.Value, code diag.Code, remedy, format string, args ...any) {
	d := diag.Diagnostic{Code: code, Severity: diag.Error, Range: v.Range(), Summary: fmt.Sprintf(format, args...), Remedy: remedy}
	if !strings.Contains(d.Summary, r.prefix+".") {
		d.Field = v.Path()
	}
	r.list.Add(d)
}

func (r *reader) warn(e tree.Entry, code diag.Code, remedy, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: diag.Warning, Range: e.Span(), Field: e.Value.Path(),
		Summary: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *reader) remark(e tree.Entry, code diag.Code, format string, args ...any) {
	r.list.Add(diag.Diagnostic{Code: code, Severity: diag.Note, Range: e.Span(), Field: e.Value.Path(), Summary: fmt.Sprintf(format, args...)})
}

// note adds a remark that asks for nothing.
func (r *reader) note(v tree.Value, code diag.Code, format string, args ...any) {
	kubedoc.Note(&r.list, v, code, format, args...)
}

// at records where a value of the machine stands in the document.
func (r *reader) at(place diag.Range, path string, args ...any) {
	if !place.IsZero() {
		r.places[fmt.Sprintf(path, args...)] = place
	}
}

// text reads a text, and says whether it could.
func (r *reader) text(v tree.Value) (string, bool) { return kubedoc.Text(&r.list, v) }

// quantity reads an amount that is not negative. It returns false when there is none.
func (r *reader) quantity(v tree.Value) (kubeobject.Quantity, bool) {
	return kubedoc.Quantity(&r.list, v, CodeQuantity)
}

// in returns a path below spec as KubeVirt's messages write it.
func (r *reader) in(format string, args ...any) string {
	return r.prefix + "." + fmt.Sprintf(format, args...)
}

// finder finds objects in the namespace of the definition.
func (r *reader) finder() kubedoc.Finder {
	return kubedoc.Finder{Ctx: r.ctx, Resolver: r.resolver, Namespace: r.namespace, Missing: CodeMissingObject, MissingKey: CodeMissingKey}
}

// resolve finds an object that v refers to by name. A missing one is an error at v, or a note when it is optional.
func (r *reader) resolve(v tree.Value, kind, name string, optional bool) (kubeobject.Object, bool) {
	return r.finder().Find(&r.list, v, kind, name, optional)
}

// dnsLabel says what is wrong with a DNS label (RFC 1123) of at most 63 characters, or returns an empty text.
func dnsLabel(text string) string {
	switch {
	case len(text) > 63:
		return "it has more than 63 characters"
	case !kubeobject.ValidName(text) || strings.Contains(text, "."):
		return "it consists of lower-case letters, digits and dashes, and begins and ends with a letter or digit"
	}
	return ""
}

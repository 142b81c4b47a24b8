// Package ovirt reads the virtual machines of oVirt: the elements vm, vms, template, action and initialization of its REST
// API in XML and JSON, of version 4 and of the ones before it, and the OVF that its engine writes. docs/compat/ovirt.md
// lists where the result differs from what an engine makes of the same document.
package ovirt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// Frontend is the front end for oVirt. Its zero value is ready for use.
type Frontend struct{}

var _ frontend.Frontend = Frontend{}

// Name returns ovirt.
func (Frontend) Name() string { return "ovirt" }

// Read turns documents into machines, one for each vm and template. An action is the machine that its vm describes, with the
// kind of first boot that its flags ask for.
func (Frontend) Read(_ context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	for _, doc := range src.Documents {
		if !doc.Tree.Exists() {
			l.Errorf(CodeNotVM, diag.At(doc.File, 1, 1), "", "a vm, template, action or initialization should stand here")
			continue
		}
		roots, problems := rootsOf(doc.Tree)
		l = append(l, problems...)
		for _, root := range roots {
			r := reader{root: root, m: &machine.Machine{}, places: machine.Places{}}
			r.m.Document = machine.Document{Form: "ovirt", Text: secret.FromBytes(doc.Data)}
			if r.read() {
				r.m.Places = r.places
				out = append(out, *r.m)
			}
			r.reportPassed()
			l = append(l, r.list...)
		}
		for _, e := range doc.Tree.Unread() {
			l.Add(diag.Diagnostic{Code: CodeNotActedUpon, Severity: diag.Warning, Range: e.Span(), Field: e.Value.Path(),
				Summary: "nothing reads this, so what it says is lost"})
			e.Value.Consume()
		}
	}
	return out, l
}

// root is the part of a document that is one machine.
type root struct {
	// action is the action around the vm, absent when there is none; vm is the vm or template, absent when the document is
	// an initialization alone; init is the initialization, absent when there is none.
	action, vm, init tree.Value
	// ovf is the envelope of an OVF; with it the others are absent.
	ovf tree.Value
}

// reader reads one vm. Its methods report troubles in list and go on, so that one run shows them all.
type reader struct {
	root
	list diag.List
	// kind is how the guest is set up at first boot.
	kind Kind

	m      *machine.Machine
	places machine.Places
	passed []passing
	// accounts are the indexes of the machine's users by name; that of the default user without a name is "".
	accounts map[string]int
}

// read fills the machine. It returns false when the document is none.
func (r *reader) read() bool {
	r.m.Compat = "ovirt"
	r.accounts = map[string]int{}
	if r.ovf.Exists() {
		r.at(r.ovf.Range(), "")
		return r.envelope(r.ovf)
	}
	first := r.first()
	r.at(first.Range(), "")
	r.actionMembers()
	r.imported()
	r.choose()
	r.vmMembers()
	r.initialization()
	r.payloads(r.vm.Get("payloads"))
	if slices.ContainsFunc(r.m.Disks, func(d machine.Disk) bool { return d.Device == "cdrom" }) {
		r.noSeed(r.vm.Get("cdroms")) // an engine makes none either, and the CD may be a prepared config drive
	}
	r.optical()
	r.nameIt(first)
	return true
}

// optical puts CDs where the guest has a driver: Windows brings one for SATA, and kernels for clouds may have none but that
// for virtio-scsi.
func (r *reader) optical() {
	if r.m.Guest.OS == "windows" {
		return
	}
	for i := range r.m.Disks {
		if r.m.Disks[i].Device == "cdrom" {
			r.m.Disks[i].Bus = "scsi"
		}
	}
	for i := range r.m.Media {
		if r.m.Media[i].Format == "iso" {
			r.m.Media[i].Bus = "scsi"
		}
	}
}

// first returns the outermost value that there is.
func (r *reader) first() tree.Value {
	for _, v := range []tree.Value{r.action, r.vm, r.init} {
		if v.Exists() {
			return v
		}
	}
	return tree.Value{}
}

// nameIt gives a name to a machine whose document has none: that of the guest, else vm.
func (r *reader) nameIt(first tree.Value) {
	if r.m.Name != "" {
		return
	}
	r.m.Name = "vm"
	place := first.Range()
	if label, _, _ := strings.Cut(r.m.Identity.Hostname, "."); vmName.MatchString(label) {
		r.m.Name, place = label, r.places.Find("identity.hostname")
	}
	r.at(place, "name")
}

// at records where a value of the machine stands in the document.
func (r *reader) at(place diag.Range, path string, args ...any) {
	if !place.IsZero() {
		r.places[fmt.Sprintf(path, args...)] = place
	}
}

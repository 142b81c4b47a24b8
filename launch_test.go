package vmseed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/hypervisor"
	"github.com/vmseed/vmseed/machine"
)

// starter is a hypervisor that builds memory only, and fails to start anything.
type starter struct{ err error }

func (s starter) Name() string { return "starter" }

func (s starter) Expresses() machine.FieldSet { return machine.NewFieldSet("hardware.memory") }

func (s starter) Start(context.Context, hypervisor.VM) (hypervisor.Handle, error) { return nil, s.err }

func (s starter) Open(context.Context, string) (hypervisor.Handle, error) { return nil, s.err }

func TestLaunchSaysWhatIsNotBuilt(t *testing.T) {
	refused := errors.New("refused")
	e := vmseed.Engine{Hypervisors: []hypervisor.Hypervisor{starter{refused}}}
	vm := hypervisor.VM{Machine: machine.Machine{Name: "x", Hardware: machine.Hardware{Memory: 1 << 30, TPM: true}}}
	_, l, err := e.Launch(t.Context(), "starter", vm)
	if !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
	if len(l) != 1 || l[0].Code != vmseed.CodeNotBuilt || l[0].Field != "hardware.tpm" {
		t.Errorf("diagnostics %v, want one about hardware.tpm", l)
	}
	if _, _, err := e.Launch(t.Context(), "nope", vm); !errors.Is(err, vmseed.ErrUnknown) {
		t.Errorf("an unknown hypervisor: %v", err)
	}
}

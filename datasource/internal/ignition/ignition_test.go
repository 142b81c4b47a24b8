package ignition

import (
	"testing"

	"github.com/vmseed/vmseed/machine"
)

func placed(t *testing.T, m machine.Machine) machine.Machine {
	t.Helper()
	if m.Name == "" {
		m.Name = "vm"
	}
	m, l := machine.Place(m, machine.Facts{})
	if l.HasErrors() {
		t.Fatal(l.Err())
	}
	return m
}

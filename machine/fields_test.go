package machine_test

import (
	"slices"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

func TestFieldsAreDistinct(t *testing.T) {
	fields := machine.Fields()
	for _, want := range []machine.Field{"name", "identity.tags", "users.sshAuthorizedKeys", "network.nics.routes.to",
		"media.files.content", "disks.source.ceph.secret", "userData.layers.merge", "caCerts", "stopGrace"} {
		if !slices.Contains(fields, want) {
			t.Errorf("%s is missing", want)
		}
	}
	sorted := slices.Sorted(slices.Values(fields))
	if len(slices.Compact(sorted)) != len(fields) {
		t.Error("a field is listed twice")
	}
}

// The sets must name fields that exist, or a renamed field would drop out of them unnoticed.
func TestSetsNameFields(t *testing.T) {
	for name, set := range map[string]machine.FieldSet{"hardware": machine.HardwareFields(), "control": machine.ControlFields()} {
		for _, f := range set.Fields() {
			below := machine.NewFieldSet(f)
			if !slices.ContainsFunc(machine.Fields(), below.Has) {
				t.Errorf("%s: there is no field %s", name, f)
			}
		}
	}
}

func TestFieldSet(t *testing.T) {
	s := machine.NewFieldSet("users", "network.nics.mac")
	for f, want := range map[machine.Field]bool{
		"users": true, "users.name": true, "usersX": false, "network": false, "network.nics.mac": true, "network.nics.macX": false,
	} {
		if s.Has(f) != want {
			t.Errorf("Has(%s) = %v", f, !want)
		}
	}
	u := s.Union(machine.NewFieldSet("name"))
	if !u.Has("name") || !u.Has("users") || s.Has("name") || len(u.Fields()) != 3 {
		t.Errorf("got %v", u.Fields())
	}
}

func TestUsedAndLost(t *testing.T) {
	off := false
	m := machine.Machine{
		Users:   []machine.User{{}, {Name: "a", Groups: []string{"x", "y"}, Sudo: []string{}}},
		Running: &off, Labels: map[string]string{},
	}
	got := machine.Used(m)
	want := []machine.Use{{"users.name", "users[1].name"}, {"users.groups", "users[1].groups"}, {"running", "running"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	lost := machine.Lost(m, machine.NewFieldSet("users.name"), machine.HardwareFields())
	if !slices.Equal(lost, want[1:2]) {
		t.Errorf("got %v", lost)
	}
	if used := machine.Used(machine.Machine{}); len(used) > 0 {
		t.Errorf("an empty machine uses %v", used)
	}
}

func TestClear(t *testing.T) {
	for _, f := range machine.Fields() {
		m := machinetest.Full()
		machine.Clear(&m, f)
		for _, u := range machine.Used(m) {
			if u.Field == f {
				t.Errorf("%s is still set", u.Path)
			}
		}
		if d := machinetest.Diff(machinetest.Full(), m); d == "" {
			t.Errorf("clearing %s changes nothing", f)
		}
	}
	m := machinetest.Full()
	copied := m
	machine.Clear(&copied, "network.nics.routes.metric")
	machine.Clear(&copied, "name.deeper")
	machine.Clear(&copied, "nothing")
	if d := machinetest.Diff(machinetest.Full(), m); d != "" {
		t.Errorf("clearing a copy changes the original: %s", d)
	}
	machine.Clear(&copied, "users")
	if copied.Users != nil {
		t.Error("a group of fields is not cleared")
	}
}

func TestPlaces(t *testing.T) {
	p := machine.Places{"": diag.At("f", 1, 1), "users": diag.At("f", 2, 1), "users[1]": diag.At("f", 3, 1), "users[1].name": diag.At("f", 4, 1)}
	for path, line := range map[string]int{"users[1].name": 4, "users[1].uid": 3, "users[0].uid": 2, "files[0].path": 1, "": 1} {
		if got := p.Find(path).Start.Line; got != line {
			t.Errorf("%s is found in line %d, want %d", path, got, line)
		}
	}
	if got := (machine.Places(nil)).Find("users[0]"); !got.IsZero() {
		t.Errorf("nil places find %v", got)
	}
}

func TestModeBits(t *testing.T) {
	if machine.NoAccess.Bits() != 0 || machine.NoAccess == 0 || machine.Mode(0o4755).Bits() != 0o4755 {
		t.Error("wrong bits")
	}
}

func TestCodesAreExplained(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range machine.Codes() {
		explained[e.Code] = e.Title != "" && e.Text != ""
	}
	for c := machine.CodeDuplicateMAC; c <= machine.CodeNoSlot; c++ {
		if !explained[c] {
			t.Errorf("%v is not explained", c)
		}
	}
}

package machinetest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

func TestFullHasEveryField(t *testing.T) {
	used := map[machine.Field]bool{}
	for _, u := range machine.Used(machinetest.Full()) {
		used[u.Field] = true
	}
	for _, f := range machine.Fields() {
		if !used[f] {
			t.Errorf("field %s is not set", f)
		}
	}
}

func TestFullCanBePlaced(t *testing.T) {
	for name, m := range map[string]machine.Machine{"Full": machinetest.Full(), "Generated": machinetest.Generated()} {
		if _, l := machine.Place(m, machine.Facts{}); len(l) > 0 {
			t.Errorf("%s: %v", name, l)
		}
	}
}

func TestFullIsFresh(t *testing.T) {
	a := machinetest.Full()
	a.Users[0].Name, a.Labels["app"], *a.Running = "other", "other", false
	if d := machinetest.Diff(machinetest.Full(), a); strings.Count(d, "\n") != 6 {
		t.Errorf("changes of one machine show in another: %s", d)
	}
}

func TestSecretsAreDistinct(t *testing.T) {
	secrets := machinetest.Secrets(machinetest.Full())
	sorted := slices.Sorted(slices.Values(secrets))
	if n := len(slices.Compact(sorted)); n != len(secrets) || n < 15 {
		t.Errorf("%d of %d secrets are distinct", n, len(secrets))
	}
}

// Every field must show in a dump, or golden files would not notice that it is lost.
func TestDiffNoticesEveryField(t *testing.T) {
	for _, f := range machine.Fields() {
		m := machinetest.Full()
		machine.Clear(&m, f)
		if d := machinetest.Diff(machinetest.Full(), m); !strings.Contains(d, "- ") {
			t.Errorf("Diff does not notice that %s is missing", f)
		}
		if machinetest.Dump(m) == machinetest.Dump(machinetest.Full()) {
			t.Errorf("Dump does not show %s", f)
		}
	}
	if d := machinetest.Diff(machinetest.Full(), machinetest.Full()); d != "" {
		t.Errorf("equal machines differ: %s", d)
	}
}

func TestDump(t *testing.T) {
	running := false
	m := machine.Machine{
		Name: "a", Files: []machine.File{{Mode: machine.NoAccess}, {}, {Mode: 0o644, Path: "/x\ny"}},
		Running: &running, Labels: map[string]string{"b": "2", "a": "1"}, StopGrace: 90e9,
	}
	want := `name = a
files[0].mode = 0000
files[1] = nothing
files[2].path = |
	/x
	y
files[2].mode = 0644
running = false
stopGrace = 1m30s
labels["a"] = 1
labels["b"] = 2
`
	if got := machinetest.Dump(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

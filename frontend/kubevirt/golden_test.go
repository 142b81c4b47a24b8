package kubevirt_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// load reads files with the front end.
func load(o frontend.Options, files ...frontendtest.File) ([]machine.Machine, diag.List) {
	return frontendtest.Load(kubevirt.Frontend{}, o, files...)
}

// fixtures reads files of a directory whose names stand between spaces.
func fixtures(t testing.TB, dir, names string) []frontendtest.File {
	t.Helper()
	var out []frontendtest.File
	for _, name := range strings.Fields(names) {
		out = append(out, fixture(t, dir+name))
	}
	return out
}

// dump shows machines with where the values that a guest tells apart by stand, and diagnostics of all severities.
func dump(machines []machine.Machine, l diag.List) string {
	var b strings.Builder
	for _, m := range machines {
		fmt.Fprintf(&b, "# machine\n%s", machinetest.Dump(m))
	}
	fmt.Fprintf(&b, "# diagnostics\n")
	for _, d := range l {
		fmt.Fprintln(&b, d.Error())
		for _, r := range d.Related {
			fmt.Fprintf(&b, "    %s: %s\n", r.Range, r.Message)
		}
	}
	return b.String()
}

// compare compares got with a file, or writes it.
func compare(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// TestGolden reads the documents that use everything.
func TestGolden(t *testing.T) {
	for name, files := range map[string]string{
		"vm":    "vm.yaml objects.yaml",
		"vmi":   "vmi.yaml objects.yaml",
		"old":   "old.yaml kubevirt.yaml",
		"typed": "typed.yaml types.yaml volume.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			machines, l := load(frontend.Options{}, fixtures(t, suite, files)...)
			compare(t, suite+"want-"+name+".txt", dump(machines, l))
			if l.HasErrors() {
				t.Error(l.Err())
			}
		})
	}
}

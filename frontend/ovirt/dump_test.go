package ovirt_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/frontend/ovirt"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// read reads one document.
func read(name, text string) ([]machine.Machine, diag.List) {
	return frontendtest.Load(ovirt.Frontend{}, frontend.Options{}, frontendtest.File{Name: name, Text: text})
}

// dump shows what was read and what was said about it.
func dump(machines []machine.Machine, l diag.List) string {
	out := ""
	for _, m := range machines {
		out += machinetest.Dump(m)
	}
	for _, d := range l {
		out += d.Error() + "\n"
	}
	return out
}

// fixture reads a file of testdata.
func fixture(t testing.TB, name string) frontendtest.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return frontendtest.File{Name: name, Text: string(data)}
}

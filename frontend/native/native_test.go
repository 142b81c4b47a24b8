package native_test

import (
	"context"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// read reads documents that refer to no objects.
func read(text string) ([]machine.Machine, diag.List) {
	return native.New().Read(context.Background(), frontend.Source{
		Documents: []frontend.Document{{File: "in.yaml", Data: []byte(text)}},
		Resolver:  &kubeobject.Manifest{},
	})
}

func TestWriteReadFull(t *testing.T) {
	full := machinetest.Full()
	text, l := native.New().Write(full)
	if len(l) > 0 {
		t.Fatalf("%v", l)
	}
	got, l := read(string(text))
	if len(l) > 0 || len(got) != 1 {
		t.Fatalf("got %d machines and %v from\n%s", len(got), l, text)
	}
	if d := machinetest.Diff(full, got[0]); d != "" {
		t.Errorf("%s\nfrom\n%s", d, text)
	}
}

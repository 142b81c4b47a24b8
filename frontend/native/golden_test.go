package native_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// readFile reads a YAML stream as the engine does: objects serve the definitions beside them.
func readFile(t *testing.T, name string, data []byte) ([]machine.Machine, diag.List) {
	t.Helper()
	trees, l := tree.Parse(name, data, bounded.Limits{})
	objects, rest, more := kubeobject.Read(trees)
	manifest, last := kubeobject.NewManifest(objects)
	l = append(append(l, more...), last...)
	src := frontend.Source{Resolver: manifest}
	for _, v := range rest {
		src.Documents = append(src.Documents, frontend.Document{File: name, Data: data, Tree: v})
	}
	machines, found := native.New().Read(context.Background(), src)
	return machines, append(l, found...)
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	examples, err := filepath.Glob("../../examples/native/*.yaml")
	if err != nil || len(examples) < 3 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, file := range append(files, examples...) {
		want := filepath.Join(filepath.Dir(file), "want.txt")
		if strings.Contains(file, "examples") {
			want = filepath.Join("testdata", "example-"+strings.TrimSuffix(filepath.Base(file), ".yaml")+".txt")
		}
		t.Run(filepath.Base(filepath.Dir(file))+"/"+filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			machines, l := readFile(t, filepath.Base(file), data)
			var b strings.Builder
			for _, d := range l {
				b.WriteString(d.Error() + "\n")
			}
			for _, m := range machines {
				b.WriteString("---\n" + machinetest.Dump(m))
			}
			if flag.Lookup("update").Value.String() == "true" {
				if err := os.WriteFile(want, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			have, err := os.ReadFile(want)
			if err != nil {
				t.Fatal(err)
			}
			if string(have) != b.String() {
				t.Errorf("got\n%s\nwant\n%s", b.String(), have)
			}
			for _, m := range machines {
				checkRoundTrip(t, m)
			}
		})
	}
}

// checkRoundTrip writes a machine and reads it back.
func checkRoundTrip(t *testing.T, m machine.Machine) {
	t.Helper()
	text, l := native.New().Write(m)
	if len(l) > 0 {
		t.Errorf("%v", l)
		return
	}
	again, l := read(string(text))
	if len(again) != 1 || l.HasErrors() {
		t.Errorf("got %d machines and %v from\n%s", len(again), l, text)
		return
	}
	if d := machinetest.Diff(m, again[0]); d != "" {
		t.Errorf("written and read back:\n%s\nfrom\n%s", d, text)
	}
	if second, _ := native.New().Write(again[0]); string(second) != string(text) {
		t.Errorf("written twice:\n%s\n%s", text, second)
	}
}

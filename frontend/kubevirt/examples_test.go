package kubevirt_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/kubevirt"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// file is a file of an input.
type file struct{ name, text string }

// readFiles reads files as the engine does: objects serve the definitions. Diagnostics are returned one a line.
func readFiles(t testing.TB, files ...file) ([]machine.Machine, diag.List, string) {
	t.Helper()
	var values []tree.Value
	var l diag.List
	data := map[string][]byte{}
	for _, f := range files {
		v, found := tree.Parse(f.name, []byte(f.text), bounded.Defaults())
		values, l = append(values, v...), append(l, found...)
		data[f.name] = []byte(f.text)
	}
	objects, rest, found := kubeobject.Read(values)
	l = append(l, found...)
	manifest, found := kubeobject.NewManifest(objects)
	l = append(l, found...)
	src := frontend.Source{Resolver: manifest}
	for _, v := range rest {
		src.Documents = append(src.Documents, frontend.Document{File: v.File(), Data: data[v.File()], Tree: v})
	}
	machines, found := kubevirt.Frontend{}.Read(context.Background(), src)
	l = append(l, found...).Sorted()
	var lines strings.Builder
	for _, d := range l {
		fmt.Fprintln(&lines, d.Error())
		for _, r := range d.Related {
			fmt.Fprintf(&lines, "    %s: %s\n", r.Range, r.Message)
		}
	}
	return machines, l, lines.String()
}

// TestExamples reads the examples that users see. The first ones are those of KubeVirt's own documentation.
func TestExamples(t *testing.T) {
	const dir = "../../examples/kubevirt/"
	for name, c := range map[string]struct {
		files string
		wrong bool
	}{
		"ignition":         {files: "myvm1.yml kubevirt-config.yaml"},
		"ignition-mended":  {files: "myvm1-mended.yml kubevirt-config.yaml"},
		"ignition-no-gate": {files: "myvm1-mended.yml", wrong: true},
		"inline":           {files: "testvm-inline.yaml"},
		"secret":           {files: "testvm-secret.yaml my-vm-secret.yaml", wrong: true},
		"secret-mended":    {files: "testvm-secret.yaml my-vm-userdata.yaml"},
		"provider":         {files: "testvm-provider.yaml", wrong: true},
		"extended":         {files: "extended-vm.yaml extended-objects.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			var files []file
			for _, f := range strings.Fields(c.files) {
				data, err := os.ReadFile(dir + f)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, file{f, string(data)})
			}
			machines, l, lines := readFiles(t, files...)
			var b bytes.Buffer
			for _, m := range machines {
				fmt.Fprintf(&b, "# machine\n%s", machinetest.Dump(m))
			}
			fmt.Fprintf(&b, "# diagnostics\n%s", lines)
			compare(t, filepath.Join("testdata", "example-"+name+".txt"), b.String())
			if l.HasErrors() != c.wrong {
				t.Errorf("errors %v, want %v", l.HasErrors(), c.wrong)
			}
		})
	}
}

// compare compares got with a file, or writes it.
func compare(t *testing.T, name, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
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

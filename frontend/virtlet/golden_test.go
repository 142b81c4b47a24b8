package virtlet_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with a file, or writes it.
func golden(t *testing.T, name, got string) {
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

// TestGolden reads every directory of testdata.
func TestGolden(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, in := range dirs {
		dir := filepath.Dir(in)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			golden(t, filepath.Join(dir, "want.txt"), dump(load(readFile(t, in))))
		})
	}
}

// TestExamples reads the examples that users see, of which the first is the one of Virtlet's own documentation.
func TestExamples(t *testing.T) {
	const dir = "../../examples/virtlet/"
	for _, c := range []struct {
		name  string
		files []string
	}{
		{"seed", []string{"pod.yaml", "objects.yaml"}},
		{"extended", []string{"extended-pod.yaml", "extended-objects.yaml", "extended-keys.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files [][2]string
			for _, name := range c.files {
				files = append(files, readFile(t, dir+name))
			}
			machines, l := load(files...)
			golden(t, "testdata/example-"+c.name+".txt", dump(machines, l))
			if l.HasErrors() {
				t.Error(l.Err())
			}
		})
	}
}

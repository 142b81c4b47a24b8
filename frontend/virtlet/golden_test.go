package virtlet_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// TestExamples reads the examples that users see, of which the first is the one of Virtlet's own documentation, and the
// pod that uses everything.
func TestExamples(t *testing.T) {
	const dir, suite = "../../examples/virtlet/", "testdata/suite/"
	for _, c := range []struct {
		name  string
		files []string
	}{
		{"seed", []string{dir + "pod.yaml", dir + "objects.yaml"}},
		{"extended", []string{dir + "extended-pod.yaml", dir + "extended-objects.yaml", dir + "extended-keys.yaml"}},
		{"everything", []string{suite + "full.yaml", suite + "objects.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var files [][2]string
			for _, name := range c.files {
				files = append(files, readFile(t, name))
			}
			machines, l := load(files...)
			golden(t, "testdata/example-"+c.name+".txt", dump(machines, l))
			if l.HasErrors() {
				t.Error(l.Err())
			}
		})
	}
}

// TestDocumentedPodIsVerbatim holds that examples/virtlet/pod.yaml is the pod of Virtlet's documentation: the sum is that
// of its lines as published, blanks aside.
func TestDocumentedPodIsVerbatim(t *testing.T) {
	const published = "3854bec225bef133adf152a655340bd4f9192440ae318f754c9be17dcb393667"
	var lines []string
	for line := range strings.Lines(readFile(t, "../../examples/virtlet/pod.yaml")[1]) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(lines, "\n")))); sum != published {
		t.Errorf("the pod was changed: its sum is %s", sum)
	}
}

//go:build linux

package api_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the operations into docs/reference/api.md")

// TestPage holds the table of operations in the reference equal to the document.
func TestPage(t *testing.T) {
	const page, begins, ends = "../../docs/reference/api.md", "<!-- operations -->\n", "<!-- /operations -->"
	d, _ := readDocument(t)
	table := "| | |\n|---|---|\n"
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, method := range []string{"get", "post", "patch", "delete"} {
			if op, ok := d.Paths[path][method]; ok {
				table += fmt.Sprintf("| `%s %s` | %s |\n", strings.ToUpper(method), path, op.Summary)
			}
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(data), begins)
	_, tail, ok2 := strings.Cut(rest, ends)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the operations", page)
	}
	want := head + begins + table + ends + tail
	if *update {
		err = os.WriteFile(page, []byte(want), 0o644)
	} else if want != string(data) {
		t.Errorf("%s is not up to date: go test ./daemon/api -run TestPage -update", page)
	}
	if err != nil {
		t.Error(err)
	}
}

package archtest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// fileBlock is a file of a recipe: its name in a line of its own, then its text.
	fileBlock = regexp.MustCompile("(?ms)^`([\\w./-]+\\.go)`:\n\n```go\n(.*?)^```$")
	// edit is a change of a list.
	edit = regexp.MustCompile("(?m)^- In `([^`]+)`, behind `([^`]+)`, add `([^`]+)`\\.$")
)

// TestRecipes follows the pages of docs/how-to that add a plug-in: it lays their files over the tree, makes their
// changes, and runs the tests of the new package and the command with the new list.
func TestRecipes(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIP-MISSING: the go command is not in PATH")
	}
	pages, err := filepath.Glob("../../docs/how-to/add-a-*.md")
	if err != nil || len(pages) < 4 {
		t.Fatalf("%d recipes, %v", len(pages), err)
	}
	for _, page := range pages {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) { recipe(t, page) })
	}
}

func recipe(t *testing.T, page string) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{} // those that the recipe makes or changes
	plugin := ""
	for _, m := range fileBlock.FindAllStringSubmatch(string(text), -1) {
		// A file of the tree is only shown; its own tests run with all others.
		if have, err := os.ReadFile(filepath.Join(root, m[1])); err == nil {
			if string(have) != m[2] {
				t.Errorf("%s differs from what the page shows", m[1])
			}
			continue
		}
		files[m[1]], plugin = m[2], path.Dir(m[1])
	}
	list := ""
	for _, m := range edit.FindAllStringSubmatch(string(text), -1) {
		name, behind, add := m[1], m[2], m[3]
		if files[name] == "" {
			data, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(data)
		}
		if strings.Count(files[name], behind) != 1 {
			t.Fatalf("%s has %q %d times", name, behind, strings.Count(files[name], behind))
		}
		files[name] = strings.Replace(files[name], behind, behind+"\n"+add, 1)
		list = path.Dir(name)
	}
	if len(files) < 3 || list == "" {
		t.Fatalf("the recipe has %d files and changes no list", len(files))
	}
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	dir := t.TempDir()
	for name, content := range files {
		at := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(root, name)] = at
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "recipe.test")
	run := func(dir, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", filepath.Base(name), args[0], err, out)
		}
	}
	// go test would change into the directory of the package, which is not there.
	run(root, "go", "build", "-overlay", file, "./"+list)
	run(root, "go", "test", "-c", "-vet=off", "-overlay", file, "-o", binary, "./"+plugin)
	run(dir, binary, "-test.run=.")
}

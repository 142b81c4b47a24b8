package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRead lets the real go test run a module with every outcome.
func TestRead(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIP-MISSING: the go command is not in PATH")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module m\n\ngo 1.26\n",
		"a/a_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestPass(t *testing.T) {}\n\nfunc TestSub(t *testing.T) {\n\tt.Run(\"x\", func(t *testing.T) {})\n\tt.Run(\"y\", func(t *testing.T) { t.Error(\"wrong\") })\n}\n",
		"a/b_test.go":    "package a\n\nimport \"testing\"\n\nfunc TestTool(t *testing.T) {\n\tt.Log(\"looking\")\n\tt.Skip(\"SKIP-MISSING: no tool\")\n}\n\nfunc TestOther(t *testing.T) { t.Skip(\"not here\") }\n",
		"b/b_test.go":    "package b\n\nimport \"testing\"\n\nfunc TestMain(m *testing.M) { panic(\"before any test\") }\n",
		"c/c_test.go":    "package c\n\nfunc broken( {\n",
		"main/m_test.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { fmt.Println(\"SKIP-MISSING: no root\") }\n",
		"good/good.go":   "package good\n",
		"d/d_test.go":    "package d\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestGone(t *testing.T) { os.Exit(3) }\n",
		"good/g_test.go": "package good\n\nimport \"testing\"\n\nfunc TestGood(t *testing.T) {}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(goTool, "test", "-json", "./...")
	cmd.Dir = dir
	output, err := cmd.Output()
	if err == nil {
		t.Fatal("go test is content")
	}
	var out bytes.Buffer
	c, err := Read(bufio.NewReader(bytes.NewReader(output)), &out)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(c.Failed)
	if want := []string{"m/a TestSub/y", "m/b", "m/c", "m/d"}; !slices.Equal(c.Failed, want) {
		t.Errorf("failed %q, want %q", c.Failed, want)
	}
	if c.Passed != 3 {
		t.Errorf("%d passed, want TestPass, TestSub/x and TestGood", c.Passed)
	}
	slices.SortFunc(c.Skipped, func(a, b Skip) int { return strings.Compare(a.Test, b.Test) })
	if len(c.Skipped) != 3 || c.Skipped[0].Missing() || !c.Skipped[1].Missing() || c.Skipped[0].Reason != "not here" || c.Skipped[2] != (Skip{"m/main", "SKIP-MISSING: no root"}) {
		t.Errorf("skipped %+v", c.Skipped)
	}
	for _, want := range []string{"wrong", "before any test", "ok    m/good", "skip  m/a TestTool: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output does not mention %q:\n%s", want, out.String())
		}
	}
}

func TestTotal(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if err := run([]string{"step", "unit", "true", "true"}, &out); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"total", "unit"}, &out); err != nil {
		t.Error(err)
	}
	if err := run([]string{"total", "unit", "e2e"}, &out); err == nil || !strings.Contains(out.String(), "the phase e2e did not run") {
		t.Errorf("a phase that did not run passes: %v", err)
	}
	if err := add("unit", Counts{Skipped: []Skip{{"a", "no network here"}}}); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"total", "unit"}, &out); err != nil {
		t.Error(err)
	}
	if err := add("unit", Counts{Skipped: []Skip{{"a", "SKIP-MISSING: no tool"}}}); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"total", "unit"}, &out); err == nil {
		t.Error("a missing tool passes")
	}
	if err := run([]string{"step", "cross", "false", "false"}, &out); err == nil {
		t.Error("a failed command passes")
	}
	if err := run([]string{"total", "cross"}, &out); err == nil {
		t.Error("a failed step passes")
	}
	for _, args := range [][]string{nil, {"step", "unit", "x"}, {"dance", "unit"}} {
		if run(args, &out) == nil {
			t.Errorf("%q passes", args)
		}
	}
}

package archtest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vmseed/vmseed/internal/archtest"
)

// TestArchitecture holds the rules against this module.
func TestArchitecture(t *testing.T) {
	tree, err := archtest.Load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 30 {
		t.Fatalf("only %d packages found: the rules have nothing to look at", len(tree.Packages))
	}
	hold(t, tree, archtest.Rules())
}

// TestArchitectureKube holds the rules against the packages of the nested module kube.
func TestArchitectureKube(t *testing.T) {
	tree, err := archtest.LoadNested(os.DirFS("../.."), "kube")
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Packages) < 10 {
		t.Fatalf("only %d packages found: the rules have nothing to look at", len(tree.Packages))
	}
	hold(t, tree, archtest.NestedRules())
}

func hold(t *testing.T, tree *archtest.Tree, rules []archtest.Rule) {
	t.Helper()
	for _, rule := range rules {
		t.Run(strings.ReplaceAll(rule.Name, " ", "_"), func(t *testing.T) {
			problems := rule.Check(tree)
			for _, p := range problems {
				t.Errorf("%s: %s", p.Place, p.Text)
			}
			if len(problems) > 0 {
				t.Errorf("why: %s", rule.Why)
			}
		})
	}
}

// TestRulesFail holds each rule against a module that breaks it, so that a rule which has gone blind is noticed. A file
// testdata/<rule>.txtar says in its head which complaints are due, one a line; there must be no others.
func TestRulesFail(t *testing.T) {
	for _, rule := range archtest.Rules() {
		name := strings.ReplaceAll(rule.Name, " ", "-")
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
			if err != nil {
				t.Fatalf("the rule has no example that breaks it: %v", err)
			}
			fsys := fstest.MapFS{}
			for _, f := range archive.Files {
				fsys[f.Name] = &fstest.MapFile{Data: expand(f.Data)}
			}
			tree, err := archtest.Load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range rule.Check(tree) {
				got = append(got, p.Place+": "+p.Text)
			}
			want := strings.Split(strings.TrimSpace(string(expand(archive.Comment))), "\n")
			if len(want) < 1 || len(got) != len(want) {
				t.Errorf("got %d complaints, want %d", len(got), len(want))
			}
			for i := range max(len(got), len(want)) {
				switch {
				case i >= len(want):
					t.Errorf("undue: %s", got[i])
				case i >= len(got):
					t.Errorf("missing: %s", want[i])
				case !strings.HasPrefix(got[i], want[i]):
					t.Errorf("got  %s\nwant %s", got[i], want[i])
				}
			}
		})
	}
}

// repeat is a line that an example repeats, to be long without being unreadable.
var repeat = regexp.MustCompile(`(?m)^(.*) // repeat ([0-9]+)\n`)

// expand writes repeated lines out, and puts the checkout's own directory for @CHECKOUT@.
func expand(data []byte) []byte {
	wd, _ := os.Getwd()
	checkout := strings.TrimSuffix(wd, "/internal/archtest")
	text := strings.ReplaceAll(string(data), "@CHECKOUT@", checkout)
	return []byte(repeat.ReplaceAllStringFunc(text, func(s string) string {
		m := repeat.FindStringSubmatch(s)
		n := 0
		for _, digit := range m[2] {
			n = n*10 + int(digit-'0')
		}
		return strings.Repeat(m[1]+"\n", n)
	}))
}

package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func textRules() []Rule {
	return []Rule{
		{"open ends", "a note to oneself is read by everybody; what is open belongs in an issue", checkOpenEnds},
		{"paths of a machine", "a path of one developer's machine means nothing on any other", checkMachinePaths},
		{"reasons for skipping", "a test that does not run and does not say why looks like one that passed", checkSkips},
		{"links", "a page that leads nowhere sends its reader away", checkLinks},
		{"trailing space", "it makes differences that nobody sees", checkSpace},
	}
}

func (t *Tree) textNames() []string { return slices.Sorted(maps.Keys(t.Texts)) }

// find returns a problem for each match in a text file.
func (t *Tree) find(re *regexp.Regexp, skip func(string) bool, format string) []Problem {
	var out []Problem
	for _, name := range t.textNames() {
		if skip(name) {
			continue
		}
		n := 0
		for line := range bytes.Lines(t.Texts[name]) {
			n++
			if m := re.FindSubmatch(line); m != nil {
				out = append(out, Problem{fmt.Sprintf("%s:%d", name, n), fmt.Sprintf(format, m[1])})
			}
		}
	}
	return out
}

// inTestdata reports whether a file is an example for tests, which may hold anything.
func inTestdata(name string) bool { return strings.Contains(name, "testdata/") }

func checkOpenEnds(t *Tree) []Problem {
	// The words are put together here so that the rule does not find itself.
	re := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X:|HA` + `CK)\b`)
	return t.find(re, inTestdata, "%s")
}

// checkMachinePaths looks for the directories of the machine that runs the test: the checkout, the Go installation and
// its caches, the home directory. Directories that exist everywhere, such as /tmp and /root, are none of a machine.
func checkMachinePaths(t *Tree) []Problem {
	var dirs []string
	add := func(dir string) {
		everywhere := []string{"/", "/root", "/home", "/tmp", "/dev/shm", "/src", "/app", "/usr/local/go", "/usr/lib/go", "."}
		if dir = filepath.Clean(dir); filepath.IsAbs(dir) && !slices.Contains(everywhere, dir) {
			dirs = append(dirs, regexp.QuoteMeta(dir))
		}
	}
	if wd, err := os.Getwd(); err == nil {
		checkout := filepath.Dir(filepath.Dir(wd))
		add(checkout)
		add(filepath.Dir(checkout))
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home)
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		add(os.Getenv(name))
	}
	if len(dirs) == 0 {
		return nil
	}
	re := regexp.MustCompile(`(?:^|[^\w.@/-])((?:` + strings.Join(dirs, "|") + `)/[\w.-]+)`)
	return t.find(re, inTestdata, "%s")
}

// checkSkips wants a reason as a literal, or a format that begins with one, in every call of Skip.
func checkSkips(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				x, named := ast.Expr(nil), false
				if ok {
					x = sel.X
					_, named = x.(*ast.Ident)
				}
				if !ok || !named || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) || !slices.Contains([]string{"t", "b", "tb", "f"}, x.(*ast.Ident).Name) {
					return true
				}
				if len(call.Args) == 0 || !says(call.Args[0]) {
					out = append(out, t.at(call, "%s without a reason in words", sel.Sel.Name))
				}
				return true
			})
		}
	}
	return out
}

// says reports whether an expression begins with a text of some length.
func says(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Kind == token.STRING && len(e.Value) > len(`"no x"`)
	case *ast.BinaryExpr:
		return says(e.X)
	}
	return false
}

// link is the target of a Markdown link.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// checkLinks wants the relative links of documents to lead to files and directories that exist.
func checkLinks(t *Tree) []Problem {
	var out []Problem
	for _, name := range t.textNames() {
		if path.Ext(name) != ".md" || inTestdata(name) {
			continue
		}
		for _, m := range link.FindAllSubmatch(t.Texts[name], -1) {
			target, _, _ := strings.Cut(string(m[1]), "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			if !t.Paths[path.Join(path.Dir(name), target)] {
				out = append(out, Problem{name, "there is no " + target})
			}
		}
	}
	return out
}

func checkSpace(t *Tree) []Problem {
	return t.find(regexp.MustCompile(`([ \t])\r?\n?$`), func(name string) bool { return inTestdata(name) || path.Ext(name) == ".go" }, "%q at the end of the line")
}

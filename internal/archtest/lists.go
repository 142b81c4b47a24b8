package archtest

import (
	"fmt"
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// maxModules is the number of modules that go.mod may name directly and that are shipped. Those of tests do not count.
const maxModules = 20

func listRules() []Rule {
	return []Rule{
		{"modules", "each module is code that nobody here wrote and everybody here ships; it needs a reason", checkModules},
		{"lists of plug-ins", "a plug-in that is not in its kind's list is dead code", checkPlugins},
		{"list of fuzz targets", "a fuzz target that nobody runs rots", checkFuzz},
	}
}

// checkModules wants a row | `module` | reason | in ARCHITECTURE.md for each direct requirement, and no other rows.
func checkModules(t *Tree) []Problem {
	var direct []string
	var out []Problem
	for line := range strings.Lines(string(t.Texts["go.mod"])) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) == 2 && strings.HasPrefix(fields[1], "v") && strings.Contains(fields[0], ".") {
			direct = append(direct, fields[0])
		}
		if strings.HasSuffix(strings.TrimSpace(line), "// indirect") && t.imported(fields[0], (*Package).all) {
			out = append(out, Problem{"go.mod", fields[0] + " is imported, so it is not indirect"})
		}
	}
	if shipped := slices.DeleteFunc(slices.Clone(direct), func(m string) bool { return !t.imported(m, (*Package).code) }); len(shipped) > maxModules {
		out = append(out, Problem{"go.mod", fmt.Sprintf("%d direct modules are shipped, at most %d", len(shipped), maxModules)})
	}
	reasons := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| *`([a-zA-Z0-9.-]+\\.[a-z]+/[^`]+)` *\\| *\\S").FindAllStringSubmatch(string(t.Texts["ARCHITECTURE.md"]), -1) {
		reasons[m[1]] = true
	}
	for _, m := range direct {
		if !reasons[m] {
			out = append(out, Problem{"go.mod", "ARCHITECTURE.md gives no reason for " + m})
		}
		delete(reasons, m)
		if !t.imported(m, (*Package).all) {
			out = append(out, Problem{"go.mod", "nothing imports " + m})
		}
	}
	for _, m := range slices.Sorted(maps.Keys(reasons)) {
		out = append(out, Problem{"ARCHITECTURE.md", "gives a reason for " + m + ", which go.mod does not require"})
	}
	return out
}

// imported reports whether some file, of those of each package that count, imports a package of another module.
func (t *Tree) imported(module string, files func(*Package) []*File) bool {
	for _, p := range t.Packages {
		for _, f := range files(p) {
			for name := range f.imports() {
				if name == module || strings.HasPrefix(name, module+"/") {
					return true
				}
			}
		}
	}
	return false
}

// checkPlugins wants every package directly below a kind that declares a type with a method Name() string in the kind's
// list.
func checkPlugins(t *Tree) []Problem {
	var out []Problem
	for _, kind := range []string{"frontend", "datasource", "delivery", "hypervisor"} {
		listed := map[string]bool{}
		there := false
		for _, p := range t.Packages {
			if p.Dir == kind+"/all" {
				there = true
				for _, f := range p.code() {
					for name := range f.imports() {
						listed[strings.TrimPrefix(name, t.Module+"/")] = true
					}
				}
			}
		}
		for _, p := range t.Packages {
			if path.Dir(p.Dir) != kind || forTests(p.Dir) || !isPlugin(p) {
				continue
			}
			if !there {
				out = append(out, Problem{kind + "/all", "does not exist"})
				break
			}
			if !listed[p.Dir] {
				out = append(out, Problem{p.Dir, "is not in " + kind + "/all"})
			}
		}
	}
	return out
}

func isPlugin(p *Package) bool {
	for _, f := range p.code() {
		for _, d := range f.AST.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv != nil && fn.Name.Name == "Name" && fn.Type.Params.NumFields() == 0 && receiverExported(fn) {
				return true
			}
		}
	}
	return false
}

// fuzzEntry is an element of the Makefile's list: directory, colon, function.
var fuzzEntry = regexp.MustCompile(`(?m)^\s+(\./\S*):(Fuzz\w+) *\\?$`)

func checkFuzz(t *Tree) []Problem {
	var out []Problem
	listed := map[string]bool{}
	for _, m := range fuzzEntry.FindAllStringSubmatch(string(t.Texts["Makefile"]), -1) {
		listed[path.Clean(m[1])+":"+m[2]] = true
	}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, d := range f.AST.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || !f.Test || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Fuzz") {
					continue
				}
				entry := p.Dir + ":" + fn.Name.Name
				if !listed[entry] {
					out = append(out, t.at(fn, "the Makefile's FUZZ does not list ./%s", entry))
				}
				delete(listed, entry)
			}
		}
	}
	for _, entry := range slices.Sorted(maps.Keys(listed)) {
		out = append(out, Problem{"Makefile", "FUZZ lists ./" + entry + ", which does not exist"})
	}
	return out
}

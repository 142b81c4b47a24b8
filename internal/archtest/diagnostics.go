package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

func diagnosticRules() []Rule {
	return []Rule{
		{"diagnostic codes", "users look codes up, scripts and tests rely on them: a code means one thing, for ever, and is explained", checkCodes},
	}
}

// code is a constant of type diag.Code.
type code struct {
	name  string
	value int
	dir   string
	spec  ast.Node
}

// codes returns the diagnostic codes of a file. Their values are a number, or a number plus iota.
func (t *Tree) codes(p *Package, f *File) (out []code, problems []Problem) {
	d := f.name(t.Module + "/diag")
	if p.Dir == "diag" || d == "" {
		return nil, nil
	}
	for _, decl := range f.AST.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.CONST {
			continue
		}
		var current *ast.ValueSpec
		for i, spec := range gen.Specs {
			s := spec.(*ast.ValueSpec)
			if len(s.Values) > 0 {
				current = s
			}
			sel, ok := current.Type.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Code" || !isName(sel.X, d) {
				continue
			}
			value, ok := evaluate(current.Values[0], i)
			if !ok {
				problems = append(problems, t.at(s, "%s: write the value as a number, or a number plus iota", s.Names[0].Name))
				continue
			}
			out = append(out, code{s.Names[0].Name, value, p.Dir, s})
		}
	}
	return out, problems
}

func isName(e ast.Expr, name string) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == name
}

func evaluate(e ast.Expr, iota int) (int, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.Atoi(e.Value)
		return n, err == nil
	case *ast.Ident:
		return iota, e.Name == "iota"
	case *ast.BinaryExpr:
		x, ok1 := evaluate(e.X, iota)
		y, ok2 := evaluate(e.Y, iota)
		return x + y, ok1 && ok2 && e.Op == token.ADD
	}
	return 0, false
}

// block is a row of the table of codes in ARCHITECTURE.md.
type block struct {
	from, to int
	dir      string
}

var blockRow = regexp.MustCompile("(?m)^\\| *VS([0-9]{4})[–-]VS([0-9]{4}) *\\| *`([^`]+)`")

func (t *Tree) blocks() []block {
	var out []block
	for _, m := range blockRow.FindAllStringSubmatch(string(t.Texts["ARCHITECTURE.md"]), -1) {
		from, _ := strconv.Atoi(m[1])
		to, _ := strconv.Atoi(m[2])
		dir := m[3]
		if dir == "vmseed" {
			dir = "."
		}
		out = append(out, block{from, to, dir})
	}
	return out
}

func checkCodes(t *Tree) []Problem {
	var out []Problem
	blocks := t.blocks()
	for i, b := range blocks {
		for _, other := range blocks[:i] {
			if b.from <= other.to && other.from <= b.to {
				out = append(out, Problem{"ARCHITECTURE.md", fmt.Sprintf("the blocks of %s and %s overlap", b.dir, other.dir)})
			}
		}
	}
	seen := map[int]code{}
	for _, p := range t.Packages {
		if matches("examples/...", p.Dir) {
			continue // A user of the library has codes of its own.
		}
		var own []code
		explained := map[string]bool{}
		for _, f := range p.code() {
			codes, problems := t.codes(p, f)
			own = append(own, codes...)
			out = append(out, problems...)
			explanations(f, explained)
		}
		for _, c := range own {
			at := fmt.Sprintf("VS%04d (%s)", c.value, c.name)
			if other, ok := seen[c.value]; ok {
				out = append(out, t.at(c.spec, "%s is taken by %s of %s", at, other.name, other.dir))
			}
			seen[c.value] = c
			if !explained[c.name] {
				out = append(out, t.at(c.spec, "%s is not explained in the package's func Codes", at))
			}
			if !slices.ContainsFunc(blocks, func(b block) bool { return b.dir == p.Dir && b.from <= c.value && c.value <= b.to }) {
				out = append(out, t.at(c.spec, "%s is in no block that ARCHITECTURE.md gives to %s", at, p.Dir))
			}
		}
		if len(own) > 0 && !t.indexed(p.Dir) {
			out = append(out, Problem{p.Dir, "its Codes are not in the index of vmseed explain (internal/cli)"})
		}
	}
	return out
}

// explanations notes the constants that stand as Code: in a composite literal inside func Codes, or inside one of the
// functions that a long list is cut into, whose names end in Codes.
func explanations(f *File, explained map[string]bool) {
	for _, d := range f.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || !strings.HasSuffix(fn.Name.Name, "Codes") {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if kv, ok := n.(*ast.KeyValueExpr); ok && isName(kv.Key, "Code") {
				if name, ok := kv.Value.(*ast.Ident); ok {
					explained[name.Name] = true
				}
			}
			return true
		})
	}
}

// indexed reports whether a package's Codes reach the command: internal/cli or the engine calls dir.Codes, or a package
// does whose own Codes are indexed.
func (t *Tree) indexed(dir string) bool {
	if dir == "internal/cli" || dir == "kube/internal/cli" {
		return true
	}
	for _, p := range t.Packages {
		if p.Dir == dir {
			continue
		}
		for _, f := range p.code() {
			importPath := t.Module
			if dir != "." {
				importPath += "/" + dir
			}
			name := f.name(importPath)
			if name == "" || !strings.Contains(string(f.Src), name+".Codes") {
				continue
			}
			if t.indexed(p.Dir) {
				return true
			}
		}
	}
	return false
}

package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func stateRules() []Rule {
	return []Rule{
		{"no init", "what runs because a package is imported cannot be switched off, ordered or tested", checkInit},
		{"no package-level state", "state belongs to a value that someone made and passes on; what packages keep, two machines in one process share", checkState},
	}
}

func checkInit(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, d := range f.AST.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					out = append(out, t.at(fn, "func init"))
				}
			}
		}
	}
	return out
}

// fixed are the functions whose result may be kept in a package-level variable: it has no parts that change.
var fixed = []string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "strings.NewReplacer", "time.Date", "netip.MustParseAddr",
	"netip.MustParsePrefix", "netip.PrefixFrom", "netip.AddrFrom4", "netip.AddrFrom16", "big.NewInt", "crc32.MakeTable", "reflect.TypeFor",
	"reflect.TypeOf", "sync.OnceValue", "sync.OnceValues", "machine.NewFieldSet", "template.Must"}

// checkState allows a package-level variable when it is an interface guard, an embedded file, or starts as a literal or
// as the result of one of the fixed functions and nothing in the module writes to it, to a part of it, or takes its
// address. Such a variable is a table.
func checkState(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		variables := map[string]*ast.ValueSpec{}
		for _, f := range p.code() {
			for _, d := range f.AST.Decls {
				gen, ok := d.(*ast.GenDecl)
				if !ok || gen.Tok != token.VAR {
					continue
				}
				for _, spec := range gen.Specs {
					s := spec.(*ast.ValueSpec)
					for _, name := range s.Names {
						if name.Name != "_" {
							variables[name.Name] = s
						}
					}
					if s.Names[0].Name != "_" && !embedded(gen, s) && !constantValue(s) {
						out = append(out, t.at(s, "%s is no table: it must start as a literal, or come from one of %s", s.Names[0].Name, strings.Join(fixed, ", ")))
					}
				}
			}
		}
		for _, f := range p.code() {
			out = append(out, t.writes(f, func(e ast.Expr) string { return own(f, variables, e) })...)
		}
	}
	for _, p := range t.Packages {
		for _, f := range p.code() {
			out = append(out, t.writes(f, func(e ast.Expr) string { return t.foreign(f, e) })...)
		}
	}
	return out
}

func embedded(gen *ast.GenDecl, s *ast.ValueSpec) bool {
	for _, doc := range []*ast.CommentGroup{gen.Doc, s.Doc} {
		if doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return true
		}
	}
	return false
}

func constantValue(s *ast.ValueSpec) bool {
	return len(s.Values) == len(s.Names) && !slices.ContainsFunc(s.Values, func(e ast.Expr) bool { return !tabular(e) })
}

// tabular reports whether an expression makes a value that never changes by itself.
func tabular(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CompositeLit, *ast.BasicLit, *ast.FuncLit:
		return true
	case *ast.UnaryExpr:
		return tabular(e.X)
	case *ast.BinaryExpr:
		return tabular(e.X) && tabular(e.Y)
	case *ast.SelectorExpr, *ast.Ident:
		return true
	case *ast.CallExpr:
		switch fn := e.Fun.(type) {
		case *ast.SelectorExpr:
			x, ok := fn.X.(*ast.Ident)
			return ok && slices.Contains(fixed, x.Name+"."+fn.Sel.Name)
		case *ast.IndexExpr:
			return tabular(&ast.CallExpr{Fun: fn.X, Args: e.Args})
		case *ast.ArrayType:
			return true
		}
	}
	return false
}

// own returns the package-level variable of its own package that an expression reaches into, or "".
func own(f *File, variables map[string]*ast.ValueSpec, e ast.Expr) string {
	name, ok := root(e).(*ast.Ident)
	if !ok || variables[name.Name] == nil {
		return ""
	}
	// The parser resolves names within the file; one that it could not resolve is declared in another file.
	if name.Obj != nil && name.Obj.Decl != variables[name.Name] {
		return ""
	}
	if name.Obj == nil && !slices.Contains(f.AST.Unresolved, name) {
		return ""
	}
	return name.Name
}

// foreign returns the variable of another package that an expression reaches into, or "".
func (t *Tree) foreign(f *File, e ast.Expr) string {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.IndexExpr:
			e = x.X
		case *ast.SelectorExpr:
			if name, ok := x.X.(*ast.Ident); ok && name.Obj == nil {
				for p := range f.imports() {
					if f.name(p) == name.Name {
						return name.Name + "." + x.Sel.Name
					}
				}
			}
			e = x.X
		default:
			return ""
		}
	}
}

// root strips selectors, indexes and dereferences off an expression.
func root(e ast.Expr) ast.Expr {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return x
		}
	}
}

// writes finds the places that write to a variable, to a part of it, or take its address.
func (t *Tree) writes(f *File, variable func(ast.Expr) string) []Problem {
	var out []Problem
	complain := func(e ast.Expr, how string) {
		if name := variable(e); name != "" {
			out = append(out, t.at(e, "%s is %s", name, how))
		}
	}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, e := range n.Lhs {
					complain(e, "assigned to")
				}
			}
		case *ast.IncDecStmt:
			complain(n.X, "counted")
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				complain(n.Key, "assigned to")
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				complain(n.X, "reached by its address")
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && fn.Obj == nil && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, fn.Name) {
				complain(n.Args[0], "changed by "+fn.Name)
			}
		}
		return true
	})
	return out
}

package archtest

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
)

func documentationRules() []Rule {
	return []Rule{
		{"package comments", "the comment is what `go doc` and a newcomer see first; one that was copied misleads both", checkPackageComments},
		{"comments of exported names", "an exported name is a promise, and a promise needs words", checkExported},
	}
}

func checkPackageComments(t *Tree) []Problem {
	var out []Problem
	seen := map[string]string{}
	for _, p := range t.Packages {
		files := p.code()
		if len(files) == 0 {
			continue
		}
		want := "Package " + files[0].AST.Name.Name + " "
		if p.command() {
			want = "Command " + path.Base(p.Dir) + " "
		}
		found := 0
		for _, f := range files {
			if f.AST.Doc == nil {
				continue
			}
			found++
			text := f.AST.Doc.Text()
			rest, ok := strings.CutPrefix(text, want)
			if !ok {
				out = append(out, t.at(f.AST.Doc, "the comment begins %q, not %q", strings.SplitN(text, "\n", 2)[0], want))
			}
			if other, ok := seen[rest]; ok {
				out = append(out, t.at(f.AST.Doc, "the comment is that of %s", other))
			}
			seen[rest] = p.Dir
		}
		if found != 1 {
			out = append(out, Problem{p.Dir, "one file of the package carries its comment, not " + []string{"none", "one", "several"}[min(found, 2)]})
		}
	}
	return out
}

func checkExported(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.code() {
			for _, d := range f.AST.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if d.Doc == nil && d.Name.IsExported() && receiverExported(d) {
						out = append(out, t.at(d, "%s has no comment", d.Name.Name))
					}
				case *ast.GenDecl:
					out = append(out, t.undocumented(d)...)
				}
			}
		}
	}
	return out
}

// receiverExported reports whether a function is no method, or one of an exported type.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if index, ok := typ.(*ast.IndexExpr); ok {
		typ = index.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// undocumented finds exported types, constants and variables without a comment of their own or of their group.
func (t *Tree) undocumented(d *ast.GenDecl) []Problem {
	var out []Problem
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				continue
			}
			if s.Doc == nil && d.Doc == nil {
				out = append(out, t.at(s, "%s has no comment", s.Name.Name))
			}
			// The comment of an interface with one method is that method's.
			if i, ok := s.Type.(*ast.InterfaceType); ok && i.Methods.NumFields() > 1 {
				for _, m := range i.Methods.List {
					if len(m.Names) > 0 && m.Doc == nil && m.Comment == nil {
						out = append(out, t.at(m, "%s.%s has no comment", s.Name.Name, m.Names[0].Name))
					}
				}
			}
		case *ast.ValueSpec:
			for _, name := range s.Names {
				group := d.Doc != nil && (d.Lparen == token.NoPos || d.Tok == token.CONST)
				if name.IsExported() && s.Doc == nil && s.Comment == nil && !group {
					out = append(out, t.at(s, "%s has no comment", name.Name))
				}
			}
		}
	}
	return out
}

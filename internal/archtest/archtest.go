// Package archtest holds ARCHITECTURE.md as rules that fail: who may import whom, how long a file, a function and an
// interface may be, what must be documented, and which lists must name everything that exists. Every complaint says
// why the rule is there.
//
// The rules read source text only; nothing is compiled, so the whole module takes well under a second.
package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Rule is one thing that must hold for the whole tree.
type Rule struct {
	Name string
	// Why is the reason, which every complaint repeats.
	Why string
	// Check returns a complaint for each place that breaks the rule.
	Check func(*Tree) []Problem
}

// Problem is a place that breaks a rule.
type Problem struct {
	// Place is file, or file:line, below the root of the tree.
	Place string
	Text  string
}

// Rules lists all rules.
func Rules() []Rule { return slices.Concat(NestedRules(), listRules(), textRules()) }

// NestedRules lists the rules that hold for the packages of a nested module as well. The others look at the whole tree.
func NestedRules() []Rule {
	return slices.Concat(importRules(), sizeRules(), documentationRules(), stateRules(), diagnosticRules())
}

// Tree is the source of one Go module, and the other texts beside it.
type Tree struct {
	// Module is the path of the root's module.
	Module string
	// Packages are those of one module, ordered by directory.
	Packages []*Package
	// Texts are the text files of the whole tree by path, those of nested modules and testdata included.
	Texts map[string][]byte
	// Paths are all files and directories.
	Paths map[string]bool

	fset *token.FileSet
}

// Package is the Go files of one directory.
type Package struct {
	// Dir is the directory below the root, "." for the root itself. It is also the import path below the module's.
	Dir   string
	Files []*File
}

// File is a Go file.
type File struct {
	Path string
	// Test means that the file is compiled for tests only.
	Test bool
	AST  *ast.File
	Src  []byte
	// Constraint is the file's build constraint, nil for none.
	Constraint constraint.Expr
}

// textFile reports whether the rules about texts concern a file.
func textFile(name string) bool {
	switch path.Ext(name) {
	case ".go", ".sh", ".py", ".md", ".mod", ".mk":
		return true
	case "":
		base := path.Base(name)
		return base == "Makefile" || base == "run" || base == "LICENSE" || strings.HasPrefix(base, ".git")
	}
	return false
}

// Load reads the tree below fsys.
func Load(fsys fs.FS) (*Tree, error) { return LoadNested(fsys, ".") }

// LoadNested reads the tree below fsys with the packages of the module that is nested in a directory of it.
func LoadNested(fsys fs.FS, module string) (*Tree, error) {
	t := &Tree{Texts: map[string][]byte{}, Paths: map[string]bool{}, fset: token.NewFileSet()}
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(mod)) {
		if name, ok := strings.CutPrefix(line, "module "); ok {
			t.Module = strings.TrimSpace(name)
		}
	}
	packages := map[string]*Package{}
	err = fs.WalkDir(fsys, ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || p == "bin" || p == "daemon/web/dist") {
			return fs.SkipDir
		}
		t.Paths[p] = true
		if !e.Type().IsRegular() || !textFile(p) {
			return nil
		}
		src, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		t.Texts[p] = src
		if path.Ext(p) != ".go" || !buildable(fsys, path.Dir(p), module) {
			return nil
		}
		f, err := t.parse(p, src)
		if err != nil {
			return err
		}
		dir := path.Dir(p)
		if packages[dir] == nil {
			packages[dir] = &Package{Dir: dir}
			t.Packages = append(t.Packages, packages[dir])
		}
		packages[dir].Files = append(packages[dir].Files, f)
		return nil
	})
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, err
}

// buildable reports whether go build sees a directory as part of a module.
func buildable(fsys fs.FS, dir, module string) bool {
	for ; dir != "." && dir != module; dir = path.Dir(dir) {
		base := path.Base(dir)
		if base == "testdata" || base[0] == '.' || base[0] == '_' {
			return false
		}
		if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
			return false
		}
	}
	return dir == module
}

func (t *Tree) parse(name string, src []byte) (*File, error) {
	file, err := parser.ParseFile(t.fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	f := &File{Path: name, Test: strings.HasSuffix(name, "_test.go"), AST: file, Src: src}
	for line := range bytes.Lines(src) {
		if constraint.IsGoBuild(string(line)) {
			if f.Constraint, err = constraint.Parse(strings.TrimSpace(string(line))); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		if bytes.HasPrefix(line, []byte("package ")) {
			break
		}
	}
	return f, nil
}

// at makes a problem at a node.
func (t *Tree) at(n ast.Node, format string, args ...any) Problem {
	p := t.fset.Position(n.Pos())
	return Problem{Place: p.Filename + ":" + strconv.Itoa(p.Line), Text: fmt.Sprintf(format, args...)}
}

// line returns the line of a position.
func (t *Tree) line(p token.Pos) int { return t.fset.Position(p).Line }

// local returns the path of an import below the module, and whether it is of the module at all.
func (t *Tree) local(importPath string) (string, bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// code returns the files that are not tests.
func (p *Package) code() []*File {
	return slices.DeleteFunc(slices.Clone(p.Files), func(f *File) bool { return f.Test })
}

// all returns the files of the package with those of its tests.
func (p *Package) all() []*File { return p.Files }

// command reports whether the package is a program.
func (p *Package) command() bool {
	return len(p.code()) > 0 && p.code()[0].AST.Name.Name == "main"
}

// imports returns the imported paths of a file.
func (f *File) imports() map[string]*ast.ImportSpec {
	out := map[string]*ast.ImportSpec{}
	for _, spec := range f.AST.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out[p] = spec
		}
	}
	return out
}

// name returns the name by which the file refers to an imported package, or "" when it does not.
func (f *File) name(importPath string) string {
	spec, ok := f.imports()[importPath]
	switch {
	case !ok:
		return ""
	case spec.Name != nil:
		return spec.Name.Name
	}
	return path.Base(importPath)
}

// matches reports whether name is of a pattern: a path, or dir/* for the packages directly in dir, or dir/... for dir
// and all below.
func matches(pattern, name string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == dir || strings.HasPrefix(name, dir+"/")
	}
	if dir, ok := strings.CutSuffix(pattern, "/*"); ok {
		return path.Dir(name) == dir
	}
	return pattern == name
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
)

// The budgets. A long table reads well, long logic does not.
const (
	maxFileLines     = 600
	maxFunctionLines = 80
	maxMethods       = 4
)

func sizeRules() []Rule {
	return []Rule{
		{"length of files", "a file that holds one concept is found by its name", checkFiles},
		{"length of functions", "logic that fits on a screen is read as a whole", checkFunctions},
		{"size of interfaces", "each method is work for everyone who implements the interface; rare powers are interfaces of their own", checkInterfaces},
	}
}

func checkFiles(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			if n := bytes.Count(f.Src, []byte("\n")); n > maxFileLines {
				out = append(out, Problem{f.Path, fmt.Sprintf("%d lines, at most %d: split it by concept", n, maxFileLines)})
			}
		}
	}
	return out
}

func checkFunctions(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			tokens := tokenLines(f.Src)
			for _, d := range f.AST.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				if n := t.logic(fn.Body, tokens); n > maxFunctionLines {
					out = append(out, t.at(fn, "%s has %d lines of logic, at most %d", fn.Name.Name, n, maxFunctionLines))
				}
			}
		}
	}
	return out
}

// tokenLines returns the lines on which a token other than a comment begins. The inner lines of a raw string are none.
func tokenLines(src []byte) map[int]bool {
	lines := map[int]bool{}
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.SEMICOLON || lit != "\n" {
			lines[file.Line(pos)] = true
		}
	}
}

// logic counts the lines between the braces of a function. The inner lines of composite literals are a table, not
// logic, but the functions inside such a table are.
func (t *Tree) logic(body *ast.BlockStmt, tokens map[int]bool) int {
	counted := map[int]bool{}
	mark := func(from, to token.Pos, value bool) {
		for n := t.line(from) + 1; n < t.line(to); n++ {
			counted[n] = value
		}
	}
	mark(body.Lbrace, body.Rbrace, true)
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			mark(n.Lbrace, n.Rbrace, false)
		case *ast.FuncLit:
			mark(n.Body.Lbrace, n.Body.Rbrace, true)
		}
		return true
	})
	lines := 0
	for n, yes := range counted {
		if yes && tokens[n] {
			lines++
		}
	}
	return lines
}

func checkInterfaces(t *Tree) []Problem {
	var out []Problem
	for _, p := range t.Packages {
		for _, f := range p.Files {
			ast.Inspect(f.AST, func(n ast.Node) bool {
				if i, ok := n.(*ast.InterfaceType); ok && i.Methods.NumFields() > maxMethods {
					out = append(out, t.at(i, "an interface of %d methods, at most %d", i.Methods.NumFields(), maxMethods))
				}
				return true
			})
		}
	}
	return out
}

package netconfig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
)

// TestCodesAreExplained reads the constants from the source, so that a new one without an explanation is noticed.
func TestCodesAreExplained(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var constants []string
	for _, d := range file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			constants = append(constants, s.(*ast.ValueSpec).Names[0].Name)
		}
	}
	explained := Codes()
	if len(constants) < 20 || len(constants) != len(explained) {
		t.Fatalf("%d constants, %d explanations", len(constants), len(explained))
	}
	for i, e := range explained {
		if e.Code != CodeModel+diag.Code(i) {
			t.Errorf("explanation %d is for %v: keep the order of the constants", i, e.Code)
		}
		if e.Title == "" || len(e.Text) < 60 || !strings.HasSuffix(e.Text, ".") {
			t.Errorf("%v: title %q, text %q", e.Code, e.Title, e.Text)
		}
	}
}

package tree_test

import (
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

func TestSpan(t *testing.T) {
	const text = "a: one\nb:\n  - x: 1\n    y: [2, 3]\nc: |\n  first\n  second\nd: 'quoted'\ne: >\n  folded\n  text\nf: {}\n"
	values, l := tree.Parse("f", []byte(text), bounded.Defaults())
	if len(l) > 0 {
		t.Fatal(l)
	}
	want := map[string]diag.Range{
		"a": {File: "f", Start: diag.Pos{Line: 1, Column: 1}, End: diag.Pos{Line: 1, Column: 7}},
		"b": {File: "f", Start: diag.Pos{Line: 2, Column: 1}, End: diag.Pos{Line: 4, Column: 13}},
		"c": {File: "f", Start: diag.Pos{Line: 5, Column: 1}, End: diag.Pos{Line: 7, Column: 9}},
		"d": {File: "f", Start: diag.Pos{Line: 8, Column: 1}, End: diag.Pos{Line: 8, Column: 12}},
		"f": {File: "f", Start: diag.Pos{Line: 12, Column: 1}, End: diag.Pos{Line: 12, Column: 6}},
	}
	for _, e := range values[0].Entries() {
		if w, ok := want[e.Key]; ok && e.Span() != w {
			t.Errorf("%s: got %+v, want %+v", e.Key, e.Span(), w)
		}
	}
	if r := values[0].Get("missing").Span(); r.End != (diag.Pos{}) {
		t.Errorf("an absent value ends at %v", r.End)
	}
	if r := (tree.Value{}).Span(); !r.IsZero() {
		t.Errorf("the zero value stands at %v", r)
	}
}

func TestParseYAML(t *testing.T) {
	const flow = "{a: b, c: [d]}"
	if _, l := tree.Parse("f", []byte(flow), bounded.Defaults()); !l.HasErrors() {
		t.Error("Parse takes flow style for JSON without complaint")
	}
	values, l := tree.ParseYAML("f", []byte(flow), bounded.Defaults())
	if l.HasErrors() || len(values) != 1 || values[0].Get("a").Str(&l) != "b" {
		t.Errorf("ParseYAML: %v", l)
	}
}

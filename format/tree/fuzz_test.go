package tree_test

import (
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

// visit calls f for a value and all below it, as a reader of everything would.
func visit(v tree.Value, f func(tree.Value)) {
	f(v)
	for _, e := range v.Entries() {
		visit(e.Value, f)
	}
	for _, item := range v.Items() {
		visit(item, f)
	}
}

// FuzzTree reads every value of a document in every way. Nothing counts as read before, all does after it was
// consumed, each value is found again by its key, and places lie in the text.
func FuzzTree(f *testing.F) {
	for _, text := range []string{"a: 1\n", "- x\n- {y: [z]}\n", "b: &b {c: d}\ne: {<<: *b, f: |\n  g\n   h\n}\n", "x: !!str 1\n? [k]\n: v\n", "{\"a\": [1, \"b\\n\"]}", "&a : *a\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trees, l := tree.Parse("f", []byte(text), bounded.Limits{Nodes: 2000})
		if l.HasErrors() && len(trees) > 0 {
			t.Error("a document beside errors")
		}
		for _, v := range trees {
			if n := len(v.Unread()); n == 0 && v.Kind() == tree.Map && len(v.Entries()) > 0 {
				t.Error("a fresh document counts as read")
			}
			visit(v, func(v tree.Value) {
				checkValue(t, v, text)
			})
			v.Consume()
			if left := v.Unread(); len(left) > 0 {
				t.Errorf("%d values are unread although all were consumed", len(left))
			}
		}
	})
}

func checkValue(t *testing.T, v tree.Value, text string) {
	at := v.Range().Start
	if at.Line < 1 || at.Column < 1 || at.Line > len(text)+1 {
		t.Errorf("%q stands at %v", v.Path(), at)
	}
	for _, e := range v.Entries() {
		if got := v.Get(e.Key); got.Range() != e.Value.Range() {
			t.Errorf("Get(%q) is at %v, the entry at %v", e.Key, got.Range(), e.Value.Range())
		}
	}
	if v.Kind() != tree.Scalar {
		return
	}
	var strict, loose diag.List
	if s := v.Str(&strict); len(strict) == 0 && s != v.Loose(&loose) {
		t.Errorf("Str and Loose differ at %v", at)
	}
	var l diag.List
	v.Bool(&l)
	v.Int(&l, -10, 10)
	v.Base64(&l)
	o := v.Origin("")
	if o.Whole != v.Range() {
		t.Errorf("the origin of %q is %v", v.Path(), o.Whole)
	}
	for i := range o.Lines {
		if got := o.At(i+1, 1); got.Start.Line < at.Line {
			t.Errorf("line %d of %q leads to %v, before the value", i+1, v.Path(), got)
		}
	}
}

//go:build conformance

package tree_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/internal/judge"
)

// What Str takes for a text without quotes is the same text to PyYAML, the reader of every guest.
func TestStrAgreesWithPyYAML(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"0", "1", "7", "9", "08", "60", "2024", "-", "+", ".", ":", "_", "e", "E", "x", "o", "b", "a", "f", "T", "t", "Z", " ",
		"yes", "No", "on", "OFF", "y", "n", "true", "False", "null", "~", "inf", "NaN", "=", "<<", ",", "/", "@", "%"}
	var docs [][]byte
	var texts []string
	for len(docs) < 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		doc := "a: " + b.String() + "\n"
		trees, l := tree.Parse("f", []byte(doc), bounded.Limits{})
		if len(l) > 0 || len(trees) != 1 {
			continue
		}
		v := trees[0].Get("a")
		s := v.Str(&l)
		if v.Kind() != tree.Scalar || len(l) > 0 {
			continue
		}
		docs, texts = append(docs, []byte(doc)), append(texts, s)
	}
	for i, have := range judge.PyYAML(t, docs) {
		if a := have.Get("a"); a.Tag != "str" || a.Text != texts[i] {
			t.Errorf("%q is the text %q to us and %s %q to PyYAML", docs[i], texts[i], a.Tag+have.Tag, a.Text)
		}
	}
}

// A boolean that Bool reads is the same to PyYAML.
func TestBoolAgreesWithPyYAML(t *testing.T) {
	var docs [][]byte
	var want []string
	for _, word := range []string{"true", "True", "TRUE", "tRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "yEs", "no", "No", "NO", "on", "On", "ON",
		"off", "Off", "OFF", "oFF", "y", "Y", "n", "N", "1", "0", "t", "f"} {
		doc := "a: " + word + "\n"
		var l diag.List
		if b := parse(t, doc).Get("a").Bool(&l); !l.HasErrors() {
			docs, want = append(docs, []byte(doc)), append(want, map[bool]string{true: "true", false: "false"}[b])
		}
	}
	if len(docs) < 18 {
		t.Fatalf("only %d booleans", len(docs))
	}
	for i, have := range judge.PyYAML(t, docs) {
		if a := have.Get("a"); a.Tag != "bool" || a.Text != want[i] {
			t.Errorf("%q is %s to us and %s %q to PyYAML", docs[i], want[i], a.Tag, a.Text)
		}
	}
}

package tree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

func parse(t *testing.T, text string) tree.Value {
	t.Helper()
	docs, l := tree.Parse("f", []byte(text), bounded.Limits{})
	if len(l) > 0 || len(docs) != 1 {
		t.Fatalf("got %d documents and %v", len(docs), l)
	}
	return docs[0]
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, in string
		docs     int
		code     diag.Code
	}{
		{"documents", "a: 1\n---\nb: 2\n", 2, 0},
		{"empty documents", "---\n---\na: 1\n---\n", 1, 0},
		{"nothing", "", 0, 0},
		{"JSON", "\n {\"a\": 1}", 1, 0},
		{"JSON list", "[1]", 1, 0},
		{"JSON with a comma too many", `{"a": 1,}`, 0, bounded.CodeSyntax},
		{"duplicate key", "a: 1\na: 2\n", 0, bounded.CodeDuplicateKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, l := tree.Parse("f", []byte(tt.in), bounded.Limits{})
			if len(docs) != tt.docs {
				t.Errorf("got %d documents, want %d", len(docs), tt.docs)
			}
			if tt.code != 0 && (len(l) != 1 || l[0].Code != tt.code) || tt.code == 0 && len(l) > 0 {
				t.Errorf("got %v, want code %v", l, tt.code)
			}
		})
	}
}

func TestIsJSON(t *testing.T) {
	for in, want := range map[string]bool{
		"{}": true, " \n[1]": true, "": false, "a: {}": false, "{{ .Values.x }}": false, "{% if x %}": false, "# {": false,
	} {
		if got := tree.IsJSON([]byte(in)); got != want {
			t.Errorf("IsJSON(%q) = %v", in, got)
		}
	}
}

func TestNavigation(t *testing.T) {
	v := parse(t, "spec:\n  list:\n  - name: x\n  - null\n  empty:\n")
	name := v.At("spec", "list").Items()[0].Get("name")
	if name.Path() != "spec.list[0].name" || name.Range().String() != "f:3:11" || name.File() != "f" {
		t.Errorf("got path %s at %v of %s", name.Path(), name.Range(), name.File())
	}
	for _, tt := range []struct {
		v    tree.Value
		kind tree.Kind
	}{
		{v, tree.Map}, {v.At("spec", "list"), tree.List}, {name, tree.Scalar}, {v.At("spec", "empty"), tree.Null},
		{v.At("spec", "list").Items()[1], tree.Null}, {v.Get("none"), tree.Absent}, {tree.Value{}, tree.Absent},
	} {
		if tt.v.Kind() != tt.kind {
			t.Errorf("%s is %v, want %v", tt.v.Path(), tt.v.Kind(), tt.kind)
		}
	}
	absent := v.At("spec", "none", "deeper")
	if absent.Exists() || absent.Path() != "spec.none.deeper" {
		t.Errorf("absent value: exists %v, path %s", absent.Exists(), absent.Path())
	}
	if got := absent.Range().String(); got != "f:2:3" {
		t.Errorf("an absent value is at %s, want the mapping that lacks it, f:2:3", got)
	}
}

// The zero Value stands for what was never there. Reading it says nothing and gives nothing.
func TestZeroValue(t *testing.T) {
	var v tree.Value
	var l diag.List
	v.Consume()
	v.Only(&l, "a")
	got := fmt.Sprint(v.Str(&l), v.Loose(&l), v.Bool(&l), v.Int(&l, 1, 2), v.Strings(&l), v.StringMap(&l), v.Base64(&l),
		v.Items(), v.Entries(), v.Unread(), v.Node() == nil, v.Range().IsZero(), v.File(), v.Get("x").Exists(), v.Origin("x").Lines == nil)
	if want := "false 0 [] map[] [] [] [] [] true truefalse true"; got != want || len(l) > 0 {
		t.Errorf("got %q and %v, want %q", got, l, want)
	}
}

func TestEntriesMerge(t *testing.T) {
	v := parse(t, `
base: &base {a: base, b: base, deep: {x: 1}}
more: &more {b: more, c: more}
key: &k named
use:
  <<: [*base, *more]
  a: own
  *k : aliased
inline:
  <<: {d: 1}
  e: 2
`)
	var got []string
	for _, e := range v.Get("use").Entries() {
		var l diag.List
		if e.Key != "deep" {
			got = append(got, e.Key+"="+e.Value.Str(&l))
		} else {
			got = append(got, e.Key)
		}
	}
	if want := []string{"a=own", "named=aliased", "b=base", "deep", "c=more"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if e := v.Get("inline").Entries(); len(e) != 2 || e[0].Key != "e" || e[1].Key != "d" {
		t.Errorf("inline merge gives %v", e)
	}
}

func unread(v tree.Value) string {
	var out []string
	for _, e := range v.Unread() {
		out = append(out, fmt.Sprintf("%s@%d:%d", e.Value.Path(), e.Place.Start.Line, e.Place.Start.Column))
	}
	return strings.Join(out, " ")
}

func TestUnread(t *testing.T) {
	const text = `a: 1
b:
  c: 2
  d: [x, {y: 1}]
e: &anchor {f: 1, g: 2}
h: *anchor
i:
  <<: {j: 1, k: 2}
  l: 3
`
	tests := []struct {
		name string
		read func(v tree.Value, l *diag.List)
		want string
	}{
		{"nothing read", func(tree.Value, *diag.List) {}, "a@1:1 b@2:1 e@5:1 h@6:1 i@7:1"},
		{"all consumed", func(v tree.Value, _ *diag.List) { v.Consume() }, ""},
		{"as a node", func(v tree.Value, _ *diag.List) { v.Node() }, ""},
		{"one leaf", func(v tree.Value, l *diag.List) { v.At("b", "c").Str(l) }, "a@1:1 b.d@4:3 e@5:1 h@6:1 i@7:1"},
		{"one item", func(v tree.Value, l *diag.List) { v.At("b", "d").Items()[0].Str(l) },
			"a@1:1 b.c@3:3 b.d[1]@4:10 e@5:1 h@6:1 i@7:1"},
		{"behind an alias", func(v tree.Value, l *diag.List) { v.At("h", "f").Int(l, 0, 9) }, "a@1:1 b@2:1 e.g@5:19 i@7:1"},
		{"wrong type is no second complaint", func(v tree.Value, l *diag.List) { v.Get("b").Str(l) }, "a@1:1 e@5:1 h@6:1 i@7:1"},
		{"inside a merge", func(v tree.Value, l *diag.List) { v.At("i", "j").Int(l, 0, 9) },
			"a@1:1 b@2:1 e@5:1 h@6:1 i.<<.k@8:14 i.l@9:3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := parse(t, text)
			var l diag.List
			tt.read(v, &l)
			if got := unread(v); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A merge key whose value is no mapping merges nothing, so it must not count as read.
func TestUnreadBrokenMerge(t *testing.T) {
	v := parse(t, "a:\n  <<: [{x: 1}, oops]\n  b: 1\n")
	var l diag.List
	for _, e := range v.Get("a").Entries() {
		e.Value.Int(&l, 0, 9)
	}
	if got := unread(v); got != "a.<<[1]@2:16" {
		t.Errorf("got %q", got)
	}
}

func TestOnly(t *testing.T) {
	v := parse(t, "hostnam: a\nx: 1\nuserData: {deep: 1}\n")
	var l diag.List
	v.Only(&l, "hostname", "userdata", "id")
	got := l.Error()
	want := `f:1:1: error[VS1215]: hostnam: there is no field "hostnam" here; did you mean "hostname"?
f:2:1: error[VS1215]: x: there is no field "x" here; the fields are hostname, userdata, id
f:3:1: error[VS1215]: userData: there is no field "userData" here; did you mean "userdata"?`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if u := unread(v); u != "" {
		t.Errorf("reported once and unread again: %s", u)
	}
}

func TestCodesAreExplained(t *testing.T) {
	explained := map[diag.Code]bool{}
	for _, e := range tree.Codes() {
		explained[e.Code] = e.Title != "" && e.Text != ""
	}
	for c := tree.CodeWrongType; c <= tree.CodeUnknownField; c++ {
		if !explained[c] {
			t.Errorf("%v is not explained", c)
		}
	}
}

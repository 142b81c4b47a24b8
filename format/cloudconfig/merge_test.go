package cloudconfig

import (
	"encoding/json"
	"errors"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// node parses one YAML value.
func node(t testing.TB, text string) *yaml.Node {
	t.Helper()
	var n yaml.Node
	if err := yaml.Unmarshal([]byte(text), &n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n.Content[0]
}

// form is a canonical text of a tree as PyYAML reads it: JSON with mappings as ordered lists of pairs.
func form(t testing.TB, n *yaml.Node) string {
	t.Helper()
	n, err := expand(n)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(formValue(n))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func formValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			out = append(out, formValue(c))
		}
		return out
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			out[identity(n.Content[i])] = formValue(n.Content[i+1])
		}
		return out
	}
	return identity(n)
}

const (
	howD = "list()+dict()+str()"
	howP = "dict(replace)+list()+str()"
	howA = "list(append)+dict(recurse_array)+str()"
)

// mergeCases were computed with cloudinit.mergers of 22.4.2 and of 26.2, which agree on all of them.
var mergeCases = []struct{ name, how, base, over, want string }{
	{"default replaces each key", howP, "{a: 1, b: [1, 2], c: {x: 1}}", "{b: [3], c: {y: 2}}", "{a: 1, b: [3], c: {y: 2}}"},
	{"default takes null", howP, "{a: 1}", "{a: null}", "{a: null}"},
	{"default unites keys", howP, "{runcmd: [a]}", "{packages: [p]}", "{runcmd: [a], packages: [p]}"},
	{"base keeps earlier", howD, "{a: 1, b: [1, 2], c: {x: 1}}", "{a: 9, b: [3], c: {y: 2, x: 7}}", "{a: 1, b: [1, 2], c: {x: 1, y: 2}}"},
	{"base keeps null", howD, "{a: null}", "{a: 5}", "{a: null}"},
	{"base keeps text over list", howD, "{a: s}", "{a: [l]}", "{a: s}"},
	{"base yields list to mapping", howD, "{a: [l]}", "{a: {k: 1}}", "{a: {k: 1}}"},
	{"base keeps mapping over list", howD, "{a: {k: 1}}", "{a: [l]}", "{a: {k: 1}}"},
	{"base keeps mapping over text", howD, "{a: {k: 1}}", "{a: s}", "{a: {k: 1}}"},
	{"base yields text to mapping", howD, "{a: s}", "{a: {k: 1}}", "{a: {k: 1}}"},
	{"base keeps number over mapping", howD, "{a: 5}", "{a: {k: 1}}", "{a: 5}"},
	{"base keeps bool over mapping", howD, "{a: true}", "{a: {k: 1}}", "{a: true}"},
	{"base keeps null over mapping", howD, "{a: null}", "{a: {k: 1}}", "{a: null}"},
	{"root lists by index", howD, "[1, 2, 3]", "[9]", "[9, 2, 3]"},
	{"root lists drop surplus", howD, "[1]", "[9, 8, 7]", "[9]"},
	{"root list yields to text", howD, "[1, 2]", "s", "s"},
	{"root texts", howD, "old", "new", "new"},
	{"append", howA, "{runcmd: [a], x: 1}", "{runcmd: [b], x: 2}", "{runcmd: [a, b], x: 1}"},
	{"append nested", "list(append)+dict(no_replace,recurse_list)+str()", `{runcmd: [a], w: {f: ["1"]}}`, `{runcmd: [b], w: {f: ["2"], g: 3}}`, `{runcmd: [a, b], w: {f: ["1", "2"], g: 3}}`},
	{"prepend", "list(prepend)+dict(recurse_array)+str()", "{l: [1, 2]}", "{l: [3]}", "{l: [3, 1, 2]}"},
	{"replace by index", "list()+dict(recurse_array)+str()", "{l: [1, 2, 3]}", "{l: [9]}", "{l: [9, 2, 3]}"},
	{"replace drops surplus", "list()+dict(recurse_array)+str()", "{l: [1]}", "{l: [9, 8]}", "{l: [9]}"},
	{"list no_replace", "list(no_replace)+dict(recurse_array)+str()", "{l: [1, 2]}", "{l: [9, 8, 7]}", "{l: [1, 2]}"},
	{"append: text yields to list", howA, "{l: s}", "{l: [b]}", "{l: [b]}"},
	{"append: list stays against text", howA, "{l: [b]}", "{l: s}", "{l: [b]}"},
	{"append: list stays against null", howA, "{l: [b]}", "{l: null}", "{l: [b]}"},
	{"append: keys of a mapping", howA, "{l: [b]}", "{l: {k: 1, m: 2}}", "{l: [b, k, m]}"},
	{"append: number stays", howA, "{l: 5}", "{l: [1]}", "{l: 5}"},
	{"append: null stays", howA, "{l: null}", "{l: [1]}", "{l: null}"},
	{"append: mapping stays", howA, "{l: {k: 1}}", "{l: [1]}", "{l: {k: 1}}"},
	{"append is idle under replace", "list(append)+dict(replace)+str()", "{l: [b], m: {a: 1}}", "{l: [c], m: {b: 2}}", "{l: [c], m: {b: 2}}"},
	{"recurse_str", "dict(recurse_str)+list()+str()", "{s: ab}", "{s: cd}", "{s: cd}"},
	{"recurse_str append", "dict(recurse_str)+list()+str(append)", "{s: ab}", "{s: cd}", "{s: abcd}"},
	{"text explodes", "dict(recurse_str)+list(append)+str()", "{l: [b]}", "{l: xyz}", "{l: [b, x, y, z]}"},
	{"delete under replace", "dict(allow_delete,replace)+list()+str()", "{a: 1, b: 2}", "{a: null}", "{b: 2}"},
	{"delete", "dict(allow_delete)+list()+str()", "{a: 1, b: 2}", "{a: null, b: 3}", "{b: 2}"},
	{"users are not told apart", howA, "{users: [default, {name: a}]}", "{users: [{name: a, uid: 5}]}", "{users: [default, {name: a}, {name: a, uid: 5}]}"},
	{"list recurse_dict", "list(recurse_dict)+dict(recurse_array)+str()", "{l: [{a: 1}, {b: 2}]}", "{l: [{c: 3}]}", "{l: [{a: 1, c: 3}, {b: 2}]}"},
	{"list recurse_list", "list(recurse_list)+dict(recurse_array)+str()", "{l: [[1, 2], [3]]}", "{l: [[9], [8, 7]]}", "{l: [[9, 2], [8]]}"},
	{"list recurse_str", "list(recurse_str)+dict(recurse_array)+str(append)", "{l: [a, b]}", "{l: [x, q, z]}", "{l: [ax, bq]}"},
	{"no list merger", "dict(recurse_array)", "{l: [1]}", "{l: [2]}", "{l: [1]}"},
	{"no dict merger", "list(append)", "{l: [1]}", "{l: [2]}", "{l: [1]}"},
	{"recurse_dict says nothing new", "dict(recurse_dict)+list(append)+str()", "{d: {l: [1]}}", "{d: {l: [2]}}", "{d: {l: [1]}}"},
	{"append deep", howA, "{d: {x: {l: [1]}}}", "{d: {x: {l: [2], n: 1}}}", "{d: {x: {l: [1, 2], n: 1}}}"},
	{"no duplicates removed", howA, "{l: [1, 1]}", "{l: [1]}", "{l: [1, 1, 1]}"},
	{"names in any case", "LIST(APPEND)+Dict(Recurse-Array)+str()", "{l: [1]}", "{l: [2]}", "{l: [1, 2]}"},
	{"no merger at all", "", "{l: [1]}", "{l: [2]}", "{l: [1]}"},
	{"yes is a boolean", howA + "", "{l: [b]}", "{l: yes}", "{l: [b]}"},
	{"keys of one value", howP, "{yes: 1}", "{on: 2}", "{true: 2}"},
	{"merge keys count", howP, "{a: 1}", "{x: &x {a: 2}, <<: *x}", "{a: 2, x: {a: 2}}"},
}

func TestMerge(t *testing.T) {
	for _, c := range mergeCases {
		t.Run(c.name, func(t *testing.T) {
			how, err := ParseHow(c.how)
			if err != nil {
				t.Fatal(err)
			}
			base, over := node(t, c.base), node(t, c.over)
			before := form(t, base) + form(t, over)
			got, err := Merge(base, over, how)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := form(t, got), form(t, node(t, c.want)); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if after := form(t, base) + form(t, over); after != before {
				t.Errorf("the inputs changed: %s became %s", before, after)
			}
		})
	}
}

func TestMergeErrors(t *testing.T) {
	for _, c := range []struct{ how, base, over string }{
		{howA, "[1]", "5"},
		{"str(append)+dict(recurse_array)", "{a: s}", "{a: [1]}"},
		{"list(no_replace)+dict(recurse_array)+str()", "[1]", "{a: 1}"},
		{"list(no_replace)+dict()+str()", "[1]", "5"},
	} {
		how, err := ParseHow(c.how)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Merge(node(t, c.base), node(t, c.over), how); !errors.Is(err, ErrMerge) {
			t.Errorf("%s: %s with %s: got %v, want ErrMerge", c.how, c.base, c.over, err)
		}
	}
}

func TestParseHow(t *testing.T) {
	for in, want := range map[string]string{
		"list(append)+dict(recurse_array)+str()": "list(append)+dict(recurse_array)+str()",
		" List(Append) + M_Dict( no-replace , )": "list(append)+dict(no_replace)",
		"dict(a)b(c)":                            "dict(a)b(c)",
		"":                                       "",
		"+ +":                                    "",
	} {
		how, err := ParseHow(in)
		if err != nil || how.String() != want {
			t.Errorf("%q: got %q, %v, want %q", in, how, err, want)
		}
	}
	for _, in := range []string{"append", "set(x)", "list", "list(append", "1()", "replace_list(x)"} {
		if _, err := ParseHow(in); !errors.Is(err, ErrHow) {
			t.Errorf("%q: got %v, want ErrHow", in, err)
		}
	}
}

func TestHowOf(t *testing.T) {
	for in, want := range map[string]string{
		"list(append)+dict()": "list(append)+dict()",
		"[{name: list, settings: [append]}, {name: dict, settings: [no_replace, recurse_list]}]": "list(append)+dict(no_replace,recurse_list)",
		"[[list, append], [dict], [str]]":        "list(append)+dict()+str()",
		"[{name: dict, settings: no_replace}]":   "dict(replace,no_replace)",
		"[{name: dict, settings: {replace: 1}}]": "dict(replace)",
		"[]":                                     "", "null": "", "{}": "",
	} {
		how, err := HowOf(node(t, in))
		if err != nil || how.String() != want {
			t.Errorf("%q: got %q, %v, want %q", in, how, err, want)
		}
	}
	for _, in := range []string{"5", "true", "[list(append)]", "[{name: list}]", "[{settings: []}]", "[[]]", "[5]",
		"[[Dict]]", "[{name: list, settings: 5}]", "{list: append}", "nonsense"} {
		if _, err := HowOf(node(t, in)); !errors.Is(err, ErrHow) {
			t.Errorf("%q: got %v, want ErrHow", in, err)
		}
	}
}

func TestMergeParts(t *testing.T) {
	doc := func(text string) *Document {
		d, l := Parse(diag.File("part"), []byte(Header+"\n"+text))
		if l.HasErrors() {
			t.Fatal(l)
		}
		return d
	}
	got, l := MergeParts(
		Part{Document: doc("runcmd: [a]\nhostname: x")},
		Part{Document: doc("merge_how: list(append)+dict(recurse_list)\nruncmd: [b]\nhostname: q")},
		Part{Document: doc("runcmd: [c]"), MergeType: howA},
		Part{Document: doc("merge_how: nonsense\nruncmd: [lost]")},
		Part{Document: doc("merge_how: null\nmerge_type: [[list, prepend], [dict, recurse_list]]\nruncmd: [d]")},
		Part{Document: doc("merge_how: [[dict]]\nmerge_type: junk\npackages: [p]")},
	)
	if want := "{runcmd: [d, a, b, c], hostname: x, merge_type: junk, packages: [p]}"; form(t, got.Root()) != form(t, node(t, want)) {
		t.Errorf("got %s, want %s", form(t, got.Root()), want)
	}
	if len(l) != 1 || l[0].Code != CodeMerge {
		t.Errorf("diagnostics: got %v, want one %s", l, CodeMerge)
	}
}

func TestMergeVirtlet(t *testing.T) {
	for _, c := range []struct {
		name, base, over, want string
		clashes                int
	}{
		{"lists append, scalars yield", "{runcmd: [a], hostname: x}", "{runcmd: [b], hostname: q}", "{runcmd: [a, b], hostname: q}", 0},
		{"mappings unite", "{a: {b: {c: 1}}}", "{a: {b: {d: 2}, e: 3}}", "{a: {b: {c: 1, d: 2}, e: 3}}", 0},
		{"null deletes", "{a: 1, b: {c: 1, d: 2}}", "{a: null, b: {c: null}}", "{b: {d: 2}}", 0},
		{"null of a new key stays", "{a: 1}", "{b: null}", "{a: 1, b: null}", 0},
		{"base null yields", "{a: null}", "{a: [1]}", "{a: [1]}", 0},
		{"all numbers are one type", "{a: 1}", "{a: 1.5}", "{a: 1.5}", 0},
		{"other types clash", "{a: [1], b: s}", "{a: s, b: {c: 1}}", "{a: s, b: {c: 1}}", 2},
		{"later yes over text", "{a: s}", "{a: yes}", "{a: true}", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, _ := Parse(diag.File("base"), []byte(c.base))
			over, _ := Parse(diag.File("over"), []byte(c.over))
			got, l := MergeVirtlet(base, over)
			if form(t, got.Root()) != form(t, node(t, c.want)) {
				t.Errorf("got %s, want %s", form(t, got.Root()), c.want)
			}
			if len(l) != c.clashes {
				t.Errorf("got %d clashes, want %d: %v", len(l), c.clashes, l)
			}
		})
	}
}

package tree_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/internal/bounded"
)

func TestSuggest(t *testing.T) {
	long := strings.Fields("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu")
	tests := []struct {
		key   string
		known []string
		want  string
	}{
		{"nmae", []string{"name", "size"}, `did you mean "name"?`},
		{"Name", []string{"name", "size"}, `did you mean "name"?`},
		{"sizes", []string{"name", "size"}, `did you mean "size"?`},
		{"hostName", []string{"host", "hostname"}, `did you mean "hostname"?`},
		{"id", []string{"os", "ip"}, `did you mean "ip"?`},
		{"xy", []string{"os"}, "the fields are os"},
		{"colour", []string{"name", "size"}, "the fields are name, size"},
		{"anything", nil, "remove it"},
		{"anything", long, "see the reference for the fields that it has"},
		{"lamda", long, `did you mean "lambda"?`},
		{"ключ", []string{"key"}, "the fields are key"},
		{"", []string{"key"}, "the fields are key"},
	}
	for _, tt := range tests {
		if got := tree.Suggest(tt.key, tt.known); got != tt.want {
			t.Errorf("Suggest(%q, %v) = %s, want %s", tt.key, tt.known, got, tt.want)
		}
	}
	if got := tree.SuggestOf("buses", "ide", []string{"scsi", "virtio"}); got != "the buses are scsi, virtio" {
		t.Errorf("SuggestOf says %s", got)
	}
}

// Each kind is wanted from each value.
func TestWant(t *testing.T) {
	v := parse(t, "s: x\nl: [a]\nm: {k: v}\nn:\n")
	kinds := map[string]tree.Kind{"s": tree.Scalar, "l": tree.List, "m": tree.Map, "n": tree.Null, "none": tree.Absent}
	names := map[tree.Kind]string{tree.Scalar: "a single value", tree.List: "a list", tree.Map: "a mapping"}
	for key, have := range kinds {
		for _, want := range []tree.Kind{tree.Scalar, tree.List, tree.Map} {
			var l diag.List
			ok := v.Get(key).Want(&l, want)
			switch {
			case ok != (have == want):
				t.Errorf("%s: Want(%v) = %v", key, want, ok)
			case ok, have == tree.Null, have == tree.Absent:
				if len(l) > 0 {
					t.Errorf("%s: Want(%v) complains: %v", key, want, l)
				}
			case len(l) != 1 || l[0].Summary != names[want]+" should stand here, not "+names[have]:
				t.Errorf("%s: Want(%v) says %v", key, want, l)
			}
		}
	}
}

func TestReports(t *testing.T) {
	v := parse(t, "a:\n  b: c\n").At("a", "b")
	var l diag.List
	v.Errorf(&l, 7, "do this", "bad %d", 1)
	v.Warnf(&l, 8, "", "odd")
	want := "f:2:6: error[VS0007]: a.b: bad 1; do this|f:2:6: warning[VS0008]: a.b: odd"
	if got := l[0].Error() + "|" + l[1].Error(); got != want {
		t.Errorf("got %s", got)
	}
}

// Places and origins in JSON and in files with the line ends of Windows are those that an editor shows.
func TestPlacesInOtherSpellings(t *testing.T) {
	json := parse(t, "{\n  \"a\": [1, {\"é\": \"text\"}],\n  \"b\": \"x\\ny\"\n}")
	inner := json.Get("a").Items()[1].Get("é")
	if got := inner.Range().String(); got != "f:2:18" {
		t.Errorf("JSON: the value is at %s", got)
	}
	if got := inner.Origin("").At(1, 2).String(); got != "f:2:20" {
		t.Errorf("JSON: the second character is at %s", got)
	}
	if o := json.Get("b").Origin(""); o.Lines != nil {
		t.Errorf("JSON: a text with escapes stands at %v", o.Lines)
	}
	windows := parse(t, "a: |\r\n  one\r\n  two\r\nb: plain\r\n")
	var l diag.List
	if got := windows.Get("a").Str(&l); got != "one\ntwo\n" {
		t.Errorf("Windows: got %q", got)
	}
	if got := windows.Get("a").Origin("").At(2, 1).String(); got != "f:3:3" {
		t.Errorf("Windows: line 2 is at %s", got)
	}
	if got := windows.Get("b").Origin("").At(1, 1).String(); got != "f:4:4" {
		t.Errorf("Windows: a plain text is at %s", got)
	}
}

// A list behind an alias has the paths of where it is used and the places of where it stands.
func TestAlias(t *testing.T) {
	v := parse(t, "base: &b\n- x: 1\nuse: *b\n")
	item := v.Get("use").Items()[0].Get("x")
	if item.Path() != "use[0].x" || item.Range().String() != "f:2:6" {
		t.Errorf("got %s at %v", item.Path(), item.Range())
	}
	if got := v.Get("use").Range().String(); got != "f:3:6" {
		t.Errorf("the alias is at %s", got)
	}
}

// Keys that are no texts are not mistaken for others.
func TestOddKeys(t *testing.T) {
	v := parse(t, "? [a]\n: list\n? {b: c}\n: mapping\n1: number\n\"\": empty\n")
	var keys []string
	for _, e := range v.Entries() {
		keys = append(keys, e.Key)
	}
	if v.Get("a").Exists() || v.Get("b").Exists() || !v.Get("1").Exists() {
		t.Errorf("got %q", keys)
	}
	if n := len(v.Unread()); n < 3 {
		t.Errorf("%d values are unread, but the keys [a] and {b: c} hide theirs", n)
	}
}

func TestLimits(t *testing.T) {
	_, l := tree.Parse("f", []byte("a: [1, 2, 3]\n"), bounded.Limits{Nodes: 3})
	if len(l) != 1 || l[0].Code != bounded.CodeTooManyNodes {
		t.Errorf("got %v", l)
	}
	_, l = tree.Parse("f", []byte(`{"a": [1, 2, 3]}`), bounded.Limits{Depth: 1})
	if len(l) != 1 || l[0].Code != bounded.CodeTooDeep {
		t.Errorf("got %v", l)
	}
}

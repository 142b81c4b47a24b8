package bounded

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

// bomb is a document of a few hundred bytes whose aliases expand to ten to the ninth values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 9; i++ {
		prev := "*a" + string(rune('0'+i-1))
		b.WriteString("a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(prev+",", 9) + prev + "]\n")
	}
	return b.String()
}

func TestYAMLRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		code     diag.Code
		place    string
	}{
		{"alias bomb", bomb(), CodeTooManyNodes, "f:"},
		{"deep flow", strings.Repeat("[", 10_000), CodeTooDeep, "f:1:1"},
		{"deep block", deepBlock(150), CodeTooDeep, "f:100:"},
		{"NUL", "a: b\nc: \x00", CodeNotText, "f:2:4"},
		{"latin-1", "a: \xe9t\xe9", CodeNotText, "f:1:4"},
		{"duplicate key", "a: 1\nb: 2\na: 3\n", CodeDuplicateKey, "f:3:1"},
		{"duplicate key in flow", "x: {k: 1, k: 2}", CodeDuplicateKey, "f:1:11"},
		{"duplicate key behind an alias", "x: &a {k: 1, k: 2}\ny: *a", CodeDuplicateKey, "f:1:14"},
		{"tab", "a:\n\t- b", CodeSyntax, "f:2:1"},
		{"unclosed quote", "a: \"b\nc: d", CodeSyntax, "f:"},
		{"bad indentation", "a:\n  b: 1\n c: 2", CodeSyntax, "f:3:"},
		{"alias in its anchor", "a: &a [*a]", CodeSyntax, "f:1:8"},
		{"unknown alias", "a: *nope", CodeSyntax, "f:1:"},
		{"too large", strings.Repeat("#", 5<<20), CodeTooLarge, "f:1:1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			docs, l := YAML("f", []byte(tt.in), Limits{})
			if docs != nil || len(l) != 1 {
				t.Fatalf("got %d documents and %v, want one diagnostic", len(docs), l)
			}
			if l[0].Code != tt.code || !strings.HasPrefix(l[0].Range.String(), tt.place) {
				t.Errorf("got %v, want %v at %s", l[0], tt.code, tt.place)
			}
		})
	}
}

func deepBlock(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestYAMLReadsDocuments(t *testing.T) {
	docs, l := YAML("f", []byte("# only a comment\n---\na: 1\n---\n\n---\n- x\n- <<: y\n"), Limits{})
	if len(l) != 0 || len(docs) != 2 {
		t.Fatalf("got %d documents, %v", len(docs), l)
	}
	if docs[0].Content[0].Kind != yaml.MappingNode || docs[1].Content[0].Kind != yaml.SequenceNode {
		t.Errorf("wrong kinds")
	}
}

func TestJSONRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		code     diag.Code
		place    string
	}{
		{"empty", "", CodeSyntax, "f:1:1"},
		{"trailing comma in object", "{\n  \"a\": 1,\n}", CodeSyntax, "f:3:1"},
		{"two commas in object", "{\"a\": 1,\n , \"b\": 2}", CodeSyntax, "f:2:2"},
		{"two commas in array", "[1,,2]", CodeSyntax, "f:1:4"},
		{"trailing comma in array", "[1,]", CodeSyntax, "f:1:4"},
		{"second value", `{"a":1} {"b":2}`, CodeSyntax, "f:1:9"},
		{"duplicate key", `{"ignition":{},"ignition":{}}`, CodeDuplicateKey, "f:1:16"},
		{"duplicate key by escape", `{"a":1,"\u0061":2}`, CodeDuplicateKey, "f:1:8"},
		{"single quotes", `{'a':1}`, CodeSyntax, "f:1:2"},
		{"comment", "{} // x", CodeSyntax, "f:1:4"},
		{"bare word", `{"a": yes}`, CodeSyntax, "f:1:7"},
		{"leading zero", `{"a": 0644}`, CodeSyntax, "f:1:7"},
		{"NaN", `[NaN]`, CodeSyntax, "f:1:2"},
		{"raw newline in string", "[\"a\nb\"]", CodeSyntax, "f:1:4"},
		{"bad escape", `["\x41"]`, CodeSyntax, "f:1:2"},
		{"lone surrogate", `["\ud83d"]`, CodeSyntax, "f:1:2"},
		{"unclosed string", `["abc`, CodeSyntax, "f:1:2"},
		{"unclosed object", `{"a": 1`, CodeSyntax, "f:1:8"},
		{"missing colon", `{"a" 1}`, CodeSyntax, "f:1:6"},
		{"missing comma", "[1 2]", CodeSyntax, "f:1:4"},
		{"deep", strings.Repeat("[", 10_000), CodeTooDeep, "f:1:101"},
		{"byte order mark", "\uFEFF{}", CodeSyntax, "f:1:1"},
		{"bad UTF-8", "[\"\xff\"]", CodeNotText, "f:1:3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc, l := JSON("f", []byte(tt.in), Limits{})
			if doc != nil || len(l) != 1 {
				t.Fatalf("got %v and %v, want one diagnostic", doc, l)
			}
			if l[0].Code != tt.code || l[0].Range.String() != tt.place {
				t.Errorf("got %v, want %v at %s", l[0], tt.code, tt.place)
			}
		})
	}
}

func TestGunzipIsBounded(t *testing.T) {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	if _, err := Gunzip(buf.Bytes(), 1<<10); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a bomb unpacked: %v", err)
	}
	if out, err := Gunzip(buf.Bytes(), 1<<20); err != nil || len(out) != 1<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// FuzzJSON holds the parser to the standard library: what we accept, it accepts, with the same value.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9\n",null,true]}`, `[]`, `"\ud83d\ude00"`, `{"a":1,}`, `-0`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, l := JSON("f", data, Limits{})
		var want any
		err := json.Unmarshal(data, &want)
		if doc == nil {
			if len(l) == 0 {
				t.Fatal("refused without a word")
			}
			return
		}
		if err != nil {
			t.Fatalf("accepted what encoding/json refuses: %v", err)
		}
		var got any
		if err := doc.Content[0].Decode(&got); err != nil && !strings.Contains(err.Error(), "out of range") {
			t.Fatalf("the tree does not decode: %v", err)
		}
	})
}

// FuzzYAML holds the reader to its budgets: whatever is accepted can be walked with its aliases expanded.
func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1", bomb(), "- [a, {b: c}]", "a: &x {y: z}\nb: *x", "? [k]\n: v"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs, l := YAML("f", data, Limits{Nodes: 10_000})
		if len(docs) > 0 && l.HasErrors() {
			t.Fatal("documents beside an error")
		}
		for _, d := range docs {
			if n := count(d); n > 10_001 {
				t.Fatalf("%d values accepted", n)
			}
		}
	})
}

func count(n *yaml.Node) int {
	if n.Kind == yaml.AliasNode {
		return count(n.Alias)
	}
	total := 1
	for _, c := range n.Content {
		total += count(c)
	}
	return total
}

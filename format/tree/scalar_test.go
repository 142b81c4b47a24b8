package tree_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
)

// What PyYAML and kubectl read as something else than a text must not pass as one.
func TestStrAmbiguous(t *testing.T) {
	for _, in := range []string{
		"1", "-1", "0644", "0o644", "0x1F", "0b11", "1_000", "1.10", ".5", "1e3", "1.5e+3", "685_230.15", ".inf", "-.INF", ".nan",
		"true", "False", "yes", "Yes", "NO", "on", "Off", "2024-01-01", "2001-12-14t21:59:43.10-05:00", "2001-1-2 3:04:05",
		"12:30", "12:30:45", "52:54:00:12:34:56", "+1:2", "190:20:30.15", "=", "!!int '7'", "!!binary aGk=", "!custom x",
	} {
		var l diag.List
		if got := parse(t, "a: "+in).Get("a").Str(&l); got != "" || len(l) != 1 || l[0].Code != tree.CodeAmbiguous {
			t.Errorf("%s: got %q and %v, want one %v", in, got, l, tree.CodeAmbiguous)
		}
	}
}

func TestStr(t *testing.T) {
	for in, want := range map[string]string{
		`"1"`: "1", "'yes'": "yes", "|\n  0644": "0644", ">\n  true": "true", "!!str yes": "yes", "y": "y", "N": "N", "yEs": "yEs", "oFF": "oFF",
		"1.2.3": "1.2.3", "10.0.0.1": "10.0.0.1", "fd00::1": "fd00::1", "08:30": "08:30", "52:54:00:aa:34:56": "52:54:00:aa:34:56",
		"''": "", "2024-01": "2024-01", "v1": "v1", "1G": "1G", "30s": "30s", "a#b": "a#b", "'='": "=", "99:99": "99:99",
	} {
		var l diag.List
		v := parse(t, "a: "+in).Get("a")
		if got := v.Str(&l); got != want || len(l) > 0 {
			t.Errorf("%s: got %q and %v, want %q", in, got, l, want)
		}
	}
}

func TestScalars(t *testing.T) {
	tests := []struct {
		name, in string
		read     func(v tree.Value, l *diag.List) any
		want     any
		code     diag.Code
		message  string
	}{
		{"loose number", "0644", loose, "0644", 0, ""},
		{"loose list", "[1]", loose, "", tree.CodeWrongType, "a single value should stand here, not a list"},
		{"null is absent", "~", loose, "", 0, ""},

		{"true", "True", boolean, true, 0, ""},
		{"false", "false", boolean, false, 0, ""},
		{"old true", "Yes", boolean, true, tree.CodeOldBool, "disagree"},
		{"old false", "off", boolean, false, tree.CodeOldBool, "disagree"},
		{"tagged old true", "!!bool yes", boolean, true, tree.CodeOldBool, "disagree"},
		{"quoted true", "'true'", boolean, false, tree.CodeWrongType, "not a text"},
		{"quoted yes", "'yes'", boolean, false, tree.CodeWrongType, "not a text"},
		{"number as boolean", "1", boolean, false, tree.CodeWrongType, "not a number"},
		{"mapping as boolean", "{x: 1}", boolean, false, tree.CodeWrongType, "not a mapping"},

		{"number", "7", integer, int64(7), 0, ""},
		{"lowest", "-3", integer, int64(-3), 0, ""},
		{"highest", "10", integer, int64(10), 0, ""},
		{"too low", "-4", integer, int64(0), tree.CodeOutOfRange, "between -3 and 10"},
		{"too high", "11", integer, int64(0), tree.CodeOutOfRange, "between -3 and 10"},
		{"beyond 64 bits", "99999999999999999999", integer, int64(0), tree.CodeOutOfRange, "between -3 and 10"},
		{"octal", "07", integer, int64(0), tree.CodeAmbiguous, "octal"},
		{"zero", "0", integer, int64(0), 0, ""},
		{"hexadecimal", "0x7", integer, int64(0), tree.CodeWrongType, "decimal digits"},
		{"fraction", "7.5", integer, int64(0), tree.CodeWrongType, "a whole number"},
		{"quoted number", "'7'", integer, int64(0), tree.CodeWrongType, "not a text"},
		{"text as number", "x", integer, int64(0), tree.CodeWrongType, "not a text"},
		{"old boolean as number", "no", integer, int64(0), tree.CodeWrongType, "not a boolean"},
		{"open range", "0", func(v tree.Value, l *diag.List) any { return v.Int(l, 1, math.MaxInt64) }, int64(0),
			tree.CodeOutOfRange, "at least 1"},

		{"base64", "aGVs\n  bG8=", decoded, "hello", 0, ""},
		{"base64 without padding", "aGVsbG8", decoded, "", tree.CodeNotBase64, "not base64"},
		{"base64 for URLs", "'-_8='", decoded, "", tree.CodeNotBase64, "not base64"},
		{"base64 of nothing", "''", decoded, "", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := parse(t, "a: "+tt.in)
			var l diag.List
			if got := tt.read(v.Get("a"), &l); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			switch {
			case tt.code == 0 && len(l) > 0:
				t.Errorf("unwanted: %v", l)
			case tt.code == 0:
			case len(l) != 1 || l[0].Code != tt.code || !strings.Contains(l[0].Error(), tt.message) || l[0].Range.String() != "f:1:4" || l[0].Field != "a":
				t.Errorf("got %v, want %v with %q at f:1:4", l, tt.code, tt.message)
			}
			if u := unread(v); u != "" {
				t.Errorf("unread: %s", u)
			}
		})
	}
}

func loose(v tree.Value, l *diag.List) any   { return v.Loose(l) }
func boolean(v tree.Value, l *diag.List) any { return v.Bool(l) }
func integer(v tree.Value, l *diag.List) any { return v.Int(l, -3, 10) }
func decoded(v tree.Value, l *diag.List) any { return string(v.Base64(l)) }

func TestCollections(t *testing.T) {
	v := parse(t, "list: [a, 'b']\nmap: {x: y, n: 'no'}\nbad: [a, 1]\nworse: text\n")
	var l diag.List
	if got := v.Get("list").Strings(&l); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
	if got := v.Get("map").StringMap(&l); len(got) != 2 || got["x"] != "y" || got["n"] != "no" {
		t.Errorf("got %v", got)
	}
	if len(l) > 0 {
		t.Errorf("unwanted: %v", l)
	}
	v.Get("bad").Strings(&l)
	v.Get("worse").Strings(&l)
	v.Get("worse").StringMap(&l)
	if len(l) != 3 || l[0].Field != "bad[1]" || l[1].Code != tree.CodeWrongType || l[2].Code != tree.CodeWrongType {
		t.Errorf("got %v", l)
	}
}

// A place inside a text leads to the same characters in the file.
func TestOrigin(t *testing.T) {
	const text = `plain: hello world
quoted: "hello world"
escaped: "hello\tworld"
literal: |
    first

      second
indicated: |2-
      deep
    less
folded: >
  hello
  world
empty: ''
élan: {ключ: value}
list: [1]
anchored: &a hello
`
	lines := strings.Split(text, "\n")
	v := parse(t, text)
	for _, path := range [][]string{{"plain"}, {"quoted"}, {"literal"}, {"indicated"}, {"élan", "ключ"}} {
		v := v.At(path...)
		var l diag.List
		o := v.Origin("what")
		if o.What != "what" || o.Whole != v.Range() || len(o.Lines) == 0 {
			t.Errorf("%s: got %+v", v.Path(), o)
			continue
		}
		for i, line := range strings.Split(strings.TrimSuffix(v.Str(&l), "\n"), "\n") {
			for j, r := range []rune(line) {
				at := o.At(i+1, j+1).Start
				if got := []rune(lines[at.Line-1]); at.Column > len(got) || got[at.Column-1] != r {
					t.Errorf("%s: line %d, column %d leads to %d:%d", v.Path(), i+1, j+1, at.Line, at.Column)
				}
			}
		}
	}
	for _, key := range []string{"escaped", "folded", "empty", "list", "anchored"} {
		if o := v.Get(key).Origin(""); o.Lines != nil || o.Whole != v.Get(key).Range() {
			t.Errorf("%s: got %+v, want the whole value", key, o)
		}
	}
}

func TestNoSecretInMessages(t *testing.T) {
	const canary = "canary1234"
	for _, in := range []string{canary, "[" + canary + "]", "{k: " + canary + "}", "!x " + canary, "'" + canary + "'", "0" + "12345678901"} {
		v := parse(t, "a: "+in).Get("a")
		var l diag.List
		v.Bool(&l)
		v.Int(&l, 0, 1)
		v.Base64(&l)
		v.Strings(&l)
		v.StringMap(&l)
		v.Str(&l)
		if len(l) == 0 {
			t.Errorf("%s: nothing is wrong with it", in)
		}
		for _, d := range l {
			if strings.Contains(d.Error(), canary) || strings.Contains(d.Error(), "12345678901") {
				t.Errorf("%s: the value shows in %v", in, d)
			}
		}
	}
}

package cloudconfig

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vmseed/vmseed/diag"
)

func parseText(t testing.TB, text string) *Document {
	t.Helper()
	d, l := Parse(diag.File("f"), []byte(text))
	if l.HasErrors() {
		t.Fatalf("%s: %v", text, l)
	}
	return d
}

func TestUntouchedIsVerbatim(t *testing.T) {
	for _, in := range []string{
		"#cloud-config\n\n# note\nusers:   [default]   \r\nx: 0644\n\n\n", "\n #Cloud-Config   \na: &a {b: 1}\nc: *a", "#cloud-config",
		"#cloud-configfoo bar\na:\n- b\n",
	} {
		got, err := parseText(t, in).Encode()
		if err != nil || string(got) != in {
			t.Errorf("got %q, %v, want %q", got, err, in)
		}
	}
}

func TestEncodeAddsHeader(t *testing.T) {
	for in, want := range map[string]string{
		"a: 0644\nb: yes # really\n": "#cloud-config\na: 0644\nb: yes # really\n",
		"":                           "#cloud-config\n",
		"---\na: 1\n":                "#cloud-config\na: 1\n",
	} {
		got, err := parseText(t, in).Encode()
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v, want %q", in, got, err, want)
		}
	}
}

// TestSpellingSurvives changes a document and demands that everything else stays as its author wrote it.
func TestSpellingSurvives(t *testing.T) {
	const in = `#cloud-config
# about users
users:
  - default # the distribution's
  # and mine
  - name: 'me'
    lock_passwd: no
    groups: [adm, "sudo"]
    mode: 0644
    empty:
    uid: 1_000
# scripts
runcmd:
  - [ls, -l, /]
  - |
    echo "a: b" # no comment
      indented

    end
  - - nested
    - list
write_files:
  - path: /x
    content: >
      folded
      text
    list: []
when: 2024-01-02
time: 12:30:45
big: 0x1F
bye: "=" # last
`
	d, err := parseText(t, in).With("hostname", mustValue(t, "web: 1"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(in, "content: >\n      folded\n      text\n", "content: |\n      folded text\n", 1) + "hostname: \"web: 1\"\n"
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func mustValue(t testing.TB, v any) *yaml.Node {
	t.Helper()
	n, err := Value(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestValue(t *testing.T) {
	got, err := EncodeNode(mustValue(t, Mapping{
		{"plain", "/usr/bin/env bash"}, {"yes", "yes"}, {"0644", "0644"}, {"mac", "52:54:00:12:34:56"}, {"eq", "="},
		{"script", "#!/bin/sh\necho\n"}, {"noend", "a\nb"}, {"blank", "a\n\n\n"}, {"indented", " a\nb\n"}, {"tab", "a\tb"},
		{"control", "a\x00\x7f\u0085\u2028\ufeff"}, {"int", 7}, {"bool", true}, {"float", 1e6}, {"small", 1e-30}, {"nil", nil}, {"list", []string{"a", ""}},
		{"none", []any{}}, {"sub", map[string]any{"b": Mapping{}, "a": []any{1, []string{"x"}}}}, {"exp", "1e3"}, {"y", "y"},
		{"key: x", "a #b"}, {"", "- a"}, {"key", "ssh-ed25519 AAAAC3 me@host"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `plain: /usr/bin/env bash
"yes": "yes"
"0644": "0644"
mac: "52:54:00:12:34:56"
eq: "="
script: |
  #!/bin/sh
  echo
noend: |-
  a
  b
blank: |+
  a


indented: " a\nb\n"
tab: "a\tb"
control: "a\x00\x7f\x85\u2028\ufeff"
int: 7
bool: true
float: 1.0e+06
small: 1.0e-30
nil: null
list:
  - a
  - ""
none: []
sub:
  a:
    - 1
    - - x
  b: {}
exp: "1e3"
"y": "y"
"key: x": "a #b"
"": "- a"
key: ssh-ed25519 AAAAC3 me@host
`
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for _, v := range []any{"\xff", []string{"\xff"}, Mapping{{"\xff", 1}}, struct{}{}} {
		if _, err := Value(v); err == nil {
			t.Errorf("%#v has a YAML form", v)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		name, in string
		code     diag.Code
		at       string
	}{
		{"script", "#!/bin/sh\n", CodeKind, "f:1:1"},
		{"jinja", "## template: jinja\n#cloud-config\n", CodeKind, "f:1:1"},
		{"list", "#cloud-config\n- a\n", CodeNotMapping, "f:2:1"},
		{"text", "#cloud-config\nhello\n", CodeNotMapping, "f:2:1"},
		{"two documents", "#cloud-config\na: 1\n---\nb: 2\n", CodeManyDocuments, "f:3:1"},
		{"empty second document", "#cloud-config\na: 1\n---\n", CodeManyDocuments, "f:3:1"},
		{"control character", "#cloud-config\na: x\u007fy\n", CodeRefused, "f:2:5"},
		{"control character in a comment", "#cloud-config\na: 1 # \u0080\n", CodeRefused, "f:2:8"},
		{"unknown tag", "#cloud-config\na: !foo bar\n", CodeRefused, "f:2:4"},
		{"lone equals sign", "#cloud-config\na: =\n", CodeRefused, "f:2:4"},
		{"no such day", "#cloud-config\na: 2024-02-31\n", CodeRefused, "f:2:4"},
		{"number without digits", "#cloud-config\na: 0x_\n", CodeRefused, "f:2:4"},
		{"list as a key", "#cloud-config\n? [a]\n: b\n", CodeRefused, "f:2:3"},
		{"merge key of a text", "#cloud-config\n<<: x\n", CodeRefused, "f:2:1"},
		{"tab behind a colon", "#cloud-config\nk: 'a\tb' # \t\na:\tb\n", CodeRefused, "f:3:3"},
		{"tab behind a value", "#cloud-config\na: b\t\n", CodeRefused, "f:2:5"},
		{"tab that indents", "#cloud-config\na: [b,\n\tc]\n", CodeRefused, "f:3:1"},
		{"question mark in brackets", "#cloud-config\na: [http://x/?a=1]\n", CodeRefused, "f:2:5"},
		{"colon in brackets", "#cloud-config\na: [b, :c]\n", CodeRefused, "f:2:8"},
		{"anchor twice", "#cloud-config\na: &x 1\nb: &x 2\n", CodeRefused, "f:3:4"},
		{"keys of one value", "#cloud-config\nyes: 1\non: 2\n", CodeSameKey, "f:3:1"},
		{"Helm value", "#cloud-config\nhostname: {{ .Values.name }}\n", CodeTemplate, "f:2:12"},
		{"Helm block", "#cloud-config\n{{- if .Values.x }}\na: 1\n{{- end }}\n", CodeTemplate, "f:2:1"},
		{"jinja block", "#cloud-config\na: 1\n{% if x %}\nb: 2\n{% endif %}\n", CodeTemplate, "f:3:1"},
		{"jinja value", "#cloud-config\nhostname: {{ v1.name }}\n", CodeTemplate, "f:2:12"},
		{"Terraform block", "#cloud-config\na: 1\n%{ if x }\nb: 2\n%{ endif }\n", CodeTemplate, "f:3:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, l := Parse(diag.File("f"), []byte(c.in))
			if d != nil || len(l) == 0 || l[0].Code != c.code || l[0].Range.String() != c.at {
				t.Errorf("got %v, want %s at %s", l, c.code, c.at)
			}
		})
	}
}

func TestTemplateIsNoExcuse(t *testing.T) {
	_, l := Parse(diag.File("f"), []byte("#cloud-config\nruncmd:\n  - docker ps --format '{{ .Names }}'\na:\n  b: 1\n c: 2\nd: [\n"))
	if len(l) == 0 || l[0].Code == CodeTemplate {
		t.Errorf("got %v, want a syntax error", l)
	}
}

func TestParseTemplate(t *testing.T) {
	const in = "## template: jinja\n#cloud-config\nhostname: {{ v1.name }}\n{% if v1.x == \"a: b\" %}\npackages: [{{ p }}, vim]\n{% endif %}\n{# note: #}\nx: 1\n"
	d, l := ParseTemplate(diag.File("f"), []byte(in))
	if l.HasErrors() {
		t.Fatal(l)
	}
	if !Opaque(d.Get("hostname")) || !Opaque(d.Get("packages").Content[0]) || Opaque(d.Get("packages").Content[1]) {
		t.Error("the wrong values are opaque")
	}
	if at := d.Range(d.Get("x")).String(); at != "f:8:4" {
		t.Errorf("x is at %s, want f:8:4", at)
	}
	if got, err := d.Encode(); err != nil || string(got) != in {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := d.With("y", mustValue(t, 1)); !errors.Is(err, ErrTemplate) {
		t.Errorf("changed: got %v, want ErrTemplate", err)
	}
	if _, l := MergeParts(Part{Document: d}); !l.HasErrors() {
		t.Error("a template was merged")
	}
	if _, l := MergeVirtlet(d, d); !l.HasErrors() {
		t.Error("a template was merged as Virtlet does")
	}
}

// TestOddLineBreaks reads texts with the line breaks of YAML 1.1 that editors don't show.
func TestOddLineBreaks(t *testing.T) {
	for in, want := range map[string]string{
		"a: \"x\u2028y\"\nb: 1\n": "f:3:4", "a: 'x\u0085 y'\nb: 1\n": "f:3:4", "a: x\rb: 1\r": "f:2:4", "a: x\r\nb: 1\r\n": "f:2:4",
	} {
		d := parseText(t, in)
		if got := d.Range(d.Get("b")).String(); got != want {
			t.Errorf("%q: b is at %s, want %s", in, got, want)
		}
	}
}

func TestOriginIsCarried(t *testing.T) {
	o := diag.Origin{Whole: diag.At("pod.yaml", 10, 5), Lines: []diag.Pos{{Line: 11, Column: 7}, {Line: 12, Column: 7}, {Line: 13, Column: 7}}}
	_, l := Parse(o, []byte("#cloud-config\na: 1\nb: =\n"))
	if len(l) != 1 || l[0].Range.String() != "pod.yaml:13:10" {
		t.Errorf("got %v, want a place at pod.yaml:13:10", l)
	}
}

func TestParseArchive(t *testing.T) {
	const in = `#cloud-config-archive
- "#!/bin/sh"
- type: text/x-shellscript
  filename: one
  launch-index: 2
  Merge-Type: list(append)
  content: |
    #!/bin/sh
    echo
- content: "plain"
- {}
- 5
- content: [1]
`
	items, l := ParseArchive(diag.File("f"), []byte(in))
	if len(items) != 4 {
		t.Fatalf("got %d items, want 4: %v", len(items), l)
	}
	for i, want := range []Item{
		{ContentType: "text/x-shellscript", Content: []byte("#!/bin/sh")},
		{ContentType: "text/x-shellscript", Filename: "one", Content: []byte("#!/bin/sh\necho\n")},
		{ContentType: "text/cloud-config", Content: []byte("plain")},
		{ContentType: "text/cloud-config"},
	} {
		if it := items[i]; it.ContentType != want.ContentType || it.Filename != want.Filename || !bytes.Equal(it.Content, want.Content) {
			t.Errorf("item %d: got %+v", i, it)
		}
	}
	if h := items[1].Header; h["Merge-Type"] != "list(append)" || h["Launch-Index"] != "2" || len(h) != 2 {
		t.Errorf("got %v", h)
	}
	if at := items[1].Origin.At(2, 3).String(); at != "f:9:7" {
		t.Errorf("line 2 of the script is at %s, want f:9:7", at)
	}
	if at := items[2].Origin.At(1, 1).String(); at != "f:10:13" {
		t.Errorf("the text is at %s, want f:10:13", at)
	}
	if len(l) != 2 || l[0].Severity != diag.Warning || l[1].Severity != diag.Error {
		t.Errorf("got %v", l)
	}
	for _, bad := range []string{"#cloud-config-archive\na: 1\n", "#cloud-config-archive\n- a\n---\n", "#cloud-config-archive\n- [\n"} {
		if _, l := ParseArchive(diag.File("f"), []byte(bad)); !l.HasErrors() {
			t.Errorf("%q has no error", bad)
		}
	}
}

func TestCodesAreExplained(t *testing.T) {
	for i, e := range Codes() {
		if e.Code != CodeKind+diag.Code(i) || e.Title == "" || e.Text == "" {
			t.Errorf("explanation %d is of %s", i, e.Code)
		}
	}
	if last := Codes()[len(Codes())-1].Code; last != CodeArchive {
		t.Errorf("the last explained code is %s, want %s", last, CodeArchive)
	}
}

package translate_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/machine/machinetest"
)

// keyLine is a line of the table of cloud-init's keys in format/cloudconfig/lint, whose shape.go explains the notation.
type keyLine struct {
	label, rest string
	parts       []*keyLine
}

// keyTable reads the table: the top-level keys, and the shapes that several share by their names.
func keyTable(t *testing.T) (top []*keyLine, shared map[string]*keyLine) {
	t.Helper()
	shared = map[string]*keyLine{}
	for _, name := range []string{"shared", "a-l", "m-z"} {
		text, err := os.ReadFile("../../../format/cloudconfig/lint/table/" + name + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		root := &keyLine{}
		stack := []*keyLine{root}
		for line := range strings.Lines(string(text)) {
			body := strings.TrimLeft(line, " ")
			depth := (len(line) - len(body)) / 2
			body = strings.TrimSpace(body)
			if body == "" || strings.HasPrefix(body, "#") {
				continue
			}
			label, rest := body, ""
			if i := strings.Index(body, ": "); i >= 0 {
				label, rest = body[:i], body[i+2:]
			}
			k := &keyLine{label: strings.TrimSuffix(label, ":"), rest: rest}
			stack = append(stack[:depth+1], k)
			stack[depth].parts = append(stack[depth].parts, k)
		}
		for _, k := range root.parts {
			if strings.HasPrefix(k.label, "$") {
				shared[k.label] = k
			} else {
				top = append(top, k)
			}
		}
	}
	return top, shared
}

// probe is a document with one leaf at %s, and the same without it.
type probe struct{ path, with, without string }

var required = regexp.MustCompile(`required=(\S+)`)

// probes walks a shape down to its leaves. A document is built around the flow text of the value.
func probes(k *keyLine, shared map[string]*keyLine, path, before, after string) []probe {
	parts := k.parts
	if i := strings.Index(k.rest, "$"); i >= 0 {
		name, _, _ := strings.Cut(k.rest[i:], " ")
		if s := shared[name]; s != nil {
			parts = slices.Concat(parts, s.parts)
		}
	}
	out := []probe{{path, before + "%s" + after, before + "null" + after}}
	var siblings string
	if m := required.FindStringSubmatch(k.rest); m != nil {
		for name := range strings.SplitSeq(m[1], ",") {
			siblings += ", " + name + ": x"
		}
	}
	for _, p := range parts {
		switch label := p.label; {
		case label == "|" || label == "+":
			out = append(out, probes(p, shared, path, before, after)...)
		case label == "-":
			out = append(out, probes(p, shared, path+"[]", before+"[", "]"+after)...)
		case label == "*" || strings.HasPrefix(label, "/"):
			out = append(out, probes(p, shared, path+".*", before+"{vdx: ", siblings+"}"+after)...)
		default:
			// The key itself, and those beside it that some reader insists on.
			others := ""
			for _, s := range []string{"name", "path", "device", "filesystem", "mode", "url", "layout"} {
				if s != label && slices.ContainsFunc(parts, func(q *keyLine) bool { return q.label == s }) {
					others += ", " + s + ": x9"
				}
			}
			if label != "content" && strings.HasPrefix(path, "write_files") {
				others += ", content: aGVsbG8K"
			}
			out = append(out, probes(p, shared, path+"."+label, before+"{"+label+": ", others+"}"+after)...)
		}
	}
	return out
}

// TestEveryKey sets every key of cloud-init's schemas, at every level: it must change the machine, or it or something
// that holds it must be spoken of.
func TestEveryKey(t *testing.T) {
	top, shared := keyTable(t)
	names := map[string]bool{}
	// Their values mean nothing to cloud-init either: the keys are the groups.
	silent := []string{"user.groups.*", "users[].groups.*"}
	values := []string{"true", "false", "7", "text", "gzip", "2031-01-02", "[text]", "{a: b}", `"0700"`, "remove", `["a:b"]`}
	count := 0
	for _, k := range top {
		names[k.label] = true
		for _, p := range probes(k, shared, k.label, k.label+": ", "") {
			count++
			place := strings.NewReplacer("[]", "[0]", ".*", ".vdx").Replace(p.path)
			m, _ := read("#cloud-config\n" + p.without + "\n")
			without := machinetest.Dump(m)
			heard := slices.ContainsFunc(values, func(v string) bool {
				m, l := read("#cloud-config\n" + strings.Replace(p.with, "%s", v, 1) + "\n")
				return machinetest.Dump(m) != without || slices.ContainsFunc(l, func(d diag.Diagnostic) bool {
					rest, holds := strings.CutPrefix(place, d.Field)
					return d.Field != "" && holds && (rest == "" || rest[0] == '.' || rest[0] == '[')
				})
			})
			if !heard && !slices.Contains(silent, p.path) {
				t.Errorf("%s leaves no trace: %s", p.path, p.with)
			}
		}
	}
	if len(names) < 90 || count < 900 {
		t.Errorf("%d keys, %d probes", len(names), count)
	}
}

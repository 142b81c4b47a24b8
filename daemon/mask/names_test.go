package mask

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// TestTelling holds the names that are looked for first against the expression that masks: what that finds, they tell of.
func TestTelling(t *testing.T) {
	all := regexp.MustCompile(`^(?i:` + word + `)$`)
	for _, name := range telling {
		if !all.MatchString(name) || !tells("x"+strings.ToUpper(name)+"x") {
			t.Errorf("%s is no name that tells of a secret", name)
		}
	}
	for _, name := range strings.Fields("passſword toKen") {
		if !tells(name) {
			t.Errorf("%s may stand for another name", name)
		}
	}
	if tells("pass the salt, packages: [tree], access: all, #cloud-config") {
		t.Error("lines without such a name are looked at")
	}
	// Each alternative of the expression, with what is optional in it and without.
	for _, name := range alternatives(strings.TrimSuffix(strings.TrimPrefix(word, "(?:"), ")")) {
		if !tells(name) {
			t.Errorf("nothing tells of %s", name)
		}
	}
}

// alternatives expands a(?:b|c)|d_?e.
func alternatives(expression string) (out []string) {
	group := regexp.MustCompile(`^([a-z_]*)\(\?:([a-z|]*)\)$`)
	for _, a := range regexp.MustCompile(`[a-z_?]+(?:\([^)]*\))?`).FindAllString(expression, -1) {
		if m := group.FindStringSubmatch(a); m != nil {
			for _, end := range strings.Split(m[2], "|") {
				out = append(out, m[1]+end)
			}
			continue
		}
		out = append(out, strings.ReplaceAll(a, "_?", ""), strings.ReplaceAll(a, "_?", "_"))
	}
	return out
}

// TestLines masks texts line by line and as a whole: both are the same.
func TestLines(t *testing.T) {
	parts := []string{"password: hunter2", "  - passwd: \"hunter2\" # mine", `{"token":"x\"y","lock_passwd":false}`, "{name: a, password: hunter2, uid: 1}", "secret: |", "  a line",
		"", "API_KEY=a", "credential: 'it''s'", "user: ada\r", "accessKey: ſ", "private: \"a", "b\"", "- a: b"}
	var texts []string
	for i := range parts {
		for k := range parts {
			texts = append(texts, fmt.Sprintf("%s\n%s\n%s", parts[i], parts[k], parts[(i+k)%len(parts)]), parts[i]+"\r\n"+parts[k]+"\n")
		}
	}
	changed := 0
	for _, text := range texts {
		got, want := inLines(text, maskNamed), maskNamed(text)
		if got != want {
			t.Errorf("%q\nline by line %q\nas a whole   %q", text, got, want)
		}
		if want != text {
			changed++
		}
	}
	if changed < len(texts)/2 {
		t.Errorf("%d of %d texts have something to mask", changed, len(texts))
	}
}

// BenchmarkText masks a script of the size that a run adds.
func BenchmarkText(b *testing.B) {
	text := strings.Repeat("def report(self, stage, module=None):\n    self.token = read('/run/report')  # how the daemon knows the guest\n    for name in sorted(self.stages): print(name)\n", 110)
	for b.Loop() {
		Secrets{"value"}.Text(text)
	}
}

package ignconfig

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// messages returns the constant messages of a package of errors.
func messages(t *testing.T, pkg string) []string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "errors.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) != 1 {
			return true
		}
		if fun, ok := call.Fun.(*ast.SelectorExpr); ok && fun.Sel.Name == "New" {
			if lit, ok := call.Args[0].(*ast.BasicLit); ok {
				text, _ := strconv.Unquote(lit.Value)
				out = append(out, text)
			}
		}
		return true
	})
	if len(out) < 30 {
		t.Fatalf("%s has %d messages", pkg, len(out))
	}
	return out
}

// Every message of the libraries has words of ours. A new release of them brings new messages, and this test names them.
func TestVocabulary(t *testing.T) {
	// These never reach a report of a config: they are obsolete, or about versions and texts that are refused before.
	beside := map[string]bool{"config is not valid": true, "not a config (empty)": true, "config format deprecated": true, "engine incorrectly configured": true,
		"permissions unset, defaulting to 0644": true, "permissions unset, defaulting to 0755": true, "not a config (found coreos-cloudconfig)": true,
		"not a config (found coreos-cloudinit script)": true, "incorrect config version (too old)": true, "incorrect config version (too new)": true}
	for _, pkg := range []string{"github.com/coreos/ignition/v2/config/shared/errors", "github.com/coreos/ignition/config/shared/errors"} {
		for _, m := range messages(t, pkg) {
			if summary, remedy := said(m); !beside[m] && (summary == unknownMessage || remedy == "") {
				t.Errorf("%s: nothing is said for %q", pkg, m)
			}
		}
	}
	beside = map[string]bool{"error parsing variant; must be specified": true, "error parsing version; must be a valid semver": true,
		"trees may only contain files, directories, and symlinks": true}
	for _, m := range messages(t, "github.com/coreos/butane/config/common") {
		if strings.HasPrefix(m, "rhcos variant") || beside[m] {
			continue
		}
		if summary, remedy := butaneSaid(m); summary == "Butane refuses this value" || remedy == "" {
			t.Errorf("nothing is said for Butane's %q", m)
		}
	}
}

// A message that quotes a value is not passed on.
func TestWordsKeepSecrets(t *testing.T) {
	for _, m := range []string{`invalid url "data:,canary": invalid url scheme`, "invalid unit content: found garbage after section name x: \"canary\"",
		"something new about canary", fmt.Sprintf("expected base64, got %s", "canary"), `Found duplicate HTTP header: "canary"`} {
		for _, f := range []func(string) (string, string){said, butaneSaid} {
			if summary, remedy := f(m); strings.Contains(summary+remedy, "canary") {
				t.Errorf("%q becomes %q", m, summary)
			}
		}
	}
}

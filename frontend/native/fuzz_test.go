package native_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

// FuzzNative reads what comes. A machine that is read without errors must be the same after it was written and read
// back, the second text must be the first, and no diagnostic may show a secret.
func FuzzNative(f *testing.F) {
	files, err := filepath.Glob("testdata/*/in.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 4000 {
			f.Add(string(data))
		}
	}
	for _, tt := range badInput {
		f.Add(tt.text())
	}
	for _, text := range []string{`"\t\u00e9\u2028 x\r\n"`, "'a\n\n  b'", "|2-\n    x\n   y", ">\n   a\n   b", "\" \\n\"", "'#x: y'", `"\x7f\u0085\ufeff"`, "'- a'"} {
		f.Add(head + "metadata: {name: m}\nspec:\n  adminPassword: " + text + "\n  runcmd: [[" + strings.SplitN(text, "\n", 2)[0] + "]]\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		machines, l := read(text)
		printed, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range machines {
			for _, secret := range machinetest.Secrets(m) {
				// Shorter texts stand in messages by chance.
				if len(secret) > 30 && !strings.Contains(secret, " ") && strings.Contains(string(printed), secret) {
					t.Errorf("a secret shows in %s", printed)
				}
			}
			if !l.HasErrors() {
				checkRoundTrip(t, m)
			}
		}
		if again, l2 := read(text); len(again) != len(machines) || len(l2) != len(l) {
			t.Errorf("two readings differ: %v and %v", l, l2)
		}
		if len(machines) == 0 && len(l) == 0 && strings.Contains(text, native.APIVersion) && strings.HasPrefix(text, "apiVersion:") {
			t.Error("a document vanished")
		}
	})
}

// FuzzNativeText writes texts of any characters into a document. What is read back must be the same.
func FuzzNativeText(f *testing.F) {
	for _, text := range []string{"a", " a ", "a\n", "\n\na\n b\n\n", "a: b # c", "\t\r\n", "\u0085\u2028\ufeff", "\x7f", "\x00\xff", "0644", "yes", "=", "!x", "- a", "'\"\\", "\n", " \n x"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, hidden, open string) {
		m := machine.Machine{Name: "m", AdminPassword: secret.New(hidden), Labels: map[string]string{open: hidden, "b": open}}
		m.Identity.Hostname = "m"
		m.Files = []machine.File{{Path: "/a", Content: secret.New(hidden)}}
		if open != "" {
			m.RunCmd = []machine.Command{{Shell: open}, {Args: []string{open, hidden}}}
		}
		valid := func(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
		text, l := native.New().Write(m)
		if len(l) > 0 {
			if valid(hidden) && valid(open) {
				t.Errorf("%q, %q: %v", hidden, open, l)
			}
			return
		}
		if !valid(open) {
			t.Errorf("%q was written as text: %s", open, text)
		}
		checkRoundTrip(t, m)
	})
}

package frontendtest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/tree"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/frontendtest"
	"github.com/vmseed/vmseed/internal/bounded"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

// toy is a front end of three fields. Its flaw is what the suite must find.
type toy struct {
	flaw  string
	reads *int
}

func (toy) Name() string { return "toy" }

func (t toy) Sniff(head []byte) frontend.Match {
	if t.flaw == "greedy" || bytes.HasPrefix(head, []byte("kind: Toy\n")) {
		return frontend.Strong
	}
	return frontend.No
}

func (t toy) Read(_ context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var machines []machine.Machine
	var l diag.List
	for _, doc := range src.Documents {
		trees, found := tree.Parse(doc.File, doc.Data, bounded.Limits{})
		l = append(l, found...)
		for _, v := range trees {
			if !v.Want(&l, tree.Map) {
				continue
			}
			m := machine.Machine{
				Name: v.Get("name").Str(&l), AdminPassword: secret.New(v.Get("password").Str(&l)),
				Places:   machine.Places{"": v.Range()},
				Document: machine.Document{Form: t.Name(), Text: secret.FromBytes(doc.Data)},
			}
			if v.Get("kind").Str(&l) != "Toy" {
				v.Get("kind").Errorf(&l, 1, "write Toy", "another kind")
			}
			if t.flaw != "loses a list" {
				m.Packages.Install = v.Get("packages").Strings(&l)
			} else {
				v.Get("packages").Consume()
			}
			t.finish(v, &m, &l)
			machines = append(machines, m)
		}
	}
	return machines, l
}

// finish does the rest of reading, badly where the flaw says so.
func (t toy) finish(v tree.Value, m *machine.Machine, l *diag.List) {
	*t.reads++
	switch t.flaw {
	case "loses what it does not know":
		return
	case "reports at the wrong place", "reports the whole document":
		var own diag.List
		v.Only(&own, "kind", "name", "password", "packages")
		for _, d := range own {
			d.Range = v.Range()
			if t.flaw == "reports the whole document" {
				d.Range.End = diag.Pos{Line: 6, Column: 1}
			}
			l.Add(d)
		}
		return
	case "reports outside of the file":
		m.Places["name"] = diag.At("in.yaml", 999, 1)
	case "is not deterministic":
		if *t.reads%2 == 0 {
			m.DSMode = "net"
		}
	case "prints a secret":
		l.Warnf(1, v.Range(), "", "the password is %s", m.AdminPassword.Reveal())
	case "panics":
		_ = v.Get("packages").Items()[1]
	case "forgets its document":
		m.Document = machine.Document{}
	}
	v.Only(l, "kind", "name", "password", "packages")
}

func run(t *testing.T, flaw string) {
	frontendtest.Run(t, frontendtest.Config{
		New: func() frontend.Frontend { return toy{flaw, new(int)} },
		Samples: []frontendtest.Sample{{Name: "toy", Files: []frontendtest.File{
			{Name: "in.yaml", Text: "kind: Toy\nname: a\npassword: canary-1234\npackages:\n- one\n- two\n"},
		}}},
	})
}

func TestSuitePassesAGoodFrontend(t *testing.T) { run(t, "") }

const flawVariable = "VMSEED_TEST_FLAW"

// TestFlawed is run by TestSuiteFindsFlaws in a process of its own, because it must fail.
func TestFlawed(t *testing.T) {
	flaw := os.Getenv(flawVariable)
	if flaw == "" {
		return
	}
	run(t, flaw)
}

// The suite must fail a front end with a flaw, and say where.
func TestSuiteFindsFlaws(t *testing.T) {
	for flaw, want := range map[string]string{
		"greedy":                      "FAIL: TestFlawed/Sniff",
		"loses what it does not know": "FAIL: TestFlawed/toy/Unknown",
		"loses a list":                "FAIL: TestFlawed/toy/EveryValueCounts",
		"reports at the wrong place":  "FAIL: TestFlawed/toy/Unknown",
		"reports the whole document":  "FAIL: TestFlawed/toy/Unknown",
		"reports outside of the file": "is outside of the file",
		"is not deterministic":        "FAIL: TestFlawed/toy/Deterministic",
		"prints a secret":             "a diagnostic shows a secret",
		"panics":                      "index out of range",
		"forgets its document":        "does not carry its document",
	} {
		t.Run(strings.ReplaceAll(flaw, " ", "-"), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFlawed$", "-test.v")
			cmd.Env = append(os.Environ(), flawVariable+"="+flaw)
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), want) {
				t.Errorf("got %v, want %q in\n%s", err, want, out)
			}
		})
	}
}

package vmseed_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/delivery"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/machine"
)

// sayer is a front end that takes documents with a word in them and makes a machine of each.
type sayer struct {
	name, word string
	match      frontend.Match
}

func (s sayer) Name() string { return s.name }

func (s sayer) Sniff(head []byte) frontend.Match {
	if strings.Contains(string(head), s.word) {
		return s.match
	}
	return frontend.No
}

func (s sayer) Read(ctx context.Context, src frontend.Source) ([]machine.Machine, diag.List) {
	var out []machine.Machine
	var l diag.List
	for _, d := range src.Documents {
		out = append(out, machine.Machine{Name: d.Tree.Get("name").Str(&l), Labels: map[string]string{"by": s.name}})
		if want := d.Tree.Get("wants").Str(&l); want != "" {
			if _, err := src.Resolver.Resolve(ctx, kubeobject.Ref{Kind: "Secret", Namespace: "default", Name: want}); err != nil {
				l.Errorf(1, d.Tree.Range(), "", "%v", err)
			}
		}
	}
	return out, l
}

func TestLoadSortsDocuments(t *testing.T) {
	secrets := "---\nkind: Secret\napiVersion: v1\nmetadata: {name: s}\nstringData: {k: v}\n"
	tests := []struct {
		name, in string
		machines string
		code     diag.Code
		place    string
	}{
		{"one each", "name: x\nred: 1\n---\nname: y\nblue: 1\n", "x by red, y by blue", 0, ""},
		{"a weak match", "name: x\nmaybe: 1\n", "x by weak", 0, ""},
		{"strong beats weak", "name: x\nmaybe: 1\nred: 1\n", "x by red", 0, ""},
		{"two strong ones", "name: x\nred: 1\nblue: 2\n", "", vmseed.CodeUnknownForm, "f:1:1"},
		{"the second of two is nobody's", "name: x\nred: 1\n---\n\ngreen: 2\n", "", vmseed.CodeUnknownForm, "f:5:1"},
		{"its word in the next document does not count", "name: x\nnothing: 1\n---\nname: y\nred: 1\n", "", vmseed.CodeUnknownForm, "f:1:1"},
		{"objects behind", "name: x\nred: 1\nwants: s\n" + secrets, "x by red", 0, ""},
		{"objects before", secrets[4:] + "---\nname: x\nred: 1\nwants: s\n", "x by red", 0, ""},
		{"a missing object", "name: x\nred: 1\nwants: t\n" + secrets, "x by red", 1, "f:1:1"},
		{"only objects", secrets, "", vmseed.CodeNoMachine, "f"},
		{"two of a name", "name: x\nred: 1\n---\nname: x\nblue: 1\n", "x by red, x by blue", vmseed.CodeDuplicateMachine, ""},
		{"XML", "<?xml version='1.0'?>\n<name>red: x</name>", "red: x by red", 0, ""},
		{"XML of nobody's", "<!-- no -->\n<green><name>x</name></green>", "", vmseed.CodeUnknownForm, "f:2:1"},
		{"broken XML", "\n<red:a><name>x</name>", "", element.CodeSyntax, "f:2:1"},
		{"XML with a DTD", "<!DOCTYPE name SYSTEM 'file:///etc/passwd'><name>red: &x;</name>", "", element.CodeForbidden, "f:1:1"},
		{"template", "name: {{ .Name }}\n  x: {{ end }}\n", "", vmseed.CodeTemplate, "f:"},
	}
	e := vmseed.Engine{Frontends: []frontend.Frontend{
		sayer{"red", "red:", frontend.Strong}, sayer{"blue", "blue:", frontend.Strong}, sayer{"weak", "maybe:", frontend.Weak}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			machines, l := e.Load(t.Context(), []vmseed.Input{{File: "f", Data: []byte(tt.in)}}, vmseed.LoadOptions{})
			var got []string
			for _, m := range machines {
				if m.Namespace != "default" {
					t.Errorf("namespace %q", m.Namespace)
				}
				got = append(got, m.Name+" by "+m.Labels["by"])
			}
			if s := strings.Join(got, ", "); s != tt.machines {
				t.Errorf("machines %q, want %q", s, tt.machines)
			}
			if tt.code == 0 {
				if len(l) > 0 {
					t.Errorf("diagnostics %v", l)
				}
				return
			}
			if len(l) != 1 || l[0].Code != tt.code || !strings.HasPrefix(l[0].Range.String(), tt.place) {
				t.Errorf("diagnostics %v, want %v at %q", l, tt.code, tt.place)
			}
		})
	}
}

func TestUnknownPlugins(t *testing.T) {
	e := vmseed.Engine{}
	if _, l := e.Render(machine.Machine{Name: "x"}, vmseed.RenderOptions{DataSource: "nope"}); len(l) != 1 || l[0].Code != vmseed.CodeUnknownPlugin {
		t.Errorf("render: %v", l)
	}
	if _, err := e.Open(t.TempDir()); !errors.Is(err, delivery.ErrNotSeed) {
		t.Errorf("open: %v", err)
	}
	if _, l := e.Load(t.Context(), []vmseed.Input{{File: "f", Role: frontend.UserData}}, vmseed.LoadOptions{}); !l.HasErrors() {
		t.Error("a file with a role and nobody to read it passed")
	}
}

package native_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/frontend/native"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

// read reads documents that refer to no objects.
func read(text string) ([]machine.Machine, diag.List) {
	return native.New().Read(context.Background(), frontend.Source{
		Documents: []frontend.Document{{File: "in.yaml", Data: []byte(text)}},
		Resolver:  &kubeobject.Manifest{},
	})
}

func TestWriteReadFull(t *testing.T) {
	full := machinetest.Full()
	text, l := native.New().Write(full)
	if len(l) > 0 {
		t.Fatalf("%v", l)
	}
	got, l := read(string(text))
	if len(l) > 0 || len(got) != 1 {
		t.Fatalf("got %d machines and %v from\n%s", len(got), l, text)
	}
	if d := machinetest.Diff(full, got[0]); d != "" {
		t.Errorf("%s\nfrom\n%s", d, text)
	}
}

func TestSniff(t *testing.T) {
	for head, want := range map[string]frontend.Match{
		"apiVersion: vmseed.dev/v1alpha1\nkind: Machine\n":                                                     frontend.Strong,
		"# a comment\n---\nkind: Machine\napiVersion: 'vmseed.dev/v1alpha1'\n":                                 frontend.Strong,
		"{\"kind\": \"Machine\", \"apiVersion\":\"vmseed.dev/v9\"}":                                            frontend.Strong,
		"apiVersion: vmseed.dev/v1alpha1\nspec:\n  userData:\n    layers:\n    - |\n      MIME-Version: 1.0\n": frontend.Strong,
		"apiVersion: v1\nkind: Pod\n":                                                                          frontend.No,
		"apiVersion: vmseed.development/v1\n":                                                                  frontend.No,
		"data: |\n  apiVersion: vmseed.dev/v1alpha1\n":                                                         frontend.No,
		"#!/bin/sh\ncat <<E\napiVersion: vmseed.dev/v1alpha1\nE\n":                                             frontend.No,
		"#cloud-config\napiVersion: vmseed.dev/v1alpha1\n":                                                     frontend.No,
		"": frontend.No,
	} {
		if got := native.New().Sniff([]byte(head)); got != want {
			t.Errorf("%q: got %d, want %d", head, got, want)
		}
	}
}

func TestReadOtherRole(t *testing.T) {
	m, l := native.New().Read(context.Background(), frontend.Source{
		Documents: []frontend.Document{{File: "in.yaml", Role: frontend.UserData, Data: []byte("apiVersion: vmseed.dev/v1alpha1\n")}},
	})
	if len(m) > 0 || len(l) != 1 || l[0].Code != native.CodeRole {
		t.Errorf("got %v and %v", m, l)
	}
}

// A document keeps its own text: all of a file that holds nothing else, and only itself where others stand beside it.
func TestDocumentText(t *testing.T) {
	const one = "# kept\napiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: one}\n"
	machines, l := read(one)
	if len(l) > 0 || machines[0].Document.Text.Reveal() != one {
		t.Errorf("got %v, %q", l, machines[0].Document.Text.Reveal())
	}
	machines, l = readFile(t, "in.yaml", []byte(one+"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: canary}\n"))
	if text := machines[0].Document.Text.Reveal(); len(l) > 0 || strings.Contains(text, "canary") || !strings.Contains(text, "name: one") {
		t.Errorf("got %v, %q", l, text)
	}
}

// Places lead from the machine to the file, and origins into the text of a layer.
func TestPlaces(t *testing.T) {
	machines, _ := read("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata:\n  name: m\nspec:\n  users:\n  - name: a\n    groups: [x, y]\n" +
		"  userData:\n    layers:\n    - |\n      #cloud-config\n      a: b\n  runcmd: [ls]\n")
	m := machines[0]
	for path, want := range map[string]string{
		"name": "4:9", "users": "7:3", "users[0]": "7:5", "users[0].name": "7:11", "users[0].groups[1]": "8:17", "users[0].uid": "7:5",
		"userData.layers[0].data": "11:7", "runcmd[0].shell": "14:12", "identity.hostname": "4:9", "": "1:1",
	} {
		if got := m.Places.Find(path).String(); got != "in.yaml:"+want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
	if got := m.UserData.Layers[0].Origin.At(2, 4).String(); got != "in.yaml:13:10" {
		t.Errorf("the text's line 2 is at %s", got)
	}
}

// A machine of another form may hold what the strict reader refuses. It is written all the same, and reported.
func TestWriteReports(t *testing.T) {
	m := machine.Machine{
		Name:   "Not A Name",
		Files:  []machine.File{{Path: "relative"}, {Path: "/ok"}},
		Mounts: []machine.Mount{{Disk: "gone", Path: "/srv"}},
		Places: machine.Places{"files[0].path": diag.At("pod.yaml", 7, 9), "mounts[0]": diag.At("pod.yaml", 9, 3)},
	}
	text, l := native.New().Write(m)
	if len(l) != 3 || !strings.Contains(string(text), "path: relative") {
		t.Fatalf("got %v and\n%s", l, text)
	}
	for i, want := range []string{"warning[VS2101]: metadata.name", "pod.yaml:7:9: warning[VS2101]: spec.files[0].path", "pod.yaml:9:3: warning[VS2105]: spec.mounts[0].disk"} {
		if !strings.HasPrefix(l[i].Error(), want) {
			t.Errorf("got %v, want %s", l[i], want)
		}
	}
}

func TestWriteMembersThatHoldNothing(t *testing.T) {
	m := machine.Machine{
		Name: "m", Identity: machine.Identity{Hostname: "m"},
		Users:   []machine.User{{}, {Name: "a"}},
		RunCmd:  []machine.Command{{}, {Shell: "a", Args: []string{"b"}}},
		CACerts: []secret.Text{{}},
	}
	text, l := native.New().Write(m)
	for _, want := range []string{"- {}", "- name: a", "- shell: a", `- ""`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if len(l) == 0 {
		t.Error("a user without a name is fine")
	}
}

func TestResolverErrors(t *testing.T) {
	const in = "apiVersion: vmseed.dev/v1alpha1\nkind: Machine\nmetadata: {name: m}\nspec:\n  adminPassword: {secretRef: {name: a, key: b}}\n"
	_, l := native.New().Read(context.Background(), frontend.Source{
		Documents: []frontend.Document{{File: "in.yaml", Data: []byte(in)}}, Resolver: failing{},
	})
	if len(l) != 1 || l[0].Code != native.CodeResolve || !strings.Contains(l[0].Summary, "Secret default/a") || !strings.Contains(l[0].Summary, "no connection") {
		t.Errorf("got %v", l)
	}
}

// failing is a resolver whose server is away.
type failing struct{}

func (failing) Resolve(context.Context, kubeobject.Ref) (kubeobject.Object, error) {
	return kubeobject.Object{}, errors.New("no connection")
}

package configdrive

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

func render(t *testing.T, m machine.Machine) (seed.Seed, string, map[string]any) {
	t.Helper()
	if m.Name == "" {
		m.Name, m.Identity.InstanceID, m.Identity.Hostname = "vm", "own", "host"
	}
	m, _ = machine.Place(m, machine.Facts{})
	s, l := New().Render(m, datasource.Options{})
	text, _ := s.Volumes[0].File(base + "meta_data.json")
	var meta map[string]any
	if err := json.Unmarshal([]byte(text.Reveal()), &meta); err != nil {
		t.Fatal(err)
	}
	var problems strings.Builder
	for _, d := range l {
		problems.WriteString(d.Error() + "\n")
	}
	return s, problems.String(), meta
}

// TestPairs overrides one name of a pair or both. cloud-init goes by uuid and hostname, so the others follow or lead.
func TestPairs(t *testing.T) {
	for _, tt := range []struct {
		meta                                string
		revision                            int
		uuid, instance, hostname, hostname2 string
		warned                              bool
	}{
		{"", 0, "own", "own", "host", "host", false},
		{"", 2, "own-r2", "own-r2", "host", "host", false},
		{"instance-id: x", 0, "x", "x", "host", "host", false},
		{"uuid: x", 0, "x", "x", "host", "host", false},
		{"{uuid: x, instance-id: x}", 0, "x", "x", "host", "host", false},
		{"{uuid: x, instance-id: y}", 0, "x", "x", "host", "host", true},
		{"instance-id: x", 2, "x-r2", "x-r2", "host", "host", false},
		{"local-hostname: x", 0, "own", "own", "x", "x", false},
		{"hostname: x", 0, "own", "own", "x", "x", false},
		{"{hostname: x, local-hostname: y}", 0, "own", "own", "x", "y", true},
	} {
		m := machine.Machine{Name: "vm", Identity: machine.Identity{InstanceID: "own", Hostname: "host", Revision: tt.revision}}
		if tt.meta != "" {
			m.MetaData = []machine.Layer{{Data: secret.New(tt.meta)}}
		}
		s, problems, meta := render(t, m)
		got := []any{meta["uuid"], meta["instance-id"], meta["hostname"], meta["local-hostname"], strings.Contains(problems, "VS4202")}
		if diff := cmp.Diff([]any{tt.uuid, tt.instance, tt.hostname, tt.hostname2, tt.warned}, got); diff != "" {
			t.Errorf("%s: %s", tt.meta, diff)
		}
		if s.Identity.InstanceID != tt.uuid || s.Identity.Hostname != tt.hostname {
			t.Errorf("%s: identity %+v", tt.meta, s.Identity)
		}
	}
}

// TestKeys has the keys under the names and in the forms that the agents read.
func TestKeys(t *testing.T) {
	own := machine.SSH{AuthorizedKeys: []string{"k1", "k2"}}
	both := map[string]any{"key-0": "k1", "key-1": "k2"}
	for _, tt := range []struct {
		meta           string
		ssh            machine.SSH
		dashed, scored any
	}{
		{"", own, []any{"k1", "k2"}, both},
		{"", machine.SSH{}, nil, nil},
		{"public-keys: [k1, k2]", machine.SSH{}, []any{"k1", "k2"}, both},
		{"public-keys: k1", own, "k1", map[string]any{"key-0": "k1"}},
		{"public-keys: {n: k1}", own, map[string]any{"n": "k1"}, map[string]any{"n": "k1"}},
		{"public_keys: {n: k1}", own, []any{"k1", "k2"}, map[string]any{"n": "k1"}},
	} {
		m := machine.Machine{SSH: tt.ssh}
		if tt.meta != "" {
			m.MetaData = []machine.Layer{{Data: secret.New(tt.meta)}}
		}
		_, _, meta := render(t, m)
		if diff := cmp.Diff([]any{tt.dashed, tt.scored}, []any{meta["public-keys"], meta["public_keys"]}); diff != "" {
			t.Errorf("%s: %s", tt.meta, diff)
		}
	}
}

// TestInjected carries files beside user-data that cannot.
func TestInjected(t *testing.T) {
	m := machine.Machine{UserData: machine.UserData{Raw: true, Layers: []machine.Layer{{Data: secret.New("#!/bin/sh\n")}}},
		Files: []machine.File{{Path: "/a", Content: secret.New("\x00a"), Mode: 0o660}, {Path: "/b", Content: secret.New("b"), Defer: true}}}
	s, problems, meta := render(t, m)
	want := []any{map[string]any{"path": "/a", "content_path": "/content/0000"}, map[string]any{"path": "/b", "content_path": "/content/0001"}}
	if diff := cmp.Diff(want, meta["files"]); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"openstack/content/0000": "\x00a", "openstack/content/0001": "b"} {
		if got, ok := s.Volumes[0].File(name); !ok || got.Reveal() != want {
			t.Errorf("%s: %q %v", name, got.Reveal(), ok)
		}
	}
	if strings.Count(problems, "VS4201") != 1 || !strings.Contains(problems, "files[1]") {
		t.Errorf("want one warning, of files[1]: %s", problems)
	}
}

// TestAdminPassword warns those whose guests do not use it and let everybody read it.
func TestAdminPassword(t *testing.T) {
	for os, warned := range map[string]bool{"": true, "linux": true, "windows": false} {
		_, problems, meta := render(t, machine.Machine{AdminPassword: secret.New("p"), Guest: machine.Guest{OS: os}})
		if meta["admin_pass"] != "p" || strings.Contains(problems, "VS4200") != warned {
			t.Errorf("%q: %v, said %q", os, meta["admin_pass"], problems)
		}
	}
}

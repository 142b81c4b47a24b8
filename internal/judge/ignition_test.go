//go:build conformance

package judge

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What Ignition makes of a config is all told, and this machine keeps what it has.
func TestIgnitionApplies(t *testing.T) {
	g := NewIgnition(t)
	before, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	r := g.Apply(t, []byte(`{"ignition": {"version": "3.3.0"}, "unknown": 1,
		"passwd": {"groups": [{"name": "ops", "gid": 900}],
			"users": [{"name": "judged", "uid": 1234, "gecos": "One", "groups": ["sudo", "ops"], "passwordHash": "$y$j9T$x"}]},
		"storage": {"files": [{"path": "/srv/a/b", "mode": 416, "user": {"name": "judged"}, "group": {"id": 900}, "contents": {"source": "data:,text%0A"}}],
			"directories": [{"path": "/srv/d", "mode": 448}],
			"links": [{"path": "/etc/l", "target": "../srv"}, {"path": "/srv/hard", "target": "/srv/a/b", "hard": true}]},
		"systemd": {"units": [{"name": "a.service", "enabled": true, "contents": "[Install]\nWantedBy=multi-user.target\n"},
			{"name": "b.service", "mask": true}, {"name": "c.service", "enabled": false}]}}`))
	if r.Failed != "" || r.Reason != "" || len(r.Errors) > 0 {
		t.Fatalf("%s: %s %q\n%s", r.Failed, r.Reason, r.Errors, r.Log)
	}
	for name, want := range map[string]string{
		"/srv/a/b":                      "file 0640 judged:ops\ntext\n",
		"/srv/hard":                     "file 0640 judged:ops\ntext\n",
		"/srv/a":                        "directory 0755 root:root",
		"/srv/d":                        "directory 0700 root:root",
		"/etc/l":                        "link ../srv",
		"/etc/systemd/system/b.service": "link /dev/null",
		"/etc/nothing":                  "",
	} {
		if got := r.Show(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got, want := r.Account("judged"), "1234:judged:One:/home/judged:/bin/bash:$y$j9T$x:sudo,ops"; got != want {
		t.Errorf("the account is %q, want %q", got, want)
	}
	if r.Group("ops") != "900" || r.Group("absent") != "" || r.Account("absent") != "" {
		t.Errorf("groups %q and %q, account %q", r.Group("ops"), r.Group("absent"), r.Account("absent"))
	}
	if got := r.Presets(); !slices.Equal(got, []string{"disable c.service", "enable a.service"}) {
		t.Errorf("presets %q", got)
	}
	if len(r.Warnings) != 1 || !strings.HasSuffix(r.Warnings[0], "nused key unknown") {
		t.Errorf("warnings %q", r.Warnings)
	}
	if after, err := os.ReadFile("/etc/passwd"); err != nil || string(after) != string(before) {
		t.Errorf("this machine's accounts have changed, %v", err)
	}
}

// A config that Ignition refuses, and one that fails half-way.
func TestIgnitionRefuses(t *testing.T) {
	g := NewIgnition(t)
	for _, c := range []struct{ name, config, failed, reason, detail string }{
		{"syntax", `{"ignition": {"version": "3.0.0"},}`, "fetch", "config is not valid", "error at line "},
		{"old version", `{"ignition": {"version": "2.2.0"}}`, "fetch", "unsupported config version", ""},
		{"group that the image lacks", `{"ignition": {"version": "3.0.0"}, "passwd": {"users": [{"name": "a", "groups": ["wheel"]}]}}`,
			"files", "group 'wheel' does not exist", ""},
	} {
		r := g.Apply(t, []byte(c.config))
		if r.Failed != c.failed || !strings.Contains(r.Reason, c.reason) || !strings.Contains(strings.Join(r.Errors, "\n"), c.detail) {
			t.Errorf("%s: fails in %q: %q %q", c.name, r.Failed, r.Reason, r.Errors)
		}
	}
}

package metadataservice

import (
	"slices"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
)

// has reports whether there is a diagnostic of a code and severity.
func has(l diag.List, code diag.Code, severity diag.Severity) bool {
	return slices.ContainsFunc(l, func(d diag.Diagnostic) bool { return d.Code == code && d.Severity == severity })
}

// TestRemoved stops serving a machine whose definition is taken away, also one that the user gave an address to.
func TestRemoved(t *testing.T) {
	both := at(t, "web=127.0.0.1", "db=127.0.0.2")
	s := open(t, define("web")+define("db"), both)
	s.wants("127.0.0.2", "latest/meta-data/local-hostname", 200, "db")
	write(t, s.file, define("web"))
	if r := s.Reload(t.Context()); r.Failed() || r.Machines != 1 || !has(r.Diagnostics, CodeNoMachine, diag.Warning) {
		t.Errorf("%+v, %v", r, []diag.Diagnostic(r.Diagnostics))
	}
	s.wants("127.0.0.1", "latest/meta-data/local-hostname", 200, "web")
	s.wants("127.0.0.2", "latest/meta-data/local-hostname", 404, "")
	write(t, s.file, define("web")+define("db"))
	if r := s.Reload(t.Context()); r.Failed() || r.Machines != 2 || has(r.Diagnostics, CodeNoMachine, diag.Warning) {
		t.Errorf("%+v, %v", r, []diag.Diagnostic(r.Diagnostics))
	}
	s.wants("127.0.0.2", "latest/meta-data/local-hostname", 200, "db")
	write(t, s.file, define("web"))
	o := s.o
	o.Metrics = nil
	if _, l, err := New(t.Context(), o); err != nil || !has(l, CodeNoMachine, diag.Error) {
		t.Errorf("at a start: %v, %v", l, err)
	}
}

// TestSameInstance warns of machines that no proxy can tell apart, where there is one.
func TestSameInstance(t *testing.T) {
	text := define("web", "identity: {instanceID: i-1}") + define("db", "identity: {instanceID: i-1}") +
		strings.Replace(define("web", "identity: {instanceID: i-1}"), "name: web}", "name: web, namespace: prod}", 1)
	text = strings.ReplaceAll(text, "  identity: {hostname: web.example.org}\n", "")
	text = strings.ReplaceAll(text, "  identity: {hostname: db.example.org}\n", "")
	for _, shared := range []string{"", "a shared secret"} {
		s := open(t, text, func(o *Options) { o.ProxySecret = secret.New(shared) })
		var said []string
		for _, d := range s.Reload(t.Context()).Diagnostics {
			if d.Code == CodeSameInstance {
				said = append(said, d.Summary)
			}
		}
		if all := strings.Join(said, "\n"); len(said) != min(len(shared), 1) || shared != "" && (!strings.Contains(all, "default/web") || !strings.Contains(all, "default/db")) {
			t.Errorf("with the secret %q: %q", shared, said)
		}
	}
}

//go:build linux

package daemon_test

import (
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

// named is a definition with a user of a name who has a key.
func named(user, behaviour string) []daemon.Document {
	documents := daemontest.Definition("web", behaviour, "")
	documents[0].Text = secret.New(documents[0].Text.Reveal() + "  users:\n  - {name: nobody}\n  - {name: " + user + ", sshAuthorizedKeys: [ssh-ed25519 AAAA]}\n")
	return documents
}

func define(t *testing.T, d *daemon.Daemon, id string, documents []daemon.Document) daemon.Machine {
	t.Helper()
	m, err := d.Update(t.Context(), id, func(m *daemon.Machine) error {
		m.Documents = documents
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func get(t *testing.T, d *daemon.Daemon, id string) daemon.Machine {
	t.Helper()
	m, err := d.Get(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSetup follows, over the runs of a VM, whom people log in as, and whether a guest is being set up.
func TestSetup(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := add(t, d, daemon.Machine{Documents: named("alice", supervisortest.Held)})
	expect := func(when, login string, running bool) {
		t.Helper()
		if m := get(t, d, m.ID); m.Login != login || m.FirstBootRunning != running {
			t.Errorf("%s: %q logs in, and first boot runs: %t", when, m.Login, m.FirstBootRunning)
		}
	}
	expect("as it was added", "alice", false)
	define(t, d, m.ID, named("bob", supervisortest.Held))
	expect("changed before the first start", "bob", false)
	start(t, d, m.ID, daemon.StartOptions{})
	expect("the first start", "bob", true)
	if m := define(t, d, m.ID, named("carol", supervisortest.Held)); m.Login != "bob" || !m.FirstBootRunning {
		t.Errorf("a change while the first boot runs: %q, %t", m.Login, m.FirstBootRunning)
	}
	release(t, o.Dir, m)
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	expect("the guest is set up", "bob", false)
	stop(t, d, m.ID)
	start(t, d, m.ID, daemon.StartOptions{})
	expect("what is set up already keeps its users", "bob", false)
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	stop(t, d, m.ID)
	start(t, d, m.ID, daemon.StartOptions{NoSeed: true})
	expect("without a seed", "bob", false)
	stop(t, d, m.ID)

	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{Documents: named("dan", supervisortest.Stillborn), Initialize: true}); err == nil {
		t.Fatal("a VM started that cannot")
	}
	expect("a start that failed", "bob", false)
	start(t, d, m.ID, daemon.StartOptions{Documents: named("dan", supervisortest.Silent), Initialize: true})
	expect("set up again, though initialized", "dan", true)
	if !get(t, d, m.ID).Initialized {
		t.Error("it is no longer initialized of before")
	}
	d = reopen(t, d, o, func() {})
	expect("after a restart of the daemon", "dan", true)
	stop(t, d, m.ID)
	expect("stopped in the middle of it", "dan", false)
}

// TestLoginOfTemplate: the template says whom people log in as, where the documents do not.
func TestLoginOfTemplate(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	daemontest.Image(t, o.Dir, "disk.img", "name: Image\nlogin: tester\n")
	d := daemontest.Open(t, o)
	template := daemontest.Template(t, d, "Image", "image")
	for user, want := range map[string]string{"": "tester", "alice": "alice"} {
		documents := daemontest.Definition("vm"+user, "", config)
		if user != "" {
			documents = named(user, "")
		}
		documents[0].Text = secret.New(strings.Replace(documents[0].Text.Reveal(), "  disks:\n  - {name: root, root: true, source: {blank: true}, size: 1Mi}\n", "", 1))
		if m := add(t, d, daemon.Machine{Documents: documents, Template: template.ID}); m.Login != want {
			t.Errorf("%q logs in, want %q", m.Login, want)
		}
	}
}

// TestRevision: it changes with the definition and its settings, and with nothing else.
func TestRevision(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := add(t, d, daemon.Machine{Documents: daemontest.Definition("web", supervisortest.Good, config), FirstBootDocuments: daemontest.Definition("web", supervisortest.Good, "#cloud-config\nlocale: C")})
	want := m.Revision
	for _, step := range []struct {
		name   string
		rises  bool
		change func(*daemon.Machine)
	}{
		{"nothing", false, func(*daemon.Machine) {}},
		{"the same", false, func(m *daemon.Machine) { m.Documents = daemontest.Definition("web", supervisortest.Good, config) }},
		{"the definition", true, func(m *daemon.Machine) { m.Documents = daemontest.Definition("web", supervisortest.Good, "") }},
		{"the first boot's", true, func(m *daemon.Machine) {
			m.FirstBootDocuments = daemontest.Definition("web", supervisortest.Good, config)
		}},
		{"the name", true, func(m *daemon.Machine) { m.Name = "other" }},
		{"the delivery", true, func(m *daemon.Machine) { m.Delivery = "iso" }},
	} {
		if step.rises {
			want++
		}
		now, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error {
			step.change(m)
			return nil
		})
		if err != nil || now.Revision != want {
			t.Errorf("%s: revision %d, want %d; %v", step.name, now.Revision, want, err)
		}
	}
	start(t, d, m.ID, daemon.StartOptions{})
	if up := daemontest.WaitStatus(t, d, m.ID, daemon.Up); up.FirstBootDocuments != nil || up.Revision != want {
		t.Errorf("a run makes the revision %d of %d", up.Revision, want)
	}
	stop(t, d, m.ID)
	d = reopen(t, d, o, func() {})
	if m := get(t, d, m.ID); m.Revision != want {
		t.Errorf("a restart of the daemon makes the revision %d of %d", m.Revision, want)
	}
}

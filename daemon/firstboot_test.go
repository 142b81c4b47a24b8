//go:build linux

package daemon_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// given returns the seed that is attached to a VM which runs.
func given(t testing.TB, dir string, m daemon.Machine) seed.Seed {
	t.Helper()
	found := attached(t, dir, m)
	if len(found) != 1 {
		t.Fatalf("seeds of VM %s: %s", m.Name, found)
	}
	s, err := daemontest.Engine().Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// attached are the files of the seeds of a VM that runs.
func attached(t testing.TB, dir string, m daemon.Machine) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"seed.iso", "seed-*/seed.iso"} {
		at, err := filepath.Glob(filepath.Join(vmDir(dir, m), pattern))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, at...)
	}
	return found
}

func userData(s seed.Seed) string {
	text, _ := s.Volumes[0].File("user-data")
	return text.Reveal()
}

// When first boot runs again: the table of the rule that the issue states.
func TestGeneration(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Good)
	stored := config
	doc := func(text string) []daemon.Document { return daemontest.Definition("web", "", text) }
	for _, step := range []struct {
		name    string
		stored  string // what the VM's documents become first
		options daemon.StartOptions
		want    int
		reads   string
	}{
		{"the first start", "", daemon.StartOptions{}, 0, stored},
		{"a plain start", "", daemon.StartOptions{}, 0, stored},
		{"run once with the same data", "", daemon.StartOptions{Documents: doc(stored), Initialize: true}, 0, stored},
		{"run once with changed data", "", daemon.StartOptions{Documents: doc("#cloud-config\ntimezone: UTC"), Initialize: true}, 1, "timezone"},
		{"run once with the same changed data", "", daemon.StartOptions{Documents: doc("#cloud-config\ntimezone: UTC"), Initialize: true}, 1, "timezone"},
		{"a plain start afterwards", "", daemon.StartOptions{}, 1, stored},
		{"changed data that nobody asks for", "#cloud-config\nlocale: C", daemon.StartOptions{}, 1, "locale: C"},
		{"changed data that somebody asks for", "", daemon.StartOptions{Initialize: true}, 2, "locale: C"},
		{"asking again", "", daemon.StartOptions{Initialize: true}, 2, "locale: C"},
		{"asking in any case", "", daemon.StartOptions{NewGeneration: true}, 3, "locale: C"},
		{"without a seed", "", daemon.StartOptions{NoSeed: true, Initialize: true}, 3, ""},
		{"with one again", "", daemon.StartOptions{Initialize: true}, 3, "locale: C"},
	} {
		if step.stored != "" {
			if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error {
				m.Documents = doc(step.stored)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		start(t, d, m.ID, step.options)
		now := daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		if now.Generation != step.want {
			t.Errorf("%s: generation %d, want %d", step.name, now.Generation, step.want)
		}
		if step.reads != "" {
			s := given(t, o.Dir, m)
			if got := userData(s); !strings.Contains(got, step.reads) {
				t.Errorf("%s: the guest reads %q", step.name, got)
			}
			// Never the id alone: that is the firmware's UUID, by which cloud-init would trust its cache.
			want := m.ID + "-r" + string(rune('0'+step.want))
			if metaData, _ := s.Volumes[0].File("meta-data"); !strings.Contains(metaData.Reveal(), `"`+want+`"`) && !strings.Contains(metaData.Reveal(), want+"\n") {
				t.Errorf("%s: the instance id is not %s: %s", step.name, want, metaData.Reveal())
			}
		}
		stop(t, d, m.ID)
	}
}

// A first boot that nobody heard the end of is not taken for one: changed data takes effect without being asked for.
// After a run-once a VM of oVirt starts without a seed, as in an engine: that of its own documents would change the guest's
// host name.
func TestStaleSeed(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	doc := func(text string) []daemon.Document {
		document := daemontest.Definition("web", supervisortest.Good, text)
		document[0].Text = secret.New(strings.Replace(document[0].Text.Reveal(), "spec:\n", "spec:\n  compat: ovirt\n", 1))
		return document
	}
	m := add(t, d, daemon.Machine{Documents: doc("")})
	once := daemon.StartOptions{Documents: doc("#cloud-config\ntimezone: UTC"), Initialize: true}
	for i, step := range []struct {
		options daemon.StartOptions
		seeds   int
	}{{once, 1}, {daemon.StartOptions{}, 0}, {once, 1}, {daemon.StartOptions{}, 0}, {daemon.StartOptions{Initialize: true}, 1}, {daemon.StartOptions{}, 1}} {
		start(t, d, m.ID, step.options)
		now := daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		if seeds := attached(t, o.Dir, m); len(seeds) != step.seeds {
			t.Errorf("start %d: the guest has %v, want %d", i, seeds, step.seeds)
		}
		if want := i / 4; now.Generation != want {
			t.Errorf("start %d: generation %d, want %d", i, now.Generation, want)
		}
		stop(t, d, m.ID)
	}
}

func TestGenerationBeforeTheFirstBootIsDone(t *testing.T) {
	d := daemontest.New(t)
	m := addGuest(t, d, "web", supervisortest.Held)
	start(t, d, m.ID, daemon.StartOptions{})
	stop(t, d, m.ID)
	start(t, d, m.ID, daemon.StartOptions{})
	if m := stop(t, d, m.ID); m.Generation != 0 {
		t.Errorf("the same data: generation %d", m.Generation)
	}
	if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error {
		m.Documents = daemontest.Definition("web", supervisortest.Held, "#cloud-config\nlocale: C")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	if m := stop(t, d, m.ID); m.Generation != 1 {
		t.Errorf("changed data: generation %d", m.Generation)
	}
}

// What only the first boot needs in clear is given to it, and is nowhere afterwards; and it is in no log and no event, and not to
// be read in the store, at any time.
func TestFirstBootDocuments(t *testing.T) {
	const canary, other = "canary-in-clear", "canary-in-the-definition"
	var log bytes.Buffer
	o := daemontest.Options(t.TempDir())
	o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := daemontest.Open(t, o)
	withPassword := func(p string) string { return "#cloud-config\npassword: " + p }
	m := add(t, d, daemon.Machine{Documents: daemontest.Definition("web", "", withPassword(other)),
		FirstBootDocuments: daemontest.Definition("web", supervisortest.Held, withPassword(canary))})
	start(t, d, m.ID, daemon.StartOptions{})
	if got := userData(given(t, o.Dir, m)); !strings.Contains(got, canary) {
		t.Errorf("the guest reads %q", got)
	}
	stop(t, d, m.ID)
	if m, _ := d.Get(m.ID); m.FirstBootDocuments == nil {
		t.Fatal("erased before the first boot was reported")
	}
	start(t, d, m.ID, daemon.StartOptions{})
	release(t, o.Dir, m)
	if m := daemontest.WaitStatus(t, d, m.ID, daemon.Up); m.FirstBootDocuments != nil {
		t.Error("not erased when the first boot was reported")
	}
	stop(t, d, m.ID)
	start(t, d, m.ID, daemon.StartOptions{})
	if got := userData(given(t, o.Dir, m)); strings.Contains(got, canary) || !strings.Contains(got, other) {
		t.Errorf("the next boot reads %q", got)
	}
	stop(t, d, m.ID)
	for _, e := range d.Events(0) {
		if strings.Contains(e.Text, "canary") {
			t.Errorf("event: %s", e.Text)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "canary") || !strings.Contains(log.String(), "VM web is up") {
		t.Errorf("log: %s", log.String())
	}
	files := 0
	if err := filepath.WalkDir(o.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("canary")) {
			t.Errorf("%s shows a secret", path)
		}
		if info, _ := e.Info(); info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	}); err != nil || files < 5 {
		t.Errorf("%d files, %v", files, err)
	}
}

func TestErrorsKeepSecrets(t *testing.T) {
	d := daemontest.New(t)
	_, err := d.Add(t.Context(), daemon.Machine{Documents: []daemon.Document{{Name: "x.yaml", Text: secret.New("apiVersion: vmseed.dev/v1alpha1\nkind: Machine\n" +
		"metadata: {name: x}\nspec:\n  users:\n  - {name: a, password: {canary: canary}}\n")}}})
	if err == nil || strings.Contains(err.Error(), ": canary") || !strings.Contains(err.Error(), "x.yaml:6:") {
		t.Errorf("error: %v", err)
	}
}

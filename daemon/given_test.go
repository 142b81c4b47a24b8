//go:build linux

package daemon_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/daemon/store"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/secret"
)

// TestGivenCopy keeps what the guest of the last run was given, for as long as the VM is there and until its next run.
func TestGivenCopy(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	m := addGuest(t, d, "web", supervisortest.Good)
	expect := func(when, want string) {
		t.Helper()
		g, err := d.Given(t.Context(), m.ID)
		if err != nil || !strings.Contains(string(g.Copy), want) || len(g.Seed.Volumes) > 0 {
			t.Errorf("%s: %s, %v", when, g.Copy, err)
		}
	}
	var never *daemon.NotFoundError
	if _, err := d.Given(t.Context(), m.ID); !errors.As(err, &never) {
		t.Errorf("before the first run: %v", err)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	if g, err := d.Given(t.Context(), m.ID); err != nil || g.Copy != nil || len(g.Seed.Volumes) != 1 {
		t.Errorf("while it runs: %s, %v", g.Copy, err)
	}
	stop(t, d, m.ID)
	expect("after the run", "de_DE.UTF-8")
	once := daemon.StartOptions{Documents: daemontest.Definition("web", supervisortest.Good, "#cloud-config\ntimezone: UTC"), Initialize: true}
	start(t, d, m.ID, once)
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	stop(t, d, m.ID)
	expect("after a run-once", "timezone: UTC")
	if err := d.Start(t.Context(), m.ID, daemon.StartOptions{Documents: daemontest.Definition("web", supervisortest.Stillborn, config)}); err == nil {
		t.Fatal("a VM started that cannot")
	}
	expect("after a start that failed", "timezone: UTC")
	start(t, d, m.ID, daemon.StartOptions{})
	daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	d = reopen(t, d, o, func() {})
	stop(t, d, m.ID)
	expect("after a run over a restart of the daemon", "de_DE.UTF-8")
	d = reopen(t, d, o, func() {})
	expect("after another one", "de_DE.UTF-8")
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if rest := kept(t, o.Dir); len(rest) > 0 {
		t.Errorf("of a VM that was removed there is still %q", rest)
	}
}

// TestGivenCopyAfterCrash: a daemon that crashed right after a start has not kept what the guest was given, but may have kept what
// that of an earlier run was. The next daemon does it, as long as that is there.
func TestGivenCopyAfterCrash(t *testing.T) {
	for was, copied := range map[string]string{`"kept":false`: "", `"kept":true,"before":{"generation":0,"content":""}`: `{"name":"of an earlier run"}`} {
		o := daemontest.Options(t.TempDir())
		d := daemontest.Open(t, o)
		m := addGuest(t, d, "web", supervisortest.Good)
		start(t, d, m.ID, daemon.StartOptions{})
		daemontest.WaitStatus(t, d, m.ID, daemon.Up)
		d = reopen(t, d, o, func() {
			s := openStore(t, o.Dir)
			record, err := s.Get(store.VM, m.ID)
			before := strings.Replace(string(record), `"kept":true`, was, 1)
			if err != nil || before == string(record) {
				t.Fatalf("%s, %v", record, err)
			}
			_, err = s.Apply(nil, store.Change{Kind: store.VM, ID: m.ID, Value: []byte(before)}, store.Change{Kind: store.Meta, ID: "given/" + m.ID, Value: []byte(copied)})
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
		})
		stop(t, d, m.ID)
		if g, err := d.Given(t.Context(), m.ID); err != nil || !strings.Contains(string(g.Copy), "de_DE.UTF-8") {
			t.Errorf("%s: %s, %v", was, g.Copy, err)
		}
	}
}

// openStore opens the store of a daemon that is closed.
func openStore(t *testing.T, dir string) *store.Store {
	t.Helper()
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dir, secret.FromBytes(key), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept are the copies in the store of a daemon that is closed.
func kept(t *testing.T, dir string) (out []string) {
	t.Helper()
	s := openStore(t, dir)
	defer s.Close()
	if err := s.Each(store.Meta, func(id string, value []byte) error {
		if strings.HasPrefix(id, "given/") {
			out = append(out, string(value))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

//go:build linux

package daemon_test

import (
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

func add(t testing.TB, d *daemon.Daemon, m daemon.Machine) daemon.Machine {
	t.Helper()
	m, err := d.Add(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func start(t testing.TB, d *daemon.Daemon, id string, o daemon.StartOptions) {
	t.Helper()
	if err := d.Start(t.Context(), id, o); err != nil {
		t.Fatal(err)
	}
}

func TestLife(t *testing.T) {
	d := daemontest.New(t)
	m := add(t, d, daemon.Machine{Documents: daemontest.Definition("web", supervisortest.Good, "#cloud-config\n{}")})
	if m.Status != daemon.Down || m.Name != "web" || m.ID == "" {
		t.Fatalf("added: %+v", m)
	}
	start(t, d, m.ID, daemon.StartOptions{})
	m = daemontest.WaitStatus(t, d, m.ID, daemon.Up)
	if !m.Initialized || m.FirstBoot == nil || m.FirstBoot.Result.Agent != "fake" {
		t.Errorf("up: %+v", m)
	}
	if err := d.Stop(t.Context(), m.ID); err != nil {
		t.Fatal(err)
	}
	m, _ = d.Get(m.ID)
	if m.Status != daemon.Down || m.Ended.IsZero() {
		t.Errorf("stopped: %+v", m)
	}
	if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, e := range d.Events(0) {
		t.Log(e.ID, e.Kind, e.Severity, e.Status, e.Text)
	}
}

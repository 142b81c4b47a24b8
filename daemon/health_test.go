//go:build linux

package daemon_test

import (
	"errors"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
)

func TestHealthy(t *testing.T) {
	d, err := daemon.Open(t.Context(), daemontest.Options(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	d.FailWrite()
	for range 2 { // it is over
		if err := d.Healthy(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := d.CloseStore(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Note(t.Context(), daemon.Event{Kind: daemon.DaemonNote, Text: "lost"}); err == nil {
		t.Error("a closed store was written to")
	}
	for range 2 {
		if d.Healthy(t.Context()) == nil {
			t.Error("the daemon is healthy although nothing can be written")
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Healthy(t.Context()); !errors.Is(err, daemon.ErrClosed) {
		t.Error(err)
	}
}

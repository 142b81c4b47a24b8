//go:build linux

package daemon_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
)

// many is how many VMs a daemon is expected to know without anybody noticing.
const many = 1000

func populate(t testing.TB, d *daemon.Daemon) time.Duration {
	t.Helper()
	began := time.Now()
	var all sync.WaitGroup
	for c := range 20 {
		all.Go(func() {
			for i := range many / 20 {
				if _, err := d.Add(t.Context(), daemon.Machine{Template: daemon.BlankTemplate, Documents: plain(fmt.Sprintf("vm-%d-%d", c, i), "")}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// A thousand VMs are added, listed, found after a restart and removed; the times are printed, the machine judges them.
func TestThousandVMs(t *testing.T) {
	o := daemontest.Options(t.TempDir())
	d := daemontest.Open(t, o)
	added := populate(t, d)
	began := time.Now()
	list := d.List()
	listed := time.Since(began)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	d = daemontest.Open(t, o)
	opened := time.Since(began)
	if len(list) != many || len(d.List()) != many {
		t.Errorf("%d VMs, %d after the restart", len(list), len(d.List()))
	}
	for i, m := range d.List() {
		if m.ID != list[i].ID || m.Name != list[i].Name || m.Documents[0].Text.Reveal() != list[i].Documents[0].Text.Reveal() {
			t.Fatalf("VM %d is %s, was %s", i, m.Name, list[i].Name)
		}
	}
	began = time.Now()
	var all sync.WaitGroup
	for _, m := range list {
		all.Go(func() {
			if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("%d VMs: added by 20 clients in %v, listed in %v, opened in %v, removed in %v", many, added, listed, opened, time.Since(began))
	if left := len(d.List()); left > 0 {
		t.Errorf("%d are left", left)
	}
}

func BenchmarkList(b *testing.B) {
	d := daemontest.New(b)
	populate(b, d)
	for b.Loop() {
		if len(d.List()) != many {
			b.Fatal("some are missing")
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	d := daemontest.New(b)
	for i := 0; b.Loop(); i++ {
		if _, err := d.Add(b.Context(), daemon.Machine{Template: daemon.BlankTemplate, Documents: plain(fmt.Sprint("vm-", i), "")}); err != nil {
			b.Fatal(err)
		}
	}
}

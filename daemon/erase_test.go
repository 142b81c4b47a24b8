//go:build linux

package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// TestErasedFromTheFile erases documents that make up most of the store's file: free pages, in which who has the key could read
// them, would be as large.
func TestErasedFromTheFile(t *testing.T) {
	const large = 400_000
	text := "#cloud-config\npassword: " + strings.Repeat("long", large/4)
	for name, erase := range map[string]func(*testing.T, *daemon.Daemon, daemon.Machine){
		"first boot is reported": func(t *testing.T, d *daemon.Daemon, m daemon.Machine) {
			start(t, d, m.ID, daemon.StartOptions{})
			daemontest.Wait(t, d, m.ID, func(m daemon.Machine) bool { return m.Initialized && m.FirstBootDocuments == nil })
		},
		"they are replaced": func(t *testing.T, d *daemon.Daemon, m daemon.Machine) {
			if _, err := d.Update(t.Context(), m.ID, func(m *daemon.Machine) error { m.FirstBootDocuments = nil; return nil }); err != nil {
				t.Fatal(err)
			}
		},
		"the VM is removed": func(t *testing.T, d *daemon.Daemon, m daemon.Machine) {
			if err := d.Remove(t.Context(), m.ID, daemon.RemoveOptions{}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := daemontest.Options(t.TempDir())
			d := daemontest.Open(t, o)
			m := add(t, d, daemon.Machine{Documents: daemontest.Definition("web", "", config),
				FirstBootDocuments: daemontest.Definition("web", supervisortest.Good, text)})
			erase(t, d, m)
			size := func() int64 {
				t.Helper()
				info, err := os.Stat(filepath.Join(o.Dir, "store.db"))
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			if size() < large {
				t.Fatalf("the file has %d bytes before it is rewritten, so this test shows nothing", size())
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if size() >= large {
				t.Errorf("the file has %d bytes after documents of %d were erased", size(), large)
			}
		})
	}
}

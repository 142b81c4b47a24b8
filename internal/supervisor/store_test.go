//go:build linux

package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
)

func touch(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("canary"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// What crashed processes left is swept; what living ones are doing is not.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	const nobody = "4194999" // above the greatest process number of Linux
	touch(t, filepath.Join(root, "ns_crashed", "seed.iso"))
	touch(t, filepath.Join(root, "ns_crashed", ".making-"+nobody))
	touch(t, filepath.Join(root, ".removed-"+nobody+"-ns_gone", "seed.iso"))
	touch(t, filepath.Join(root, "ns_vm", "plan.json"))
	touch(t, filepath.Join(root, "ns_vm", ".vmseed-tmp-"+nobody+"-0"))
	touch(t, filepath.Join(root, "ns_vm", "qmp.sock"))
	touch(t, filepath.Join(root, "ns_started", "plan.json"))
	touch(t, filepath.Join(root, "ns_started", ".making-"+nobody))
	if err := os.WriteFile(filepath.Join(root, "ns_started", "state.json"), []byte(`{"status": "running"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	making, keep, discard, err := supervisor.Create(root, "ns", "making")
	if err != nil {
		t.Fatal(err)
	}
	if err := supervisor.Sweep(root); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"ns_crashed": false, ".removed-" + nobody + "-ns_gone": false, "ns_vm/.vmseed-tmp-" + nobody + "-0": false,
		"ns_vm/qmp.sock": false, "ns_vm/plan.json": true, "ns_making": true,
		"ns_started/plan.json": true, "ns_started/.making-" + nobody: false,
	} {
		if _, err := os.Stat(filepath.Join(root, path)); (err == nil) != want {
			t.Errorf("after the sweep %s: %v, want it there: %v", path, err, want)
		}
	}
	if dirs, err := supervisor.List(root); err != nil || len(dirs) != 2 || filepath.Base(dirs[1]) != "ns_vm" {
		t.Errorf("list %v, %v", dirs, err)
	}
	if _, _, _, err := supervisor.Create(root, "ns", "vm"); !errors.Is(err, supervisor.ErrExists) {
		t.Errorf("second VM of a name: %v", err)
	}
	if err := keep(); err != nil {
		t.Error(err)
	}
	if err := discard(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(making); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after discard: %v", err)
	}
	if _, err := supervisor.Open(making); !errors.Is(err, supervisor.ErrNoVM) {
		t.Errorf("open: %v", err)
	}
}

// The number of a crashed process may be that of another by now, even the caller's own.
func TestSweepOwn(t *testing.T) {
	root := t.TempDir()
	own := strconv.Itoa(os.Getpid())
	touch(t, filepath.Join(root, "ns_crashed", "plan.json"))
	touch(t, filepath.Join(root, "ns_crashed", ".making-"+own))
	touch(t, filepath.Join(root, ".removed-"+own+"-ns_gone", "seed.iso"))
	touch(t, filepath.Join(root, "ns_started", "plan.json"))
	touch(t, filepath.Join(root, "ns_started", ".making-1"))
	if err := os.WriteFile(filepath.Join(root, "ns_started", "state.json"), []byte(`{"status": "running"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := supervisor.SweepOwn(root); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"ns_crashed": false, ".removed-" + own + "-ns_gone": false, "ns_started/plan.json": true, "ns_started/.making-1": false,
	} {
		if _, err := os.Stat(filepath.Join(root, path)); (err == nil) != want {
			t.Errorf("after the sweep %s: %v, want it there: %v", path, err, want)
		}
	}
}

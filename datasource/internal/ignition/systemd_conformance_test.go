//go:build conformance

package ignition

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/datasource"
	"github.com/vmseed/vmseed/datasource/internal/ignitiontest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/machine/machinetest"
	"github.com/vmseed/vmseed/secret"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	found, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("SKIP-MISSING: %s", name)
	}
	return found
}

// TestSystemdReadsUnits has systemd load every unit that the examples make, with names and values that mean something to
// it. It says nothing about units that it understands, and of a mount whose name does not fit its path it says so.
func TestSystemdReadsUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	odd := machine.Machine{
		Disks:   []machine.Disk{{Name: "d"}},
		Mounts:  []machine.Mount{{Disk: "d", Path: "/srv/50% of $HOME \"x\"", Options: []string{"x-a=%i", "x-b=\"c\""}}, {Device: "LABEL=é/ \\", Path: "/.hidden-dir/ä"}},
		Scripts: []machine.Script{{Name: "a%$ \"'\\ é", Content: secret.New("#!/usr/bin/env A=%s $HOME \"x\"\n")}, {Name: "-n", Content: secret.New("")}},
	}
	list := examples()
	list = append(list, example{"odd", odd, datasource.Options{}}, example{"full", machinetest.Generated(), datasource.Options{}})
	for _, x := range list {
		text, l := Compose(placed(t, x.m), x.options)
		if l.HasErrors() {
			if x.name != "conflict" {
				t.Fatal(x.name, l.Err())
			}
			continue
		}
		c, err := ignitiontest.Read(text.Reveal())
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		args := []string{"verify", "--man=no", "--recursive-errors=no"}
		for _, u := range c.Types().Systemd.Units {
			if u.Contents == nil {
				continue
			}
			// What a unit runs need not be on this machine.
			content := *u.Contents
			if strings.Contains(content, "ExecStart="+scriptDir) {
				content = strings.ReplaceAll(content, "ExecStart="+scriptDir, "ExecStart=/bin/true "+scriptDir)
			}
			file := filepath.Join(dir, u.Name)
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, file)
		}
		if len(args) == 3 {
			continue
		}
		if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", x.name, err, out)
		}
	}
	// A unit that is wrong is complained of, or the silence above would mean nothing.
	file := filepath.Join(t.TempDir(), "other.mount")
	if err := os.WriteFile(file, []byte("[Mount]\nWhere=/srv\nWhat=/dev/x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(analyze, "verify", "--man=no", file).CombinedOutput(); err == nil {
		t.Errorf("a mount of the wrong name passes: %s", out)
	}
}

// TestSystemdEscape compares names of units with those that systemd makes.
func TestSystemdEscape(t *testing.T) {
	program := tool(t, "systemd-escape")
	paths := []string{"/", "/srv", "/srv/", "/.a/.b", "/a-b/c_d:e.f", "/a b/50%/é\\", "/dev/disk/by-id/virtio-x"}
	out, err := exec.Command(program, append([]string{"--path"}, paths...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range strings.Fields(string(out)) {
		if got := escapePath(paths[i]); got != want {
			t.Errorf("%s: %s, want %s", path.Clean(paths[i]), got, want)
		}
	}
}

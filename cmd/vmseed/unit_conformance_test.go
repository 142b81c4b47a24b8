//go:build conformance && linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnit has systemd judge the example of a unit: how much a service may do that has been taken over (at most 1.5 of 10), and
// whether it is one. Its command is run by the flags that it has.
func TestUnit(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIP-MISSING: systemd-analyze is not installed")
	}
	const unit = "../../examples/systemd/vmseed-metadata.service"
	if out, err := exec.Command("systemd-analyze", "security", "--offline=yes", "--threshold=15", unit).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	// What systemd starts must be there to be judged, so the test binary stands for it.
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "vmseed"))
	}
	if err != nil {
		t.Fatal(err)
	}
	here := strings.ReplaceAll(string(text), "/usr/local/bin/vmseed", filepath.Join(dir, "vmseed"))
	file := filepath.Join(dir, "vmseed-metadata.service")
	if err := os.WriteFile(file, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", file).CombinedOutput(); err != nil || strings.Contains(string(out), "vmseed-metadata") {
		t.Errorf("%v\n%s", err, out)
	}
	_, command, _ := strings.Cut(here, "ExecStart=")
	command, _, _ = strings.Cut(command, "\n")
	vms := filepath.Join(dir, "vms.yaml")
	if err := os.WriteFile(vms, []byte("#cloud-config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.NewReplacer("/etc/vmseed/vms.yaml", vms, "${STATE_DIRECTORY}", filepath.Join(dir, "state")).Replace(command))
	if out, err := exec.Command(args[0], append(args[1:], "--list")...).CombinedOutput(); err != nil || !strings.Contains(string(out), "NAMESPACE") {
		t.Errorf("%v\n%s", err, out)
	}
}

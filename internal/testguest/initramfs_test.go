//go:build conformance

package testguest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// A foreign image, read by Linux's isofs on a read-only disk found by serial.
func TestInitramfs(t *testing.T) {
	if _, err := exec.LookPath("genisoimage"); err != nil {
		t.Skip("SKIP-MISSING: genisoimage is not installed")
	}
	dir := t.TempDir()
	want := "#cloud-config\n{}\n"
	if err := os.WriteFile(filepath.Join(dir, "user-data"), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	iso := filepath.Join(dir, "a,comma.iso")
	if out, err := exec.Command("genisoimage", "-quiet", "-rock", "-o", iso, filepath.Join(dir, "user-data")).CombinedOutput(); err != nil {
		t.Fatalf("genisoimage: %v\n%s", err, out)
	}
	got := testguest.Initramfs(t, testguest.InitramfsConfig{
		Probe: "github.com/vmseed/vmseed/internal/testguest/testdata/probe",
		Disks: []testguest.Drive{{Path: iso, Serial: "seed", ReadOnly: true}},
	})
	if got != want {
		t.Errorf("the guest read %q, want %q", got, want)
	}
}

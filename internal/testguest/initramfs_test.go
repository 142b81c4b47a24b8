//go:build conformance

package testguest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

const probe = "github.com/vmseed/vmseed/internal/testguest/testdata/probe"

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
		Probe: probe,
		Disks: []testguest.Drive{{Path: iso, Serial: "seed", ReadOnly: true}},
	})
	if got != want {
		t.Errorf("the guest read %q, want %q", got, want)
	}
}

// A probe that fails must fail the test that booted it, and show why.
func TestInitramfsProbeFails(t *testing.T) {
	if _, err := exec.LookPath("qemu-system-x86_64"); err != nil {
		t.Skip("SKIP-MISSING: qemu-system-x86_64 is not installed")
	}
	failed := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		testguest.Initramfs(failed, testguest.InitramfsConfig{Probe: probe})
	}()
	<-done
	for _, want := range []string{"exit status 1", `no disk has the serial "seed"`} {
		if !strings.Contains(failed.message, want) {
			t.Errorf("failure does not say %q:\n%s", want, failed.message)
		}
	}
}

// recorder is a test that keeps its fatal failure to itself.
type recorder struct {
	testing.TB
	message string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

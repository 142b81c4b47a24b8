//go:build conformance

package cli

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestTryFirmwareQEMU has QEMU judge the command line of the probe: the firmware runs where the processor is emulated, and
// what QEMU refuses is told in its words.
func TestTryFirmwareQEMU(t *testing.T) {
	program := "qemu-system-x86_64"
	if _, err := exec.LookPath(program); err != nil {
		t.Skip("SKIP-MISSING: qemu-system-x86")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if f := tryFirmware(ctx, program, "tcg", "max"); !f.ok {
		t.Errorf("%+v", f)
	}
	if f := tryFirmware(ctx, program, "tcg", "no-such-model"); f.ok || !strings.Contains(f.what, "no-such-model") {
		t.Errorf("%+v", f)
	}
}

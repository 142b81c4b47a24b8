package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTryFirmware has programs that behave as QEMU does on hosts where KVM works, where it is refused, and where a guest
// hangs.
func TestTryFirmware(t *testing.T) {
	for _, x := range []struct {
		name, script, want string
		ok                 bool
		patience           time.Duration
	}{
		{"works", "echo SeaBIOS; echo 'No bootable device.'; exec sleep 600", "shows when one boots", true, time.Hour},
		{"refused", "echo \"$0: error: failed to set MSR 0x10a\" >&2; exit 1", "(error: failed to set MSR 0x10a)", false, time.Hour},
		{"mute", "exit 7", "(exit status 7)", false, time.Hour},
		{"hangs", "echo SeaBIOS; exec sleep 600", "makes no progress", false, time.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "qemu")
			if err := os.WriteFile(program, []byte("#!/bin/sh\n"+x.script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), x.patience)
			defer cancel()
			f := tryFirmware(ctx, program, "kvm", "host")
			if f.ok != x.ok || !strings.Contains(f.what, x.want) {
				t.Errorf("%+v", f)
			}
			if !f.ok && f.remedy == "" {
				t.Error("no remedy")
			}
		})
	}
}

//go:build conformance

package tinyguest_test

import (
	"bytes"
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/vmseed/vmseed/kube/internal/tinyguest"
)

// TestGuest boots the guest, hears it say what it is told, and has it shut down.
func TestGuest(t *testing.T) {
	program, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("SKIP-MISSING: " + err.Error())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-accel", "tcg", "-machine", "q35", "-m", "32", "-display", "none", "-nodefaults",
		"-drive", "format=raw,snapshot=on,file="+tinyguest.Disk(t), "-serial", "stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []byte
	until := func(text string) {
		t.Helper()
		for b := make([]byte, 256); !bytes.Contains(said, []byte(text)); {
			n, err := out.Read(b)
			if err != nil {
				t.Fatalf("the guest did not say %q but %q: %v", text, said, err)
			}
			said = append(said, b[:n]...)
		}
	}
	until(tinyguest.Up)
	if _, err := in.Write([]byte("hear, hear")); err != nil {
		t.Fatal(err)
	}
	until("hear, hear")
	// QEMU takes SIGTERM for a power cut; the button is pressed by whoever has its monitor, as package provider's tests do.
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

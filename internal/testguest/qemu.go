package testguest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

const qemuProgram = "qemu-system-x86_64"

// bootLimit bounds a guest that should take seconds, so that only one that
// hangs reaches it, however busy the machine is.
const bootLimit = 10 * time.Minute

// runQEMU runs a guest until it powers off and returns its serial console. The
// test fails when QEMU fails or the limit passes.
func runQEMU(tb testing.TB, args []string) string {
	tb.Helper()
	// tb.Context ends just before the test's clean-up, so a test that ends early
	// takes its guest along.
	ctx, cancel := context.WithTimeout(tb.Context(), bootLimit)
	defer cancel()
	var console, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, qemuProgram, append([]string{
		"-accel", "tcg,thread=multi", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-serial", "stdio",
		"-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
	}, args...)...)
	cmd.Stdout, cmd.Stderr = &console, &stderr
	dieWithTest(cmd)
	// The kernel ties "die with the parent" to the thread that starts the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := cmd.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		tb.Fatalf("the guest did not power off within %v\n%s--- console ---\n%s", bootLimit, &stderr, &console)
	case err != nil:
		tb.Fatalf("%s: %v\n%s--- console ---\n%s", qemuProgram, err, &stderr, &console)
	}
	return strings.ReplaceAll(console.String(), "\r\n", "\n")
}

// diskArgs attaches disks. The JSON forms of the options take any file name.
func diskArgs(tb testing.TB, disks []Drive) []string {
	tb.Helper()
	var args []string
	for i, disk := range disks {
		file, err := filepath.Abs(disk.Path)
		if err != nil {
			tb.Fatal(err)
		}
		format := disk.Format
		if format == "" {
			format = "raw"
		}
		node := fmt.Sprintf("disk%d", i)
		device := map[string]any{"driver": "virtio-blk-pci", "drive": node}
		if disk.Serial != "" {
			device["serial"] = disk.Serial
		}
		args = append(args,
			"-blockdev", toJSON(tb, map[string]any{
				"node-name": node, "driver": format, "read-only": disk.ReadOnly,
				"file": map[string]any{"driver": "file", "filename": file},
			}),
			"-device", toJSON(tb, device))
	}
	return args
}

func toJSON(tb testing.TB, value any) string {
	tb.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		tb.Fatal(err)
	}
	return string(encoded)
}

// escapeComma quotes a file name inside an option of the key=value form.
func escapeComma(name string) string {
	return strings.ReplaceAll(name, ",", ",,")
}

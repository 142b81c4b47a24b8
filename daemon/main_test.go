//go:build linux

package daemon_test

import (
	"os"
	"testing"

	"github.com/vmseed/vmseed/daemon/daemontest"
)

// TestMain lets the test's own program be a supervisor, and QEMU.
func TestMain(m *testing.M) {
	daemontest.Main()
	os.Exit(m.Run())
}

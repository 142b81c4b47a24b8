//go:build linux

package daemon_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/vmseed/vmseed/daemon/daemontest"
)

// TestMain lets the test's own program be a supervisor, QEMU, and a daemon that is killed.
func TestMain(m *testing.M) {
	daemontest.Main()
	if len(os.Args) == 5 && os.Args[1] == "chaos" {
		if err := victim(os.Args[2], os.Args[3], os.Args[4] == "lies"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

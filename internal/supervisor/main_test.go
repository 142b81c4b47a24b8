//go:build linux

package supervisor_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// TestMain lets the test's own program be the supervisor, and a QEMU without a guest.
func TestMain(m *testing.M) {
	supervisortest.Main()
	if len(os.Args) == 3 && os.Args[1] == "start" {
		c, err := supervisor.Open(os.Args[2], supervisortest.Command()...)
		if err == nil {
			err = c.Start(context.Background(), false)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
	os.Exit(m.Run())
}

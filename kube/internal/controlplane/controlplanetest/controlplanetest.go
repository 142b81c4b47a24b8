// Package controlplanetest starts control planes for tests, and stops them after them.
package controlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vmseed/vmseed/kube/internal/controlplane"
)

// Start starts a control plane for a test and its subtests, in a directory of the test unless the options name one. It is
// stopped after the test, which shows what its parts have said if it failed. Where something must be installed first the
// test is skipped.
func Start(t *testing.T, o controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	c, err := controlplane.Start(t.Context(), o)
	switch {
	case errors.Is(err, controlplane.ErrMissing):
		t.Skip("SKIP-MISSING: " + err.Error())
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			c.Logs(t.Output())
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Main runs the tests of a package on a control plane that they share, and returns the status to exit with: what TestMain
// does. Prepare puts on it what all of them need. The context that it gets lasts as long as the tests; what it returns is
// called after them, and may be nil.
func Main(m *testing.M, o controlplane.Options, prepare func(context.Context, *controlplane.ControlPlane) (end func(), err error)) int {
	status, err := run(m, o, prepare)
	switch {
	case errors.Is(err, controlplane.ErrMissing):
		fmt.Println("SKIP-MISSING: " + err.Error())
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return max(status, 1)
	}
	return status
}

func run(m *testing.M, o controlplane.Options, prepare func(context.Context, *controlplane.ControlPlane) (func(), error)) (status int, err error) {
	if o.Dir, err = os.MkdirTemp("", "controlplane"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(o.Dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := controlplane.Start(ctx, o)
	if err != nil {
		return 0, err
	}
	end, err := prepare(ctx, c)
	if err == nil {
		status = m.Run()
	}
	cancel()
	if end != nil {
		end()
	}
	if status != 0 || err != nil {
		c.Logs(os.Stderr)
	}
	return status, errors.Join(err, c.Stop())
}

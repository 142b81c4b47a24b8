//go:build linux

package supervisor_test

import (
	"errors"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

func TestAwaitAgent(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	if err := c.AwaitAgent(within(t)); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("before the start: %v", err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitAgent(within(t)); err != nil {
		t.Error(err)
	}
}

// A guest without an agent keeps nobody waiting longer than it runs.
func TestAwaitAgentInVain(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- c.AwaitAgent(within(t)) }()
	if _, err := c.WaitFirstBoot(within(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
}

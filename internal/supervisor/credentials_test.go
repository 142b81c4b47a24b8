//go:build linux

package supervisor_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
	"github.com/vmseed/vmseed/machine"
	"github.com/vmseed/vmseed/secret"
)

func agentUsers() []machine.AgentUser {
	return []machine.AgentUser{
		{Name: "core", Password: secret.New("canary-password")},
		{Name: "root", SSHAuthorizedKeys: []string{"canary-key 1", "canary-key 2"}},
	}
}

// noFileHolds looks for a text in everything below a VM's directory.
func noFileHolds(t *testing.T, dir, text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s holds a credential", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestCredentials reach the guest although a user is not there at first, and leave no trace.
func TestCredentials(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCredentials(within(t), agentUsers()); err != nil {
		t.Fatal(err)
	}
	var said []supervisor.Condition
	err := c.WaitCredentials(within(t), func(e supervisor.Event) {
		if e.Condition != nil {
			said = append(said, *e.Condition)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 3 || !strings.Contains(said[0].Message, "has not answered yet") || !strings.Contains(said[1].Message, `user "core"`) ||
		!strings.Contains(said[1].Message, "no such user") || !said[2].Status {
		t.Errorf("users are told %+v", said)
	}
	if s := state(t, c); s.Credentials == nil || !s.Credentials.Status || s.Credentials.Type != supervisor.CredentialsSynchronized {
		t.Errorf("state %+v", s.Credentials)
	}
	noFileHolds(t, c.Dir, "canary")
	private(t, c.Dir)
	// What is set stays set, on the guest's disk.
	if err := c.Stop(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if s := state(t, c); s.Credentials == nil || !s.Credentials.Status {
		t.Errorf("after another start: %+v", s.Credentials)
	}
}

// TestCredentialsLost ends the supervisor while the agent is silent: the next one does not have them, and says so.
func TestCredentialsLost(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCredentials(within(t), agentUsers()); err != nil {
		t.Fatal(err)
	}
	s := state(t, c)
	if s.Credentials == nil || s.Credentials.Status {
		t.Fatalf("state %+v", s.Credentials)
	}
	noFileHolds(t, c.Dir, "canary")
	if err := syscall.Kill(s.Supervisor, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if s = state(t, c); s.Credentials == nil || s.Credentials.Status || !strings.Contains(s.Credentials.Message, "hand them over again") {
		t.Errorf("after the supervisor's end: %+v", s.Credentials)
	}
	// They can be handed over again, and a new start says the same as a new supervisor.
	if err := c.SetCredentials(within(t), agentUsers()); err != nil {
		t.Fatal(err)
	}
	if s = state(t, c); !strings.Contains(s.Credentials.Message, "has not answered yet") {
		t.Errorf("handed over again: %+v", s.Credentials)
	}
	if err := c.Stop(within(t), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if s = state(t, c); s.Credentials == nil || !strings.Contains(s.Credentials.Message, "hand them over again") {
		t.Errorf("after another start: %+v", s.Credentials)
	}
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
)

// TestLoginOfVM has ssh use the user of the plan unless told another.
func TestLoginOfVM(t *testing.T) {
	c := supervised(t, supervisor.State{Status: "running", SSHPort: 2222})
	plan := supervisor.Plan{Name: "vm", Login: "debian", Attempts: []supervisor.Attempt{{}}}
	if err := plan.Save(c.Dir); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": "debian", "ada": "ada"} {
		options, err := sshFlags{user: given}.options(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, o := range options {
			if o[0] == "User" {
				got = o[1]
			}
		}
		if got != want {
			t.Errorf("-u %q: %q, want %q", given, got, want)
		}
	}
}

// TestEarly says that the first boot is not over when a log-in fails before its end, and nothing else.
func TestEarly(t *testing.T) {
	over := &report.Event{Stage: report.Final}
	for _, tt := range []struct {
		name  string
		state supervisor.State
		err   error
		said  bool
	}{
		{"during the first boot", supervisor.State{Status: "running"}, silent(sshFailed), true},
		{"later", supervisor.State{Status: "running", FirstBoot: over}, silent(sshFailed), false},
		{"a command that failed", supervisor.State{Status: "running"}, silent(1), false},
		{"another failure", supervisor.State{Status: "running"}, errors.New("no ssh"), false},
	} {
		var out bytes.Buffer
		a := &app{Streams: Streams{Err: &out}}
		if err := a.early(context.Background(), supervised(t, tt.state), tt.err); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := strings.Contains(out.String(), "the first boot is not over; vmseed wait vm"); got != tt.said {
			t.Errorf("%s: said %q", tt.name, out.String())
		}
	}
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// supervised is a VM whose supervisor knows a state and events, the last of which it never gets to.
func supervised(t *testing.T, state supervisor.State, events ...supervisor.Event) *supervisor.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "vm") // the address of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	plan := supervisor.Plan{Name: "vm", Attempts: []supervisor.Attempt{{}}}
	if err := plan.Save(dir); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "state.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "control.sock"))
	if err != nil {
		t.Skip("this system has no Unix sockets: ", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(state) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		for i, e := range events {
			e.Sequence = i + 1
			_ = json.NewEncoder(w).Encode(e)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := &http.Server{Handler: mux}
	ended := make(chan struct{})
	go func() {
		_ = server.Serve(l)
		close(ended)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	c, err := supervisor.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAwaitCredentials: a first boot is no success before the guest agent has done its part, and what keeps it is said.
func TestAwaitCredentials(t *testing.T) {
	waiting := supervisor.Condition{Type: supervisor.CredentialsSynchronized, Message: "the guest agent does not answer"}
	set := supervisor.Condition{Type: supervisor.CredentialsSynchronized, Status: true}
	for _, tt := range []struct {
		name     string
		state    *supervisor.Condition
		events   []supervisor.Event
		patience time.Duration
		status   int
		said     string
	}{
		{"none", nil, nil, time.Hour, exitDone, ""},
		{"set", &set, nil, time.Hour, exitDone, ""},
		{"never", &waiting, []supervisor.Event{{Condition: &waiting}}, 50 * time.Millisecond, exitGuest, "credentials wait: the guest agent does not answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := supervised(t, supervisor.State{Status: supervisor.Running, Credentials: tt.state}, tt.events...)
			var out strings.Builder
			err := awaitCredentials(t.Context(), localVM{Client: c}, &progress{out: &out, start: time.Now(), ending: "\n"}, tt.patience)
			if statusOf(err) != tt.status || !strings.Contains(out.String(), tt.said) {
				t.Errorf("%v, said %q", err, out.String())
			}
			if tt.status != exitDone && !strings.Contains(err.Error(), "does not answer") {
				t.Errorf("the reason is missing: %v", err)
			}
		})
	}
	// One that is interrupted says so.
	c := supervised(t, supervisor.State{Status: supervisor.Running, Credentials: &waiting}, supervisor.Event{Condition: &waiting})
	ctx, cancel := context.WithCancel(t.Context())
	p := &progress{out: cancelled{cancel}, start: time.Now(), ending: "\n"}
	if err := awaitCredentials(ctx, localVM{Client: c}, p, time.Hour); statusOf(err) != exitEnvironment {
		t.Errorf("interrupted: %v", err)
	}
}

// cancelled interrupts the command as soon as it says something.
type cancelled struct{ cancel func() }

func (c cancelled) Write(p []byte) (int, error) {
	c.cancel()
	return len(p), nil
}

// TestEventsOnce: events that are replayed are shown once.
func TestEventsOnce(t *testing.T) {
	var out strings.Builder
	p := &progress{out: &out, start: time.Now(), ending: "\n"}
	for _, e := range []supervisor.Event{
		{Sequence: 1, Condition: &supervisor.Condition{Message: "not yet"}},
		{Sequence: 2, Note: "between"},
		{Sequence: 1, Condition: &supervisor.Condition{Message: "not yet"}},
		{Sequence: 3, Condition: &supervisor.Condition{Status: true}},
	} {
		p.event(e)
	}
	if got := out.String(); strings.Count(got, "credentials wait: not yet") != 1 || strings.Count(got, "has set the credentials") != 1 {
		t.Errorf("said\n%s", got)
	}
}

// TestFailurePointsToLogs: a first boot that failed says once where the guest's own words are, and keeps its exit status.
func TestFailurePointsToLogs(t *testing.T) {
	c := supervised(t, supervisor.State{Status: supervisor.Running})
	failed := &exitError{exitGuest, errors.New("the first boot failed")}
	for _, x := range []struct {
		app     app
		err     error
		removed bool
		want    string
	}{
		{app{}, nil, false, ""},
		{app{}, failed, false, "the first boot failed; vmseed logs vm shows its console"},
		{app{stateDir: "/v m"}, failed, false, "the first boot failed; vmseed logs vm --state-dir '/v m' shows its console"},
		{app{}, failed, true, "the first boot failed; without --rm vmseed logs vm shows its console"},
	} {
		err := x.app.withLogs(x.err, here{&x.app}.vm(c), x.removed)
		if statusOf(err) != statusOf(x.err) || (err == nil) != (x.want == "") || err != nil && err.Error() != x.want {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
}

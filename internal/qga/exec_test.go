package qga

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRun: what goes to the agent and what comes back, output that is larger than any other answer among it.
func TestRun(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	status := fmt.Sprintf(`{"return": {"exited": true, "exitcode": 3, "out-data": %q, "err-data": "b29wcw==", "err-truncated": true}}`,
		base64.StdEncoding.EncodeToString([]byte(large)))
	c, log := agent(t, map[string]string{"guest-exec": "{\"return\": {\"pid\": 42}}\n", "guest-exec-status": status + "\n"})
	out, err := c.Run(within(t), Program{Path: "cat", Args: []string{"-n"}, Env: []string{"A=b"}, Input: []byte("in")})
	if err != nil || out.Code != 3 || out.Signal != 0 || string(out.Stdout) != large || string(out.Stderr) != "oops" || !out.Truncated {
		t.Errorf("code %d, signal %d, %d bytes, %q, %t, %v", out.Code, out.Signal, len(out.Stdout), out.Stderr, out.Truncated, err)
	}
	if got := fmt.Sprint(log()[0].Arguments); got != "map[arg:[-n] capture-output:true env:[A=b] input-data:aW4= path:cat]" {
		t.Errorf("the agent heard %s", got)
	}
}

// TestRunBlocked: the agent's own words for a command that it may not run.
func TestRunBlocked(t *testing.T) {
	c, _ := agent(t, map[string]string{"guest-exec": `{"error": {"class": "CommandNotFound", "desc": "Command guest-exec has been disabled: the command is not allowed"}}` + "\n"})
	if _, err := c.Run(within(t), Program{Path: "true"}); !errors.Is(err, ErrBlocked) {
		t.Errorf("got %v", err)
	}
	c, _ = agent(t, map[string]string{"guest-exec": `{"error": {"class": "GenericError", "desc": "Failed to execute child process"}}` + "\n"})
	var refused *Error
	if _, err := c.Run(within(t), Program{Path: "nothing"}); !errors.As(err, &refused) || errors.Is(err, ErrBlocked) {
		t.Errorf("got %v", err)
	}
}

// TestTurns: a program that runs on lets others speak, and one who waits for it may give up.
func TestTurns(t *testing.T) {
	c, _ := agent(t, map[string]string{"guest-exec": "{\"return\": {\"pid\": 42}}\n", "guest-exec-status": "{\"return\": {\"exited\": false}}\n",
		"guest-ping": "{\"return\": {}}\n"})
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error)
	go func() {
		_, err := c.Run(ctx, Program{Path: "sleep", Args: []string{"infinity"}})
		ended <- err
	}()
	for range 10 {
		if err := c.Ping(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	c.turn <- struct{}{} // somebody speaks, and does not end
	late, giveUp := context.WithCancel(t.Context())
	giveUp()
	if err := c.Ping(late); !errors.Is(err, context.Canceled) {
		t.Errorf("whose turn does not come: %v", err)
	}
	<-c.turn
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("whose program does not end: %v", err)
	}
}

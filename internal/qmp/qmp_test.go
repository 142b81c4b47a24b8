package qmp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/vmseed/vmseed/internal/qmp"
)

// monitor plays QEMU's side: it greets and answers each command by its name.
func monitor(t *testing.T, conn net.Conn, answers map[string]string) {
	t.Helper()
	go func() {
		defer conn.Close()
		fmt.Fprintln(conn, `{"QMP": {"version": {"qemu": {"major": 7}}, "capabilities": ["oob"]}}`)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			var command struct {
				Execute string
				ID      json.RawMessage
			}
			if err := json.Unmarshal(lines.Bytes(), &command); err != nil {
				t.Errorf("the client sent %q: %v", lines.Text(), err)
				return
			}
			answer, known := answers[command.Execute]
			if !known {
				return
			}
			// An event may come between a command and its answer.
			fmt.Fprintln(conn, `{"timestamp": {"seconds": 7, "microseconds": 5}, "event": "STOP", "data": {"why": "test"}}`)
			fmt.Fprintf(conn, "{%s, \"id\": %s}\n", answer, command.ID)
		}
	}()
}

func TestExecute(t *testing.T) {
	here, there := net.Pipe()
	monitor(t, there, map[string]string{
		"qmp_capabilities": `"return": {}`,
		"query-status":     `"return": {"status": "running"}`,
		"cont":             `"error": {"class": "GenericError", "desc": "no"}`,
	})
	events := make(chan qmp.Event, 16)
	c, err := qmp.New(t.Context(), here, func(e qmp.Event) { events <- e })
	if err != nil {
		t.Fatal(err)
	}
	var status struct{ Status string }
	if err := c.Execute(t.Context(), "query-status", nil, &status); err != nil || status.Status != "running" {
		t.Errorf("query-status: %v, %v; want running", status, err)
	}
	var refused *qmp.Error
	if err := c.Execute(t.Context(), "cont", nil, nil); !errors.As(err, &refused) || refused.Description != "no" {
		t.Errorf("cont: %v; want QEMU's refusal", err)
	}
	if e := <-events; e.Name != "STOP" || e.Time.Unix() != 7 || string(e.Data) != `{"why": "test"}` {
		t.Errorf("event %+v", e)
	}
	// The monitor hangs up at a command that it does not know, as QEMU does when it ends.
	if err := c.Execute(t.Context(), "quit", nil, nil); !errors.Is(err, qmp.ErrClosed) {
		t.Errorf("quit: %v; want ErrClosed", err)
	}
	<-c.Done()
	if err := c.Execute(t.Context(), "query-status", nil, nil); !errors.Is(err, qmp.ErrClosed) {
		t.Errorf("after the end: %v; want ErrClosed", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestExecuteCancelled(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := qmp.New(ctx, here, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a monitor that never greets: %v; want context.Canceled", err)
	}
}

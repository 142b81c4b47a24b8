//go:build linux

package ovirtapi

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestPanic: a defect is an answer and a line in the log, and neither tells what was in memory.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	api := testAPI(t)
	api.log = slog.New(slog.NewTextHandler(&log, nil))
	api.routes = newRouter([]endpoint{{path: "vms", get: func(*request) (reply, error) { panic("hunter2") }}})
	answer := serve(t, api, "GET /ovirt-engine/api/vms HTTP/1.1\n\n")
	if answer.Code != 500 || !strings.Contains(answer.Body.String(), "Internal error") {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
	if strings.Contains(answer.Body.String()+log.String(), "hunter2") || !strings.Contains(log.String(), "panic_test.go") {
		t.Errorf("the log says %s", log.String())
	}
}

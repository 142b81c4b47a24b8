package supervisor

import (
	"testing"
	"time"

	"github.com/vmseed/vmseed/report"
)

// TestSilent blames the image only when the guest has had the time to start its agent.
func TestSilent(t *testing.T) {
	over := &report.Event{Stage: report.Final}
	for _, c := range []struct {
		first *report.Event
		since time.Duration
		want  string
	}{{nil, time.Minute, agentAwaited}, {nil, agentBoot, agentOffline}, {over, time.Second, agentOffline}} {
		s := &supervisor{state: State{FirstBoot: c.first}}
		if got := s.silent(c.since); got != c.want {
			t.Errorf("after %s: %q, want %q", c.since, got, c.want)
		}
	}
}

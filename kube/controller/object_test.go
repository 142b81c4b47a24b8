package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDiffering keeps what a status has beside what the controller knows.
func TestDiffering(t *testing.T) {
	m := func(kv ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			if name, ok := kv[i].(string); ok {
				out[name] = kv[i+1]
			}
		}
		return out
	}
	for name, c := range map[string]struct{ held, before, after, want map[string]any }{
		"no status yet":      {nil, m(), m("phase", "Pending"), m("phase", "Pending")},
		"a change":           {m("phase", "Pending"), m("phase", "Pending"), m("phase", "Running"), m("phase", "Running")},
		"a member that goes": {m("node", "a", "phase", "Running"), m("node", "a", "phase", "Running"), m("phase", "Running"), m("phase", "Running")},
		"of somebody else":   {m("memory", m("guest", "1Gi"), "new", int64(1)), m("memory", m()), m("memory", m("at", "2Gi")), m("memory", m("guest", "1Gi", "at", "2Gi"), "new", int64(1))},
		"lists are whole":    {m("conditions", []any{"a", "b"}), m("conditions", []any{"a"}), m("conditions", []any{"c"}), m("conditions", []any{"c"})},
		"as it was":          {m("phase", "Other"), m("phase", "Running"), m("phase", "Running"), m("phase", "Other")},
	} {
		if diff := cmp.Diff(c.want, differing(c.held, c.before, c.after)); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

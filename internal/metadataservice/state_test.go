package metadataservice

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestOneService lets one service alone work on a state directory. Who only looks is not kept out.
func TestOneService(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing keeps services apart there")
	}
	state := t.TempDir()
	s := open(t, define("web"), func(o *Options) { o.StateDir = state })
	if _, _, err := New(t.Context(), s.o); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), state) || !strings.Contains(err.Error(), "another") {
		t.Errorf("a second one: %v", err)
	}
	look := s.o
	look.Look, look.Metrics = true, nil
	looking, l, err := New(t.Context(), look)
	if err != nil || l.HasErrors() || len(looking.Machines()) != 1 {
		t.Fatalf("a look: %v, %v", l, err)
	}
	if err := looking.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := New(t.Context(), s.o); !errors.Is(err, ErrState) {
		t.Errorf("after a look: %v", err)
	}
	write(t, s.file, "spec: [")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	o := s.o
	o.Metrics = nil
	if _, l, err := New(t.Context(), o); err == nil && !l.HasErrors() {
		t.Error("a service of a broken definition")
	}
	write(t, s.file, define("web"))
	again, l, err := New(t.Context(), o)
	if err != nil || l.HasErrors() {
		t.Fatalf("after the first one and one that failed: %v, %v", l, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

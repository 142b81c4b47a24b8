package daemon

import (
	"testing"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// TestPostedPassword: what a guest has posted is kept, and is that of one generation. A start that fails changes nothing.
func TestPostedPassword(t *testing.T) {
	s := &state{}
	events := s.take(supervisor.Event{Note: "posted", Password: &supervisor.Password{Instance: "i", Encrypted: "ZW5jcnlwdGVk"}})
	if len(events) != 1 || s.PostedPassword != "ZW5jcnlwdGVk" {
		t.Fatalf("%+v: %q", events, s.PostedPassword)
	}
	change, err := s.change()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := readState(change.Value)
	if err != nil || kept.PostedPassword != s.PostedPassword {
		t.Errorf("%+v, %v", kept, err)
	}
	failed := &state{}
	if failed.backTo(kept); failed.PostedPassword != kept.PostedPassword {
		t.Errorf("%+v", failed)
	}
}

//go:build linux

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// TestRun tells the documents of a run from the definition, while it goes on and afterwards, and shows what is secret in them only
// while it goes on, and only to who asks.
func TestRun(t *testing.T) {
	s := begin(t)
	const canary = "canary-of-the-run"
	config := func(name string) []client.Document {
		return documents("vm1", supervisortest.Good, "#cloud-config\nusers: [{name: "+name+", plain_text_passwd: "+canary+"}]\n")
	}
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: config("alice")})
	if err != nil {
		t.Fatal(err)
	}
	id := made.Machines[0].ID
	if _, err := s.Run(t.Context(), id, false); status(err) != http.StatusNotFound {
		t.Errorf("before the first start: %v", err)
	}
	expect := func(when, name string, own, over bool) {
		t.Helper()
		for _, reveal := range []bool{false, true} {
			ran, err := s.Run(t.Context(), id, reveal)
			text := ""
			for _, d := range ran.Documents {
				text += d.Text.Reveal()
			}
			if err != nil || ran.Own != own || ran.MaskedOnly != over || !strings.Contains(text, "name: "+name) {
				t.Errorf("%s: own %t, masked only %t, %v\n%s", when, ran.Own, ran.MaskedOnly, err, text)
			}
			if shown := strings.Contains(text, canary); shown != (reveal && !over) {
				t.Errorf("%s, reveal %t: the password is shown: %t", when, reveal, shown)
			}
		}
	}
	start := func(q client.StartRequest) {
		t.Helper()
		if _, err := s.Start(t.Context(), id, q); err != nil {
			t.Fatal(err)
		}
	}
	stop := func() {
		t.Helper()
		if _, err := s.Stop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	start(client.StartRequest{})
	if _, err := s.Update(t.Context(), id, client.UpdateRequest{Documents: config("bob")}); err != nil {
		t.Fatal(err)
	}
	expect("while a run goes on whose definition was changed", "alice", false, false)
	stop()
	expect("after it", "alice", false, true)
	start(client.StartRequest{Documents: config("carol"), Initialize: true})
	expect("while a run-once goes on", "carol", true, false)
	stop()
	expect("after that", "carol", true, true)
	if err := s.Remove(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), id, false); status(err) != http.StatusNotFound {
		t.Errorf("of a machine that was removed: %v", err)
	}
}

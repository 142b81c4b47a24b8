//go:build linux

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/secret"
)

// TestUpdateIsChecked refuses by a change what is refused when a machine is made, and what a start would say. What is wrong with a
// machine already stays nobody's fault who changes something else, and can be repaired.
func TestUpdateIsChecked(t *testing.T) {
	s := begin(t)
	with := func(address string) []client.Document {
		text := documents("vm1", "", "")[0].Text.Reveal() + "  network: {nics: [{name: eth0, addresses: [\"" + address + "\"]}]}\n"
		return []client.Document{{Name: "vm1.yaml", Text: secret.New(text)}}
	}
	bad, good := with("fd00::5/0"), with("fd00::5/64")
	if _, err := s.Create(t.Context(), client.CreateRequest{Documents: bad}); status(err) != http.StatusUnprocessableEntity {
		t.Fatalf("made: %v", err)
	}
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: good})
	if err != nil {
		t.Fatal(err)
	}
	id, first := made.Machines[0].ID, made.Machines[0].Revision
	_, err = s.Update(t.Context(), id, client.UpdateRequest{Documents: bad})
	if status(err) != http.StatusUnprocessableEntity || !strings.Contains(err.Error(), "vm1.yaml:") {
		t.Errorf("changed: %v", err)
	}
	if _, err := s.Update(t.Context(), id, client.UpdateRequest{Documents: bad, Revision: "99"}); !client.IsStale(err) {
		t.Errorf("of another revision: %v", err)
	}
	if m, err := s.Machine(t.Context(), id); err != nil || m.Revision != first {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := s.Update(t.Context(), "00000000-0000-4000-8000-000000000000", client.UpdateRequest{Documents: bad}); status(err) != http.StatusNotFound {
		t.Errorf("of no machine: %v", err)
	}

	broken := bad[0]
	m, err := s.daemon.Add(t.Context(), daemon.Machine{Name: "vm2", Documents: []daemon.Document{{Name: broken.Name, Text: broken.Text}}})
	if err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]client.UpdateRequest{"name": {Name: "vm3"}, "delivery": {Delivery: "iso"}, "nothing": {Documents: bad}} {
		if _, err := s.Update(t.Context(), m.ID, q); err != nil {
			t.Errorf("%s of a machine with errors: %v", what, err)
		}
	}
	if _, err := s.Update(t.Context(), m.ID, client.UpdateRequest{Documents: with("fd00::6/0")}); status(err) != http.StatusUnprocessableEntity {
		t.Errorf("another error: %v", err)
	}
	if _, err := s.Update(t.Context(), m.ID, client.UpdateRequest{Documents: good}); err != nil {
		t.Errorf("repaired: %v", err)
	}
}

//go:build linux

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmseed/vmseed/daemon/client"
)

// TestIfMatch changes a machine of which somebody else has changed the definition.
func TestIfMatch(t *testing.T) {
	s := begin(t)
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: documents("vm1", "", "")})
	if err != nil {
		t.Fatal(err)
	}
	id, first := made.Machines[0].ID, made.Machines[0].Revision
	second, err := s.Update(t.Context(), id, client.UpdateRequest{Name: "vm2", Revision: first})
	if err != nil || second.Revision == first {
		t.Fatalf("revision %q after %q: %v", second.Revision, first, err)
	}
	if _, err := s.Update(t.Context(), id, client.UpdateRequest{Name: "vm3", Revision: first}); !client.IsStale(err) {
		t.Errorf("of a revision that is over: %v", err)
	}
	for header, want := range map[string]int{
		`"` + first + `"`: 412, `W/"` + second.Revision + `"`: 412, second.Revision: 412, "": 412,
		`"x", "` + second.Revision + `"`: 200, "*": 200,
	} {
		if got, text := s.raw(t, "PATCH", "/api/v1/machines/"+id, `{"name": "vm2"}`, "If-Match", header); got != want {
			t.Errorf("If-Match: %s is answered %d: %s", header, got, text)
		}
	}
	if m, err := s.Machine(t.Context(), id); err != nil || m.Name != "vm2" || m.Revision != second.Revision {
		t.Errorf("%+v, %v", m, err)
	}
	for method, body := range map[string]string{"GET": "", "HEAD": "", "PATCH": `{"name": "vm2"}`} {
		q, err := http.NewRequestWithContext(t.Context(), method, s.server.URL()+"/api/v1/machines/"+id, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
		q.Header.Set("Content-Type", "application/json")
		answer, err := s.HTTP().Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if tag := answer.Header.Get("ETag"); tag != `"`+second.Revision+`"` {
			t.Errorf("%s is answered with the tag %s", method, tag)
		}
	}
}

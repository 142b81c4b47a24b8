package server

import (
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// TestStreamsEnd ends answers without an end when those who get them would not be let in any more.
func TestStreamsEnd(t *testing.T) {
	began, ended := make(chan string, 10), make(chan string, 10)
	r := begin(t, func(c *Config) {
		c.Limits.Recheck = 20 * time.Millisecond
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") == "" {
				_ = http.NewResponseController(w).Flush()
			} else {
				nc, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer nc.Close()
				_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			}
			began <- r.URL.Path
			<-r.Context().Done()
			ended <- r.URL.Path
		})
	})
	next := func(from chan string, want string) {
		t.Helper()
		select {
		case got := <-from:
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
		case <-time.After(limit):
			t.Fatalf("%s goes on", want)
		}
	}
	out, kept := r.token(t), r.token(t)
	r.do(t, http.MethodGet, "/api/v1/stays", "", "Authorization", "Bearer "+kept)
	next(began, "/api/v1/stays")
	r.do(t, http.MethodGet, "/api/v1/events", "", "Authorization", "Bearer "+out)
	next(began, "/api/v1/events")
	r.config.Guard.Logout(secret.New(out))
	next(ended, "/api/v1/events")
	out = r.token(t)
	r.do(t, http.MethodGet, "/api/v1/console", "", "Authorization", "Bearer "+out, "Connection", "Upgrade", "Upgrade", "x")
	next(began, "/api/v1/console")
	r.config.Guard.Logout(secret.New(out))
	next(ended, "/api/v1/console")

	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+"/api/v1/basic", nil)
	if err != nil {
		t.Fatal(err)
	}
	q.SetBasicAuth(auth.Admin, password)
	answer, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	next(began, "/api/v1/basic")
	select {
	case path := <-ended:
		t.Fatal(path, "ended for no reason")
	default:
	}
	users := r.config.Guard.Users().Path()
	if err := os.WriteFile(users, []byte("# nobody\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := map[string]bool{}
	for range 2 {
		select {
		case path := <-ended:
			gone[path] = true
		case <-time.After(limit):
			t.Fatal("streams of a user who is gone go on")
		}
	}
	if !gone["/api/v1/basic"] || !gone["/api/v1/stays"] {
		t.Error(gone)
	}
}

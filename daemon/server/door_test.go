package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// TestUseOfCookies keeps the session of a page alive by what its user does, and not by what the page reads by itself.
func TestUseOfCookies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, []byte(hashed), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		users, err := auth.OpenUsers(file)
		if err != nil {
			t.Fatal(err)
		}
		guard, err := auth.NewGuard(users, auth.Options{Idle: 30 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			method, path string
			header       []string
			uses         bool
		}{
			{"GET", "/api/v1/machines/x", nil, false}, {"HEAD", "/api/v1/machines", nil, false}, {"GET", "/api/v1/session", nil, false},
			{"GET", "/api/v1/events", []string{"Accept", "text/event-stream"}, false},
			{"GET", "/api/v1/machines/x/console", []string{"Connection", "Upgrade", "Upgrade", "websocket"}, false},
			{"POST", "/api/v1/render", []string{"Sec-Fetch-Site", "cross-site"}, false},
			{"POST", "/api/v1/render", nil, true}, {"DELETE", "/api/v1/machines/x", nil, true}, {"GET", "/machines", nil, true},
		} {
			session, err := guard.Login(t.Context(), auth.Admin, secret.New("correct horse"), netip.Addr{})
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(tt.method, "https://vmhost.example"+tt.path, nil)
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			for i := 0; i < len(tt.header); i += 2 {
				r.Header.Set(tt.header[i], tt.header[i+1])
			}
			r.Header.Set("Cookie", "__Host-vmseed="+session.Token.Reveal())
			time.Sleep(20 * time.Minute)
			if err := letIn(guard, r); err != nil && !errors.Is(err, errOtherOrigin) {
				t.Errorf("%s %s: %v", tt.method, tt.path, err)
			}
			time.Sleep(20 * time.Minute)
			if _, err := guard.Token(session.Token); (err == nil) != tt.uses {
				t.Errorf("%s %s %q: 20 minutes later the session says %v", tt.method, tt.path, tt.header, err)
			}
		}
	})
}

// letIn has the door look at a request of a page, or of the API.
func letIn(guard *auth.Guard, r *http.Request) error {
	s, x := &Server{config: Config{Guard: guard}}, &exchange{ResponseWriter: httptest.NewRecorder(), path: r.URL.Path}
	if below(x.path, pathAPI) {
		_, err := s.identify(x, r)
		return err
	}
	err := errNobody
	s.config.Pages = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, ok := auth.FromContext(r.Context()); ok {
			err = nil
		}
	})
	s.page(x, r)
	return err
}

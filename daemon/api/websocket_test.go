//go:build linux

package api_test

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// dial opens a machine's console as a page does.
func (s *service) dial(ctx context.Context, t *testing.T, id string, header ...string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	h := http.Header{"Authorization": {"Bearer " + s.Token().Reveal()}, "Origin": {s.server.URL()}}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return websocket.Dial(ctx, strings.Replace(s.server.URL(), "http", "ws", 1)+client.Prefix+"/machines/"+id+"/console",
		&websocket.DialOptions{HTTPClient: s.HTTP(), HTTPHeader: h})
}

// heardOf reads messages until they hold a text.
func heardOf(ctx context.Context, t *testing.T, conn *websocket.Conn, want string) {
	t.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), want) {
		kind, data, err := conn.Read(ctx)
		if err != nil || kind != websocket.MessageBinary {
			t.Fatalf("after %d bytes without %q: %v, %v", all.Len(), want, kind, err)
		}
		all.Write(data)
	}
}

// ending reads what comes until the end, and returns its code.
func ending(ctx context.Context, t *testing.T, conn *websocket.Conn) websocket.StatusCode {
	t.Helper()
	for {
		if _, _, err := conn.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

// TestWebSocket speaks with a guest as the page's terminal does.
func TestWebSocket(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	conn, _, err := s.dial(ctx, t, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"hello", "GET / HTTP/1.1", strings.Repeat("a line of a text\n", 5_000) + "the end"} {
		if err := conn.Write(ctx, websocket.MessageBinary, []byte(text+"\n")); err != nil {
			t.Fatal(err)
		}
		heardOf(ctx, t, conn, "heard "+text[strings.LastIndex(text, "\n")+1:])
	}
	// What a terminal answers by itself.
	if err := conn.Write(ctx, websocket.MessageText, []byte("a reply\n")); err != nil {
		t.Fatal(err)
	}
	heardOf(ctx, t, conn, "heard a reply")
	if _, err := s.Stop(ctx, id); err != nil {
		t.Fatal(err)
	}
	if code := ending(ctx, t, conn); code != websocket.StatusNormalClosure {
		t.Errorf("after the machine's end the console ends with %d", code)
	}
	for name, tt := range map[string]struct {
		id     string
		header []string
		status int
	}{
		"a machine that does not run": {id, nil, http.StatusConflict},
		"no machine":                  {"x", nil, http.StatusNotFound},
		"another site":                {id, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"another port":                {id, []string{"Origin", "https://127.0.0.1:1"}, http.StatusForbidden},
		"no origin to speak of":       {id, []string{"Origin", "null"}, http.StatusForbidden},
		"another site, by fetch data": {id, []string{"Sec-Fetch-Site", "same-site"}, http.StatusForbidden},
		"nobody":                      {id, []string{"Authorization", "Bearer x"}, http.StatusUnauthorized},
	} {
		_, answer, err := s.dial(ctx, t, tt.id, tt.header...)
		if err == nil || answer == nil || answer.StatusCode != tt.status {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
}

// TestWebSocketEnds ends the consoles in pages with what their users were let in for, and with the daemon.
func TestWebSocketEnds(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	open := func() *websocket.Conn {
		conn, _, err := s.dial(ctx, t, id)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	conn := open()
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	if _, err := s.Version(ctx); err != nil {
		t.Fatal(err)
	}
	conn = open()
	if err := os.WriteFile(s.users, []byte(strings.Replace(daemontest.Users, "i=1000", "i=1001", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := ending(ctx, t, conn); code != websocket.StatusPolicyViolation {
		t.Errorf("after the session's end the console ends with %d", code)
	}
	if err := os.WriteFile(s.users, []byte(daemontest.Users), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Version(ctx); err != nil { // logs in again
		t.Fatal(err)
	}
	conn = open()
	go s.stop()
	if code := ending(ctx, t, conn); code != websocket.StatusGoingAway {
		t.Errorf("after the daemon's end the console ends with %d", code)
	}
}

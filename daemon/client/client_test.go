package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
)

func TestURL(t *testing.T) {
	for in, want := range map[string]string{
		"": DefaultURL, "vms.example": "https://vms.example:8443", "vms.example:1": "https://vms.example:1", "https://[::1]/": "https://[::1]:8443",
		"http://127.0.0.1:80": "http://127.0.0.1:80", "HTTPS://x": "https://x:8443",
		"http://localhost:1": "http://localhost:1", "http://[::1]:1": "http://[::1]:1",
	} {
		c, err := New(Options{URL: in})
		if err != nil || c.URL() != want {
			t.Errorf("%q: %v, %v", in, c, err)
		}
	}
	for _, in := range []string{"ftp://x", "https://", "https://user:canary@x", "https://x/api", "https://x?y", "https://x:port", "://",
		"http://vms.example:80", "http://192.0.2.1", "http://localhost.example"} {
		if _, err := New(Options{URL: in}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", in, err)
		}
	}
	if _, err := New(Options{CA: []byte("no PEM")}); err == nil {
		t.Error("no certificate is trusted")
	}
	if _, err := New(Options{CAFile: "/no/such/file"}); err == nil {
		t.Error("a file that is not there is trusted")
	}
}

// TestWire sends what is secret, and prints it nowhere.
func TestWire(t *testing.T) {
	for name, v := range map[string]any{
		"document": Document{Name: "a", Text: secret.New("canary")},
		"file":     File{Path: "a", Content: secret.New("canary")},
		"binary":   File{Path: "a", Binary: true, Content: secret.New("canary\xff")},
		"login":    LoginRequest{Username: "a", Password: secret.New("canary")},
		"result":   LoginResult{Session: Session{User: "a"}, Token: secret.New("canary")},
	} {
		if got := fmt.Sprintf("%v %+v %#v", v, v, v); strings.Contains(got, "canary") {
			t.Errorf("%s prints %s", name, got)
		}
		data, err := json.Marshal(v)
		if err != nil || !strings.Contains(string(data), "canary") && name != "binary" {
			t.Errorf("%s travels as %s, %v", name, data, err)
		}
	}
	for _, in := range []File{{Path: "a", Size: 3, Mode: "0644", Content: secret.New("abc")}, {Path: "a", Binary: true, Masked: true, Truncated: true, Content: secret.New("\xff\x00")}} {
		data, err := json.Marshal(in)
		var out File
		if err == nil {
			err = json.Unmarshal(data, &out)
		}
		if err != nil || out.Content.Reveal() != in.Content.Reveal() || out.Binary != in.Binary || out.Mode != in.Mode || out.Masked != in.Masked || out.Truncated != in.Truncated {
			t.Errorf("%+v is %+v, %v", in, out, err)
		}
	}
	var d Document
	if err := json.Unmarshal([]byte(`{"name":"a","role":"user-data","text":"b"}`), &d); err != nil || d.Role != "user-data" || d.Text.Reveal() != "b" {
		t.Errorf("%+v, %v", d, err)
	}
	if err := json.Unmarshal([]byte(`{"path":"a","base64":"?"}`), new(File)); err == nil {
		t.Error("damaged base64 is read")
	}
}

func TestDiagnostics(t *testing.T) {
	in := diag.List{{Code: 1042, Severity: diag.Warning, Range: diag.At("a", 1, 2), Field: "f", Summary: "s", Remedy: "r"},
		{Code: 1, Severity: diag.Error, Summary: "e"}, {Code: 9999, Severity: diag.Note, Summary: "n"}}
	if out := List(Diagnostics(in)); !slices.EqualFunc(in, out, func(a, b diag.Diagnostic) bool {
		return a.Error() == b.Error() && a.Severity == b.Severity && a.Code == b.Code
	}) {
		t.Errorf("%v", out)
	}
	e := &Error{Status: 422, Diagnostics: Diagnostics(in)}
	if got := e.Error(); got != "error[VS0001]: e" {
		t.Error(got)
	}
	if got := (&Error{Status: 502, Title: "Bad Gateway"}).Error(); got != "the daemon answered 502 Bad Gateway" {
		t.Error(got)
	}
}

// fake is a daemon that answers one request after the other as it is told.
func fake(t *testing.T, answers ...func(w http.ResponseWriter, r *http.Request)) *Client {
	t.Helper()
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		i := n
		n++
		mu.Unlock()
		if i >= len(answers) {
			t.Errorf("request %d: %s %s", i, r.Method, r.URL)
			http.Error(w, "", http.StatusGone)
			return
		}
		answers[i](w, r)
	}))
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL, Token: secret.New("t")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func say(status int, media, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

func TestErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		media, text, want string
		status            int
	}{
		"problem":         {"application/problem+json", `{"status":404,"title":"Not Found","detail":"there is no machine x","request":"1"}`, "there is no machine x", 404},
		"page of a proxy": {"text/html", "<h1>canary</h1>", "the daemon answered 502 Bad Gateway", 502},
		"damaged problem": {"application/problem+json", `{"detail`, "the daemon answered 500 Internal Server Error", 500},
		"redirect":        {"text/html", "", "the daemon answered 302 Found", 302},
	} {
		c := fake(t, say(tt.status, tt.media, tt.text))
		_, err := c.Machine(t.Context(), "x")
		var e *Error
		if !errors.As(err, &e) || e.Status != tt.status || err.Error() != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	c := fake(t, say(200, "application/json", "no JSON"))
	if _, err := c.Machine(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), "GET /api/v1/machines/x") {
		t.Error(err)
	}
}

// TestEvents goes on where it was after each kind of break.
func TestEvents(t *testing.T) {
	event := func(id int) string {
		return fmt.Sprintf("id: %d\ndata: {\"id\":%d,\ndata: \"text\":\"x\"}\n\n", id, id)
	}
	stream := func(since, text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			if got := r.URL.Query().Get("since"); got != since || r.Header.Get("Accept") != "text/event-stream" {
				t.Errorf("since %s, not %s", got, since)
			}
			say(200, "text/event-stream", text)(w, r)
		}
	}
	c := fake(t,
		stream("now", "id: 4\nevent: begin\ndata: {}\n\n: hello\n\n"+event(5)+event(6)),
		stream("6", "id: 6\nevent: begin\ndata: {}\n\n: still here\nid: 9\n\n"), // nothing for us up to 9
		say(503, "text/plain", ""),
		say(429, "text/plain", ""),
		stream("9", event(10)+"id: 11\ndata: {\"id\""), // cut off in the middle
		stream("10", event(11)+"id: 20\nevent: lost\ndata: {}\n\n"))
	var got []uint64
	err := c.Events(t.Context(), EventFilter{Now: true}, func(e Event) error { got = append(got, e.ID); return nil })
	if !errors.Is(err, ErrLost) || !slices.Equal(got, []uint64{5, 6, 10, 11}) {
		t.Errorf("%v, %v", got, err)
	}
	stop := errors.New("stop")
	c = fake(t, stream("0", event(1)))
	if err := c.Events(t.Context(), EventFilter{}, func(Event) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	c = fake(t, say(404, "text/plain", ""))
	if err := c.Events(t.Context(), EventFilter{}, nil); !IsNotFound(err) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c = fake(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		cancel()
		<-r.Context().Done()
	})
	if err := c.Events(ctx, EventFilter{}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWait misses nothing between the beginning of a stream and the first look.
func TestWait(t *testing.T) {
	machine := func(text string) func(http.ResponseWriter, *http.Request) { return say(200, "application/json", text) }
	held := func(text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			say(200, "text/event-stream", text)(w, r)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	began := "id: 1\nevent: begin\ndata: {}\n\n"
	c := fake(t, held(began+"id: 2\ndata: {\"id\":2,\"kind\":\"machine.status\"}\n\n"), machine(`{"status":"powering_up"}`), machine(`{"status":"up"}`))
	if m, err := c.Wait(t.Context(), "x", "up", "down"); err != nil || m.Status != "up" {
		t.Error(m, err)
	}
	c = fake(t, held(began+"id: 2\ndata: {\"id\":2,\"kind\":\"machine.removed\"}\n\n"), machine(`{"status":"up"}`))
	if _, err := c.Wait(t.Context(), "x", "down"); !errors.Is(err, ErrRemoved) {
		t.Error(err)
	}
	c = fake(t, held(began), machine(`{"status":"down","reason":"it was stopped"}`))
	if _, err := c.WaitFirstBoot(t.Context(), "x", nil); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "it was stopped") {
		t.Error(err)
	}
	// The word on an earlier run is not that on this one.
	early, late := time.Unix(1000, 0).UTC().Format(time.RFC3339), time.Unix(2000, 0).UTC().Format(time.RFC3339)
	c = fake(t, held(began+"id: 2\ndata: {\"id\":2,\"kind\":\"machine.report\"}\n\n"),
		machine(`{"status":"powering_up","started":"`+late+`","firstBoot":{"time":"`+early+`"}}`), machine(`{"status":"up","started":"`+late+`","firstBoot":{"time":"`+late+`","ok":true}}`))
	events := 0
	if m, err := c.WaitFirstBoot(t.Context(), "x", func(Event) { events++ }); err != nil || !m.FirstBoot.OK || events != 1 {
		t.Error(m, err, events)
	}
}

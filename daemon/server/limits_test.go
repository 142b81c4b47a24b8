package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// slow are limits that a test can wait for.
func slow(c *Config) {
	c.Limits = Limits{HeadTime: 500 * time.Millisecond, BodyTime: 500 * time.Millisecond, Idle: 500 * time.Millisecond, WriteTime: 500 * time.Millisecond,
		Grace: 500 * time.Millisecond, Body: 1 << 20, Header: 8 << 10, Connections: 20}
}

// TestSlowClients ends connections of clients that take for ever, at each point of a request.
func TestSlowClients(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, slow)
	bearer := "Host: localhost\r\nAuthorization: Bearer " + r.token(t) + "\r\n"
	for name, stream := range map[string]string{
		"silence":         "",
		"half a head":     "GET /ovirt-engine/api HTTP/1.1\r\nA: ",
		"half an Expect":  "POST /ovirt-engine/api HTTP/1.1\r\nExpect: 201-cre",
		"half a body":     "POST /ovirt-engine/api HTTP/1.1\r\n" + bearer + "Content-Length: 100\r\n\r\nhalf",
		"half a chunk":    "POST /ovirt-engine/api HTTP/1.1\r\n" + bearer + "Transfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		"no next request": "GET /ovirt-engine/api HTTP/1.1\r\n" + bearer + "\r\n",
	} {
		c := r.dial(t)
		_, _ = io.WriteString(c, stream)
		began := time.Now()
		if _, err := io.Copy(io.Discard, c); errors.Is(err, context.DeadlineExceeded) || time.Since(began) > limit/2 {
			t.Errorf("%s: the connection still stands after %v", name, time.Since(began))
		}
	}
}

// TestSlowStrangers keeps connections of clients that have not logged in no longer than a head may take.
func TestSlowStrangers(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, func(c *Config) {
		slow(c)
		c.Limits.BodyTime = time.Hour
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil || r.Context().Err() == nil {
				t.Error("a body came to its end", err)
			} // and nobody is there for an answer
		})
	})
	for _, stream := range []string{
		"POST /api/v1/machines HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
		"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
		"POST /ovirt-engine/sso/oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nusername=",
		"POST /ovirt-engine/api/vms HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf",
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
		"GET /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhalf",
	} {
		c := r.dial(t)
		_, _ = io.WriteString(c, stream)
		answer, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection still stands", stream)
		}
		if strings.HasPrefix(stream, "POST") && strings.HasPrefix(string(answer), "HTTP/1.1 2") {
			t.Errorf("%q: %s", stream, answer)
		}
	}
}

// TestLargeBody is refused before it is sent.
func TestLargeBody(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, slow)
	c := r.dial(t)
	fmt.Fprintf(c, "POST /api/v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 99999999999\r\n\r\n", r.token(t))
	answer, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 413 ") || !strings.Contains(string(answer), "larger than 1048576 bytes") {
		t.Errorf("%s, %v", answer, err)
	}
}

// TestSlowDrip ends requests whose every byte comes in time, and whose end does not.
func TestSlowDrip(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, slow)
	c := r.dial(t)
	began := time.Now()
	for range 200 {
		if _, err := io.WriteString(c, "G"); err != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
		if _, err := c.Read(nil); err != nil {
			break
		}
	}
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("a head dripped in for %v", took)
	}
}

// TestSlowReader ends an answer that its client does not take, however large it is.
func TestSlowReader(t *testing.T) {
	t.Parallel() // it waits more than it works
	failed := make(chan error, 1)
	r := begin(t, func(c *Config) {
		slow(c)
		c.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			piece := make([]byte, 1<<20)
			for range 1000 {
				if _, err := w.Write(piece); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		})
	})
	c := r.dial(t)
	fmt.Fprintf(c, "GET /api/v1/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", r.token(t))
	select {
	case err := <-failed:
		if err == nil {
			t.Error("all was written to a client that reads nothing")
		}
	case <-time.After(limit):
		t.Error("the handler still writes")
	}
}

// TestLongAnswers leaves those alone that take long because the daemon does: a blocking action, a stream of events.
func TestLongAnswers(t *testing.T) { overEach(t, testLongAnswers) }

func testLongAnswers(t *testing.T, begin func(func(*Config)) *running) {
	t.Parallel() // it waits more than it works
	r := begin(func(c *Config) {
		slow(c)
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if r.URL.Path == "/api/v1/stream" {
				for range 5 {
					_, _ = io.WriteString(w, "tick ")
					_ = http.NewResponseController(w).Flush()
					time.Sleep(300 * time.Millisecond)
				}
			} else {
				time.Sleep(1500 * time.Millisecond)
			}
			if r.Context().Err() != nil {
				t.Error("the context ended")
			}
			_, _ = io.WriteString(w, "done")
		})
	})
	bearer := "Bearer " + r.token(t)
	for path, want := range map[string]string{"/api/v1/action": "done", "/api/v1/stream": strings.Repeat("tick ", 5) + "done"} {
		if got := text(t, r.do(t, http.MethodPost, path, "body", "Authorization", bearer)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestSizes(t *testing.T) {
	r := begin(t, slow)
	bearer := "Bearer " + r.token(t)
	answer := r.do(t, http.MethodPost, "/ovirt-engine/api", strings.Repeat("x", 1<<20+1), "Authorization", bearer)
	if got := text(t, answer); answer.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(got, "<detail>the body is larger") {
		t.Errorf("a body of more than the limit is read: %.100s", got)
	}
	c := r.dial(t)
	fmt.Fprintf(c, "POST /ovirt-engine/api HTTP/1.1\r\nHost: localhost\r\nAuthorization: %s\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n%s\r\n0\r\n\r\n",
		bearer, strings.Repeat("x", 1<<20+1))
	if got, err := io.ReadAll(c); err != nil || !strings.Contains(string(got), `"error":true`) {
		t.Errorf("a body of more than the limit is read in parts: %.100s, %v", got, err)
	}
	answer = r.do(t, http.MethodGet, "/ovirt-engine/api", "", "Authorization", bearer, "X", strings.Repeat("x", 20<<10))
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Error(answer.Status)
	}
}

// TestConnections makes room for new clients when idle ones have taken all.
func TestConnections(t *testing.T) {
	r := begin(t, func(c *Config) {
		slow(c)
		c.Limits.HeadTime, c.Limits.Idle = limit, limit
	})
	bearer := "Host: localhost\r\nAuthorization: Bearer " + r.token(t) + "\r\n"
	r.client.CloseIdleConnections()
	for i := range 60 {
		c := r.dial(t)
		fmt.Fprintf(c, "GET /ovirt-engine/api HTTP/1.1\r\n%s\r\n", bearer)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("connection %d: %v", i, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
	}
	if n := r.listener.count(); n > 20 {
		t.Errorf("there are %d connections", n)
	}
}

// TestManyClients serves 200 at the same time, each with a login of its own, without an error.
func TestManyClients(t *testing.T) { overEach(t, testManyClients) }

func testManyClients(t *testing.T, begin func(func(*Config)) *running) {
	r := begin(nil)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			bearer := "Bearer " + r.token(t)
			for n := range 3 {
				path := fmt.Sprintf("/ovirt-engine/api/%d/%d", i, n)
				answer := r.do(t, http.MethodPost, path, path, "Authorization", bearer, "Expect", "201-created")
				if got := text(t, answer); answer.StatusCode != 200 || !strings.Contains(got, `"body":"`+path+`"`) || !strings.Contains(got, "201-created") {
					t.Errorf("%s: %s %s", path, answer.Status, got)
				}
			}
		})
	}
	all.Wait()
}

// TestEnd lets a request end that is under way, ends streams, and does not wait for ever for the rest.
func TestEnd(t *testing.T) { overEach(t, testEnd) }

func testEnd(t *testing.T, begin func(func(*Config)) *running) {
	t.Parallel() // it waits more than it works
	begun := make(chan string, 3)
	r := begin(func(c *Config) {
		slow(c)
		c.Limits.Grace = 5 * time.Second
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/api/v1/stream":
				_, _ = io.WriteString(w, "begun ")
				_ = http.NewResponseController(w).Flush()
				begun <- "stream"
				<-r.Context().Done()
				_, _ = io.WriteString(w, "ended")
			default:
				begun <- "request"
				time.Sleep(500 * time.Millisecond)
				if r.Context().Err() != nil {
					t.Error("a request is cut off within the grace")
				}
				_, _ = io.WriteString(w, "whole")
			}
		})
	})
	bearer := "Bearer " + r.token(t)
	var all sync.WaitGroup
	for path, want := range map[string]string{"/api/v1/stream": "begun ended", "/api/v1/request": "whole"} {
		all.Go(func() {
			if got := text(t, r.do(t, http.MethodGet, path, "", "Authorization", bearer)); got != want {
				t.Errorf("%s: %q", path, got)
			}
		})
	}
	<-begun
	<-begun
	began := time.Now()
	r.stop()
	all.Wait()
	if err := <-r.ended; err != nil || time.Since(began) > 4*time.Second {
		t.Errorf("ended after %v: %v", time.Since(began), err)
	}
	r.ended <- nil
	if _, err := r.client.Get(r.URL() + pathHealth); err == nil {
		t.Error("the server still answers")
	}
}

// TestEndBounded cuts off what does not end.
func TestEndBounded(t *testing.T) { overEach(t, testEndBounded) }

func testEndBounded(t *testing.T, begin func(func(*Config)) *running) {
	t.Parallel() // it waits more than it works
	release := make(chan struct{})
	begun := make(chan struct{})
	r := begin(func(c *Config) {
		slow(c)
		c.API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(begun); <-release })
	})
	bearer := "Bearer " + r.token(t)
	failed := make(chan error, 1)
	go func() {
		q, _ := http.NewRequest(http.MethodGet, r.URL()+"/api/v1/x", nil)
		q.Header.Set("Authorization", bearer)
		_, err := r.client.Do(q)
		failed <- err
	}()
	<-begun
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.ended <- nil
	if err := <-failed; err == nil {
		t.Error("the request was answered")
	}
	close(release)
}

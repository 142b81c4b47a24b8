package server

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/secret"
)

// multiplex has the client speak HTTP/2.
func (r *running) multiplex() {
	t := r.client.Transport.(*http.Transport)
	t.ForceAttemptHTTP2 = true
}

// overEach runs a test over each protocol.
func overEach(t *testing.T, test func(*testing.T, func(func(*Config)) *running)) {
	t.Helper()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			test(t, func(change func(*Config)) *running {
				r := begin(t, change)
				if protocol == "HTTP/2.0" {
					r.multiplex()
				}
				if answer := r.do(t, http.MethodGet, pathHealth, ""); answer.Proto != protocol {
					t.Fatal(answer.Proto)
				}
				return r
			})
		})
	}
}

// TestOneConnection has many pages of one browser, each with a stream of events, over one connection.
func TestOneConnection(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1/events" {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			echo(w, r)
		})
	})
	r.multiplex()
	token := r.token(t)
	bearer := "Bearer " + token
	for range 20 {
		r.do(t, http.MethodGet, "/api/v1/events", "", "Authorization", bearer)
	}
	var got heard
	answer := r.do(t, http.MethodPost, "/api/v1/machines", "body", "Authorization", bearer, "Expect", "201-created")
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Body != "body" || got.Header.Get("Expect") != "201-created" {
		t.Errorf("%+v, %v", got, err)
	}
	if n := r.listener.count(); n != 1 {
		t.Errorf("%d connections", n)
	}
	r.config.Guard.Logout(secret.New(token))
	if answer := r.do(t, http.MethodGet, "/api/v1/machines", "", "Authorization", bearer); answer.StatusCode != http.StatusUnauthorized {
		t.Error(answer.Status)
	}
	for header, want := range map[string]int{"Host other.example": http.StatusMisdirectedRequest, "Origin https://other.example": http.StatusForbidden,
		"Origin " + r.URL(): http.StatusUnauthorized} {
		name, value, _ := strings.Cut(header, " ")
		if answer := r.do(t, http.MethodPost, "/api/v1/machines", "", name, value); answer.StatusCode != want || answer.ProtoMajor != 2 {
			t.Errorf("%s: %s %s", header, answer.Proto, answer.Status)
		}
	}
}

// TestNoUpgrade answers a client that asks over HTTP/2 for what only an upgraded connection gives, in a way that it can read.
func TestNoUpgrade(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "websocket")
			if _, _, err := http.NewResponseController(w).Hijack(); err != nil {
				w.WriteHeader(http.StatusUpgradeRequired)
			}
		})
	})
	r.multiplex()
	answer := r.do(t, http.MethodGet, "/api/v1/x", "", "Authorization", "Bearer "+r.token(t))
	if answer.StatusCode != http.StatusUpgradeRequired || answer.Header.Get("Upgrade") != "" || answer.Header.Get("Connection") != "" {
		t.Errorf("%s %v", answer.Status, answer.Header)
	}
}

// TestSlowStreams ends requests over HTTP/2 that take for ever: one whose body stops, one that nobody reads the answer of.
func TestSlowStreams(t *testing.T) {
	t.Parallel() // it waits more than it works
	failed := make(chan error, 2)
	r := begin(t, func(c *Config) {
		slow(c)
		c.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var err error
			if r.Method == http.MethodPost {
				_, err = io.Copy(io.Discard, r.Body)
			}
			for piece := make([]byte, 1<<20); err == nil; {
				_, err = w.Write(piece)
			}
			failed <- err
		})
	})
	r.multiplex()
	bearer := "Bearer " + r.token(t)
	r.do(t, http.MethodGet, "/api/v1/x", "", "Authorization", bearer) // its body is not read
	_ = receive(t, failed)
	half, more := io.Pipe()
	defer more.Close()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/api/v1/x", half)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", bearer)
	go func() {
		if answer, err := r.client.Do(q); err == nil {
			answer.Body.Close()
		}
	}()
	_, _ = io.WriteString(more, "half")
	if err := receive(t, failed); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(limit):
		t.Fatal("nothing comes")
	}
	panic("unreachable")
}

// TestSilentConnections ends connections of HTTP/2 on which nothing is asked, wherever they stop.
func TestSilentConnections(t *testing.T) {
	t.Parallel() // it waits more than it works
	r := begin(t, slow)
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, stream := range map[string]string{
		"silence": "", "half a preface": "PRI * HTTP/2.0\r\n", "the preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"settings": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings, "half a head": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + settings + "\x00\x01\x00\x01\x04\x00\x00\x00\x01half",
	} {
		c, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{RootCAs: r.client.Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "localhost", NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.ConnectionState().NegotiatedProtocol; got != "h2" {
			t.Fatal(got)
		}
		_ = c.SetDeadline(time.Now().Add(limit))
		_, _ = io.WriteString(c, stream)
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection still stands", name)
		}
	}
}

// TestStreamLimits holds the numbers of requests over HTTP/2: of a connection, and of all.
func TestStreamLimits(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	r := begin(t, func(c *Config) {
		c.Limits.Streams, c.Limits.Connections = 2, 3
		c.API = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			begun <- struct{}{}
			<-release
		})
	})
	r.multiplex()
	bearer := "Bearer " + r.token(t)
	var all sync.WaitGroup
	for n, connections := range []int{1, 1, 2} {
		all.Go(func() { r.do(t, http.MethodGet, "/api/v1/x", "", "Authorization", bearer) })
		<-begun
		if got := r.listener.count(); got != connections {
			t.Errorf("%d requests on %d connections", n+1, got)
		}
	}
	if answer := r.do(t, http.MethodGet, "/api/v1/x", "", "Authorization", bearer); answer.StatusCode != http.StatusServiceUnavailable {
		t.Error(answer.Status)
	}
	close(release)
	all.Wait()
}

// TestUpgradeBesideStreams opens a console as browsers do, over a connection of its own, which HTTP/2 cannot become.
func TestUpgradeBesideStreams(t *testing.T) {
	r := begin(t, func(c *Config) {
		c.API = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			nc, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer nc.Close()
			_, _ = io.WriteString(nc, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			line, _ := rw.ReadString('\n')
			_, _ = io.WriteString(nc, line)
		})
	})
	r.multiplex()
	token := r.token(t)
	c, err := tls.Dial("tcp", r.Addr().String(), &tls.Config{RootCAs: r.client.Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "localhost", NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /api/v1/console HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello\n", token)
	in := bufio.NewReader(c)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); line != "hello\n" {
		t.Errorf("%q, %v", line, err)
	}
}

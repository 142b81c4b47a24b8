//go:build linux

package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/daemon/daemontest"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

// started makes a machine that runs.
func (s *service) started(t *testing.T, name, behaviour string) string {
	t.Helper()
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: documents(name, behaviour, "#cloud-config\n{}\n"), Start: true})
	if err != nil {
		t.Fatal(err)
	}
	return made.Machines[0].ID
}

// until reads lines until one holds a text.
func until(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if strings.Contains(line, want) {
			return
		}
		if err != nil {
			t.Fatalf("no %q before %v", want, err)
		}
	}
}

func TestConsole(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	console, err := s.Console(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(console)
	// What looks like a request to the server is not one any more.
	for _, line := range []string{"hello", "Expect: nothing", "GET / HTTP/1.1"} {
		fmt.Fprintln(console, line)
		until(t, in, "heard "+line)
	}
	second, err := s.Console(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(second, "from the second")
	until(t, in, "heard from the second")
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if _, err := s.Stop(ctx, id); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil && ctx.Err() != nil {
		t.Error("the console outlives its machine")
	}
	// A console ends with its context.
	if _, err := s.Start(ctx, id, client.StartRequest{}); err != nil {
		t.Fatal(err)
	}
	short, end := context.WithCancel(ctx)
	if console, err = s.Console(short, id); err != nil {
		t.Fatal(err)
	}
	end()
	if _, err := io.Copy(io.Discard, console); ctx.Err() != nil {
		t.Error(err)
	}
}

func TestLog(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	if _, err := s.WaitFirstBoot(ctx, id, nil); err != nil {
		t.Fatal(err)
	}
	log, err := s.Log(ctx, id, true)
	if err != nil {
		t.Fatal(err)
	}
	console, err := s.Console(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	// The hypervisor of these tests keeps no log, as QEMU does beside the console.
	dirs, err := filepath.Glob(filepath.Join(s.dir, "vms", "*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	kept, err := os.OpenFile(filepath.Join(dirs[0], supervisor.SerialLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	in := bufio.NewReader(log)
	var want strings.Builder
	for i := range 20 {
		line := fmt.Sprintf("heard line %d.\n", i)
		fmt.Fprint(kept, line)
		fmt.Fprintln(console, "x")
		if got, err := in.ReadString('\n'); err != nil || got != line {
			t.Fatalf("%q, %v", got, err)
		}
		want.WriteString(line)
	}
	if _, err := s.Stop(ctx, id); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("the log goes on with %q, %v", rest, err)
	}
	whole, err := s.Log(ctx, id, false)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if got, err := io.ReadAll(whole); err != nil || string(got) != want.String() {
		t.Errorf("the whole log is %q, %v", got, err)
	}
}

// events opens the stream of the daemon's events.
func (s *service) events(t *testing.T, query string, header ...string) *bufio.Reader {
	t.Helper()
	return s.stream(t, "/events"+query, header...)
}

// stream opens a stream of events as a browser does.
func (s *service) stream(t *testing.T, path string, header ...string) *bufio.Reader {
	t.Helper()
	if _, err := s.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	q, err := http.NewRequestWithContext(t.Context(), "GET", s.server.URL()+client.Prefix+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
	q.Header.Set("Accept", "text/event-stream")
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	answer, err := s.HTTP().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store" {
		t.Fatal(answer.Status, answer.Header)
	}
	return bufio.NewReader(answer.Body)
}

// TestHead asks for the heads of answers that go on and on.
func TestHead(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Silent)
	for path, media := range map[string]string{"/events": "text/event-stream", "/machines/" + id + "/boot": "text/event-stream",
		"/machines/" + id + "/log?follow=true": "text/plain; charset=utf-8", "/machines": "application/json"} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodHead, s.server.URL()+client.Prefix+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+s.Token().Reveal())
		q.Header.Set("Accept", "text/event-stream")
		answer, err := (&http.Client{Transport: s.HTTP().Transport, Timeout: daemontest.Limit}).Do(q)
		if err != nil {
			t.Fatal(err)
		}
		// The connection serves the next request when the answer is over.
		if err := answer.Body.Close(); err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != media {
			t.Errorf("%s: %s %s, %v", path, answer.Status, answer.Header, err)
		}
	}
	s.stop() // waits for the answers that are not over
	if strings.Contains(s.log.String(), "cut off") {
		t.Error("an answer to HEAD goes on")
	}
}

// next reads one event: the lines before an empty one.
func next(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var out strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\n" {
			return out.String()
		}
		out.WriteString(line)
	}
}

func TestEvents(t *testing.T) {
	s := begin(t)
	made, err := s.Create(t.Context(), client.CreateRequest{Documents: append(documents("a", "", ""), documents("b", "", "")...)})
	if err != nil {
		t.Fatal(err)
	}
	b := made.Machines[1].ID
	all := s.events(t, "")
	if got := next(t, all); got != "id: 0\nevent: begin\ndata: {\"since\":0}\n" {
		t.Errorf("a stream begins with %q", got)
	}
	first := next(t, all)
	if !strings.HasPrefix(first, "id: 1\ndata: {\"id\":1,") {
		t.Errorf("the first event is %q", first)
	}
	rename := func(m client.Machine, name string) {
		t.Helper()
		if _, err := s.Update(t.Context(), m.ID, client.UpdateRequest{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for i, tt := range []struct {
		query  string
		header bool
		want   string
	}{
		{"?since=now", false, made.Machines[0].ID}, {"?since=%d", false, made.Machines[0].ID}, {"?since=0", true, made.Machines[0].ID},
		{"?since=99999999", false, made.Machines[0].ID}, {"?since=now&machine=" + b, false, b},
	} {
		last := s.daemon.LastEvent()
		var header []string
		if tt.header {
			header = []string{"Last-Event-ID", fmt.Sprint(last)}
		}
		stream := s.events(t, strings.Replace(tt.query, "%d", fmt.Sprint(last), 1), header...)
		if got := next(t, stream); got != fmt.Sprintf("id: %d\nevent: begin\ndata: {\"since\":%d}\n", last, last) {
			t.Errorf("%s: the stream begins with %q", tt.query, got)
		}
		rename(made.Machines[0], fmt.Sprint("x", i))
		rename(made.Machines[1], fmt.Sprint("y", i))
		if got := next(t, stream); !strings.Contains(got, "machine.changed") || !strings.Contains(got, tt.want) || !strings.Contains(got, `"actor":"admin@internal"`) {
			t.Errorf("%s: the next event is %q", tt.query, got)
		}
	}
	code, body := s.raw(t, "GET", "/api/v1/events?since=1&machine="+b, "", "Accept", "application/json")
	if code != 200 || strings.Contains(body, made.Machines[0].ID) || !strings.Contains(body, b) {
		t.Error(code, body)
	}
}

// TestStreamsEnd ends all streams when the server does, in no time.
func TestStreamsEnd(t *testing.T) {
	s := begin(t)
	id := s.started(t, "vm1", supervisortest.Good)
	var all sync.WaitGroup
	for range 3 {
		r := s.events(t, "")
		next(t, r)
		all.Go(func() { _, _ = io.Copy(io.Discard, r) })
	}
	console, err := s.Console(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _, _ = io.Copy(io.Discard, console) })
	log, err := s.Log(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _, _ = io.Copy(io.Discard, log) })
	began := time.Now()
	s.stop()
	all.Wait()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the streams ended after %v", took)
	}
}

// TestManyClients lists and watches 100 machines with 200 clients at the same time.
func TestManyClients(t *testing.T) {
	s := begin(t)
	var machines []client.Document
	for i := range 100 {
		machines = append(machines, client.Document{Name: fmt.Sprint(i), Text: documents(fmt.Sprintf("vm%d", i), "", "")[0].Text})
	}
	if _, err := s.Create(t.Context(), client.CreateRequest{Documents: machines}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), daemontest.Limit)
	defer cancel()
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			found, err := s.Machines(ctx, client.Filter{})
			if err != nil || len(found) != 100 {
				t.Errorf("%d machines, %v", len(found), err)
				return
			}
			enough := errors.New("enough")
			n := 0
			err = s.Events(ctx, client.EventFilter{}, func(client.Event) error {
				if n++; n == 100 {
					return enough
				}
				return nil
			})
			if !errors.Is(err, enough) {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

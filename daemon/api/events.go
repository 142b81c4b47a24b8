package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/client"
	"github.com/vmseed/vmseed/report"
)

// heartbeat is how often a stream of events says that it is still there.
const heartbeat = 15 * time.Second

func showEvent(e daemon.Event) client.Event {
	return client.Event{ID: e.ID, Time: e.Time, Kind: string(e.Kind), Severity: string(e.Severity), Object: e.Object, Name: e.Name, Text: e.Text,
		Status: string(e.Status), Report: e.Report, Code: e.Code, Place: e.Place, Actor: e.Actor, Correlation: e.Correlation}
}

// events streams what happens as server-sent events (HTML Living Standard, 9.2), or lists what happened lately, whichever
// the client accepts. A stream begins with an event of the type begin that says behind which number it does. Events have
// no type; lost says that there were more than are kept.
func (a *api) events(w http.ResponseWriter, r *http.Request) error {
	since, err := a.since(r)
	if err != nil {
		return err
	}
	machine := r.URL.Query().Get("machine")
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		out := []client.Event{}
		for _, e := range a.daemon.Events(since) {
			if machine == "" || e.Object == machine {
				out = append(out, showEvent(e))
			}
		}
		return list(w, out)
	}
	s := open(w, since)
	defer s.beat()()
	s.begin(since)
	for {
		err := a.daemon.Watch(r.Context(), since, func(e daemon.Event) error {
			if machine != "" && e.Object != machine {
				return s.pass(e.ID)
			}
			return s.send("", e.ID, showEvent(e))
		})
		var lost *daemon.LostError
		if !errors.As(err, &lost) {
			return nil // the client is gone, or the daemon ends
		}
		since = lost.Resume
		s.send("lost", since, map[string]uint64{"since": since})
	}
}

// runShift makes room for the number of a report in an id, beside the second in which its run began. Ids rise over the runs, and
// are exact in the numbers of JavaScript.
const runShift = 20

// boot streams what a machine's guest says of its boot, as reports with their numbers and an event of the type end when the run is
// over; or it lists what the guest said until now, whichever the client accepts. A client that comes back with the number of a
// report of another run gets all of this one.
func (a *api) boot(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		reports, err := a.daemon.Reports(id)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, client.BootReports{Reports: append([]report.Event{}, reports...)})
	}
	if _, err := a.daemon.Get(id); err != nil {
		return err
	}
	last, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	s := open(w, last)
	defer s.beat()()
	// Until it is launched, there is only what the run before has said.
	m, err := a.await(r.Context(), id, func(m daemon.Machine) bool { return m.Status != daemon.WaitForLaunch })
	if err != nil {
		return nil // what there was to say about an error would not reach a client that reads events
	}
	run := uint64(max(m.Started.Unix(), 0)) << runShift
	if last>>runShift != run>>runShift {
		last = run
	}
	s.begin(last)
	err = a.daemon.FollowReports(r.Context(), id, int(last-run), func(number int, e report.Event) error {
		if now, err := a.daemon.Get(id); err != nil || !now.Started.Equal(m.Started) {
			return errOtherRun
		}
		return s.send("", run+uint64(number), e)
	})
	if err == nil {
		s.send("end", s.seen, struct{}{})
	}
	return nil
}

// errOtherRun ends a stream whose run is over: the client comes back for the next one.
var errOtherRun = errors.New("another run began")

// open begins an answer of server-sent events, for a client that has seen those up to a number.
func open(w http.ResponseWriter, since uint64) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // for proxies that would wait for more
	s := &stream{w: w, control: http.NewResponseController(w), seen: since}
	_ = s.write("")
	return s
}

// begin says behind which number the stream begins.
func (s *stream) begin(since uint64) { s.send("begin", since, map[string]uint64{"since": since}) }

// since returns behind which number a client wants events. A number that is not there yet is of another life of the
// daemon's store.
func (a *api) since(r *http.Request) (uint64, error) {
	last := a.daemon.LastEvent()
	text := r.URL.Query().Get("since")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		text = id
	}
	switch text {
	case "now":
		return last, nil
	case "":
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, bad("the parameter since is the number of an event, or now")
	}
	return min(n, last), nil
}

// stream writes server-sent events.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mutex sync.Mutex
	// seen is the number of the last event that was looked at, sent or not.
	seen uint64
}

// send sends an event.
func (s *stream) send(kind string, id uint64, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if kind != "" {
		kind = "event: " + kind + "\n"
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seen = id
	return s.write(fmt.Sprintf("id: %d\n%sdata: %s\n\n", id, kind, data))
}

// pass notes an event that this client does not want.
func (s *stream) pass(id uint64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.seen = id
	return nil
}

func (s *stream) write(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}

// beat says from time to time how far the stream is, so that a client which comes back asks for no more than it missed.
func (s *stream) beat() (stop func()) {
	ticker := time.NewTicker(heartbeat)
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				s.mutex.Lock()
				_ = s.write(fmt.Sprintf(": still here\nid: %d\n\n", s.seen))
				s.mutex.Unlock()
			case <-end:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(end)
		<-ended
	}
}

package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ConsoleProtocol is what a connection is upgraded to that becomes a serial console: raw bytes in both directions.
const ConsoleProtocol = "vmseed-console"

// The errors of streams.
var (
	// ErrRemoved means that a machine was removed while it was waited for.
	ErrRemoved = errors.New("the VM was removed")
	// ErrEnded means that a machine ended before it said what it was waited for.
	ErrEnded = errors.New("the VM ended before its guest reported")
	// ErrLost means that events were missed because they are no longer kept.
	ErrLost = errors.New("events were missed that are no longer kept")
)

// EventFilter picks events. Empty fields pick all.
type EventFilter struct {
	// Since is the number of the last event that is known already; 0 begins with the oldest that is kept.
	Since uint64
	// Now begins with what happens from now on.
	Now bool
	// Machine is the id of the machine that events are about.
	Machine string
	// opened is called each time the stream has begun.
	opened func() error
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Events calls f with each event, in order, until ctx ends or f fails; the error is then that of ctx or f. It goes on after
// broken connections and restarts of the daemon where it was. Without an error of the daemon's own it never returns before
// that. The error is ErrLost when there were more events meanwhile than are kept.
func (c *Client) Events(ctx context.Context, filter EventFilter, f func(Event) error) error {
	pause := firstPause
	for {
		began := time.Now()
		seen, err := c.events(ctx, &filter, f)
		var stop *callerError
		var no *Error
		switch {
		case errors.As(err, &stop):
			return stop.error
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &no) && no.Status < 500 && no.Status != http.StatusTooManyRequests, errors.Is(err, ErrLost):
			return err
		}
		if seen || time.Since(began) > lastPause {
			pause = firstPause
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		pause = min(2*pause, lastPause)
	}
}

// callerError is an error of the caller's function.
type callerError struct{ error }

// events reads one connection's events, and notes in the filter how far it came.
func (c *Client) events(ctx context.Context, filter *EventFilter, f func(Event) error) (seen bool, err error) {
	q := url.Values{}
	if filter.Machine != "" {
		q.Set("machine", filter.Machine)
	}
	if filter.Now {
		q.Set("since", "now")
	} else {
		q.Set("since", strconv.FormatUint(filter.Since, 10))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.send(ctx, call{method: http.MethodGet, path: "/events", query: q, accept: "text/event-stream"})
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	// The daemon says something at least every 15 seconds; a connection that is silent for longer is dead.
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	for m, err := range messages(answer.Body) {
		if err != nil {
			return seen, err
		}
		seen = true
		watchdog.Reset(silence)
		if id, err := strconv.ParseUint(m.id, 10, 64); err == nil {
			// The first message says where a stream from now on begins.
			filter.Since, filter.Now = id, false
		}
		if m.event == "begin" && filter.opened != nil {
			if err := filter.opened(); err != nil {
				return seen, &callerError{err}
			}
		}
		switch {
		case m.event == "" && m.data != "":
			var e Event
			if err := json.Unmarshal([]byte(m.data), &e); err != nil {
				return seen, fmt.Errorf("an event is not what this program expects: %w", err)
			}
			if err := f(e); err != nil {
				return seen, &callerError{err}
			}
		case m.event == "lost":
			return seen, ErrLost
		}
	}
	return seen, io.ErrUnexpectedEOF
}

// silence is how long a stream of events may say nothing.
const silence = time.Minute

// message is one of a stream of server-sent events (HTML Living Standard, 9.2).
type message struct{ id, event, data string }

// messages reads server-sent events. A comment alone is a message without a type.
func messages(r io.Reader) func(func(message, error) bool) {
	return func(yield func(message, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 4<<20)
		var m message
		var data []string
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				m.data = strings.Join(data, "\n")
				if !yield(m, nil) {
					return
				}
				m, data = message{}, nil
				continue
			}
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "id":
				m.id = value
			case "event":
				m.event = value
			case "data":
				data = append(data, value)
			}
		}
		if err := lines.Err(); err != nil {
			yield(message{}, err)
		}
	}
}

// Wait returns a machine when its status is one of those given.
func (c *Client) Wait(ctx context.Context, id string, statuses ...string) (Machine, error) {
	return c.await(ctx, id, nil, func(m Machine) (bool, error) { return slices.Contains(statuses, m.Status), nil })
}

// WaitFirstBoot returns a machine that has reported its first boot, calling f (which may be nil) with each event on the
// way. The error wraps ErrEnded when the machine goes down before.
func (c *Client) WaitFirstBoot(ctx context.Context, id string, f func(Event)) (Machine, error) {
	return c.await(ctx, id, f, func(m Machine) (bool, error) {
		switch {
		case m.FirstBoot != nil && (!m.FirstBoot.Time.Before(m.Started) || m.Status == "up"):
			// A guest that is up and was set up in an earlier run has nothing more to say.
			return true, nil
		case m.Status == "down":
			return false, fmt.Errorf("%w %s", ErrEnded, m.Reason)
		}
		return false, nil
	})
}

// await looks at a machine now and after each event about it, until it is as wished.
func (c *Client) await(ctx context.Context, id string, f func(Event), done func(Machine) (bool, error)) (Machine, error) {
	var last Machine
	errDone := errors.New("done")
	look := func() error {
		m, err := c.Machine(ctx, id)
		if err != nil {
			return err
		}
		last = m
		ok, err := done(m)
		if ok {
			return errDone
		}
		return err
	}
	// The stream begins before the first look, so that nothing is missed between the two.
	err := c.Events(ctx, EventFilter{Now: true, Machine: id, opened: look}, func(e Event) error {
		if f != nil {
			f(e)
		}
		if e.Kind == "machine.removed" {
			return ErrRemoved
		}
		return look()
	})
	if errors.Is(err, errDone) {
		err = nil
	}
	return last, err
}

// Log returns what the guest wrote to its serial console in the current or last run. With follow it goes on with what
// comes until the run ends. The caller closes it.
func (c *Client) Log(ctx context.Context, id string, follow bool) (io.ReadCloser, error) {
	q := url.Values{}
	if follow {
		q.Set("follow", "true")
	}
	answer, err := c.send(ctx, call{method: http.MethodGet, path: machinePath(id, "/log"), query: q, accept: "text/plain"})
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Console connects to a machine's serial console. Both ends see raw bytes. The connection ends with ctx.
func (c *Client) Console(ctx context.Context, id string) (io.ReadWriteCloser, error) {
	// Any other request first: it logs in where that is needed.
	if _, err := c.Machine(ctx, id); err != nil {
		return nil, err
	}
	request, err := c.request(ctx, call{method: http.MethodGet, path: machinePath(id, "/console")}, c.Token())
	if err != nil {
		return nil, err
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", ConsoleProtocol)
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, c.explain(err)
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		defer answer.Body.Close()
		return nil, refusal(answer)
	}
	conn, ok := answer.Body.(io.ReadWriteCloser)
	if !ok {
		return nil, errors.Join(errors.New("the connection cannot be upgraded"), answer.Body.Close())
	}
	return &console{ReadWriteCloser: conn, stop: context.AfterFunc(ctx, func() { _ = conn.Close() })}, nil
}

// console is a connection that ends with its context.
type console struct {
	io.ReadWriteCloser
	stop func() bool
}

// Close ends the connection; the VM runs on.
func (c *console) Close() error {
	c.stop()
	return c.ReadWriteCloser.Close()
}

// Package qmp speaks the QEMU Machine Protocol (docs/interop/qmp-spec.rst of QEMU): JSON commands with answers, and
// events in between.
package qmp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Event is something that happened to the virtual machine, such as STOP or SHUTDOWN.
type Event struct {
	Name string
	Data json.RawMessage
	Time time.Time
}

// Error is QEMU's refusal of a command.
type Error struct {
	Command     string
	Class       string
	Description string
}

// Error says which command was refused and why.
func (e *Error) Error() string {
	return fmt.Sprintf("QEMU refused %s: %s", e.Command, e.Description)
}

// ErrClosed means that the connection ended, mostly because QEMU did.
var ErrClosed = errors.New("the connection to QEMU's monitor is closed")

// Client is a connection to a monitor. Its methods may be called by several goroutines.
type Client struct {
	conn    net.Conn
	onEvent func(Event)

	writing sync.Mutex

	mutex   sync.Mutex
	next    uint64
	waiting map[uint64]chan message
	done    chan struct{}
}

// message is whatever QEMU sends.
type message struct {
	Greeting json.RawMessage `json:"QMP"`
	ID       *uint64         `json:"id"`
	Return   json.RawMessage `json:"return"`
	Error    *struct {
		Class string `json:"class"`
		Desc  string `json:"desc"`
	} `json:"error"`
	Event     string          `json:"event"`
	Data      json.RawMessage `json:"data"`
	Timestamp struct {
		Seconds      int64 `json:"seconds"`
		Microseconds int64 `json:"microseconds"`
	} `json:"timestamp"`
}

// New takes over a fresh connection to a monitor and leaves the negotiation mode. The function onEvent is called for
// each event, by one goroutine and in order; it must not call Execute itself. On an error the connection is closed.
func New(ctx context.Context, conn net.Conn, onEvent func(Event)) (*Client, error) {
	c := &Client{conn: conn, onEvent: onEvent, waiting: map[uint64]chan message{}, done: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	decoder := json.NewDecoder(conn)
	var greeting message
	err := decoder.Decode(&greeting)
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err == nil && greeting.Greeting == nil {
		err = errors.New("no greeting")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("QEMU's monitor does not greet: %w", err), conn.Close())
	}
	go c.read(decoder)
	if err := c.Execute(ctx, "qmp_capabilities", nil, nil); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// read passes on what QEMU sends until the connection ends.
func (c *Client) read(decoder *json.Decoder) {
	defer close(c.done)
	for {
		var m message
		if err := decoder.Decode(&m); err != nil {
			_ = c.conn.Close()
			return
		}
		switch {
		case m.Event != "":
			if c.onEvent != nil {
				at := time.Unix(m.Timestamp.Seconds, m.Timestamp.Microseconds*1000)
				c.onEvent(Event{Name: m.Event, Data: m.Data, Time: at})
			}
		case m.ID != nil:
			c.mutex.Lock()
			answer := c.waiting[*m.ID]
			delete(c.waiting, *m.ID)
			c.mutex.Unlock()
			if answer != nil {
				answer <- m
			}
		}
	}
}

// Execute runs a command and decodes its answer into result. Arguments and result may be nil.
func (c *Client) Execute(ctx context.Context, command string, arguments, result any) error {
	c.mutex.Lock()
	c.next++
	id, answer := c.next, make(chan message, 1)
	c.waiting[id] = answer
	c.mutex.Unlock()
	defer func() {
		c.mutex.Lock()
		delete(c.waiting, id)
		c.mutex.Unlock()
	}()
	if err := c.send(command, arguments, id); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return &Error{Command: command, Class: m.Error.Class, Description: m.Error.Desc}
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Return, result)
	case <-c.done:
		return fmt.Errorf("%s: %w", command, ErrClosed)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", command, ctx.Err())
	}
}

func (c *Client) send(command string, arguments any, id uint64) error {
	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
		ID        uint64 `json:"id"`
	}{command, arguments, id})
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		if errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrClosedPipe) {
			err = ErrClosed
		}
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}

// Done is closed when the connection has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection and waits until no event is delivered any more.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

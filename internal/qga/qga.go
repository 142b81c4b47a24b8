// Package qga speaks to the QEMU guest agent, qemu-ga, inside a virtual machine (docs/interop/qemu-ga-ref of QEMU): one
// JSON command a line, one answer a line, over a channel that never ends. A guest that restarts or answers too late
// leaves words behind that belong to nobody, so a conversation begins with a mark that both sides look for.
//
// The agent belongs to the guest and is not trusted: what it says is bounded and cleaned.
package qga

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"time"
	"unicode"
)

// Bounds of what an agent may say.
const (
	maxAnswer = 1 << 20
	// maxOutput is that of an answer with what a program wrote: qemu-ga keeps 16 MiB of each of its two streams
	// (GUEST_EXEC_MAX_OUTPUT in qga/commands.c), and sends them in base64.
	maxOutput = 48 << 20
	maxText   = 300
)

// mark stands before the answer to guest-sync-delimited. It is in no JSON text and in no UTF-8.
const mark = 0xff

var (
	// ErrAnswer means that the agent said something that is no answer.
	ErrAnswer = errors.New("the guest agent's answer makes no sense")
	// ErrExit means that a program in the guest failed.
	ErrExit = errors.New("a program in the guest failed")
)

// Error is the agent's refusal of a command.
type Error struct {
	Command string
	// Class is QEMU's name of the kind of error, such as CommandNotFound.
	Class       string
	Description string
}

// Error says which command was refused and why.
func (e *Error) Error() string {
	return fmt.Sprintf("the guest agent refuses %s: %s", e.Command, e.Description)
}

// unknown reports whether the agent does not have a command, or is told not to run it.
func unknown(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == "CommandNotFound"
}

// Client is a conversation with an agent. Its methods may be called by several goroutines, of which one at a time speaks.
type Client struct {
	turn   chan struct{}
	conn   net.Conn
	r      *bufio.Reader
	synced bool
}

// New begins a conversation over a connection to the agent's channel, which stays the caller's to close. The agent need
// not run yet.
func New(conn net.Conn) *Client {
	return &Client{turn: make(chan struct{}, 1), conn: conn, r: bufio.NewReader(conn)}
}

// Sync waits until the agent answers, and drops whatever it said before. Until the agent runs, the channel keeps the
// question.
func (c *Client) Sync(ctx context.Context) error {
	return c.timed(ctx, c.sync)
}

// Execute runs a command and decodes its answer into result. Arguments and result may be nil. After an answer that came
// too late the conversation begins anew.
func (c *Client) Execute(ctx context.Context, command string, arguments, result any) error {
	return c.execute(ctx, command, arguments, result, maxAnswer)
}

// execute is Execute with a bound for the answer, in bytes.
func (c *Client) execute(ctx context.Context, command string, arguments, result any, bound int) error {
	return c.timed(ctx, func() error {
		if !c.synced {
			if err := c.sync(); err != nil {
				return err
			}
		}
		c.synced = false
		if err := c.send(command, arguments, false); err != nil {
			return err
		}
		line, err := c.line(bound)
		if err != nil {
			return err
		}
		return c.decode(command, line, result)
	})
}

// timed lets f use the connection, when it is its turn, until ctx ends.
func (c *Client) timed(ctx context.Context, f func() error) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := c.conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.conn.SetDeadline(time.Unix(1, 0))
		close(cut)
	})
	err := f()
	if stop() {
		return err
	}
	<-cut // else it would cut off the next
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// sync finds the place in the conversation where both sides are.
func (c *Client) sync() error {
	c.synced = false
	id := rand.Int64N(1 << 52)
	if err := c.send("guest-sync-delimited", map[string]int64{"id": id}, true); err != nil {
		return err
	}
	for {
		line, err := c.line(maxAnswer)
		if err != nil && !errors.Is(err, ErrAnswer) {
			return err
		}
		at := bytes.LastIndexByte(line, mark)
		var answer struct {
			Return *int64 `json:"return"`
		}
		if at >= 0 && json.Unmarshal(line[at+1:], &answer) == nil && answer.Return != nil && *answer.Return == id {
			c.synced = true
			return nil
		}
	}
}

// send writes a command. With fresh a mark goes first, which ends what another client left unfinished.
func (c *Client) send(command string, arguments any, fresh bool) error {
	text, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, arguments})
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if fresh {
		text = append([]byte{mark}, text...)
	}
	_, err = c.conn.Write(text)
	return err
}

// line reads a line of bounded length.
func (c *Client) line(bound int) ([]byte, error) {
	var out []byte
	for {
		piece, err := c.r.ReadSlice('\n')
		if len(out)+len(piece) > bound {
			return nil, fmt.Errorf("%w: it has more than %d bytes", ErrAnswer, bound)
		}
		out = append(out, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, err
		}
	}
}

// decode reads an answer.
func (c *Client) decode(command string, line []byte, result any) error {
	var answer struct {
		Return json.RawMessage `json:"return"`
		Error  *struct {
			Class string `json:"class"`
			Desc  string `json:"desc"`
		} `json:"error"`
	}
	if err := json.Unmarshal(line, &answer); err != nil || answer.Return == nil && answer.Error == nil {
		return fmt.Errorf("%s: %w", command, ErrAnswer)
	}
	c.synced = true
	if answer.Error != nil {
		return &Error{Command: command, Class: clean(answer.Error.Class), Description: clean(answer.Error.Desc)}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Return, result); err != nil {
		return fmt.Errorf("%s: %w", command, ErrAnswer)
	}
	return nil
}

// clean makes a text of the guest fit for a terminal and for a message.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case r == unicode.ReplacementChar, !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return strings.TrimSpace(s)
}

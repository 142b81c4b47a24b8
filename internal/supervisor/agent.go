package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/vmseed/vmseed/internal/qga"
)

// AwaitAgent returns when the guest agent answers. The error is ErrNotRunning when the VM ends before.
func (c *Client) AwaitAgent(ctx context.Context) error {
	for {
		answer, err := c.request(ctx, http.MethodGet, pathAgent, nil)
		if err == nil {
			return answer.Body.Close()
		}
		// A supervisor that ends says no; what it leaves is a VM with another one, or none that runs.
		var no *refusal
		if !errors.As(err, &no) {
			return err
		}
		if err := sleep(ctx, firstPause); err != nil {
			return err
		}
	}
}

// OS is a guest's operating system as its agent tells of it.
type OS = qga.OS

// GuestOS asks the guest agent for the guest's operating system. The error wraps ErrNoAgent when it does not answer.
func (c *Client) GuestOS(ctx context.Context) (OS, error) {
	var out OS
	answer, err := c.request(ctx, http.MethodGet, pathGuest, nil)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.code == http.StatusServiceUnavailable:
		return out, ErrNoAgent
	case errors.As(err, &no) && no.code == http.StatusNotFound:
		return out, ErrTooOld
	case err != nil:
		return out, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&out)
	return out, err
}

// serveGuest asks the guest agent for the guest's operating system.
func (s *supervisor) serveGuest(w http.ResponseWriter, r *http.Request) {
	var out OS
	err := s.agent.use(r.Context(), s.dir, execSilence, func(agent *qga.Client) (err error) {
		ctx, cancel := context.WithTimeout(r.Context(), execSilence)
		defer cancel()
		out, err = agent.OS(ctx)
		return err
	})
	switch {
	case errors.Is(err, errSilent):
		http.Error(w, ErrNoAgent.Error(), http.StatusServiceUnavailable)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		answer(w, out)
	}
}

// Command is a program to run in the guest.
type Command struct {
	// Args are the program, which the guest finds in its PATH when it has no slash, and its arguments.
	Args []string `json:"args"`
	// Env are entries NAME=VALUE, which take the place of the agent's environment when there are any.
	Env []string `json:"env,omitempty"`
	// Stdin is what the program reads, at most 4 MiB.
	Stdin []byte `json:"stdin,omitempty"`
}

// Result is how a program ended.
type Result struct {
	// Status is its exit status, or 128 and the number of the signal that ended it.
	Status int    `json:"status"`
	Stdout []byte `json:"stdout,omitempty"`
	Stderr []byte `json:"stderr,omitempty"`
	// Truncated means that it wrote more than the agent keeps, 16 MiB of each stream.
	Truncated bool `json:"truncated,omitempty"`
}

// signalled is added to the number of the signal that ended a program, as shells do.
const signalled = 128

const (
	// maxCommand bounds a command that a client hands over, in base64 and JSON.
	maxCommand = 8 << 20
	// maxStdin bounds what a program reads.
	maxStdin = 4 << 20
	// execSilence is how long the agent may take to answer before a program is given up.
	execSilence = 10 * time.Second
)

// Exec runs a program in the guest by the guest agent, as root, and waits for its end. The error wraps ErrNoAgent when the
// agent does not answer, and ErrExecBlocked when it may not run programs. A program that is not there is an error too. When
// ctx ends the program goes on, as the agent cannot end it. Nothing of the command is logged.
func (c *Client) Exec(ctx context.Context, command Command) (Result, error) {
	var out Result
	if len(command.Args) == 0 || command.Args[0] == "" {
		return out, errors.New("there is no program to run in the guest")
	}
	if len(command.Stdin) > maxStdin {
		return out, fmt.Errorf("a program in the guest gets at most %d bytes of input", maxStdin)
	}
	body, err := json.Marshal(command)
	if err != nil {
		return out, err
	}
	if err := c.ensure(ctx); err != nil {
		return out, err
	}
	// It is asked for once: a supervisor that dies may have started the program.
	answer, err := c.call(ctx, http.MethodPost, pathExec, body)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.code == http.StatusServiceUnavailable:
		return out, ErrNoAgent
	case errors.As(err, &no) && no.code == http.StatusForbidden:
		return out, fmt.Errorf("%w: %s", ErrExecBlocked, no.text)
	case err != nil:
		return out, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&out)
	return out, err
}

// serveExec runs a program in the guest.
func (s *supervisor) serveExec(w http.ResponseWriter, r *http.Request) {
	var command Command
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCommand)).Decode(&command); err != nil || len(command.Args) == 0 {
		http.Error(w, "this is no command", http.StatusBadRequest) // the error could quote it
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	var out qga.Outcome
	err := s.agent.use(ctx, s.dir, execSilence, func(agent *qga.Client) (err error) {
		out, err = agent.Run(ctx, qga.Program{Path: command.Args[0], Args: command.Args[1:], Env: command.Env, Input: command.Stdin})
		return err
	})
	switch {
	case errors.Is(err, errSilent):
		http.Error(w, ErrNoAgent.Error(), http.StatusServiceUnavailable)
	case errors.Is(err, qga.ErrBlocked):
		http.Error(w, err.Error(), http.StatusForbidden)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		result := Result{Status: out.Code, Stdout: out.Stdout, Stderr: out.Stderr, Truncated: out.Truncated}
		if out.Signal != 0 {
			result.Status = signalled + out.Signal
		}
		answer(w, result)
	}
}

// agentLine is the line to the guest agent, which QEMU gives to one at a time. All who speak to the agent share it, so that
// none waits for what another does in the guest.
type agentLine struct {
	mutex sync.Mutex
	conn  net.Conn
	agent *qga.Client
	// users are those who share the connection now.
	users int
}

// use calls f with the guest agent once that has answered. The error wraps errSilent when it does not within silence.
func (l *agentLine) use(ctx context.Context, dir string, silence time.Duration, f func(*qga.Client) error) error {
	first, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	agent, err := l.pickUp(first, dir)
	if err != nil {
		return fmt.Errorf("%w: %w", errSilent, err)
	}
	err = agent.Sync(first)
	if err != nil {
		err = fmt.Errorf("%w: %w", errSilent, err)
	} else {
		err = f(agent)
	}
	l.hangUp(agent, err)
	return err
}

// pickUp joins the connection, or makes it as soon as QEMU listens.
func (l *agentLine) pickUp(ctx context.Context, dir string) (*qga.Client, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		agent, err := l.tryPickUp(ctx, dir)
		if err == nil {
			return agent, nil
		}
		if gone := sleep(ctx, pause); gone != nil {
			return nil, errors.Join(gone, err)
		}
	}
}

func (l *agentLine) tryPickUp(ctx context.Context, dir string) (*qga.Client, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.agent == nil {
		conn, err := dial(ctx, dir, AgentSocket)
		if err != nil {
			return nil, err
		}
		l.conn, l.agent, l.users = conn, qga.New(conn), 0
	}
	l.users++
	return l.agent, nil
}

// hangUp leaves the connection. The last to leave closes it; one that is broken is closed for all.
func (l *agentLine) hangUp(agent *qga.Client, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.agent != agent {
		return
	}
	l.users--
	var broken *net.OpError
	if l.users == 0 || errors.Is(err, io.EOF) || errors.As(err, &broken) {
		_ = l.conn.Close()
		l.conn, l.agent = nil, nil
	}
}

// serveAgent answers when the guest agent has. Until then it asks again and again, as long as the client waits and the VM runs.
func (s *supervisor) serveAgent(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		defer cancel()
		_ = s.journal.follow(ctx, math.MaxInt, nil) // which ends with the VM
	}()
	for pause := agentPause; ; pause = min(2*pause, agentMaxPause) {
		if s.agent.use(ctx, s.dir, agentSilence, func(*qga.Client) error { return nil }) == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		if sleep(ctx, pause) != nil {
			break
		}
	}
	http.Error(w, "the guest agent did not answer", http.StatusServiceUnavailable)
}

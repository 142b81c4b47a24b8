package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/report"
)

// The errors of clients.
var (
	// ErrNotRunning means that the VM does not run.
	ErrNotRunning = errors.New("the VM does not run")
	// ErrRunning means that the VM runs already.
	ErrRunning = errors.New("the VM runs already")
	// ErrNoVM means that there is no such VM.
	ErrNoVM = errors.New("there is no such VM")
	// ErrNoSupervisor means that the program of the supervisor was not found.
	ErrNoSupervisor = errors.New("the program vmseed, which supervises VMs, is not in PATH; install it or name it")
	// ErrEnded means that the guest ended before it said how its first boot went.
	ErrEnded = errors.New("the guest ended before it reported")
	// ErrNoAgent means that the guest has no guest agent that answers.
	ErrNoAgent = errors.New("the guest agent does not answer")
	// ErrExecBlocked means that the guest's agent is told not to run programs.
	ErrExecBlocked = errors.New("the guest agent may not run programs")
	// ErrUnreachable means that nothing in the guest answers at a port.
	ErrUnreachable = errors.New("the guest does not answer")
)

// Client is a user's handle of a VM. Its methods may be called by several goroutines, and by clients in any number of
// processes.
type Client struct {
	// Dir is the VM's state directory.
	Dir string
	// Command starts a supervisor, followed by --state-dir and the directory. Empty means `vmseed supervise`, with the
	// running program when that is vmseed, else the one in PATH.
	Command []string
	http    *http.Client
}

// Open returns the client of the VM in a state directory. The error wraps ErrNoVM when there is none.
func Open(dir string, command ...string) (*Client, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, planFile)); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(dir), ErrNoVM)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dial(ctx, dir, controlSocket)
	}}
	return &Client{Dir: dir, Command: command, http: &http.Client{Transport: transport}}, nil
}

// Plan returns the VM's launch plan.
func (c *Client) Plan() (Plan, error) { return LoadPlan(c.Dir) }

// Start starts the VM. With detached it outlives this process, else it ends with it. Start returns when the guest runs;
// on an error nothing runs.
func (c *Client) Start(ctx context.Context, detached bool) error {
	state, err := c.State(ctx)
	if err != nil {
		return err
	}
	if state.Status.Alive() {
		return ErrRunning
	}
	plan, err := c.Plan()
	if err != nil {
		return err
	}
	if plan.Detached != detached {
		plan.Detached = detached
		if err := plan.Save(c.Dir); err != nil {
			return err
		}
	}
	state.Status, state.PID, state.Reason = Starting, 0, ""
	if err := state.save(c.Dir); err != nil {
		return err
	}
	gone, err := c.spawn(!detached)
	if err == nil {
		err = c.reach(ctx, gone)
	}
	if err != nil && ctx.Err() != nil && gone != nil {
		return errors.Join(err, c.abandon(ctx, gone))
	}
	switch now, stateErr := loadState(c.Dir); {
	case stateErr != nil:
		err = errors.Join(err, stateErr)
	case err != nil && now.Status.Alive():
		now.Status, now.Reason = Failed, "the supervisor did not start"
		err = errors.Join(fmt.Errorf("%s: %w %s", now.Reason, err, tail(filepath.Join(c.Dir, SupervisorLog))), now.save(c.Dir))
	default:
		err = c.running(ctx)
	}
	if err != nil && gone != nil {
		return errors.Join(err, c.abandon(ctx, gone))
	}
	return err
}

// abandon ends a start that failed, or that nobody waits for any more: whoever gives up waiting does not want the VM. It returns
// when the supervisor has ended, so that nothing touches the directory any more.
func (c *Client) abandon(ctx context.Context, gone <-chan struct{}) error {
	giveUp := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), quitTime)
	defer cancel()
	// One that has just been started is met first: it could not be told otherwise.
	if giveUp && c.reach(ctx, gone) == nil {
		if err := ignore(c.Stop(ctx, 0), ErrNotRunning); err != nil {
			return err
		}
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return errors.New("the supervisor does not end")
	}
}

// running waits until the guest runs.
func (c *Client) running(ctx context.Context) error {
	done := errors.New("done")
	err := c.Events(ctx, 0, func(e Event) error {
		switch e.Status {
		case Running, Paused, Stopped:
			return done
		case Failed:
			return fmt.Errorf("the VM does not start: %s", e.Reason)
		}
		return nil
	})
	switch {
	case errors.Is(err, done):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("the supervisor ended: %s", tail(filepath.Join(c.Dir, SupervisorLog)))
}

// State returns what is known of the VM, after making sure that a VM which should run has a supervisor.
func (c *Client) State(ctx context.Context) (State, error) {
	state, err := loadState(c.Dir)
	if err != nil || !state.Status.Alive() {
		return state, err
	}
	answer, err := c.request(ctx, http.MethodGet, pathState, nil)
	if errors.Is(err, ErrNotRunning) {
		return loadState(c.Dir)
	}
	if err != nil {
		return state, err
	}
	defer answer.Body.Close()
	err = json.NewDecoder(answer.Body).Decode(&state)
	return state, err
}

// Stop ends the VM: it asks the guest and cuts it off after grace, or at once when grace is 0. It returns when the VM has
// ended.
func (c *Client) Stop(ctx context.Context, grace time.Duration) error {
	if err := c.Ask(ctx, grace); err != nil {
		return err
	}
	return c.Wait(ctx)
}

// Ask is Stop without the waiting: it returns when the supervisor has taken the wish.
func (c *Client) Ask(ctx context.Context, grace time.Duration) error {
	body, err := json.Marshal(stopRequest{Grace: grace})
	if err != nil {
		return err
	}
	answer, err := c.request(ctx, http.MethodPost, pathStop, body)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Wait returns when the VM has ended.
func (c *Client) Wait(ctx context.Context) error {
	since := 0
	for {
		err := c.Events(ctx, since, func(e Event) error {
			since = e.Sequence
			return nil
		})
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		state, err := c.State(ctx)
		if err != nil || !state.Status.Alive() {
			return err
		}
	}
}

// Events calls f with each event of the VM's run whose number is above since, and returns when the VM has ended, with
// f's error when it has one. A change of supervisor goes unnoticed.
func (c *Client) Events(ctx context.Context, since int, f func(Event) error) error {
	for {
		answer, err := c.request(ctx, http.MethodGet, pathEvents+"?since="+strconv.Itoa(since), nil)
		if errors.Is(err, ErrNotRunning) {
			events, err := readEvents(c.Dir)
			for _, e := range events {
				if e.Sequence > since && err == nil {
					err = f(e)
				}
			}
			return err
		}
		if err != nil {
			return err
		}
		err = each(answer.Body, func(e Event) error {
			since = e.Sequence
			return f(e)
		})
		_ = answer.Body.Close()
		var stop *callerError
		switch {
		case errors.As(err, &stop):
			return stop.error
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}

// History returns the events of the VM's current or last run until now.
func (c *Client) History() ([]Event, error) { return readEvents(c.Dir) }

// callerError is an error of the caller's function.
type callerError struct{ error }

// each reads events from a stream.
func each(r io.Reader, f func(Event) error) error {
	decoder := json.NewDecoder(r)
	for {
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return err
		}
		if err := f(e); err != nil {
			return &callerError{err}
		}
	}
}

// WaitFirstBoot returns the guest's final word on its first boot, calling f (which may be nil) with each event on the
// way. The error wraps ErrEnded when the VM ends without one.
func (c *Client) WaitFirstBoot(ctx context.Context, f func(Event)) (report.Event, error) {
	done := errors.New("done")
	var final report.Event
	reason := ""
	err := c.Events(ctx, 0, func(e Event) error {
		if f != nil {
			f(e)
		}
		if e.Status != "" {
			reason = e.Reason
		}
		if e.Report != nil && e.Report.Stage.Ended() {
			final = *e.Report
			return done
		}
		return nil
	})
	switch {
	case errors.Is(err, done):
		return final, nil
	case err != nil:
		return final, err
	}
	return final, fmt.Errorf("%w (%s)", ErrEnded, reason)
}

// Console connects to the guest's serial console.
func (c *Client) Console(ctx context.Context) (io.ReadWriteCloser, error) {
	return c.stream(ctx, pathConsole, consoleProtocol)
}

// stream returns a connection to what the supervisor has at a path, and to the next one's when that dies.
func (c *Client) stream(ctx context.Context, path, protocol string) (net.Conn, error) {
	for {
		if err := c.ensure(ctx); err != nil {
			return nil, err
		}
		conn, err := c.upgrade(ctx, path, protocol)
		if err == nil {
			return conn, nil
		}
		if err := retry(ctx, err); err != nil {
			return nil, err
		}
	}
}

// upgrade turns a new connection to the supervisor into one to what is at a path.
func (c *Client) upgrade(ctx context.Context, path, protocol string) (net.Conn, error) {
	conn, err := dial(ctx, c.Dir, controlSocket)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: vm\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", path, protocol)
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, nil)
	if err == nil && answer.StatusCode != http.StatusSwitchingProtocols {
		err = refused(answer)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &upgraded{Conn: conn, r: r}, nil
}

// upgraded is a connection whose first bytes are in a buffer.
type upgraded struct {
	net.Conn
	r *bufio.Reader
}

// Read reads what the guest writes.
func (c *upgraded) Read(p []byte) (int, error) { return c.r.Read(p) }

// CloseWrite tells the guest that nothing more comes.
func (c *upgraded) CloseWrite() error { return closeWrite(c.Conn) }

// refusal is an answer of the supervisor that says no.
type refusal struct {
	code int
	text string
}

// refused reads an answer that says no.
func refused(answer *http.Response) *refusal {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4096))
	_ = answer.Body.Close()
	return &refusal{answer.StatusCode, strings.TrimSpace(string(text))}
}

// Error returns what the supervisor said.
func (r *refusal) Error() string { return r.text }

// retry decides on an error of a call: a supervisor that died under it is replaced, after a pause.
func retry(ctx context.Context, err error) error {
	var no *refusal
	if errors.As(err, &no) {
		return no
	}
	return sleep(ctx, firstPause)
}

// request sends a request to the supervisor, and to the next one when that dies. The error is ErrNotRunning when the VM
// does not run.
func (c *Client) request(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	for {
		if err := c.ensure(ctx); err != nil {
			return nil, err
		}
		answer, err := c.call(ctx, method, path, body)
		if err == nil {
			return answer, nil
		}
		if err := retry(ctx, err); err != nil {
			return nil, err
		}
	}
}

// call sends a request to the supervisor.
func (c *Client) call(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://vm"+path, bytes.NewReader(body))
	if err != nil {
		return nil, &refusal{text: err.Error()}
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 400 {
		return nil, refused(answer)
	}
	return answer, nil
}

// ensureTries is how often a supervisor is started before giving up. One that starts at the same time as another ends
// at once.
const ensureTries = 14

// ensure makes sure that a VM which should run has a supervisor. The error is ErrNotRunning when it does not run.
func (c *Client) ensure(ctx context.Context) error {
	pause := firstPause
	for range ensureTries {
		conn, err := dial(ctx, c.Dir, controlSocket)
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		state, err := loadState(c.Dir)
		if err != nil {
			return err
		}
		if !state.Status.Alive() {
			return ErrNotRunning
		}
		gone, err := c.spawn(false)
		if err != nil {
			return err
		}
		if err := c.reach(ctx, gone); err == nil || ctx.Err() != nil {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, time.Second)
	}
	return fmt.Errorf("the supervisor does not start: %s", tail(filepath.Join(c.Dir, SupervisorLog)))
}

// reach waits until a supervisor answers, or the one that was started has ended.
func (c *Client) reach(ctx context.Context, gone <-chan struct{}) error {
	conn, err := dialUntil(ctx, gone, c.Dir, controlSocket)
	if err == nil {
		return conn.Close()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return ErrNotRunning
}

// spawn starts a supervisor process. The channel is closed when it has ended. With tied it ends, and the VM with it, when
// this process does.
func (c *Client) spawn(tied bool) (<-chan struct{}, error) {
	command := c.Command
	if len(command) == 0 {
		program, err := ownProgram()
		if err != nil {
			return nil, err
		}
		command = []string{program, "supervise"}
	}
	log, err := os.OpenFile(filepath.Join(c.Dir, SupervisorLog), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], append(append([]string{}, command[1:]...), "--state-dir", c.Dir)...)
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = log, log, "/", environment(os.Environ())
	var lifeline io.Closer
	if tied {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		cmd.Stdin, lifeline = r, w
	}
	ended, err := startProcess(cmd, false)
	if err != nil {
		if lifeline != nil {
			_ = lifeline.Close()
		}
		return nil, fmt.Errorf("start the supervisor: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		<-ended
		if lifeline != nil {
			_ = lifeline.Close()
		}
		close(gone)
	}()
	return gone, nil
}

// command is the main package of vmseed, by which a running vmseed knows itself whatever its file is called.
const command = "github.com/vmseed/vmseed/cmd/vmseed"

// ownProgram finds vmseed.
func ownProgram() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok && info.Path == command {
		if path, err := os.Executable(); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("vmseed")
	if err != nil {
		return "", ErrNoSupervisor
	}
	return filepath.Abs(path)
}

// tail returns the last line of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// ignore returns err unless it is one of those that do not matter.
func ignore(err error, those ...error) error {
	for _, t := range those {
		if errors.Is(err, t) {
			return nil
		}
	}
	return err
}

package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"k8s.io/utils/exec"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// terminal is a client's end of exec and attach.
type terminal struct {
	in       io.Reader
	out, err bytes.Buffer
	tty      bool
}

type keep struct{ io.Writer }

func (keep) Close() error { return nil }

func (c *terminal) Stdin() io.Reader            { return c.in }
func (c *terminal) Stdout() io.WriteCloser      { return keep{&c.out} }
func (c *terminal) Stderr() io.WriteCloser      { return keep{&c.err} }
func (c *terminal) TTY() bool                   { return c.tty }
func (c *terminal) Resize() <-chan api.TermSize { return nil }

// wired is a guest with an agent, a console and ports.
type wired struct {
	*simGuest
	ran     []supervisor.Command
	result  supervisor.Result
	err     error
	console func() io.ReadWriteCloser
}

func (w *wired) Exec(_ context.Context, c supervisor.Command) (supervisor.Result, error) {
	w.ran = append(w.ran, c)
	return w.result, w.err
}

func (w *wired) Console(context.Context) (io.ReadWriteCloser, error) { return w.console(), nil }

func (w *wired) DialGuest(_ context.Context, port uint16) (net.Conn, error) {
	if port != 80 {
		return nil, fmt.Errorf("%w at port %d", supervisor.ErrUnreachable, port)
	}
	return w.console().(net.Conn), nil
}

// echo is a connection to somebody who says hello, repeats a line and leaves.
func echo() io.ReadWriteCloser {
	near, far := net.Pipe()
	go func() {
		_, _ = io.WriteString(far, "hello\n")
		line := make([]byte, 5)
		_, _ = io.ReadFull(far, line)
		_, _ = far.Write(line)
		_ = far.Close()
	}()
	return half{near}
}

// half is a connection of which one direction can be ended, as of those to guests.
type half struct{ net.Conn }

func (half) CloseWrite() error { return nil }

func wiredBed(t *testing.T, f func(b *bed, w *wired)) {
	w := &wired{console: echo}
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest {
			w.simGuest = g
			return w
		}
		b.create(nil)
		f(b, w)
	})
}

// TestExec runs programs by the guest agent.
func TestExec(t *testing.T) {
	wiredBed(t, func(b *bed, w *wired) {
		run := func(c *terminal, command ...string) error {
			return b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", command, c)
		}
		w.result = supervisor.Result{Stdout: []byte("out"), Stderr: []byte("err"), Truncated: true}
		c := &terminal{in: strings.NewReader("typed")}
		if err := run(c, "cat", "-n"); err != nil || c.out.String() != "out" || !strings.HasPrefix(c.err.String(), "err") || !strings.Contains(c.err.String(), "16 MiB") {
			t.Errorf("%v, %q, %q", err, c.out.String(), c.err.String())
		}
		if got := w.ran[0]; strings.Join(got.Args, " ") != "cat -n" || string(got.Stdin) != "typed" {
			t.Errorf("it ran %+v", got)
		}
		w.result = supervisor.Result{Status: 7}
		var status exec.ExitError
		if err := run(new(terminal), "false"); !errors.As(err, &status) || status.ExitStatus() != 7 {
			t.Errorf("exit code: %v", err)
		}
		if err := run(&terminal{in: io.LimitReader(endless{}, maxStdin+1)}, "cat"); !errdefs.IsInvalidInput(err) {
			t.Errorf("too much input: %v", err)
		}
		if err := run(&terminal{tty: true}, "bash"); !errdefs.IsInvalidInput(err) || !strings.Contains(err.Error(), "kubectl attach -it vm -n default") {
			t.Errorf("a terminal: %v", err)
		}
		w.err = supervisor.ErrNoAgent
		if err := run(new(terminal), "id"); !errors.Is(err, supervisor.ErrNoAgent) || !strings.Contains(err.Error(), "not booted yet") {
			t.Errorf("no agent yet: %v", err)
		}
		b.runner.guest("uid-1").boots()
		synctest.Wait()
		if err := run(new(terminal), "id"); !errors.Is(err, supervisor.ErrNoAgent) || !strings.Contains(err.Error(), "qemu-guest-agent") {
			t.Errorf("no agent: %v", err)
		}
		if err := b.p.RunInContainer(b.t.Context(), "default", "other", "", []string{"id"}, new(terminal)); !errdefs.IsNotFound(err) {
			t.Errorf("another pod: %v", err)
		}
	})
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// TestAttach connects to the console and to a port, both ways.
func TestAttach(t *testing.T) {
	for _, connect := range []func(b *bed, c *terminal) error{
		func(b *bed, c *terminal) error {
			return b.p.AttachToContainer(b.t.Context(), "default", "vm", "guest", c)
		},
		func(b *bed, c *terminal) error {
			return b.p.RunInContainer(b.t.Context(), "default", "vm", "guest", []string{ConsoleCommand}, c)
		},
		func(b *bed, c *terminal) error {
			return b.p.PortForward(b.t.Context(), "default", "vm", 80, struct {
				io.Reader
				io.WriteCloser
			}{c.in, c.Stdout()})
		},
	} {
		wiredBed(t, func(b *bed, _ *wired) {
			c := &terminal{in: strings.NewReader("typed"), tty: true}
			if err := connect(b, c); err != nil || c.out.String() != "hello\ntyped" {
				t.Errorf("%v: %q", err, c.out.String())
			}
		})
	}
	wiredBed(t, func(b *bed, _ *wired) {
		if err := b.p.PortForward(b.t.Context(), "default", "vm", 81, nil); err == nil || !strings.Contains(err.Error(), "port 81 of the guest") {
			t.Errorf("a closed port: %v", err)
		}
	})
}

// TestStats says what a VM uses.
func TestStats(t *testing.T) {
	lie(t, func(b *bed) {
		b.runner.equip = func(g *simGuest) Guest { return metered{g} }
		b.create(nil)
		list, err := b.p.PodStats(b.t.Context())
		if err != nil || len(list) != 1 || *list[0].CPU.UsageCoreNanoSeconds != 5 || *list[0].Containers[0].Memory.WorkingSetBytes != 7 || list[0].PodRef.UID != "uid-1" {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

type metered struct{ *simGuest }

func (metered) Usage(context.Context) (supervisor.Usage, error) {
	return supervisor.Usage{CPUTime: 5, MemoryBytes: 7}, nil
}

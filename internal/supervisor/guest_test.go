//go:build linux

package supervisor_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"

	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/internal/supervisor/supervisortest"
)

func TestExec(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	echo := supervisor.Command{Args: []string{"echo", "canary", "words"}, Env: []string{"A=b"}, Stdin: []byte("in")}
	if _, err := c.Exec(within(t), echo); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("before the start: %v", err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	// A program that does not end keeps nobody from the agent.
	endless, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		_, err := c.Exec(endless, supervisor.Command{Args: []string{"forever"}})
		ended <- err
	}()
	if err := c.AwaitAgent(within(t)); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	out, err := c.Exec(within(t), echo)
	if err != nil || out.Status != 3 || string(out.Stdout) != "canary words" || string(out.Stderr) != "oops" || out.Truncated {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := c.Exec(within(t), supervisor.Command{Args: []string{"killed"}}); err != nil || out.Status != 128+9 {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := c.Exec(within(t), supervisor.Command{Args: []string{"sizes"}}); err != nil || len(out.Stdout) != 3<<20 {
		t.Errorf("%d bytes, %v", len(out.Stdout), err)
	}
	for _, args := range [][]string{nil, {""}, {"missing"}} {
		if _, err := c.Exec(within(t), supervisor.Command{Args: args}); err == nil || errors.Is(err, supervisor.ErrNoAgent) || errors.Is(err, supervisor.ErrExecBlocked) {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := c.Exec(within(t), supervisor.Command{Args: []string{"echo"}, Stdin: make([]byte, 5<<20)}); err == nil {
		t.Error("any size of input is taken")
	}
	noFileHolds(t, c.Dir, "canary")
}

// A program that runs when its VM ends is over.
func TestExecEnds(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Exec(within(t), supervisor.Command{Args: []string{"forever"}})
		ended <- err
	}()
	if err := errors.Join(c.AwaitAgent(within(t)), c.Stop(within(t), 0)); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a program of a guest that is gone has ended well")
	}
}

func TestExecBlocked(t *testing.T) {
	c := vm(t, true, supervisortest.AgentOnly)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(within(t), supervisor.Command{Args: []string{"echo"}}); !errors.Is(err, supervisor.ErrExecBlocked) {
		t.Errorf("got %v", err)
	}
}

// A guest without an agent says so after a while, and at once to those who do not wait.
func TestExecWithoutAgent(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(ctx, supervisor.Command{Args: []string{"echo"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Exec(within(t), supervisor.Command{Args: []string{"echo"}}); !errors.Is(err, supervisor.ErrNoAgent) {
		t.Errorf("got %v", err)
	}
}

func TestUsage(t *testing.T) {
	c := vm(t, true, supervisortest.WithAgent)
	if _, err := c.Usage(within(t)); !errors.Is(err, supervisor.ErrNotRunning) {
		t.Errorf("before the start: %v", err)
	}
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	u, err := c.Usage(within(t))
	if err != nil || u.MemoryBytes < 1<<20 || u.BalloonBytes != 32<<20 || u.DiskReadBytes != 4100 || u.DiskWriteBytes != 512 || u.NetworkSentBytes != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

func TestDialGuest(t *testing.T) {
	c := served(t, nil, supervisortest.WithAgent)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	g := plug(t, cable(t, c, 0), 0)
	at := tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFrom4(network(0).Guest.As4()), Port: 7}
	echo, err := gonet.ListenTCP(g.Stack, at, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		conn, err := echo.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.Copy(conn, conn)
	}()
	conn, err := c.DialGuest(within(t), 7)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	words := strings.Repeat("words for the guest ", 10_000)
	go func() {
		_, _ = io.WriteString(conn, words)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != words {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if u, err := c.Usage(within(t)); err != nil || u.NetworkSentBytes < int64(len(words)) || u.NetworkReceivedBytes < int64(len(words)) {
		t.Errorf("%+v, %v", u, err)
	}
	if _, err := c.DialGuest(within(t), 8); !errors.Is(err, supervisor.ErrUnreachable) {
		t.Errorf("where nobody listens: %v", err)
	}
}

// A guest without a network cannot be reached.
func TestDialNobody(t *testing.T) {
	c := vm(t, true, supervisortest.Good)
	if err := c.Start(within(t), true); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DialGuest(within(t), 7); !errors.Is(err, supervisor.ErrUnreachable) || !strings.Contains(err.Error(), "no network") {
		t.Errorf("got %v", err)
	}
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	"k8s.io/utils/exec"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// guestOf returns the guest of a pod that runs.
func (p *Provider) guestOf(ctx context.Context, namespace, pod, container string) (Guest, error) {
	v, err := p.vmOf(namespace, pod, container)
	if err != nil {
		return nil, err
	}
	select {
	case <-v.found:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.guest == nil {
		return nil, errdefs.InvalidInputf("the VM of pod %s/%s does not run", namespace, pod)
	}
	return v.guest, nil
}

// vmOf returns the VM of a pod, also of one that is leaving. The container may be left empty.
func (p *Provider) vmOf(namespace, pod, container string) (*vm, error) {
	v, leaving := p.byName(namespace, pod)
	if v == nil {
		v = leaving
	}
	if v == nil {
		return nil, errdefs.NotFoundf("there is no VM of pod %s/%s", namespace, pod)
	}
	if c := v.look().Pod.Spec.Containers; container != "" && (len(c) == 0 || c[0].Name != container) {
		return nil, errdefs.NotFoundf("pod %s/%s has no container %s", namespace, pod, container)
	}
	return v, nil
}

// ConsoleCommand is what exec connects to the serial console by, instead of having the guest agent run it.
const ConsoleCommand = "console"

// RunInContainer has the guest agent run a program, or connects to the serial console when the command is "console", or does to
// the VM itself what PauseCommand, UnpauseCommand and ResetCommand say. Its
// error is a k8s.io/utils/exec.CodeExitError when the program's status is not 0.
func (p *Provider) RunInContainer(ctx context.Context, namespace, pod, container string, command []string, attach api.AttachIO) error {
	if len(command) == 1 && command[0] == ConsoleCommand {
		return p.AttachToContainer(ctx, namespace, pod, container, attach)
	}
	if ordered(command) {
		return p.order(ctx, namespace, pod, container, command[0])
	}
	if attach.TTY() {
		return errdefs.InvalidInputf("the guest agent gives programs no terminal: leave -t out for a program that needs none, "+
			"or take the serial console with kubectl attach -it %s -n %s (kubectl exec -it %s -n %s -- %s does the same)", pod, namespace, pod, namespace, ConsoleCommand)
	}
	guest, err := p.guestOf(ctx, namespace, pod, container)
	if err != nil {
		return err
	}
	e, ok := guest.(Executor)
	if !ok {
		return errdefs.InvalidInput("no programs can be run in the guests of this node")
	}
	c := supervisor.Command{Args: command}
	if in := attach.Stdin(); in != nil {
		if c.Stdin, err = io.ReadAll(io.LimitReader(in, maxStdin+1)); err != nil {
			return err
		}
		if len(c.Stdin) > maxStdin {
			return errdefs.InvalidInputf("the guest agent takes at most %d MiB of input; copy more by SSH", maxStdin>>20)
		}
	}
	result, err := e.Exec(ctx, c)
	if err != nil {
		return p.refusedExec(namespace, pod, err)
	}
	return output(attach, result)
}

// maxStdin is how much a program in the guest can be given to read, in bytes.
const maxStdin = 4 << 20

// refusedExec says what to do about a guest that runs no programs.
func (p *Provider) refusedExec(namespace, pod string, err error) error {
	v, _ := p.byName(namespace, pod)
	switch {
	case errors.Is(err, supervisor.ErrNoAgent) && v != nil && !v.look().Run.Up:
		return fmt.Errorf("%w, and the guest has not booted yet; try again when the pod is ready, or watch it with kubectl logs -f", err)
	case errors.Is(err, supervisor.ErrNoAgent):
		return fmt.Errorf("%w; kubectl exec needs the package qemu-guest-agent in the guest, kubectl attach does not", err)
	case errors.Is(err, supervisor.ErrExecBlocked):
		return fmt.Errorf("%w; allow guest-exec in the settings of the guest's agent (Red Hat's forbid it), or use kubectl attach", err)
	}
	return err
}

// output hands on what a program wrote, and its status.
func output(attach api.AttachIO, r supervisor.Result) error {
	for _, x := range []struct {
		to   io.WriteCloser
		data []byte
	}{{attach.Stdout(), r.Stdout}, {attach.Stderr(), r.Stderr}} {
		if x.to == nil {
			continue
		}
		if _, err := x.to.Write(x.data); err != nil {
			return err
		}
	}
	if r.Truncated && attach.Stderr() != nil {
		fmt.Fprintln(attach.Stderr(), "vmseed: the guest agent keeps 16 MiB of a program's output; the rest of it is lost")
	}
	if r.Status != 0 {
		return exec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", r.Status), Code: r.Status}
	}
	return nil
}

// AttachToContainer connects to the guest's serial console, both ways, until either side ends. A stream that gives no input
// ends nothing: the console is then shown only.
func (p *Provider) AttachToContainer(ctx context.Context, namespace, pod, container string, attach api.AttachIO) error {
	guest, err := p.guestOf(ctx, namespace, pod, container)
	if err != nil {
		return err
	}
	c, ok := guest.(Consoler)
	if !ok {
		return errdefs.InvalidInput("the guests of this node have no console")
	}
	console, err := c.Console(ctx)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = console.Close() })()
	if in := attach.Stdin(); in != nil {
		go func() { _, _ = io.Copy(console, in) }() // which ends with the stream, or when the console is closed
	}
	if resize := attach.Resize(); resize != nil {
		go drain(ctx, resize) // a serial line has no size
	}
	var out io.Writer = io.Discard
	if w := attach.Stdout(); w != nil {
		out = w
	}
	_, err = io.Copy(out, console)
	_ = console.Close()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// drain takes what comes from a channel until it is closed or ctx ends.
func drain(ctx context.Context, c <-chan api.TermSize) {
	for {
		select {
		case _, ok := <-c:
			if !ok {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// PortForward connects a stream to a TCP port of the guest, and returns when both directions have ended.
func (p *Provider) PortForward(ctx context.Context, namespace, pod string, port int32, stream io.ReadWriteCloser) error {
	guest, err := p.guestOf(ctx, namespace, pod, "")
	if err != nil {
		return err
	}
	d, ok := guest.(Dialer)
	if !ok {
		return errdefs.InvalidInput("the guests of this node cannot be connected to")
	}
	if port < 1 || port > 65535 {
		return errdefs.InvalidInputf("there is no port %d", port)
	}
	conn, err := d.DialGuest(ctx, uint16(port))
	if err != nil {
		return fmt.Errorf("port %d of the guest: %s", port, strings.TrimSpace(err.Error()))
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	go func() {
		_, err := io.Copy(conn, stream)
		if half, ok := conn.(interface{ CloseWrite() error }); ok && err == nil {
			_ = half.CloseWrite()
			return
		}
		_ = conn.Close()
	}()
	// The client has ended when it sends no more and the guest has nothing more to say; the guest's end ends both.
	_, err = io.Copy(stream, conn)
	if ctx.Err() != nil || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return err
}

package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// maxSocketPath is what the address of a Unix socket holds everywhere (104 bytes on macOS, 108 on Linux), with its NUL.
const maxSocketPath = 103

// viaDir calls f with a path of a socket in dir that is short enough for the kernel.
func viaDir(dir, name string, f func(path string) error) error {
	path := filepath.Join(dir, name)
	if len(path) <= maxSocketPath {
		return f(path)
	}
	if runtime.GOOS == "linux" {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer d.Close()
		return f(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), name))
	}
	temp, err := os.MkdirTemp("", "vmseed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	link := filepath.Join(temp, "d")
	if err := os.Symlink(dir, link); err != nil {
		return err
	}
	return f(filepath.Join(link, name))
}

// dial connects to a socket in a VM's directory.
func dial(ctx context.Context, dir, name string) (conn net.Conn, err error) {
	err = viaDir(dir, name, func(path string) error {
		var d net.Dialer
		conn, err = d.DialContext(ctx, "unix", path)
		return err
	})
	return conn, err
}

// listen makes a socket in a VM's directory, which only its owner can connect to.
func listen(dir, name string) (l *net.UnixListener, err error) {
	if err := remove(filepath.Join(dir, name)); err != nil {
		return nil, err
	}
	err = viaDir(dir, name, func(path string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(filepath.Join(dir, name), 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// remove removes a file that need not be there.
func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Pauses between tries to connect. Nothing tells when another process listens on a socket.
const (
	firstPause = 5 * time.Millisecond
	longPause  = 250 * time.Millisecond
)

// dialUntil connects to a socket in a VM's directory that will be there soon. It gives up when ended is closed.
func dialUntil(ctx context.Context, ended <-chan struct{}, dir, name string) (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		conn, err := dial(ctx, dir, name)
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s: %w", name, errors.Join(ctx.Err(), err))
		case <-ended:
			return nil, fmt.Errorf("%s: %w", name, err)
		case <-time.After(pause):
		}
	}
}

// sleep waits, but not longer than ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

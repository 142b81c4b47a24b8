package daemon

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/vmseed/vmseed/internal/supervisor"
)

// settleTime is how much later than over the console a byte may come into the log.
const settleTime = 100 * time.Millisecond

// FollowLog calls f with what the guest wrote to its serial console in the current or last run, and with what it writes from
// then on, until the run ends, or ctx, or f fails, whose error it returns. No byte comes twice, and none is missed unless the
// guest writes more in a second than the log keeps.
func (d *Daemon) FollowLog(ctx context.Context, id string, f func([]byte) error) error {
	_, s, err := d.find(id)
	if err != nil {
		return err
	}
	log := growingLog{path: filepath.Join(d.dir(s), supervisor.SerialLog)}
	for {
		// Connected before the log is read, so that whatever comes after that is heard of. The bytes are those of the log.
		console, err := d.Console(ctx, id)
		var conflict *ConflictError
		switch {
		case errors.As(err, &conflict):
			return log.read(f)
		case err != nil:
			return err
		}
		err = log.follow(ctx, console, f)
		_ = console.Close()
		if err != nil {
			return err
		}
		// A supervisor that was replaced ends its consoles as well.
		select {
		case <-time.After(settleTime):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// growingLog reads a log while it is written, and cut when it is too long.
type growingLog struct {
	path string
	// at is how much of the current part was read; older is the older part as it was then.
	at    int64
	older os.FileInfo
	begun bool
}

// follow reads the log each time that something comes over the console, until that ends.
func (l *growingLog) follow(ctx context.Context, console io.Reader, f func([]byte) error) error {
	more, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 16<<10)
		for {
			n, err := console.Read(buffer)
			if n > 0 {
				select {
				case more <- struct{}{}:
				default:
				}
			}
			if err != nil {
				return
			}
		}
	}()
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	for {
		if err := l.read(f); err != nil {
			return err
		}
		select {
		case <-more:
			settled.Reset(settleTime)
		case <-settled.C:
		case <-ended:
			return l.read(f)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// read passes on what the log has more than at the last time.
func (l *growingLog) read(f func([]byte) error) error {
	current, err := os.Open(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the guest has written nothing yet
	}
	if err != nil {
		return err
	}
	defer current.Close()
	info, err := current.Stat()
	if err != nil {
		return err
	}
	older, err := os.Stat(l.path + ".1")
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case l.begun && l.older != nil && older.ModTime().Equal(l.older.ModTime()) && older.Size() == l.older.Size():
	case l.begun && info.Size() >= older.Size():
		return nil // it is being cut: the older part is not whole yet
	default:
		// What was the current part is the older one now.
		if err := pass(l.path+".1", &l.at, f); err != nil {
			return err
		}
		l.at, l.older = 0, older
	}
	l.begun = true
	if info.Size() < l.at {
		l.at = 0 // another run began
	}
	return pass(l.path, &l.at, f)
}

// pass passes on a file from a place on, and moves the place.
func pass(path string, at *int64, f func([]byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := file.ReadAt(buffer, *at)
		if n > 0 {
			*at += int64(n)
			if err := f(buffer[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

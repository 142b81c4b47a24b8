package image

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// The pauses between two looks at a lock that somebody else holds.
const (
	firstPause = 10 * time.Millisecond
	longPause  = 500 * time.Millisecond
)

// lock takes the lock file at path, waiting until it is free; waiting is called once if that takes a while. Closing the
// file gives it back. The file may be removed by whoever holds it exclusively.
func lock(ctx context.Context, path string, shared bool, waiting func()) (*os.File, error) {
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		f, busy, err := lockNow(path, shared)
		if err != nil || !busy {
			return f, err
		}
		if waiting != nil && pause > firstPause {
			waiting()
			waiting = nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lockNow takes the lock if it is free.
func lockNow(path string, shared bool) (f *os.File, busy bool, err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, atomicfile.FileMode)
		if err != nil {
			return nil, false, err
		}
		ok, err := atomicfile.TryLock(f, shared)
		if err != nil || !ok {
			return nil, err == nil, errors.Join(err, f.Close())
		}
		// Whoever held it before may have removed the file meanwhile: then this lock is one on nothing.
		now, err := os.Stat(path)
		if err == nil {
			mine, err := f.Stat()
			if err == nil && os.SameFile(now, mine) {
				return f, false, nil
			}
		}
		if err := f.Close(); err != nil {
			return nil, false, err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
	}
}

//go:build unix && !solaris && !aix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// The ways to lock.
const (
	exclusive = syscall.LOCK_EX
	common    = syscall.LOCK_SH
	atOnce    = syscall.LOCK_NB
)

func flock(f *os.File, how int) (ok bool, err error) {
	err = syscall.Flock(int(f.Fd()), how)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	if err != nil {
		return false, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return true, nil
}

//go:build unix

package image

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on an open file, which the kernel releases when the file is closed or its process dies.
func tryLock(f *os.File, shared bool) (ok bool, err error) {
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

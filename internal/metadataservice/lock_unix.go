//go:build unix && !solaris && !aix

package metadataservice

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on a state directory, unless somebody holds it. The kernel releases it when the file is closed or
// its holder dies.
func tryLock(path string) (f *os.File, held bool, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, false, err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return f, false, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, true, nil
	}
	return nil, false, &os.PathError{Op: "lock", Path: path, Err: err}
}

//go:build unix && !solaris && !aix

package auth

import (
	"os"
	"syscall"
)

// lockFile waits for the lock that keeps processes from changing the users file at the same time. The kernel releases it
// when its holder dies.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return func() { _ = f.Close() }, nil
}

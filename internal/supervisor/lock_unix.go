//go:build unix

package supervisor

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the lock on a VM's directory that its supervisor holds, and that the kernel releases when it dies.
func lock(path string) (f *os.File, held bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, false, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, true, nil
	}
	return nil, false, err
}

// private makes every file that this process and its children make readable for their owner alone.
func private() { syscall.Umask(0o077) }

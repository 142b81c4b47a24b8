//go:build unix

package metadata

import (
	"os"
	"syscall"
)

// lock waits for the lock on an open file, which the kernel releases when the file is closed or its process dies.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

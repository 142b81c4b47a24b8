package judge

import (
	"os"

	"golang.org/x/sys/unix"
)

// newNamespace gives the calling thread a network namespace of its own.
func newNamespace() error { return unix.Unshare(unix.CLONE_NEWNET) }

// enterNamespace moves the calling thread into a network namespace.
func enterNamespace(namespace *os.File) error {
	return unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
}

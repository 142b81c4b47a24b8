//go:build unix

package supervisor

import (
	"errors"
	"strconv"
	"syscall"
)

// runs reports whether the process of a number runs.
func runs(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && n > 0 && !errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

//go:build !unix

package atomicfile

import "os"

// running reports whether a process exists.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release()
	return true
}

//go:build unix && !linux

package metadata

import "syscall"

func setsockopt(fd uintptr, level, option, value int) error {
	return syscall.SetsockoptInt(int(fd), level, option, value)
}

package metadata

import "syscall"

func setsockopt(fd uintptr, level, option, value int) error {
	return syscall.SetsockoptInt(syscall.Handle(fd), level, option, value)
}

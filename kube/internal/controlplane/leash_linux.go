package controlplane

import (
	"runtime"
	"syscall"
)

// Leash has the kernel end a process with the thread that started it, and keeps the terminal's signals away from it.
func Leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// Pin keeps the thread of this goroutine as long as the goroutine lives.
func Pin() { runtime.LockOSThread() }

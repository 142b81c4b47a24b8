package controlplane

import (
	"runtime"
	"syscall"
)

// leash has the kernel end a process with the thread that started it, and keeps the terminal's signals away from it.
func leash() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// pin keeps the thread of this goroutine as long as the goroutine lives.
func pin() { runtime.LockOSThread() }

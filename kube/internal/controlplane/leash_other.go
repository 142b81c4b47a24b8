//go:build !linux

package controlplane

import "syscall"

// leash does nothing on systems without a death signal: the caller stops the processes.
func leash() *syscall.SysProcAttr { return nil }

// pin does nothing there.
func pin() {}

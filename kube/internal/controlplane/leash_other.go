//go:build !linux

package controlplane

import "syscall"

// Leash does nothing on systems without a death signal: the caller stops the processes.
func Leash() *syscall.SysProcAttr { return nil }

// Pin does nothing there.
func Pin() {}

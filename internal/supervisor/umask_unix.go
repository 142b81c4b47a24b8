//go:build unix

package supervisor

import "syscall"

// private makes every file that this process and its children make readable for their owner alone.
func private() { syscall.Umask(0o077) }

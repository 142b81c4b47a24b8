package testguest

import (
	"os/exec"
	"syscall"
)

// dieWithTest has the kernel kill the process when the test's process dies,
// which also covers a test binary that is killed or times out.
func dieWithTest(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

//go:build e2e

package e2e

import (
	"testing"

	"github.com/vmseed/vmseed/internal/testguest"
)

// rootConsole is what makes the guest's kernel and its init give a root shell on the serial console, for pods that let
// nobody log in.
const rootConsole = "root=LABEL=root ro console=ttyS0 quiet mitigations=off no_timer_check " +
	"systemd.debug_shell=ttyS0 systemd.mask=serial-getty@ttyS0.service"

// openConsole connects to a VM's console, logs in and waits for a shell.
func openConsole(t *testing.T, v *vm) *testguest.Console {
	t.Helper()
	return testguest.OpenConsole(t, v.command(t.Context(), "console", v.name), v.console)
}

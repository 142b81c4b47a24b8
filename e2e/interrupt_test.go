//go:build e2e

package e2e

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestInterrupt ends vmseed run in the foreground in the ways that end a program. Nothing may be left behind. The disk is
// empty, so that the guest stays at its firmware's prompt.
func TestInterrupt(t *testing.T) {
	need(t, "qemu-system-x86_64", "qemu-system-x86")
	program := build(t)
	for _, c := range []struct {
		name   string
		signal syscall.Signal
		group  bool
		remove bool
		status int
	}{
		// A terminal sends Ctrl-C to all of the process group.
		{"Ctrl-C", syscall.SIGINT, true, false, 3},
		{"Ctrl-C with --rm", syscall.SIGINT, true, true, 3},
		{"SIGTERM", syscall.SIGTERM, false, false, 3},
		{"hang-up of the terminal", syscall.SIGHUP, true, false, -1},
		{"SIGKILL", syscall.SIGKILL, false, false, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			disk := filepath.Join(t.TempDir(), "disk.raw")
			if err := errors.Join(os.WriteFile(disk, nil, 0o600), os.Truncate(disk, 1<<20)); err != nil {
				t.Fatal(err)
			}
			v := newVM(t, program, "web")
			args := []string{"run", "--user-data", writeFile(t, "user-data", "#cloud-config\n"), "--hostname", v.name,
				"--image", disk, "--memory", "128Mi", "--accel", "tcg"}
			if c.remove {
				args = append(args, "--rm")
			}
			cmd := v.command(t.Context(), args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			// Started by nohup, the test would have children that are deaf to it; a signal that is listened to is not inherited.
			heard := make(chan os.Signal, 1)
			signal.Notify(heard, c.signal)
			err = cmd.Start()
			signal.Stop(heard)
			if err != nil {
				t.Fatal(err)
			}
			said := bufio.NewScanner(stderr)
			running := false
			for !running && said.Scan() {
				running = strings.Contains(said.Text(), " boot ")
			}
			state := v.inspect(t).State
			if !running || !alive(state.PID) || !alive(state.Supervisor) {
				t.Fatalf("before the signal: %+v", state)
			}
			target := cmd.Process.Pid
			if c.group {
				target = -target
			}
			if err := syscall.Kill(target, c.signal); err != nil {
				t.Fatal(err)
			}
			for said.Scan() {
				t.Log(said.Text())
			}
			err = cmd.Wait()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != c.status {
				t.Errorf("vmseed run ends with %v, want exit status %d", err, c.status)
			}
			mustEnd(t, state.PID, state.Supervisor)
			if left := processes(v.dir); len(left) > 0 {
				t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
			}
			if made, _ := os.ReadDir(v.dir); (len(made) == 0) != c.remove {
				t.Errorf("the state directory holds %v", made)
			}
		})
	}
}

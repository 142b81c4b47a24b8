//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmseed/vmseed/internal/testguest"
)

// The limits bound what should take far less, so that only what hangs reaches them, however busy the machine is.
const (
	bootLimit   = 20 * time.Minute
	answerLimit = 5 * time.Minute
)

// build makes the program under test.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "vmseed")
	if out, err := exec.Command("go", "build", "-trimpath", "-o", program, "../cmd/vmseed").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// need skips the test when a program is not installed.
func need(t *testing.T, program, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("SKIP-MISSING: %s is not installed (Debian package %s)", program, debianPackage)
	}
}

// vm is one VM of the test, in a state directory of its own.
type vm struct {
	program, dir, name string
	// user and key are the log-in for SSH; without a user questions go through the serial console, with the log-in there.
	user, key string
	console   testguest.Login
}

// newVM makes a state directory whose VM is removed at the end of the test, and with it every process.
func newVM(t *testing.T, program, name string) *vm {
	t.Helper()
	v := &vm{program: program, dir: t.TempDir(), name: name}
	t.Cleanup(func() {
		if made, _ := os.ReadDir(v.dir); len(made) == 0 {
			return
		}
		state := v.inspect(t).State
		if t.Failed() {
			v.explain(t)
		}
		// The test's context is over by now.
		if out, err := exec.Command(v.program, "rm", v.name, "--state-dir", v.dir).CombinedOutput(); err != nil {
			t.Errorf("vmseed rm: %v\n%s", err, out)
		}
		mustEnd(t, state.PID, state.Supervisor)
		if left := processes(v.dir); len(left) > 0 {
			t.Errorf("processes of the removed VM still run:\n%s", strings.Join(left, "\n"))
		}
		if left, _ := os.ReadDir(v.dir); len(left) > 0 {
			t.Errorf("the state directory still holds %v", left)
		}
	})
	return v
}

// command is a command of vmseed on this test's VMs.
func (v *vm) command(ctx context.Context, args ...string) *exec.Cmd {
	// The flag comes first: what follows a -- is the guest's.
	return exec.CommandContext(ctx, v.program, append([]string{args[0], "--state-dir", v.dir}, args[1:]...)...)
}

// run runs a command of vmseed and returns its exit status and all that it printed.
func (v *vm) run(t *testing.T, limit time.Duration, args ...string) (status int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	out, err := v.command(ctx, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("vmseed %s: %v\n%s", args[0], errors.Join(err, ctx.Err()), out)
	}
	if exit != nil {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// must runs a command of vmseed that has to succeed and returns what it printed.
func (v *vm) must(t *testing.T, limit time.Duration, args ...string) string {
	t.Helper()
	status, out := v.run(t, limit, args...)
	if status != 0 {
		t.Fatalf("vmseed %s: exit status %d\n%s", strings.Join(args, " "), status, out)
	}
	return out
}

// inspection is what vmseed inspect says of a VM, as far as the tests ask.
type inspection struct {
	State struct {
		Status, Accel   string
		PID, Supervisor int
		Credentials     *struct{ Status bool }
		FirstBoot       *struct {
			Source string
			Result *struct {
				FirstBoot  bool
				Instance   string
				DataSource string
				HostKeys   []string
				Seconds    map[string]float64
			}
		}
	}
	Plan struct {
		Attempts []struct {
			Accel string
			Args  []string
		}
	}
}

func (v *vm) inspect(t *testing.T) inspection {
	t.Helper()
	var i inspection
	// Also used when the test's context is over.
	out, err := exec.Command(v.program, "inspect", v.name, "--state-dir", v.dir).Output()
	if err == nil {
		err = json.Unmarshal(out, &i)
	}
	if err != nil {
		t.Errorf("vmseed inspect: %v\n%s", err, out)
	}
	return i
}

// device is one -device of QEMU's command line.
type device map[string]any

// devices are those that QEMU was told to make.
func (v *vm) devices(t *testing.T) []device {
	t.Helper()
	var all []device
	for _, a := range v.inspect(t).Plan.Attempts {
		if a.Accel != v.inspect(t).State.Accel {
			continue
		}
		for i, arg := range a.Args {
			var d device
			if i > 0 && a.Args[i-1] == "-device" && json.Unmarshal([]byte(arg), &d) == nil {
				all = append(all, d)
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("vmseed inspect shows no device")
	}
	return all
}

// explain logs what there is to know of a VM that disappointed.
func (v *vm) explain(t *testing.T) {
	inspected, _ := exec.Command(v.program, "inspect", v.name, "--state-dir", v.dir).CombinedOutput()
	console, _ := exec.Command(v.program, "logs", v.name, "--state-dir", v.dir).CombinedOutput()
	t.Logf("--- vmseed inspect ---\n%s\n--- end of the console ---\n%s", inspected, tail(console, 6000))
	logs, _ := filepath.Glob(filepath.Join(v.dir, "*", "supervisor.log"))
	for _, path := range logs {
		log, _ := os.ReadFile(path)
		t.Logf("--- supervisor ---\n%s", tail(log, 6000))
	}
}

func tail(text []byte, n int) []byte { return text[max(0, len(text)-n):] }

// processes are the QEMUs and supervisors whose command line names a directory.
func processes(dir string) []string {
	var found []string
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range entries {
		line, err := os.ReadFile(path)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, fmt.Sprintf("%s: %s", filepath.Base(filepath.Dir(path)), bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// mustEnd waits until processes are gone; 0 is none.
func mustEnd(t *testing.T, pids ...int) {
	t.Helper()
	deadline := time.Now().Add(answerLimit)
	for _, pid := range pids {
		for pid != 0 && alive(pid) {
			if time.Now().After(deadline) {
				t.Errorf("process %d still runs", pid)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// alive reports whether a process runs; one that is dead and not yet waited for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(after, "Z") && !strings.HasPrefix(after, "X")
}

// ask runs a shell script as root in the guest and returns what it printed.
func (v *vm) ask(t *testing.T, script string) string {
	t.Helper()
	if v.user == "" {
		c := openConsole(t, v)
		defer c.Close()
		return c.Ask(t, script)
	}
	ctx, cancel := context.WithTimeout(t.Context(), answerLimit)
	defer cancel()
	cmd := v.command(ctx, "ssh", "-u", v.user, "-i", v.key, v.name, "--", "sudo", "sh", "-s")
	cmd.Stdin = strings.NewReader(script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("vmseed ssh: %v\n%s%s", err, out, &stderr)
	}
	return string(out)
}

// writeFile writes a file of the test and returns its path.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tool runs a program of the host that must succeed.
func tool(t *testing.T, stdin io.Reader, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdin = stdin
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// startProcess starts a program in a session of its own, so that no terminal's signal reaches it. With tied, the kernel
// kills it when this process dies. The result gets the program's end.
func startProcess(cmd *exec.Cmd, tied bool) (<-chan error, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if tied {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	started, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		// The kernel ties the program to the thread that starts it, so the thread must live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return ended, <-started
}

// processesIn finds the processes that run a program, or a helper of it, in a VM's directory. That survives everything
// that a crash can lose, and no other process has this directory for its own.
func processesIn(dir string, programs ...string) []int {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	names, _ := filepath.Glob("/proc/[0-9]*/cwd")
	var out []int
	for _, name := range names {
		cwd, err := os.Readlink(name)
		if err != nil || cwd != dir {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if err != nil {
			continue
		}
		first, _, _ := strings.Cut(string(line), "\x00")
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		for _, p := range programs {
			if err == nil && first == p && pid != os.Getpid() {
				out = append(out, pid)
			}
		}
	}
	return out
}

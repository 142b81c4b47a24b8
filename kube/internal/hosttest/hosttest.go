//go:build linux

// Package hosttest gives the tests of a package a host of their own: a network and a mount namespace, in which they may
// make bridges and name namespaces without touching the machine that runs them.
package hosttest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside marks the process that is in the namespaces.
const inside = "VMSEED_HOSTTEST_INSIDE"

// machineNet is the network namespace of the machine, which the process outside hands down.
const machineNet = "/proc/self/fd/3"

// Main runs the tests of a package in namespaces of their own, and returns the status to exit with: what TestMain does.
// Without the rights of root they are skipped, for the reason that why gives. In is called in there: it furnishes the host
// and runs the tests.
func Main(why string, in func() (status int)) int {
	switch {
	case os.Getenv(inside) != "":
		return in()
	case os.Geteuid() != 0:
		fmt.Println("SKIP-MISSING: " + why)
		return 0
	}
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer own.Close()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.ExtraFiles = []*os.File{own} // machineNet
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// SIGQUIT, by which `go test` ends tests that take too long, is for both processes.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Machine moves the rest of a test, and the programs that it starts, into the network of the machine: what is not in the
// caches may have to be fetched.
func Machine(t *testing.T) {
	t.Helper()
	Enter(t, machineNet)
}

// Enter moves the rest of a test, and the programs that it starts, into a network namespace. The test should be a subtest:
// its thread is never used again.
func Enter(t *testing.T, namespace string) {
	t.Helper()
	ns, err := os.Open(namespace)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	runtime.LockOSThread()
	if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
}

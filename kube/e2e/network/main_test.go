//go:build e2e && linux && extended

package network

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// inside marks the process that runs the tests in namespaces of their own.
const inside = "KUBE_E2E_NETWORK_INSIDE"

// machineNet is the network namespace of the machine that runs the tests, which TestMain hands down: what is not in the
// caches may have to be fetched.
const machineNet = "/proc/self/fd/3"

// heard counts who was heard at the address of clouds' metadata services on the host, which is not for guests.
var heard atomic.Int32

// TestMain runs the tests in a network and a mount namespace of their own: what the node and its plugins do to the host
// they do there.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv(inside) != "":
		err := furnish()
		status := 1
		if err == nil {
			status = m.Run()
			err = lab.end(status != 0)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
		os.Exit(status)
	case os.Geteuid() != 0:
		fmt.Println("SKIP-MISSING: CNI plugins need root")
		os.Exit(0)
	}
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.ExtraFiles = []*os.File{own} // machineNet
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	// SIGQUIT, by which `go test` ends tests that take too long, is for both; the VMs end with the inner one's clean-up or
	// are left to their supervisors, as on any host.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		os.Exit(max(exit.ExitCode(), 1))
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// furnish makes the namespaces into a host that forwards packets, with a service for guests at every address, and a
// metadata service that is not for them.
func furnish() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	metadata, err := netlink.ParseAddr("169.254.169.254/32")
	if err != nil {
		return err
	}
	// Names of namespaces are for these tests alone.
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		return err
	}
	err = errors.Join(netlink.LinkSetUp(lo), netlink.AddrAdd(lo, metadata), unix.Mount("netns", "/run/netns", "tmpfs", 0, ""),
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644),
		os.WriteFile("/proc/sys/net/ipv6/conf/all/forwarding", []byte("1"), 0o644),
		os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0o644))
	if err != nil {
		return err
	}
	greeting, err := net.Listen("tcp", ":7")
	if err != nil {
		return err
	}
	go func() {
		for {
			c, err := greeting.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintln(c, "host")
			_ = c.Close()
		}
	}()
	canary, err := net.Listen("tcp", "169.254.169.254:80")
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(canary, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	}()
	return nil
}

// onMachine runs a subtest in the network of the machine, with the programs that it starts. Its thread ends with it.
func onMachine(t *testing.T, name string, do func(t *testing.T)) {
	t.Helper()
	ok := t.Run(name, func(t *testing.T) {
		ns, err := os.Open(machineNet)
		if err != nil {
			t.Fatal(err)
		}
		defer ns.Close()
		runtime.LockOSThread()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			t.Fatal(err)
		}
		do(t)
	})
	if !ok {
		t.FailNow()
	}
}

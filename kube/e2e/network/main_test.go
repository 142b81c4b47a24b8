//go:build e2e && linux

package network

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/kube/internal/hosttest"
)

// heard counts who was heard at the address of clouds' metadata services on the host, which is not for guests.
var heard atomic.Int32

// TestMain runs the tests in a network and a mount namespace of their own: what the node and its plugins do to the host
// they do there. The VMs of tests that are ended from outside are left to their supervisors, as on any host.
func TestMain(m *testing.M) {
	os.Exit(hosttest.Main("CNI plugins need root", func() int {
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
		return status
	}))
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

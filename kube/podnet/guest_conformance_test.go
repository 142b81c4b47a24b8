//go:build conformance && linux

package podnet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/frontend/cniresult"
	"github.com/vmseed/vmseed/machine"
)

// guest is a Linux without a VM: a namespace whose NICs are joined with a pod's taps frame by frame, as a hypervisor
// does, and are configured by nothing but the pod's results.
type guest struct {
	ns    string
	facts machine.Facts
}

// boot starts a guest at an attachment.
func boot(t *testing.T, a Attachment) guest {
	t.Helper()
	facts, diags := cniresult.Read("results", a.Results)
	if diags.HasErrors() || len(facts.NICs) != len(a.Taps) {
		t.Fatalf("%d NICs for %d taps; %v\n%s", len(facts.NICs), len(a.Taps), diags, a.Results)
	}
	for _, d := range diags {
		t.Errorf("the results leave something open: %v\n%s", d, a.Results)
	}
	dir := t.TempDir()
	g := guest{filepath.Join(dir, "guest"), facts}
	if err := createNamespace(g.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeNamespace(g.ns); unix.Unmount(dir, unix.MNT_DETACH) })
	for i, tap := range a.Taps {
		if facts.NICs[i].Name != tap.NIC {
			t.Errorf("the guest's NIC is %q, the tap's %q", facts.NICs[i].Name, tap.NIC)
		}
		var outer, inner *os.File
		err := within(tap.Namespace, func() (err error) { outer, err = openTap(tap.Device); return err })
		if err == nil {
			err = within(g.ns, func() (err error) { inner, err = openTap(tap.NIC); return err })
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { outer.Close(); inner.Close() })
		go relay(outer, inner)
		go relay(inner, outer)
	}
	for _, n := range facts.NICs {
		if err := within(g.ns, func() error { return configure(n) }); err != nil {
			t.Fatalf("configure %s: %v", n.Name, err)
		}
	}
	return g
}

func openTap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	request, err := unix.NewIfreq(name)
	if err != nil {
		return nil, err
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("open tap %s: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// relay copies frames, one a time, until either end is closed.
func relay(to io.Writer, from io.Reader) {
	frame := make([]byte, 65536)
	for {
		n, err := from.Read(frame)
		if err != nil {
			return
		}
		if _, err := to.Write(frame[:n]); errors.Is(err, os.ErrClosed) {
			return // other errors are frames that come too early
		}
	}
}

// configure does to a NIC what its facts say, as the guest's own network configuration would.
func configure(n machine.NIC) error {
	l, err := netlink.LinkByName(n.Name)
	if err != nil {
		return err
	}
	mac, err := net.ParseMAC(n.MAC)
	if err != nil {
		return err
	}
	if err := errors.Join(sysctl("ipv6/conf/"+n.Name+"/accept_dad", "0"), netlink.LinkSetHardwareAddr(l, mac), netlink.LinkSetMTU(l, n.MTU), netlink.LinkSetUp(l)); err != nil {
		return err
	}
	for _, a := range n.Addrs {
		ip := ipnet(a)
		if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: &ip, Flags: unix.IFA_F_NODAD}); err != nil {
			return fmt.Errorf("address %s: %w", a, err)
		}
	}
	routes := append([]machine.Route{}, n.Routes...)
	for _, gw := range []netip.Addr{n.Gateway4, n.Gateway6} {
		if gw.IsValid() {
			all := netip.PrefixFrom(netip.IPv6Unspecified(), 0)
			if gw.Is4() {
				all = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
			}
			routes = append(routes, machine.Route{To: all, Via: gw, OnLink: true})
		}
	}
	for _, r := range routes {
		to := ipnet(r.To)
		one := &netlink.Route{LinkIndex: l.Attrs().Index, Dst: &to, Gw: r.Via.AsSlice()}
		if r.OnLink {
			one.Flags = int(netlink.FLAG_ONLINK)
		}
		if err := netlink.RouteAdd(one); err != nil {
			return fmt.Errorf("route to %s by %s: %w", r.To, r.Via, err)
		}
	}
	return nil
}

// limit bounds what takes milliseconds, however busy the machine is.
const limit = 2 * time.Minute

// serve answers TCP on an address in a namespace: each connection gets the name and then everything back that it sends.
func serve(t *testing.T, ns, address, name string) {
	t.Helper()
	var l net.Listener
	err := within(ns, func() (err error) { l, err = net.Listen("tcp", address); return err })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintln(c, name)
				io.Copy(c, c)
			}()
		}
	}()
}

// call connects from a namespace and demands the name and half a megabyte back, which many full frames carry.
func call(ns, address, name string) error {
	return within(ns, func() error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		const size = 1 << 19
		go func() {
			c.Write(make([]byte, size))
			c.(*net.TCPConn).CloseWrite()
		}()
		all, err := io.ReadAll(c)
		if err == nil && (len(all) != len(name)+1+size || string(all[:len(name)]) != name) {
			return fmt.Errorf("%d octets came back, the first %q; want %q and %d", len(all), all[:min(len(all), 20)], name, size)
		}
		return err
	})
}

func mustCall(t *testing.T, who, ns, address, name string) {
	t.Helper()
	if err := call(ns, address, name); err != nil {
		t.Errorf("%s calls %s at %s: %v", who, name, address, err)
	}
}

// tryOnce tries to connect for as long as a connection that is let through never takes.
func tryOnce(ns, address string) error {
	return within(ns, func() error {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err
	})
}

// host is the namespace that stands for the host's.
const host = "/proc/thread-self/ns/net"

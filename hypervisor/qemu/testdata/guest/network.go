//go:build linux

package main

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// configure gives the first NIC an IPv4 address, a default route, and waits for an IPv6 address by router
// advertisement where there is one.
func configure(address, gateway string) error {
	prefix, err := netip.ParsePrefix(address)
	if err != nil {
		return err
	}
	name, err := firstNIC()
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	set := func(request uint, a netip.Addr) error {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if err := r.SetInet4Addr(a.AsSlice()); err != nil {
			return err
		}
		return unix.IoctlIfreq(fd, request, r)
	}
	mask, _ := netip.AddrFromSlice(net.CIDRMask(prefix.Bits(), 32))
	if err := set(unix.SIOCSIFADDR, prefix.Addr()); err != nil {
		return fmt.Errorf("address: %w", err)
	}
	if err := set(unix.SIOCSIFNETMASK, mask); err != nil {
		return fmt.Errorf("mask: %w", err)
	}
	up, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	up.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, up); err != nil {
		return fmt.Errorf("up: %w", err)
	}
	if err := route(name, gateway); err != nil {
		return fmt.Errorf("route: %w", err)
	}
	// A router advertisement comes within seconds where there is a router.
	for range 10 {
		text, _ := os.ReadFile("/proc/net/if_inet6")
		if strings.Contains(string(text), "fd00") || strings.Contains(string(text), "fec0") {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	return nil
}

func firstNIC() (string, error) {
	nics, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, n := range nics {
		if n.Flags&net.FlagLoopback == 0 && len(n.HardwareAddr) == 6 {
			return n.Name, nil
		}
	}
	return "", fmt.Errorf("there is no NIC")
}

// route adds a default route by netlink (rtnetlink(7)).
func route(name, gateway string) error {
	via, err := netip.ParseAddr(gateway)
	if err != nil {
		return err
	}
	nic, err := net.InterfaceByName(name)
	if err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	hop, index := via.As4(), uint32(nic.Index)
	body := []byte{unix.AF_INET, 0, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST, 0, 0, 0, 0}
	body = append(body, 8, 0, unix.RTA_GATEWAY, 0, hop[0], hop[1], hop[2], hop[3])
	body = append(body, 8, 0, unix.RTA_OIF, 0, byte(index), byte(index>>8), byte(index>>16), byte(index>>24))
	length := uint32(16 + len(body))
	message := []byte{byte(length), byte(length >> 8), 0, 0, unix.RTM_NEWROUTE, 0}
	flags := uint16(unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE)
	message = append(message, byte(flags), byte(flags>>8), 1, 0, 0, 0, 0, 0, 0, 0)
	if err := unix.Sendto(fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return err
	}
	if n >= 20 {
		if code := int32(uint32(answer[16]) | uint32(answer[17])<<8 | uint32(answer[18])<<16 | uint32(answer[19])<<24); code != 0 {
			return unix.Errno(-code)
		}
	}
	return nil
}

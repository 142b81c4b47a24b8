package supervisor

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hostCID is the number of the host among the machines that speak by virtio sockets (vsock(7)).
const hostCID = unix.VMADDR_CID_HOST

// vhostDevice is the kernel's half of the device.
const vhostDevice = "/dev/vhost-vsock"

// setGuestCID is VHOST_VSOCK_SET_GUEST_CID of linux/vhost.h.
const setGuestCID = 0x4008af60

// claimCID returns a number for a guest that no other guest of the host has: the one it had, else one that follows from its
// UUID, else one behind that.
func claimCID(had uint32, uuid string) (uint32, error) {
	f, err := os.OpenFile(vhostDevice, os.O_RDWR, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoVsock, err)
	}
	defer f.Close() // which gives the number back, for QEMU to take
	h := fnv.New32a()
	_, _ = h.Write([]byte(uuid))
	candidates := []uint32{had}
	for i := range uint32(64) {
		candidates = append(candidates, h.Sum32()+i)
	}
	for _, cid := range candidates {
		if cid <= hostCID || cid >= unix.VMADDR_CID_ANY {
			continue
		}
		switch err = setCID(f, cid); {
		case err == nil:
			return cid, nil
		case !errors.Is(err, unix.EADDRINUSE):
			return 0, fmt.Errorf("%s: %w", vhostDevice, err)
		}
	}
	return 0, fmt.Errorf("%s: %w", vhostDevice, err)
}

// listenVsock listens on a port until ctx ends. The channel is closed then.
func listenVsock(ctx context.Context, port uint32) (<-chan caller, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoVsock, err)
	}
	if err = unix.Bind(fd, &unix.SockaddrVM{CID: unix.VMADDR_CID_ANY, Port: port}); err == nil {
		err = unix.Listen(fd, notifyCalls)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("listening on the virtio socket %d: %w", port, err)
	}
	// A file, because package net knows no sockets of this family; Go's poller does.
	socket := os.NewFile(uintptr(fd), "vsock")
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, socket.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = socket.Close() })
	calls := make(chan caller)
	go func() {
		defer close(calls)
		defer stop()
		for {
			call, err := accept(raw)
			if errors.Is(err, unix.ECONNABORTED) {
				continue
			}
			if err != nil {
				_ = socket.Close()
				return
			}
			select {
			case calls <- call:
			case <-ctx.Done():
				_ = call.Close()
			}
		}
	}()
	return calls, nil
}

// accept waits for a connection.
func accept(raw syscall.RawConn) (caller, error) {
	var fd int
	var from unix.Sockaddr
	var err error
	waited := raw.Read(func(listener uintptr) bool {
		fd, from, err = unix.Accept4(int(listener), unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
	})
	if err = errors.Join(waited, err); err != nil {
		return caller{}, err
	}
	conn := os.NewFile(uintptr(fd), "vsock")
	call := caller{ReadCloser: conn, deadline: conn.SetReadDeadline}
	if address, ok := from.(*unix.SockaddrVM); ok {
		call.cid, call.port = address.CID, address.Port
	}
	return call, nil
}

// setCID gives the guest behind the device a number.
func setCID(device *os.File, cid uint32) error {
	number := uint64(cid)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), setGuestCID, uintptr(unsafe.Pointer(&number))); errno != 0 {
		return errno
	}
	return nil
}

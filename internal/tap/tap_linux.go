package tap

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// inside runs f in a device's network namespace: sockets and devices that it opens stay there.
func (d Device) inside(f func() error) error {
	if d.Namespace == "" {
		return d.named(f())
	}
	namespace, err := os.Open(d.Namespace)
	if err != nil {
		return d.named(err)
	}
	defer namespace.Close()
	done := make(chan error, 1)
	go func() {
		// A thread that finds no way back stays locked, so it ends with the goroutine and no other code ever runs in the
		// namespace. The process's first thread would not end, and keep the namespace alive as long as the process.
		runtime.LockOSThread()
		back, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			runtime.UnlockOSThread()
			done <- err
			return
		}
		defer back.Close()
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			err = fmt.Errorf("enter %s: %w", d.Namespace, err)
		} else {
			err = f()
		}
		if unix.Setns(int(back.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
		done <- err
	}()
	return d.named(<-done)
}

func (d Device) named(err error) error {
	if err != nil {
		return fmt.Errorf("tap device %s: %w", d.Name, err)
	}
	return nil
}

// Open opens a tap device that there is already, as QEMU's option -netdev tap,fd= needs it: frames follow a header of
// virtio-net. The error wraps os.ErrNotExist when there is no such device, and unix.EBUSY when another guest has it.
func Open(d Device) (*os.File, error) {
	var tap *os.File
	err := d.inside(func() error {
		if _, err := net.InterfaceByName(d.Name); err != nil {
			return fmt.Errorf("%w: %w", os.ErrNotExist, err) // opening it would make one that is connected to nothing
		}
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return err
		}
		request, err := unix.NewIfreq(d.Name)
		if err == nil {
			request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			return errors.Join(err, unix.Close(fd))
		}
		tap = os.NewFile(uintptr(fd), d.Name)
		return nil
	})
	return tap, err
}

// Port is a way to exchange frames with the guest at a tap device. Frames of the guest come in before the device's
// filter drops them; frames that are written reach the guest alone, whatever the filter says.
type Port struct{ file *os.File }

// Listen opens the port of a device, for those of the guest's frames that the filter makes its user answer.
func Listen(d Device, f Filter) (*Port, error) {
	var p *Port
	err := d.inside(func() error {
		device, err := net.InterfaceByName(d.Name)
		if err != nil {
			return err
		}
		p, err = open(device.Index, interesting(f), true)
		return err
	})
	return p, err
}

// open makes a packet socket that takes the incoming frames of a device which a program passes. What is written goes out
// without a look at filters when direct is set.
func open(device int, filter *program, direct bool) (*Port, error) {
	code, err := filter.assemble()
	if err != nil {
		return nil, err
	}
	// It gets nothing until it is bound, so nothing that the filter does not pass.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (*Port, error) { return nil, errors.Join(err, unix.Close(fd)) }
	if err := attach(fd, code); err != nil {
		return fail(err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return fail(err)
	}
	if direct {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
			return fail(err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: network(unix.ETH_P_ALL), Ifindex: device}); err != nil {
		return fail(err)
	}
	return &Port{os.NewFile(uintptr(fd), "packets")}, nil
}

// attach gives a socket its filter.
func attach(fd int, code []byte) error {
	filters := make([]unix.SockFilter, len(code)/instructionSize)
	for i := range filters {
		in := code[i*instructionSize:]
		filters[i] = unix.SockFilter{Code: native16(in), Jt: in[2], Jf: in[3], K: native32(in[4:])}
	}
	return unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]})
}

// Read reads a frame. Its checksums are not filled in: a guest leaves that to the hardware that its NIC pretends to be.
func (p *Port) Read(frame []byte) (int, error) { return p.file.Read(frame) }

// Write sends a frame.
func (p *Port) Write(frame []byte) (int, error) { return p.file.Write(frame) }

// Close ends Read as well.
func (p *Port) Close() error { return p.file.Close() }

// Uplink is a way to ask neighbours on the network that a tap device is connected to: its frames go out on the bridge
// that the device is a port of, and come in when they are neighbours' answers (RFC 4861, section 4.4).
type Uplink struct {
	Port
	mac net.HardwareAddr
}

// Neighbours opens the uplink of a device. The error wraps os.ErrNotExist when the device is no port of a bridge.
func Neighbours(d Device) (*Uplink, error) {
	var u *Uplink
	err := d.inside(func() error {
		device, err := net.InterfaceByName(d.Name)
		if err != nil {
			return err
		}
		index, err := master(device.Index)
		if err != nil {
			return err
		}
		bridge, err := net.InterfaceByIndex(index)
		if err != nil {
			return err
		}
		p, err := open(bridge.Index, advertisements(), false)
		if err == nil {
			u = &Uplink{Port: *p, mac: bridge.HardwareAddr}
		}
		return err
	})
	return u, err
}

// MAC is the address that the uplink's frames must come from, so that answers reach it.
func (u *Uplink) MAC() net.HardwareAddr { return u.mac }

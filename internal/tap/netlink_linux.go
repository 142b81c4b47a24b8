package tap

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Numbers of Linux's traffic control (linux/pkt_sched.h, linux/pkt_cls.h).
const (
	instructionSize = 8
	clsactHandle    = 0xffff0000
	clsactParent    = 0xfffffff1
	ingressParent   = 0xfffffff2
	egressParent    = 0xfffffff3
	// priority puts the filter before those of others, handle lets it be replaced.
	priority, handle = 1, 1
	bpfOpsLen        = 4
	bpfOps           = 5
	bpfFlags         = 8
	directAction     = 1
	nested           = 0x8000
)

func native16(b []byte) uint16 { return binary.NativeEndian.Uint16(b) }
func native32(b []byte) uint32 { return binary.NativeEndian.Uint32(b) }

// network turns a number to the byte order of networks.
func network(n uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, n))
}

// Protect keeps the guest of a device from metadata services, and from what the filter says beside them. It may be called
// again, with another filter as well: there is no moment without one.
func Protect(d Device, f Filter) error {
	return d.inside(func() error {
		device, err := net.InterfaceByName(d.Name)
		if err != nil {
			return err
		}
		link, err := dialNetlink()
		if err != nil {
			return err
		}
		defer link.close()
		kind := attribute(unix.TCA_KIND, []byte("clsact\x00"))
		_, err = link.ask(unix.RTM_NEWQDISC, unix.NLM_F_CREATE|unix.NLM_F_EXCL, control(device.Index, clsactHandle, clsactParent, 0), kind)
		if err != nil && err != unix.EEXIST {
			return fmt.Errorf("its filter (sch_ingress): %w", err)
		}
		out := newProgram() // passes everything
		if f.Answered {
			out = toGuest()
		} else {
			out.end("pass", further)
		}
		for parent, filter := range map[uint32]*program{ingressParent: fromGuest(f), egressParent: out} {
			code, err := filter.assemble()
			if err != nil {
				return err
			}
			options := attribute(bpfOpsLen, binary.NativeEndian.AppendUint16(nil, uint16(len(code)/instructionSize)))
			options = append(options, attribute(bpfOps, code)...)
			options = append(options, attribute(bpfFlags, binary.NativeEndian.AppendUint32(nil, directAction))...)
			info := uint32(priority)<<16 | uint32(network(unix.ETH_P_ALL))
			_, err = link.ask(unix.RTM_NEWTFILTER, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, control(device.Index, handle, parent, info),
				attribute(unix.TCA_KIND, []byte("bpf\x00")), attribute(unix.TCA_OPTIONS|nested, options))
			if err != nil {
				return fmt.Errorf("its filter (cls_bpf): %w", err)
			}
		}
		return nil
	})
}

// master returns the number of the bridge that a device is a port of.
func master(device int) (int, error) {
	value, err := describe(device, unix.IFLA_MASTER)
	if err == nil && len(value) < 4 {
		err = fmt.Errorf("%w: it is no port of a bridge", os.ErrNotExist)
	}
	if err != nil {
		return 0, err
	}
	return int(native32(value)), nil
}

// Traffic counts the bytes that the guest of a device has received and sent.
func Traffic(d Device) (received, sent int64, err error) {
	err = d.inside(func() error {
		device, err := net.InterfaceByName(d.Name)
		if err != nil {
			return err
		}
		counters, err := describe(device.Index, unix.IFLA_STATS64) // struct rtnl_link_stats64
		if err != nil || len(counters) < 32 {
			return err
		}
		sent, received = int64(binary.NativeEndian.Uint64(counters[16:])), int64(binary.NativeEndian.Uint64(counters[24:]))
		return nil
	})
	return received, sent, err
}

// describe returns an attribute of a device, nil when it has none of the kind.
func describe(device int, wanted uint16) ([]byte, error) {
	link, err := dialNetlink()
	if err != nil {
		return nil, err
	}
	defer link.close()
	request := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(request[4:], uint32(device))
	answer, err := link.ask(unix.RTM_GETLINK, 0, request)
	if err != nil {
		return nil, err
	}
	for rest := answer[min(unix.SizeofIfInfomsg, len(answer)):]; len(rest) >= unix.SizeofRtAttr; {
		size, kind := int(native16(rest)), native16(rest[2:])
		if size < unix.SizeofRtAttr || size > len(rest) {
			break
		}
		if kind == wanted {
			return rest[unix.SizeofRtAttr:size], nil
		}
		rest = rest[min(aligned(size), len(rest)):]
	}
	return nil, nil
}

// control is the head of a message to traffic control (struct tcmsg).
func control(device int, handle, parent, info uint32) []byte {
	head := make([]byte, 4, 20)
	for _, field := range []uint32{uint32(device), handle, parent, info} {
		head = binary.NativeEndian.AppendUint32(head, field)
	}
	return head
}

func aligned(n int) int { return (n + 3) &^ 3 }

// attribute is one of a netlink message (struct rtattr).
func attribute(kind uint16, value []byte) []byte {
	size := unix.SizeofRtAttr + len(value)
	out := binary.NativeEndian.AppendUint16(nil, uint16(size))
	out = binary.NativeEndian.AppendUint16(out, kind)
	out = append(out, value...)
	return append(out, make([]byte, aligned(size)-size)...)
}

// netlink is a connection to the kernel's network configuration, in the namespace in which it was made.
type netlink struct {
	fd       int
	sequence uint32
}

func dialNetlink() (*netlink, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	return &netlink{fd: fd}, nil
}

func (l *netlink) close() { _ = unix.Close(l.fd) }

// ask sends a request and returns the body of the answer, which is empty for most. The error is the kernel's.
func (l *netlink) ask(kind, flags uint16, parts ...[]byte) ([]byte, error) {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	l.sequence++
	flags |= unix.NLM_F_REQUEST
	if kind != unix.RTM_GETLINK {
		flags |= unix.NLM_F_ACK
	}
	message := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, flags)
	message = binary.NativeEndian.AppendUint32(message, l.sequence)
	message = binary.NativeEndian.AppendUint32(message, 0)
	if err := unix.Sendto(l.fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	answer := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(l.fd, answer, 0)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n < unix.SizeofNlMsghdr+4:
			return nil, fmt.Errorf("the kernel answers with %d bytes", n)
		case native32(answer[8:]) != l.sequence:
			continue
		}
		size := max(min(n, int(native32(answer))), unix.SizeofNlMsghdr)
		if native16(answer[4:]) != unix.NLMSG_ERROR {
			return answer[unix.SizeofNlMsghdr:size], nil
		}
		if code := int32(native32(answer[unix.SizeofNlMsghdr:])); code != 0 {
			return nil, unix.Errno(-code)
		}
		return nil, nil
	}
}

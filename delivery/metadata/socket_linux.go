package metadata

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// tcpHops limits the hops of a connection of TCP.
type tcpHops struct {
	raw           syscall.RawConn
	level, option int
}

// newTCPHops prepares for a connection. The options of IPv4 count for mapped addresses too, whose sockets are of IPv6.
func newTCPHops(c *net.TCPConn) hopLimiter {
	raw, err := c.SyscallConn()
	if err != nil {
		return noHops{err}
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok && a.IP.To4() == nil {
		return tcpHops{raw, unix.IPPROTO_IPV6, unix.IPV6_UNICAST_HOPS}
	}
	return tcpHops{raw, unix.IPPROTO_IP, unix.IP_TTL}
}

// SetHopLimit sets the socket's. -1 is the system's default (ip(7), ipv6(7)).
func (t tcpHops) SetHopLimit(limit int) error {
	if limit == 0 {
		limit = -1
	}
	return t.do(func(fd int) error { return unix.SetsockoptInt(fd, t.level, t.option, limit) })
}

// Unacknowledged asks how much the socket would have to send once more if it had to (tcp(7), SIOCOUTQ).
func (t tcpHops) Unacknowledged() (n int, err error) {
	err = t.do(func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err
	})
	return n, err
}

func (t tcpHops) do(f func(fd int) error) error {
	var inner error
	if err := t.raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// arrived reads what is there without waiting, whatever the deadline says.
func arrived(c net.Conn, p []byte) (n int) {
	tcp, ok := c.(*net.TCPConn)
	if !ok || len(p) == 0 {
		return 0
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return 0
	}
	if raw.Control(func(fd uintptr) { n, err = unix.Read(int(fd), p) }) != nil || err != nil {
		return 0
	}
	return n
}

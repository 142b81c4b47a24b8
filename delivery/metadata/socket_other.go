//go:build !linux

package metadata

import (
	"net"
	"syscall"
)

// tcpHops limits the hops of a connection of TCP. What has arrived is not known here, so connections end behind a token.
type tcpHops struct {
	raw           syscall.RawConn
	level, option int
}

func newTCPHops(c *net.TCPConn) hopLimiter {
	raw, err := c.SyscallConn()
	if err != nil {
		return noHops{err}
	}
	if a, ok := c.RemoteAddr().(*net.TCPAddr); ok && a.IP.To4() == nil {
		return tcpHops{raw, syscall.IPPROTO_IPV6, syscall.IPV6_UNICAST_HOPS}
	}
	return tcpHops{raw, syscall.IPPROTO_IP, syscall.IP_TTL}
}

// SetHopLimit sets the socket's.
func (t tcpHops) SetHopLimit(limit int) (err error) {
	failed := t.raw.Control(func(fd uintptr) { err = setsockopt(fd, t.level, t.option, limit) })
	if failed != nil {
		return failed
	}
	return err
}

// arrived would read what is there without waiting.
func arrived(net.Conn, []byte) int { return 0 }

package metadata

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// conn is a guest's connection.
type conn struct {
	net.Conn
	// remote is the guest's address; one of IPv4 is never mapped into IPv6.
	remote netip.AddrPort
	leave  func()
	// spoken is set when the guest has said something.
	spoken bool
	// aborted is set while a read is to end at once, which net/http asks for after each answer.
	aborted atomic.Bool

	// What follows belongs to the one request that a connection answers at a time.
	hops hopLimiter
	// low is the limit that has taken the place of the usual one, or 0.
	low int
}

func newConn(raw net.Conn) *conn {
	c := &conn{Conn: raw}
	if a := raw.RemoteAddr(); a != nil {
		c.remote = parseAddr(a.String())
	}
	return c
}

// Read reads what the guest sends. The time for a head begins with its first byte: a guest on a busy host may connect long
// before it comes to speak. What has arrived in time counts, even if the server comes to it late: one that has too much
// to do would otherwise turn away those whom it has kept waiting.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n == 0 && !c.aborted.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
		if n = arrived(c.Conn, p); n > 0 {
			err = nil
		}
	}
	if n > 0 && !c.spoken {
		c.spoken = true
		_ = c.SetReadDeadline(time.Now().Add(headTime))
	}
	return n, err
}

// longAgo is in 1970, before any deadline that is meant as one.
const longAgo = 3600

// SetReadDeadline gives the guest more time for its first byte than for the rest.
func (c *conn) SetReadDeadline(t time.Time) error {
	aborted := !t.IsZero() && t.Unix() < longAgo
	if c.aborted.Store(aborted); !c.spoken && !aborted && !t.IsZero() {
		t = t.Add(silentTime - headTime)
	}
	return c.Conn.SetReadDeadline(t)
}

// Close ends the connection.
func (c *conn) Close() error {
	if c.leave != nil {
		c.leave()
	}
	return c.Conn.Close()
}

// CloseWrite tells the guest that no more comes, so that it reads an answer to its end before the connection is gone.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// connKey is where the context of a request has its connection.
type connKey struct{}

// ConnContext is for the field of the same name of an http.Server which runs a Handler instead of Serve. Without it the
// answers with session tokens have no hop limit. A listener that wraps connections of TCP has to pass their hop limit on,
// as Serve has it, or guests get no tokens.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	own, ok := c.(*conn)
	if !ok {
		own = newConn(c)
	}
	return context.WithValue(ctx, connKey{}, own)
}

func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

// hopLimiter is a connection whose segments can be kept from going far.
type hopLimiter interface {
	// SetHopLimit sets the time to live (IPv4) or hop limit (IPv6) of all that leaves from now on, segments that are sent
	// once more included. 0 stands for the system's default.
	SetHopLimit(limit int) error
}

// acknowledger is a hopLimiter that knows what has arrived.
type acknowledger interface {
	// Unacknowledged is the number of bytes that were written and that the peer has not confirmed.
	Unacknowledged() (int, error)
}

// lowerHops makes what leaves from now on go no further than limit. It reports whether the connection can be kept.
func (c *conn) lowerHops(limit int) (keep bool, err error) {
	if c.hops == nil {
		if c.hops = findHops(c.Conn); c.hops == nil {
			return true, nil // no network that counts hops, such as a pipe
		}
	}
	if c.low > 0 { // an earlier token may have to be sent once more
		limit = min(limit, c.low)
	}
	if err := c.hops.SetHopLimit(limit); err != nil {
		return false, err
	}
	c.low = limit
	_, keep = c.hops.(acknowledger)
	return keep, nil
}

// restoreHops gives a connection its usual limit back, if everything has arrived that was sent with the low one. A
// segment that is sent once more leaves with the limit of that moment, so with the usual one a token that was not
// confirmed could go as far as anything.
func (c *conn) restoreHops() {
	if c.low == 0 {
		return
	}
	if a, ok := c.hops.(acknowledger); !ok {
		return
	} else if n, err := a.Unacknowledged(); err != nil || n > 0 {
		return
	}
	if c.hops.SetHopLimit(0) == nil {
		c.low = 0
	}
}

// errHops is for a connection of TCP that hides what would limit its hops.
var errHops = errors.New("the hops of the connection cannot be limited")

// findHops finds what limits the hops of a connection, or nil for one of no network.
func findHops(c net.Conn) hopLimiter {
	switch c := c.(type) {
	case hopLimiter:
		return c
	case *net.TCPConn:
		return newTCPHops(c)
	case interface{ NetConn() net.Conn }: // TLS
		return findHops(c.NetConn())
	}
	if _, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return noHops{errHops}
	}
	return nil
}

// noHops is a connection that cannot be asked to limit its hops.
type noHops struct{ err error }

// SetHopLimit says why not.
func (n noHops) SetHopLimit(int) error { return n.err }

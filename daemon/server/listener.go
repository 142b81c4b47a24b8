package server

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// listener accepts connections, with TLS unless there is none, whose streams of requests go through an expectFilter, and bounds their number.
type listener struct {
	net.Listener
	tls *tls.Config
	max int

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// Accept waits for a connection. When there are too many, the one that is idle for the longest time ends; when all are
// busy, the new one does.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: raw, raw: raw, owner: l, since: time.Now(), idle: true}
		if l.tls != nil {
			c.Conn = tls.Server(raw, l.tls)
		}
		l.mu.Lock()
		var victim *conn
		if len(l.conns) >= l.max {
			if victim = l.idlest(); victim == nil {
				l.mu.Unlock()
				_ = raw.Close()
				continue
			}
			delete(l.conns, victim)
		}
		l.conns[c] = struct{}{}
		l.mu.Unlock()
		if victim != nil {
			_ = victim.raw.Close()
		}
		return c, nil
	}
}

// idlest returns the connection that waits for a request for the longest time.
func (l *listener) idlest() *conn {
	var found *conn
	for c := range l.conns {
		if c.idle && (found == nil || c.since.Before(found.since)) {
			found = c
		}
	}
	return found
}

// state is told by net/http what a connection does.
func (l *listener) state(nc net.Conn, s http.ConnState) {
	c, ok := nc.(*conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.idle, c.since = s == http.StateIdle || s == http.StateNew, time.Now()
}

func (l *listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// closeAll ends all connections, those that speak something else by now included.
func (l *listener) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		_ = c.raw.Close()
	}
	clear(l.conns)
}

// count returns how many connections there are.
func (l *listener) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

// conn is a connection of a client.
type conn struct {
	net.Conn
	raw   net.Conn
	owner *listener
	// idle and since belong to the listener.
	idle  bool
	since time.Time

	filter expectFilter
	buffer []byte
	ready  []byte // filtered and not read yet
	failed error  // what comes after it
	closed sync.Once

	// heard is how many bytes were read; late means that too few came in time to tell which protocol this is.
	heard int64
	late  bool
}

// tellingBytes is what net/http looks at before it decides for a protocol. Behind a time-out there it would give a head of HTTP/1
// its time anew.
const tellingBytes = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Read reads what the client sends.
func (c *conn) Read(p []byte) (int, error) {
	if c.late {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.read(p)
	c.heard += int64(n)
	c.late = c.heard < int64(tellingBytes) && errors.Is(err, os.ErrDeadlineExceeded)
	return n, err
}

// read reads through the filter.
func (c *conn) read(p []byte) (int, error) {
	for len(c.ready) == 0 && len(p) > 0 {
		if c.failed != nil {
			err := c.failed
			c.failed = nil
			return 0, err
		}
		if c.filter.stage == inTheDark && len(c.filter.held) == 0 {
			n, err := c.Conn.Read(p)
			return n, c.plain(err)
		}
		if c.buffer == nil {
			c.buffer = make([]byte, 4096)
		}
		n, err := c.Conn.Read(c.buffer)
		c.ready = c.filter.feed(c.ready[:0], c.buffer[:n])
		if err != nil {
			c.failed = c.plain(err)
			var timeout net.Error
			if !errors.As(err, &timeout) || !timeout.Timeout() {
				c.ready = c.filter.release(c.ready)
			}
		}
	}
	n := copy(p, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// raise ends the filtering: the connection speaks something else from now on.
func (c *conn) raise() { c.ready = c.filter.release(c.ready) }

// plain answers a client that does not speak TLS in words.
func (c *conn) plain(err error) error {
	var record tls.RecordHeaderError
	if errors.As(err, &record) && record.Conn != nil && record.RecordHeader[0] >= 'A' && record.RecordHeader[0] <= 'Z' {
		_ = c.raw.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.raw.Write([]byte("HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS: the URL begins with https://\n"))
	}
	return err
}

// CloseWrite tells the client that no more comes, so that it reads an answer to the end before the connection is gone.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close ends the connection.
func (c *conn) Close() error {
	c.closed.Do(func() { c.owner.forget(c) })
	return c.Conn.Close()
}

package metadata

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"
)

// TestLateServer: what has arrived counts, also for a server that comes to it when the time is over, and nothing is waited
// for then.
func TestLateServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems do not read past a deadline")
	}
	l := listen(t)
	defer l.Close()
	guest, err := new(net.Dialer).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	raw, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	c := newConn(raw)
	read := func() (string, error) {
		if err := c.Conn.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		n, err := c.Read(buf)
		return string(buf[:n]), err
	}
	for range 2 {
		if got, err := read(); got != "" || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("nothing was sent, and %q is read, %v", got, err)
		}
		if _, err := io.WriteString(guest, "GET"); err != nil {
			t.Fatal(err)
		}
		got, err := read()
		for begin := time.Now(); got == "" && time.Since(begin) < time.Minute; got, err = read() {
			runtime.Gosched()
		}
		if got != "GET" || err != nil {
			t.Errorf("%q is read, %v", got, err)
		}
	}
	guest.Close()
	for begin := time.Now(); ; {
		got, err := read()
		if got != "" || err == nil {
			t.Fatalf("%q of a guest that is gone, %v", got, err)
		}
		if time.Since(begin) > 100*time.Millisecond {
			break
		}
	}
}

// overTCP is a connection that says it is of TCP, as those of wrapped listeners do.
type overTCP struct{ net.Conn }

func (overTCP) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
func (overTCP) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// TestHopsOfWrapped: a connection whose hops cannot be limited is not taken for one without hops, and one of TLS is seen
// through.
func TestHopsOfWrapped(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, err := newConn(overTCP{a}).lowerHops(1); err == nil {
		t.Error("a token goes as far as anything")
	}
	if keep, err := newConn(a).lowerHops(1); err != nil || !keep {
		t.Errorf("a pipe: %v, %v", keep, err)
	}
	v := &virtual{Conn: a}
	if _, err := newConn(tls.Server(v, &tls.Config{})).lowerHops(1); err != nil || !slices.Equal(v.set(), []int{1}) {
		t.Errorf("TLS: %v, %v", v.set(), err)
	}
}

// TestLowestHops: while a token may have to be sent once more, a session of another tree does not let it go further.
func TestLowestHops(t *testing.T) {
	v := &counting{virtual: &virtual{}, unacknowledged: 1}
	c := &conn{Conn: v}
	lower := func(limit int) {
		t.Helper()
		c.restoreHops()
		if _, err := c.lowerHops(limit); err != nil {
			t.Error(err)
		}
	}
	lower(2)
	lower(64)
	lower(1)
	lower(3)
	v.unacknowledged = 0
	lower(64)
	if got, want := v.set(), []int{2, 2, 1, 1, 0, 64}; !slices.Equal(got, want) {
		t.Errorf("the limits were %v, want %v", got, want)
	}
}

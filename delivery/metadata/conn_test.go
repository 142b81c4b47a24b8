package metadata

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
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

package metadata

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/seed"
)

// virtual is a connection of a network inside this process, which counts hops itself.
type virtual struct {
	net.Conn
	mu     sync.Mutex
	limits []int
	fail   error
}

func (v *virtual) SetHopLimit(n int) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limits = append(v.limits, n)
	return v.fail
}

func (v *virtual) set() []int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.limits)
}

// counting is one that knows what has arrived.
type counting struct {
	*virtual
	unacknowledged int
	err            error
}

func (c *counting) Unacknowledged() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unacknowledged, c.err
}

// TestVirtualHops: connections of other networks take part by their methods, and are closed behind a token when they do not
// know what has arrived.
func TestVirtualHops(t *testing.T) {
	limited := func(c net.Conn) (send func(string) (*http.Response, error)) {
		s := ec2Seed("vm", seed.TokensOptional)
		s.Trees[0].HopLimit = 3
		l := pipes{make(chan net.Conn, 1)}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error)
		go func() { ended <- Serve(ctx, l, NewHandler(Config{Identify: Only(mustSite(t, s))})) }()
		guest, host := net.Pipe()
		switch c := c.(type) {
		case *virtual:
			c.Conn = host
		case *counting:
			c.virtual.Conn = host
		}
		l.conns <- c
		t.Cleanup(func() {
			guest.Close()
			close(l.conns)
			cancel()
			if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		})
		r := bufio.NewReader(guest)
		return func(request string) (*http.Response, error) {
			_ = guest.SetDeadline(time.Now().Add(time.Minute))
			if _, err := io.WriteString(guest, request); err != nil {
				return nil, err
			}
			resp, err := http.ReadResponse(r, nil)
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			return resp, err
		}
	}
	put, get := request("PUT", "/latest/api/token", ttl("60"), "Content-Length: 0"), request("GET", "/latest/meta-data/instance-id")
	must := func(send func(string) (*http.Response, error), request string, status int, closes bool) {
		t.Helper()
		if resp, err := send(request); err != nil || resp.StatusCode != status || resp.Close != closes {
			t.Fatalf("%v %+v", err, resp)
		}
	}

	blind := &virtual{}
	send := limited(blind)
	must(send, get, 200, false)
	must(send, put, 200, true)
	if _, err := send(get); err == nil || !slices.Equal(blind.set(), []int{3}) {
		t.Errorf("the connection goes on behind a token, with limits %v", blind.set())
	}

	seeing := &counting{virtual: &virtual{}}
	send = limited(seeing)
	must(send, put, 200, false)
	for i, tt := range []struct {
		unacknowledged int
		err            error
		want           []int
	}{{1, nil, []int{3}}, {0, errors.New("unknown"), []int{3}}, {0, nil, []int{3, 0}}, {0, nil, []int{3, 0}}} {
		seeing.mu.Lock()
		seeing.unacknowledged, seeing.err = tt.unacknowledged, tt.err
		seeing.mu.Unlock()
		must(send, get, 200, false)
		if got := seeing.set(); !slices.Equal(got, tt.want) {
			t.Errorf("%d: limits %v, want %v", i, got, tt.want)
		}
	}

	broken := &virtual{fail: errors.New("no such option")}
	send = limited(broken)
	must(send, put, 500, false)
	must(send, get, 200, false)
}

// TestProxiedHops: a proxy is not the machine, and its answers go as far as they must.
func TestProxiedHops(t *testing.T) {
	v := &virtual{}
	c := &conn{Conn: v}
	if keep, err := c.lowerHops(1); keep || err != nil || fmt.Sprint(v.set()) != "[1]" {
		t.Error("the control does not work")
	}
	l := pipes{make(chan net.Conn, 1)}
	h := NewHandler(Config{Identify: Only(mustSite(t, ec2Seed("vm", seed.TokensRequired))), Proxied: true})
	s := server(h)
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	defer close(l.conns)
	guest, host := net.Pipe()
	behind := &virtual{Conn: host}
	l.conns <- behind
	go func() { _, _ = io.WriteString(guest, request("PUT", "/latest/api/token", ttl("60"))) }()
	if resp, err := http.ReadResponse(bufio.NewReader(guest), nil); err != nil || resp.StatusCode != 200 || len(behind.set()) > 0 {
		t.Errorf("%v %v, limits %v", err, resp, behind.set())
	}
	guest.Close()
}

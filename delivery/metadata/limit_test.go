package metadata

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmseed/vmseed/seed"
)

// ask sends a request to a handler without a network.
func ask(h *Handler, method, path string) (int, http.Header) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code, w.Header()
}

// TestRate: a burst, then so many in a second; reports and other machines have their own share. The clock is the test's.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site, other := mustSite(t, ec2Seed("vm", "")), mustSite(t, ec2Seed("other", ""))
		current := site
		h := NewHandler(Config{Identify: func(*http.Request) *Site { return current }, Reports: http.NotFoundHandler()})
		burst := func(path string, want int) {
			t.Helper()
			n := 0
			for {
				code, header := ask(h, "GET", path)
				if code == http.StatusServiceUnavailable {
					if header.Get("Retry-After") != "1" {
						t.Errorf("Retry-After is %q", header.Get("Retry-After"))
					}
					break
				}
				n++
			}
			if n != want {
				t.Errorf("%s of %s: %d at once, want %d", path, current.Machine().Name, n, want)
			}
		}
		time.Sleep(time.Hour)
		begin := time.Now()
		burst("/latest/", 200)
		if waited := time.Since(begin); waited != throttleDelay {
			t.Errorf("the answer came after %v", waited)
		}
		burst("/latest/user-data", 5) // what grew in the delay
		burst("/nothing", 5)
		burst("/vmseed/x", 200)
		current = other
		burst("/latest/", 200)
		current = site
		time.Sleep(time.Second - throttleDelay)
		burst("/latest/", 60) // with the delays of three bursts, 1.2 seconds have passed since
		time.Sleep(24 * time.Hour)
		burst("/latest/", 200)
		heir := mustSite(t, ec2Seed("vm", ""))
		heir.Inherit(site)
		current = heir
		burst("/latest/", 5)
		// Nobody's reports are signed or nothing, and no flood of them keeps those back that are.
		current = nil
		for range 5000 {
			if code, _ := ask(h, "GET", "/vmseed/x"); code != http.StatusNotFound {
				t.Fatalf("a stranger's report: %d", code)
			}
		}
	})
}

// TestRateUnbound: a negative bound is none.
func TestRateUnbound(t *testing.T) {
	site := mustSite(t, ec2Seed("vm", ""))
	h := NewHandler(Config{Identify: Only(site), Limits: Limits{Rate: -1}})
	for range 1000 {
		if code, _ := ask(h, "GET", "/latest/"); code != http.StatusOK {
			t.Fatal(code)
		}
	}
}

// TestConnections: an address may have so many connections, whatever is said over them, and as many again once they are
// gone.
func TestConnections(t *testing.T) {
	const most = 5
	addr := serve(t, NewHandler(Config{Identify: Only(mustSite(t, ec2Seed("vm", ""))), Limits: Limits{Connections: most, Rate: -1}}))
	for range 3 {
		var open []net.Conn
		for len(open) < most {
			c := dial(t, addr, "127.0.0.1")
			if answered(c) {
				open = append(open, c)
				continue
			}
			c.Close() // the server has not yet seen that the last round's is gone
		}
		for range 3 {
			c := dial(t, addr, "127.0.0.1")
			if answered(c) {
				t.Error("one connection too many")
			}
			c.Close()
		}
		// Another address is not held back.
		other := dial(t, addr, "127.0.0.2")
		if !answered(other) {
			t.Error("another address is refused")
		}
		other.Close()
		for _, c := range open {
			if !answered(c) {
				t.Error("a connection is gone")
			}
			c.Close()
		}
	}
}

// dial connects from an address of the loopback.
func dial(t *testing.T, addr, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	return c
}

// answered reports whether a request over a connection is answered.
func answered(c net.Conn) bool {
	if _, err := io.WriteString(c, request("GET", "/latest/meta-data/instance-id")); err != nil {
		return false
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// pipes is a listener of connections that have no network, for tests whose clock is their own.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// TestSlowClients drip heads and bodies, or say nothing: the server ends it when their time is over. The clock is the
// test's.
func TestSlowClients(t *testing.T) {
	for name, tt := range map[string]struct {
		first string
		every time.Duration
		drip  string
		most  time.Duration
		// unread is that the guest does not read before the time is over.
		unread bool
	}{
		"silence":           {"", 0, "", silentTime, false},
		"half a line":       {"GET /lat", 0, "", headTime, false},
		"a head that drips": {"GET /latest/ HTTP/1.1\r\nHost: x\r\n", time.Second, "X: y\r\n", headTime, false},
		"a body that drips": {"POST /openstack/latest/password HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", time.Second, "x", bodyTime, false},
		"a body not read":   {"GET /nocloud/meta-data HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", time.Second, "x", bodyTime, false},
		"idle":              {request("GET", "/nocloud/meta-data"), 0, "", idleTime, false},
		"answers not read":  {strings.Repeat(request("GET", "/nocloud/meta-data"), 2), 0, "", writeTime, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := pipes{make(chan net.Conn, 1)}
				h := NewHandler(Config{Identify: Only(mustSite(t, allSeed("vm", "")))})
				s := server(h)
				go func() { _ = s.Serve(bind(l, h)) }()
				guest, host := net.Pipe()
				l.conns <- host
				begin := time.Now()
				var group sync.WaitGroup
				group.Go(func() {
					_, err := io.WriteString(guest, tt.first)
					for err == nil && tt.drip != "" {
						time.Sleep(tt.every)
						_, err = io.WriteString(guest, tt.drip)
					}
				})
				if tt.unread {
					time.Sleep(tt.most + time.Millisecond)
				}
				_, _ = io.Copy(io.Discard, guest)
				if took := time.Since(begin); took > tt.most+time.Second {
					t.Errorf("ended after %v, want %v", took, tt.most)
				}
				guest.Close()
				close(l.conns)
				_ = s.Close()
				group.Wait()
			})
		})
	}
}

// TestFlood: while one machine asks without a pause over all the connections it may have, and holds as many half-open, the
// answers to another go on, and all are right.
func TestFlood(t *testing.T) {
	abuser, victim := mustSite(t, ec2Seed("abuser", "")), mustSite(t, ec2Seed("victim", ""))
	table := new(Table)
	table.Set(map[netip.Addr]*Site{netip.MustParseAddr("127.0.0.66"): abuser, netip.MustParseAddr("127.0.0.1"): victim})
	addr := serve(t, NewHandler(Config{Identify: table.Identify, Limits: Limits{Connections: 64}}))
	var quiet, loud []time.Duration
	measure := func() (out []time.Duration) {
		c := dial(t, addr, "127.0.0.1")
		defer c.Close()
		for range 60 {
			begin := time.Now()
			if !answered(c) {
				t.Fatal("the victim is not answered")
			}
			out = append(out, time.Since(begin))
			time.Sleep(time.Second / 60) // within its share
		}
		slices.Sort(out)
		return out
	}
	quiet = measure()
	stop := make(chan struct{})
	var group sync.WaitGroup
	var asked, limited atomic.Int64
	for i := range 64 {
		group.Go(func() {
			c := dial(t, addr, "127.0.0.66")
			defer c.Close()
			if i%2 == 0 {
				_, _ = io.WriteString(c, "GET /latest/ HTTP/1.1\r\n")
				<-stop
				return
			}
			r := bufio.NewReader(c)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := io.WriteString(c, request("GET", "/latest/user-data")); err != nil {
					return
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					return
				}
				body, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if asked.Add(1); resp.StatusCode == http.StatusServiceUnavailable {
					limited.Add(1)
				} else if string(body) != "user-data of abuser" {
					t.Errorf("the abuser got %q", body)
				}
			}
		})
	}
	loud = measure()
	close(stop)
	group.Wait()
	p := func(l []time.Duration) time.Duration { return l[len(l)*95/100] }
	t.Logf("the victim waits %v in quiet and %v in the flood (p95); the abuser asked %d times, %d of them too often", p(quiet), p(loud), asked.Load(), limited.Load())
	if limited.Load() == 0 {
		t.Error("there was no flood")
	}
	if p(loud) > 2*time.Second {
		t.Errorf("the victim waits %v", p(loud))
	}
}

// TestIsolation: hundreds of machines at once, each by its own address, get their own data and tokens alone.
func TestIsolation(t *testing.T) {
	const machines, reads = 300, 4
	table := new(Table)
	sites := map[netip.Addr]*Site{}
	address := func(i int) string { return fmt.Sprintf("127.1.%d.%d", i/250, i%250+1) }
	for i := range machines {
		sites[netip.MustParseAddr(address(i))] = mustSite(t, ec2Seed(fmt.Sprintf("vm-%d", i), seed.TokensRequired))
	}
	table.Set(sites)
	addr := serve(t, NewHandler(Config{Identify: table.Identify, Observe: func(Request) {}}))
	var group sync.WaitGroup
	var mu sync.Mutex
	last := "" // somebody's token
	wrong := 0
	for i := range machines {
		group.Go(func() {
			c := dial(t, addr, address(i))
			defer c.Close()
			r := bufio.NewReader(c)
			send := func(request string) (int, string) {
				if _, err := io.WriteString(c, request); err != nil {
					return 0, err.Error()
				}
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					return 0, err.Error()
				}
				defer resp.Body.Close()
				body, _ := io.ReadAll(resp.Body)
				return resp.StatusCode, string(body)
			}
			count := func(ok bool, what string) {
				if !ok {
					mu.Lock()
					defer mu.Unlock()
					if wrong++; wrong < 10 {
						t.Errorf("vm-%d: %s", i, what)
					}
				}
			}
			code, token := send(request("PUT", "/latest/api/token", ttl("60"), "Content-Length: 0"))
			count(code == 200, token)
			mu.Lock()
			foreign := last
			last = token
			mu.Unlock()
			for range reads {
				code, body := send(request("GET", "/latest/user-data", tokenHeader+": "+token))
				count(code == 200 && body == fmt.Sprintf("user-data of vm-%d", i), body)
			}
			if foreign != "" {
				code, body := send(request("GET", "/latest/user-data", tokenHeader+": "+foreign))
				count(code == 401 && !strings.Contains(body, "of vm"), body)
			}
			if i%10 == 0 { // a reload under way
				table.Set(sites)
			}
		})
	}
	group.Wait()
	t.Logf("%d machines, %d reads, %d wrong", machines, machines*reads, wrong)
}

//go:build conformance && linux

package metadata

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/vmseed/vmseed/seed"
)

// lab is three network namespaces in a row: vm, router and server.
type lab struct{ prefix string }

// The addresses of the lab by the family of IP: the server's, and one of each client's.
const (
	server4, server6 = "10.77.2.2", "fd77:2::2"
)

func newLab(t *testing.T) lab {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIP-MISSING: root, for network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("SKIP-MISSING: ip, of iproute2")
	}
	l := lab{fmt.Sprintf("vmseed-%d-", os.Getpid())}
	if out, err := exec.CommandContext(t.Context(), "ip", "netns", "add", l.prefix+"probe").CombinedOutput(); err != nil {
		t.Skipf("SKIP-MISSING: network namespaces: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.prefix+"probe").Run() })
	for _, ns := range []string{"vm", "router", "server"} {
		l.ip(t, "netns add "+l.prefix+ns)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", l.prefix+ns).Run() })
		l.ip(t, "-n "+l.prefix+ns+" link set lo up")
	}
	l.ip(t, "link add vm0 netns "+l.prefix+"vm type veth peer name vm1 netns "+l.prefix+"router")
	l.ip(t, "link add srv0 netns "+l.prefix+"server type veth peer name srv1 netns "+l.prefix+"router")
	for _, a := range []string{"vm vm0 10.77.1.2/24 fd77:1::2/64", "router vm1 10.77.1.1/24 fd77:1::1/64", "router srv1 10.77.2.1/24 fd77:2::1/64",
		"server srv0 " + server4 + "/24 " + server6 + "/64"} {
		f := strings.Fields(a)
		in := "-n " + l.prefix + f[0] + " "
		l.ip(t, in+"addr add "+f[2]+" dev "+f[1])
		l.ip(t, in+"addr add "+f[3]+" dev "+f[1]+" nodad")
		l.ip(t, in+"link set "+f[1]+" up")
	}
	for ns, n := range map[string]string{"vm": "1", "server": "2"} {
		l.ip(t, "-n "+l.prefix+ns+" route add default via 10.77."+n+".1")
		l.ip(t, "-n "+l.prefix+ns+" -6 route add default via fd77:"+n+"::1")
	}
	for _, file := range []string{"ipv4/ip_forward", "ipv6/conf/all/forwarding"} {
		out, err := exec.CommandContext(t.Context(), "ip", "netns", "exec", l.prefix+"router", "sh", "-c", "echo 1 > /proc/sys/net/"+file).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return l
}

func (l lab) ip(t *testing.T, args string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", args, err, out)
	}
}

// in runs a function on a thread of its own in a namespace. Sockets that it opens stay there.
func (l lab) in(t *testing.T, ns string, f func() error) {
	t.Helper()
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		failed <- func() error {
			file, err := os.Open("/run/netns/" + l.prefix + ns)
			if err != nil {
				return err
			}
			defer file.Close()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return err
			}
			return f()
		}()
	}()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
}

func (l lab) listen(t *testing.T, address string) (out net.Listener) {
	t.Helper()
	l.in(t, "server", func() (err error) {
		out, err = new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		return err
	})
	return out
}

func (l lab) dial(t *testing.T, ns, address string) (out net.Conn) {
	t.Helper()
	l.in(t, ns, func() (err error) {
		out, err = new(net.Dialer).DialContext(t.Context(), "tcp", address)
		return err
	})
	t.Cleanup(func() { out.Close() })
	return out
}

// sent is a segment with data that has left the server.
type sent struct {
	hops int
	data string
}

// capture reports every segment with data that leaves the server, as it is on the wire.
func (l lab) capture(t *testing.T) <-chan sent {
	t.Helper()
	var fd int
	l.in(t, "server", func() (err error) {
		const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00 // in network order
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, all); err != nil {
			return err
		}
		return unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000})
	})
	out := make(chan sent, 1000)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended; _ = unix.Close(fd) })
	go func() {
		defer close(ended)
		buf := make([]byte, 64<<10)
		for ctx.Err() == nil {
			n, from, err := unix.Recvfrom(fd, buf, 0)
			if err != nil {
				continue
			}
			if link, ok := from.(*unix.SockaddrLinklayer); !ok || link.Pkttype != unix.PACKET_OUTGOING {
				continue
			}
			if s, ok := segment(buf[:n]); ok {
				select {
				case out <- s:
				default:
				}
			}
		}
	}()
	return out
}

// segment reads a packet of IP with a segment of TCP in it.
func segment(p []byte) (sent, bool) {
	var hops, head int
	switch {
	case len(p) > 20 && p[0]>>4 == 4 && p[9] == unix.IPPROTO_TCP:
		hops, head = int(p[8]), int(p[0]&15)*4
		p = p[:min(len(p), int(p[2])<<8|int(p[3]))]
	case len(p) > 40 && p[0]>>4 == 6 && p[6] == unix.IPPROTO_TCP:
		hops, head = int(p[7]), 40
	default:
		return sent{}, false
	}
	if len(p) < head+20 {
		return sent{}, false
	}
	if head += int(p[head+12]>>4) * 4; head >= len(p) {
		return sent{}, false
	}
	return sent{hops, string(p[head:])}, true
}

// patience is for what must come.
const patience = time.Minute

// wait waits for a segment that has a text in it.
func wait(t *testing.T, from <-chan sent, text string) sent {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case s := <-from:
			if strings.Contains(s.data, text) {
				return s
			}
		case <-limit:
			t.Fatalf("no segment with %q", text)
		}
	}
}

// exchange sends a request and reads the answer. An error is that none came.
func exchange(c net.Conn, request string, limit time.Duration) (int, string, error) {
	_ = c.SetDeadline(time.Now().Add(limit))
	if _, err := io.WriteString(c, request); err != nil {
		return 0, "", err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

const (
	putToken = "PUT /latest/api/token HTTP/1.1\r\nHost: x\r\nX-aws-ec2-metadata-token-ttl-seconds: 60\r\nContent-Length: 0\r\n\r\n"
	getID    = "GET /latest/meta-data/instance-id HTTP/1.1\r\nHost: x\r\n"
	// echoed is in the answer with a token, and in no other.
	echoed = "X-Aws-Ec2-Metadata-Token-Ttl-Seconds: 60"
)

// TestHopLimit: the answer with a token goes as far as it may and no further, all other answers go everywhere. One client
// is on the server's own link and another behind a router; limits are those of one link, of one router, and EC2's largest.
func TestHopLimit(t *testing.T) {
	l := newLab(t)
	for _, listen := range []string{"0.0.0.0:80", "[::]:81"} { // the second takes IPv4 as well, on sockets of IPv6
		for _, limit := range []int{1, 2, 64} {
			s := ec2Seed("vm", seed.TokensOptional)
			s.Trees[0].HopLimit = limit
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			listener := l.listen(t, listen)
			go func() {
				ended <- Serve(ctx, listener, NewHandler(Config{Identify: Only(mustSite(t, s)), Limits: Limits{Rate: -1}}))
			}()
			_, port, _ := net.SplitHostPort(listen)
			hosts := []string{server4}
			if port == "81" {
				hosts = append(hosts, server6)
			}
			for _, host := range hosts {
				for _, client := range []string{"router", "vm"} {
					t.Run(fmt.Sprintf("%s port %s from %s limit %d", host, port, client, limit), func(t *testing.T) {
						l.hopLimit(t, net.JoinHostPort(host, port), client, limit)
					})
				}
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
}

// hopLimit asks from one client. Each router takes one of the limit away, and throws away what has none left.
func (l lab) hopLimit(t *testing.T, address, client string, limit int) {
	reaches := client == "router" || limit > 1
	wire := l.capture(t)
	c := l.dial(t, client, address)
	token := ""
	if reaches {
		code, body, err := exchange(c, putToken, patience)
		if err != nil || code != http.StatusOK {
			t.Fatalf("no token: %d, %v", code, err)
		}
		token = body
	} else {
		code, body, err := exchange(c, putToken, 1500*time.Millisecond)
		if err == nil {
			t.Fatalf("a token went through the router: %d %d bytes", code, len(body))
		}
	}
	if s := wait(t, wire, echoed); s.hops != limit {
		t.Errorf("the token left with %d hops to go", s.hops)
	}
	// A further request: over the same connection once the token has arrived, else over another one.
	if !reaches {
		c = l.dial(t, client, address)
	}
	code, body, err := exchange(c, getID+"X: 1\r\n\r\n", patience)
	if err != nil || code != http.StatusOK || body != "meta-data/instance-id of vm" {
		t.Fatalf("a read without a token: %d %q, %v", code, body, err)
	}
	if s := wait(t, wire, "instance-id of vm"); s.hops != 64 {
		t.Errorf("a read left with %d hops to go", s.hops)
	}
	if token != "" {
		code, body, err = exchange(c, getID+tokenHeader+": "+token+"\r\n\r\n", patience)
		if err != nil || code != http.StatusOK {
			t.Errorf("a read with the token: %d %q, %v", code, body, err)
		}
		if s := wait(t, wire, "instance-id of vm"); s.hops != 64 {
			t.Errorf("a read with the token left with %d hops to go", s.hops)
		}
	}
}

// TestHopLimitOfRetransmissions: what is sent once more leaves with the limit of that moment. A client behind the router,
// which cannot have the token, asks on, so that the server could take the answer for delivered.
func TestHopLimitOfRetransmissions(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	listener := l.listen(t, "[::]:80")
	h := NewHandler(Config{Identify: Only(mustSite(t, ec2Seed("vm", seed.TokensOptional))), Limits: Limits{Rate: -1}})
	go func() { ended <- Serve(ctx, listener, h) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	careless := l.listen(t, "[::]:81")
	defer careless.Close()
	go func() {
		for {
			c, err := careless.Accept()
			if err != nil {
				return
			}
			go resetAtOnce(c)
		}
	}()
	for _, host := range []string{server4, server6} {
		for port, want := range map[string]bool{"80": false, "81": true} {
			wire := l.capture(t)
			c := l.dial(t, "vm", net.JoinHostPort(host, port))
			if _, err := io.WriteString(c, putToken); err != nil {
				t.Fatal(err)
			}
			far, seen := false, 0
			for seen < 4 && !far {
				s := wait(t, wire, echoed)
				seen++
				far = far || s.hops > 1
				if _, err := io.WriteString(c, getID+"\r\n"); err != nil { // asked again and again, whether it has arrived or not
					break
				}
			}
			switch {
			case far && !want:
				t.Errorf("%s: a token that was sent once more went further than it may", host)
			case !far && want:
				t.Errorf("%s: the control, a server that resets the limit at once, does not show what this test looks for", host)
			}
			t.Logf("%s port %s: %d segments with the token, one that goes far: %t", host, port, seen, far)
			c.Close()
		}
	}
}

// resetAtOnce answers as a server would that knows nothing of retransmissions.
func resetAtOnce(c net.Conn) {
	defer c.Close()
	hops := newTCPHops(c.(*net.TCPConn))
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		if bytes.HasPrefix(buf[:n], []byte("PUT")) {
			_ = hops.SetHopLimit(1)
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"+echoed+"\r\n\r\ntoken")
			_ = hops.SetHopLimit(0)
		}
	}
}

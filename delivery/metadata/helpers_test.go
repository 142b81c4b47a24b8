package metadata

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmseed/vmseed/secret"
	"github.com/vmseed/vmseed/seed"
)

// The trees of the tests hold the machine's name in every blob, so that an answer tells whose it is.
func blobs(machine string, paths ...string) []seed.Blob {
	var out []seed.Blob
	for _, p := range paths {
		b := seed.Blob{Path: p, Content: secret.New(p + " of " + machine), Sealable: strings.HasSuffix(p, "user-data") || strings.HasSuffix(p, "user_data")}
		if b.Sealable {
			b.ContentType = "application/octet-stream"
		}
		out = append(out, b)
	}
	return out
}

func ec2Tree(machine string, tokens seed.Tokens) seed.Tree {
	return seed.Tree{Name: "ec2", Roots: []string{"latest", "1.0", "2009-04-04", "2021-07-15"}, Tokens: tokens,
		Blobs: append(blobs(machine, "user-data", "meta-data/instance-id", "meta-data/local-hostname", "meta-data/public-keys/0/openssh-key",
			"meta-data/network/interfaces/macs/52:54:00:00:00:01/mac", "dynamic/instance-identity/document"),
			seed.Blob{Path: "meta-data/public-keys/", Content: secret.New("0=" + machine)})}
}

func openStackTree(machine string) seed.Tree {
	return seed.Tree{Name: "openstack", Roots: []string{"openstack/latest", "openstack/2012-08-10", "openstack/2018-08-27"},
		Blobs: blobs(machine, "meta_data.json", "user_data", "network_data.json")}
}

func noCloudTree(machine string) seed.Tree {
	return seed.Tree{Name: "nocloud", Roots: []string{"nocloud"}, Blobs: blobs(machine, "meta-data", "user-data", "vendor-data", "network-config")}
}

func ec2Seed(machine string, tokens seed.Tokens) seed.Seed {
	return seed.Seed{Machine: seed.Name{Namespace: "ns", Name: machine}, DataSource: "ec2", Identity: seed.Identity{InstanceID: "i-" + machine},
		Trees: []seed.Tree{ec2Tree(machine, tokens)}}
}

// allSeed is a seed of all the protocols at once.
func allSeed(machine string, tokens seed.Tokens) seed.Seed {
	s := ec2Seed(machine, tokens)
	s.Trees = append(s.Trees, openStackTree(machine), noCloudTree(machine),
		seed.Tree{Name: "ignition", Roots: []string{"ignition"}, Blobs: blobs(machine, "config.ign")})
	return s
}

func mustSite(t testing.TB, s seed.Seed) *Site {
	t.Helper()
	site, err := NewSite(s)
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// addresses gives a site the loopback's.
func addresses(s *Site) map[netip.Addr]*Site {
	return map[netip.Addr]*Site{netip.MustParseAddr("127.0.0.1"): s}
}

// serve runs a handler until the test ends, and returns its address.
func serve(t testing.TB, h *Handler) string {
	t.Helper()
	l := listen(t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- Serve(ctx, l, h) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// plain runs any handler in a bare server of net/http.
func plain(t testing.TB, h http.Handler) string {
	t.Helper()
	l := listen(t)
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// raw sends bytes as they are over a new connection, and reads one answer.
func raw(t testing.TB, addr, request string) (*http.Response, string) {
	t.Helper()
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.200q: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%.200q: %v", request, err)
	}
	return resp, string(body)
}

// request writes a request. Header fields are whole lines.
func request(method, path string, fields ...string) string {
	var b strings.Builder
	b.WriteString(method + " " + path + " HTTP/1.1\r\nHost: 169.254.169.254\r\n")
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}

// session gets a token.
func session(t testing.TB, addr string) string {
	t.Helper()
	resp, token := raw(t, addr, request("PUT", "/latest/api/token", ttlHeader+": 21600", "Content-Length: 0"))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("no token: %s", resp.Status)
	}
	return token
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// get asks a handler for a request target as it would stand on the wire. It reports the path that net/http makes of it, and
// false for what net/http itself refuses.
func get(h *Handler, target string) (code int, header http.Header, path, body string, ok bool) {
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(request("GET", target))))
	if err != nil || r.URL == nil {
		return 0, nil, "", "", false
	}
	r.RemoteAddr = "127.0.0.1:1"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Header(), r.URL.Path, w.Body.String(), true
}

package image

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// defaultStall is how long a server may send nothing.
const defaultStall = time.Minute

var (
	errStalled = errors.New("the server sends nothing any more")
	errPlain   = errors.New("http is used with registries on this host only; this one must speak https")
)

// guard is a transport that gives up servers that fall silent, and that leaves http to hosts which plain allows.
type guard struct {
	next  http.RoundTripper
	stall time.Duration
	plain bool
}

func (s *Store) guard(plain bool) guard {
	g := guard{next: s.Transport, stall: s.Stall, plain: plain}
	if g.next == nil {
		g.next = http.DefaultTransport
	}
	if g.stall == 0 {
		g.stall = defaultStall
	}
	return g
}

// RoundTrip sends a request.
func (g guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" && !g.plain && !loopback(req.URL.Hostname()) {
		return nil, errPlain
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(g.stall, func() { cancel(errStalled) })
	res, err := g.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if errors.Is(context.Cause(ctx), errStalled) {
			err = errStalled
		}
		cancel(nil)
		return nil, err
	}
	res.Body = &watched{ReadCloser: res.Body, ctx: ctx, cancel: cancel, timer: timer, stall: g.stall}
	return res, nil
}

// watched is a body that ends with an error when a read takes too long.
type watched struct {
	io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
	stall  time.Duration
}

func (w *watched) Read(p []byte) (int, error) {
	w.timer.Reset(w.stall)
	n, err := w.ReadCloser.Read(p)
	w.timer.Stop()
	if err != nil && !errors.Is(err, io.EOF) && errors.Is(context.Cause(w.ctx), errStalled) {
		err = errStalled
	}
	return n, err
}

func (w *watched) Close() error {
	w.timer.Stop()
	w.cancel(nil)
	return w.ReadCloser.Close()
}

// loopback reports whether a host is this one by its name.
func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// meter counts bytes and reports them, not too often.
type meter struct {
	report func(Progress)
	state  Progress
	last   time.Time
}

// reportEvery is the least time between two reports.
const reportEvery = 100 * time.Millisecond

func (m *meter) add(n int) {
	m.state.Done += int64(n)
	if now := time.Now(); now.Sub(m.last) >= reportEvery || m.state.Done == m.state.Total {
		m.last = now
		m.report(m.state)
	}
}

// unreachable says that a host could not be asked.
func unreachable(host string, err error) error {
	what := "cannot be reached"
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		what = "cannot be found"
	}
	return &Error{Fault: Unavailable, What: host + " " + what, Err: plain(err), Remedy: "check the network and its proxy, or name an image on this host"}
}

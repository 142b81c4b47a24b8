package server

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
)

// RequestID is the header of every answer that says under which id the log has the request.
const RequestID = "X-Request-Id"

// exchange is a request that is being answered. It is the handlers' ResponseWriter, and gives each write its time.
type exchange struct {
	http.ResponseWriter
	server  *Server
	control *http.ResponseController
	cancel  context.CancelFunc
	// ctx is that of the request once it is known who makes it.
	ctx  context.Context
	id   string
	path string
	from netip.Addr
	// user is who asks, once that is known; denied means that somebody tried to be one.
	user     string
	denied   bool
	status   int
	sent     int64
	hijacked bool
	// multiplexed means that the request is one of several on its connection: HTTP/2.
	multiplexed bool
	// crowded means that there are too many of those.
	crowded bool
	// reader means that a person will see the answer, in a browser.
	reader bool
}

// ServeHTTP answers a request, within limits, and logs it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x := &exchange{ResponseWriter: w, server: s, control: http.NewResponseController(w), cancel: cancel, id: newID(), path: r.URL.Path, from: remote(r),
		reader: strings.Contains(r.Header.Get("Accept"), "text/html"), multiplexed: r.ProtoMajor == 2}
	defer s.streams.remove(x)
	r = r.WithContext(ctx)
	h := w.Header()
	h.Set(RequestID, x.id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if wishes := r.Header[wishHeader]; wishes != nil {
		delete(r.Header, wishHeader)
		r.Header["Expect"] = append(r.Header["Expect"], wishes...)
	}
	x.allow()
	x.rest()
	if x.multiplexed {
		defer s.multiplexed.Add(-1)
		x.crowded = s.multiplexed.Add(1) > int64(s.config.Limits.Connections)
	}
	if r.Body != http.NoBody {
		// The reader of the body comes first: it knows net/http's own writer, and ends the connection of who sends too much.
		r.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, s.config.Limits.Body), x: x}
		// Who has not logged in has time for a login, and not for more: nobody else can make room for them.
		_ = x.control.SetReadDeadline(began.Add(s.config.Limits.HeadTime))
	}
	abort := s.safely(x, r)
	x.allow() // what is in net/http's buffers is sent when this function returns
	x.log(r, time.Since(began))
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// safely routes a request. It reports true when the answer cannot be ended properly, so that the connection has to end.
func (s *Server) safely(x *exchange, r *http.Request) (abort bool) {
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler:
			abort = true
		case p != nil:
			abort = x.panicked(p)
		}
	}()
	s.route(x, r)
	// A request whose client went away may be left without an answer, for which net/http would make one that says yes.
	return x.status == 0 && r.Context().Err() != nil
}

func newID() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails: the runtime ends the program instead
	return hex.EncodeToString(raw[:])
}

// remote returns the address that a request came from.
func remote(r *http.Request) netip.Addr {
	a, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr().Unmap()
}

// allow gives the client time to take what is written next.
func (x *exchange) allow() {
	if !x.hijacked {
		_ = x.control.SetWriteDeadline(time.Now().Add(x.server.config.Limits.WriteTime))
	}
}

// rest ends that time when it is written. A connection's deadline ends nothing but a write, while the one of a stream of HTTP/2
// ends the stream, also when nobody writes.
func (x *exchange) rest() {
	if x.multiplexed {
		_ = x.control.SetWriteDeadline(time.Time{})
	}
}

// WriteHeader sends the head of the answer.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= 200 {
		x.status = status
	}
	if x.multiplexed {
		x.Header().Del("Upgrade") // HTTP/2 knows none, and its clients would not take the answer (RFC 9113, 8.2.2)
	}
	x.allow()
	defer x.rest()
	x.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer. The client has to take it within a time of its own, however long the whole takes.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.allow()
	defer x.rest()
	n, err := x.ResponseWriter.Write(p)
	x.sent += int64(n)
	return n, err
}

// Flush sends what was written. An answer that is flushed before its end is a stream: it ends with the server.
func (x *exchange) Flush() { _ = x.FlushError() }

// FlushError is Flush for http.ResponseController.
func (x *exchange) FlushError() error {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	x.stream()
	x.allow()
	defer x.rest()
	return x.control.Flush()
}

// Hijack hands the connection over, raw and without limits.
func (x *exchange) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	nc, rw, err := x.control.Hijack()
	if err != nil {
		return nil, nil, err
	}
	x.hijacked = true
	if x.status == 0 {
		x.status = http.StatusSwitchingProtocols
	}
	x.stream()
	if c, ok := nc.(*conn); ok {
		c.raise()
	}
	return nc, rw, nc.SetDeadline(time.Time{})
}

// stream has the answer end with the server, and with what its user was let in for: a token that ends, a password that is
// changed.
func (x *exchange) stream() {
	if !x.server.streams.add(x) || x.ctx == nil {
		return
	}
	id, ok := auth.FromContext(x.ctx)
	if !ok {
		return
	}
	go func() {
		ticker := time.NewTicker(x.server.config.Limits.Recheck)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if errors.Is(x.server.config.Guard.Still(id), auth.ErrExpired) {
					x.cancel()
					return
				}
			case <-x.ctx.Done():
				return
			}
		}
	}()
}

// body is the body of a request, whose time ends with it.
type body struct {
	io.ReadCloser
	x *exchange
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	if !b.x.multiplexed {
		b.x.allow() // a "100 Continue" may be written now
	}
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.x.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// panicked answers a request whose handler failed, and logs where. The value is left out where it may quote the request.
func (x *exchange) panicked(p any) (abort bool) {
	what := fmt.Sprintf("%T", p)
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	x.server.config.Log.Error("a handler failed", "id", x.id, "panic", what, "stack", string(debug.Stack()))
	if x.hijacked || x.status != 0 {
		return true
	}
	x.problem(http.StatusInternalServerError, "something went wrong inside the daemon; its log has more under the id of this request")
	return false
}

// problem says no in the way of whom the client wants to speak to: as a fault of oVirt's API, as its single sign-on, or
// with a problem document (RFC 9457), or in words to who opens an address in a browser. The SDKs of oVirt show their users no
// other text.
func (x *exchange) problem(status int, detail string) {
	switch {
	case below(x.path, pathOVirt):
		x.fault(status, detail)
	case below(x.path, pathEngine):
		x.sso(status, ssoError(scopeAPI, "server_error", detail))
	case x.reader:
		x.Header().Set("Cache-Control", "no-store")
		http.Error(x, fmt.Sprintf("%s: %s (request %s)", http.StatusText(status), detail, x.id), status)
	default:
		x.Header().Set("Content-Type", "application/problem+json")
		x.Header().Set("Cache-Control", "no-store")
		x.WriteHeader(status)
		_ = json.NewEncoder(x).Encode(map[string]any{"status": status, "title": http.StatusText(status), "detail": detail, "request": x.id})
	}
}

// fault answers as oVirt's API does.
func (x *exchange) fault(status int, detail string) {
	var answer struct {
		XMLName xml.Name `xml:"fault"`
		Detail  string   `xml:"detail"`
		Reason  string   `xml:"reason"`
	}
	answer.Detail, answer.Reason = detail+" (request "+x.id+")", "Operation Failed"
	x.Header().Set("Content-Type", "application/xml;charset=UTF-8")
	x.Header().Set("Cache-Control", "no-store")
	x.WriteHeader(status)
	_ = xml.NewEncoder(x).Encode(answer)
}

// harmless are the query parameters whose values the log shows; the names of all others stand there alone.
var harmless = []string{"search", "max", "page", "follow", "filter", "name", "namespace", "q", "async", "all_content", "case_sensitive", "correlation_id", "clone", "force",
	"detach_only", "next_run", "from", "since", "machine", "status", "limit", "after", "resource", "format", "version"}

func loggedQuery(raw string) string {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return "(malformed)"
	}
	for key, values := range q {
		if !slices.Contains(harmless, key) {
			values = []string{"…"}
		}
		q[key] = values
	}
	text, _ := url.QueryUnescape(q.Encode())
	return text
}

// log writes the request's line.
func (x *exchange) log(r *http.Request, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case x.status >= 500, x.denied:
		level = slog.LevelWarn
	case r.URL.Path == pathHealth || r.URL.Path == pathOVirtHealth:
		level = slog.LevelDebug
	}
	status := x.status // stays 0 when the client went away before an answer
	if status == 0 && r.Context().Err() == nil {
		status = http.StatusOK
	}
	attrs := []slog.Attr{slog.String("id", x.id), slog.String("from", x.from.String()), slog.String("user", x.user), slog.String("method", short(r.Method, 16)),
		slog.String("path", short(r.URL.Path, 500)), slog.Int("status", status), slog.Int64("bytes", x.sent), slog.Duration("took", took.Round(time.Microsecond)),
		slog.String("agent", short(r.UserAgent(), 100))}
	if x.denied {
		// Without the name, for which a password is easily typed.
		attrs = append(attrs, slog.String("login", "refused"))
	}
	if r.URL.RawQuery != "" {
		attrs = append(attrs, slog.String("query", short(loggedQuery(r.URL.RawQuery), 500)))
	}
	x.server.config.Log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// short cuts a text of the client's.
func short(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// streams are exchanges that end when the server does.
type streams struct {
	mu    sync.Mutex
	all   map[*exchange]struct{}
	ended bool
	// gone is closed when the last one is over, after the end.
	gone chan struct{}
}

// add reports whether the exchange was none of them yet.
func (s *streams) add(x *exchange) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		x.cancel()
		return false
	}
	if s.all == nil {
		s.all = map[*exchange]struct{}{}
	}
	_, known := s.all[x]
	s.all[x] = struct{}{}
	return !known
}

func (s *streams) remove(x *exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.all[x]; !known {
		return
	}
	delete(s.all, x)
	if s.ended && len(s.all) == 0 {
		close(s.gone)
	}
}

// end ends the streams, and those that begin later. What it returns is closed when the last one is over.
func (s *streams) end() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return s.gone
	}
	s.ended, s.gone = true, make(chan struct{})
	for x := range s.all {
		x.cancel()
	}
	if len(s.all) == 0 {
		close(s.gone)
	}
	return s.gone
}

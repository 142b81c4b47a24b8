// Package server is the daemon's side of the network: the listener with its certificate, the limits on whoever connects,
// the log, and the door before the APIs.
//
// It speaks HTTP/2 and HTTP/1.1 over TLS 1.2 or later, as the client chooses (ALPN). Browsers need the first: each open page holds
// a stream of events, and of HTTP/1.1 they open six connections to a host. They open one of the second for a WebSocket. What is
// behind the door gets requests of known users only, whom auth.FromContext names.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
)

// DefaultListen is where a daemon listens that was not told otherwise: this host alone can reach it.
const DefaultListen = "127.0.0.1:8443"

// Config is what a Server serves, and how.
type Config struct {
	// Listen is HOST:PORT; empty means DefaultListen. Port 0 is any free one.
	Listen string
	// Dir is the directory of the keys that the server makes for itself: a CA and a certificate that it signs. It is
	// made when it is not there.
	Dir string
	// CertFile and KeyFile are PEM files with a certificate, its chain and its key, instead of those that the server
	// makes. They are read again when they change. CAFile holds the authority's certificate for clients who ask for it.
	CertFile, KeyFile, CAFile string
	// Plain serves HTTP without TLS, which is for programs of this host: Listen must be a loopback address.
	Plain bool
	// Hosts are further names and addresses by which clients call this host. They stand in the certificate, and requests
	// for other names are refused, unless AnyHost is set.
	Hosts   []string
	AnyHost bool
	// Guard knows who may come in.
	Guard *auth.Guard
	// OVirt serves /ovirt-engine/api and below, API /api and below. Both get authenticated requests only.
	OVirt, API http.Handler
	// Pages serves every other path, to everybody. Requests with a good cookie say whose they are; see auth.FromContext. It may
	// be nil.
	Pages http.Handler
	// Healthy says what is wrong with the daemon. It may be nil.
	Healthy func(context.Context) error
	// Log gets a line for each request, without secrets.
	Log *slog.Logger
	// Limits bound what clients may take.
	Limits Limits
}

// Limits bound what clients may take. Zero values stand for the defaults.
type Limits struct {
	// Connections is how many there may be at a time (2048). One that is idle makes room for a new one. It is also how many
	// requests there may be at a time over HTTP/2, of which one connection may have Streams (100).
	Connections, Streams int
	// Header is the largest head of a request, in bytes (64 KiB), Body the largest body (64 MiB).
	Header int
	Body   int64
	// HeadTime is how long a head may take (10 s), and so the body of who has not logged in; BodyTime how long the body of who
	// has (2 m). Idle is how long a connection is kept for the
	// next request (2 m).
	HeadTime, BodyTime, Idle time.Duration
	// WriteTime is how long a client may take to accept what one write sends it (30 s).
	WriteTime time.Duration
	// Recheck is how often the server looks whether somebody whose answer goes on and on would still be let in (15 s).
	Recheck time.Duration
	// Grace is how long requests may go on when the server ends (10 s).
	Grace time.Duration
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 2048), Streams: cmp.Or(l.Streams, 100), Header: cmp.Or(l.Header, 64<<10), Body: cmp.Or(l.Body, 64<<20),
		HeadTime: cmp.Or(l.HeadTime, 10*time.Second), BodyTime: cmp.Or(l.BodyTime, 2*time.Minute), Idle: cmp.Or(l.Idle, 2*time.Minute),
		WriteTime: cmp.Or(l.WriteTime, 30*time.Second), Grace: cmp.Or(l.Grace, 10*time.Second),
		Recheck: cmp.Or(l.Recheck, 15*time.Second),
	}
}

// certificates is where the server's certificate comes from.
type certificates interface {
	certificate() (*tls.Certificate, error)
	// authority is what clients may need to trust, as PEM.
	authority() []byte
}

// Server serves the daemon's APIs.
type Server struct {
	config       Config
	listener     *listener
	certificates certificates
	caFile       string
	// hosts are the names and addresses by which clients call this host.
	hosts  []string
	origin *http.CrossOriginProtection
	http   *http.Server
	// streams are answers that have no end of their own.
	streams streams
	// multiplexed counts the requests over HTTP/2 that are being answered.
	multiplexed atomic.Int64
}

const (
	// frame is the largest frame of HTTP/2 that is read, in bytes: the smallest limit that there may be (RFC 9113, 6.5.2).
	frame = 16 << 10
	// window is how much of the bodies of an HTTP/2 connection is read before a handler takes it, in bytes.
	window = 256 << 10
)

// New makes the keys that are missing, and listens. It serves nobody before Serve.
func New(ctx context.Context, c Config) (*Server, error) {
	c.Listen = cmp.Or(c.Listen, DefaultListen)
	c.Limits = c.Limits.withDefaults()
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, hosts: names(c.Listen, c.Hosts), origin: http.NewCrossOriginProtection()}
	if err := s.openCertificates(); err != nil {
		return nil, err
	}
	inner, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, err
	}
	s.listener = &listener{Listener: inner, max: c.Limits.Connections, conns: map[*conn]struct{}{}, tls: &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			certificate, err := s.certificates.certificate()
			if err != nil {
				c.Log.Error("no certificate", "error", err)
			}
			return certificate, err
		},
	}}
	if c.Plain {
		s.listener.tls = nil
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	// net/http does not see the TLS below its connections: it knows HTTP/2 by how it begins.
	protocols.SetUnencryptedHTTP2(!c.Plain)
	s.http = &http.Server{
		Handler: s, Protocols: protocols, ReadHeaderTimeout: c.Limits.HeadTime, IdleTimeout: c.Limits.Idle, MaxHeaderBytes: c.Limits.Header,
		ConnState: s.listener.state, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: c.Limits.Streams, MaxReadFrameSize: frame, MaxReceiveBufferPerConnection: window,
			MaxReceiveBufferPerStream: window, SendPingTimeout: c.Limits.WriteTime, PingTimeout: c.Limits.WriteTime, WriteByteTimeout: c.Limits.WriteTime},
	}
	return s, nil
}

func (s *Server) openCertificates() error {
	c := s.config
	if c.Plain {
		s.certificates = noCertificates{}
		return loopback(c.Listen)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return errors.New("a certificate needs its key, and a key its certificate")
	}
	if c.CertFile == "" {
		p, err := openPKI(c.Dir, s.hosts, time.Now)
		s.certificates, s.caFile = p, filepath.Join(c.Dir, caFile)
		return err
	}
	g, err := openGiven(c.CertFile, c.KeyFile, time.Now)
	if err != nil {
		return err
	}
	s.certificates, s.caFile = g, cmp.Or(c.CAFile, c.CertFile)
	if leaf := g.current.Leaf; leaf != nil {
		s.hosts = append(s.hosts, leaf.DNSNames...)
	}
	if c.CAFile != "" {
		g.ca, err = os.ReadFile(c.CAFile)
	}
	return err
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is how a client on this host reaches the server.
func (s *Server) URL() string {
	if s.config.Plain {
		return "http://" + reachable(s.Addr())
	}
	return "https://" + reachable(s.Addr())
}

// reachable is the host and port by which a listener is reached from its own host.
func reachable(addr net.Addr) string {
	host, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return addr.String()
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// loopback returns an error for an address that others than this host can reach.
func loopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if a, bad := netip.ParseAddr(host); err == nil && (bad != nil || !a.IsLoopback()) {
		err = fmt.Errorf("plain HTTP would send passwords in clear, so it is served on addresses such as 127.0.0.1 and not on %q", host)
	}
	return err
}

// noCertificates are those of a server without TLS.
type noCertificates struct{}

func (noCertificates) certificate() (*tls.Certificate, error) { return nil, errors.ErrUnsupported }
func (noCertificates) authority() []byte                      { return nil }

// CAFile is the file with the certificate that clients need to trust, and CA what is in it. A server without TLS has none.
func (s *Server) CAFile() string { return s.caFile }

// CA returns the certificate that clients need to trust, as PEM.
func (s *Server) CA() []byte { return s.certificates.authority() }

// Serve serves until ctx ends, then lets requests end within the grace, and returns nil. Any other end is an error.
func (s *Server) Serve(ctx context.Context) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s.http.BaseContext = func(net.Listener) context.Context { return base }
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(s.listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), s.config.Limits.Grace)
	defer stop()
	gone := s.streams.end()
	err := s.http.Shutdown(end)
	select {
	case <-gone: // connections that were handed over are none of net/http's
	case <-end.Done():
		err = context.DeadlineExceeded
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.config.Log.Warn("requests were cut off", "connections", s.listener.count())
		err = nil
	}
	cancel()
	return errors.Join(err, s.Close())
}

// Close ends the server at once, with all connections. It does no harm after Serve.
func (s *Server) Close() error {
	err := errors.Join(s.http.Close(), s.listener.Close())
	s.listener.closeAll()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Package server is the daemon's side of the network: the listener with its certificate, the limits on whoever connects,
// the log, and the door before the APIs.
//
// It speaks HTTP/1.1 over TLS 1.2 or later. What is behind the door gets requests of known users only, whom
// auth.FromContext names.
package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
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
	// Hosts are further names and addresses by which clients call this host. They stand in the certificate, and requests
	// for other names are refused, unless AnyHost is set.
	Hosts   []string
	AnyHost bool
	// Guard knows who may come in.
	Guard *auth.Guard
	// OVirt serves /ovirt-engine/api and below, API /api/v1 and below. Both get authenticated requests only.
	OVirt, API http.Handler
	// Pages serves every other path, to everybody. It may be nil.
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
	// Connections is how many there may be at a time (2048). One that is idle makes room for a new one.
	Connections int
	// Header is the largest head of a request, in bytes (64 KiB), Body the largest body (64 MiB).
	Header int
	Body   int64
	// HeadTime is how long a head may take (10 s), BodyTime a body (2 m). Idle is how long a connection is kept for the
	// next request (2 m).
	HeadTime, BodyTime, Idle time.Duration
	// WriteTime is how long a client may take to accept what one write sends it (30 s).
	WriteTime time.Duration
	// Grace is how long requests may go on when the server ends (10 s).
	Grace time.Duration
}

// Server serves the daemon's APIs.
type Server struct {
	config   Config
	listener net.Listener
}

// New makes the keys that are missing, and listens. It serves nobody before Serve.
func New(ctx context.Context, c Config) (*Server, error) { return nil, errUnfinished }

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is how a client on this host reaches the server.
func (s *Server) URL() string { return "" }

// CAFile is the file with the certificate that clients need to trust, and CA what is in it.
func (s *Server) CAFile() string { return "" }

// CA returns the certificate that clients need to trust, as PEM.
func (s *Server) CA() []byte { return nil }

// Serve serves until ctx ends, then lets requests end within the grace, and returns nil. Any other end is an error.
func (s *Server) Serve(ctx context.Context) error { return errUnfinished }

var errUnfinished = errors.New("not there yet")

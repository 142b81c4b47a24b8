// Package api serves the daemon's own API, /api/v1: JSON, with problem documents (RFC 9457) for errors and server-sent
// events for what happens. The document openapi.json beside this file describes every route, and a test holds both equal.
package api

import (
	"net/http"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
)

// Options are what the API needs beside the daemon.
type Options struct {
	// Engine is the daemon's.
	Engine *vmseed.Engine
	// Guard issues tokens.
	Guard *auth.Guard
	// Version is that of the program.
	Version string
}

// New returns the handler of /api/v1 and below. Requests carry who makes them; see auth.FromContext. POST /api/v1/session,
// which is the login, and GET /api/v1/openapi.json need nobody.
func New(d *daemon.Daemon, o Options) http.Handler { return http.NotFoundHandler() }

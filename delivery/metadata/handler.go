package metadata

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Config is how a Handler answers.
type Config struct {
	// Identify says whose request it is, and nil for nobody's: Only(site), (*Table).Identify and (*Proxy).Identify fit.
	// A request of nobody gets the answer of a path that does not exist.
	Identify func(*http.Request) *Site
	// Proxied says that guests are behind proxies which identify them, as Proxy has it: the one X-Forwarded-For that
	// such a proxy writes does not refuse a session token, all requests come from the same addresses, and hop limits
	// mean nothing.
	Proxied bool
	// Directories serves machines whose addresses are not known, at paths that are signed for them. It may be nil.
	Directories *Directories
	// Reports serves what is below /vmseed/. SiteOf tells it whose request it is, which may be nobody's: it must not
	// believe anything that is not signed. It may be nil.
	Reports http.Handler
	// Password is called with the password that a guest posts at OpenStack's path, before the guest is told that it has
	// been taken. An error lets the guest try again. It may be nil.
	Password func(site *Site, password []byte) error
	// Limits bound what one machine may take.
	Limits Limits
	// Log gets a line for each request, without anything secret: neither tokens nor signatures, queries or bodies. It may
	// be nil.
	Log *slog.Logger
	// Observe is called after each answer, for metrics. It may be nil.
	Observe func(Request)
}

// Limits bound what one machine may take. Zero values stand for the defaults, negative ones for no bound.
type Limits struct {
	// Rate is how many requests a machine may make in a second (50), and Burst how many at once after a pause (200).
	// What is over that is answered 503 with Retry-After.
	Rate, Burst int
	// Connections is how many one address may have open (128); further ones are closed at once. It does not hold for
	// proxies.
	Connections int
}

// Request is an answered request, for metrics.
type Request struct {
	// Site is whose it was, nil for nobody's.
	Site *Site
	// Route is a word of a small set: the name of the tree, token, password, versions, reports, or denied for what is
	// none of these.
	Route    string
	Status   int
	Bytes    int64
	Duration time.Duration
}

// Handler answers guests. It may serve several listeners: session tokens of one are good at the others.
type Handler struct {
	config Config
	start  time.Time
}

// NewHandler returns a handler with a fresh key for session tokens.
func NewHandler(c Config) *Handler {
	return &Handler{config: c, start: time.Now()}
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "404 - Not Found", http.StatusNotFound)
}

// siteKey is where a context has the site.
type siteKey struct{}

// SiteOf is the site that a request to Config.Reports belongs to, or nil.
func SiteOf(ctx context.Context) *Site {
	s, _ := ctx.Value(siteKey{}).(*Site)
	return s
}

// Serve answers guests that connect to a listener until the context ends, and closes the listener. Its limits are for
// guests: a head of at most 8 KiB within 5 seconds.
//
// The answer with a session token leaves with the hop limit of the machine's tree. On connections of TCP that is the
// socket's; connections of other networks take part by a method SetHopLimit(int) error, where 0 asks for the usual one.
// If they also have Unacknowledged() (int, error), the number of bytes sent that the peer may not have, they are kept open
// behind a token; else they are closed, because a repeated segment would leave with the limit of that moment.
func Serve(ctx context.Context, l net.Listener, h *Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.Serve(l); ctx.Err() == nil {
		return err
	}
	return nil
}

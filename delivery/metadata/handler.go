package metadata

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vmseed/vmseed/seed"
)

// Config is how a Handler answers.
type Config struct {
	// Identify says whose request it is, and nil for nobody's: Only(site), (*Table).Identify and (*Proxy).Identify fit.
	// A request of nobody gets the answer of a path that does not exist. Nil stands for a listener at which nobody is
	// known except by Directories.
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
	// What is over that is answered 503 with Retry-After. Reports are counted apart from the rest. Those of nobody are not
	// counted, because whoever does so counts guests together that have nothing to do with each other.
	Rate, Burst int
	// Connections is how many one address may have open (128); further ones are closed at once. It does not hold for
	// proxies.
	Connections int
}

// Request is an answered request, for metrics.
type Request struct {
	// Site is whose it was, nil for nobody's.
	Site *Site
	// Route is a word of a small set: the name of the tree, token, password, versions, reports, limited, or denied for
	// what is none of these.
	Route    string
	Status   int
	Bytes    int64
	Duration time.Duration
}

// The routes that are no trees.
const (
	routeToken    = "token"
	routePassword = "password"
	routeVersions = "versions"
	routeReports  = "reports"
	routeLimited  = "limited"
	routeDenied   = "denied"
)

// Handler answers guests. It may serve several listeners: session tokens of one are good at the others.
type Handler struct {
	config Config
	tokens *tokens
}

// NewHandler returns a handler with a fresh key for session tokens.
func NewHandler(c Config) *Handler {
	c.Limits = c.Limits.withDefaults()
	if c.Identify == nil {
		c.Identify = Only(nil)
	}
	return &Handler{config: c, tokens: newTokens()}
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.config.Log == nil && h.config.Observe == nil {
		h.serve(w, r)
		return
	}
	begin := time.Now()
	out := h.serve(w, r)
	out.Duration = time.Since(begin)
	if h.config.Observe != nil {
		h.config.Observe(out)
	}
	if h.config.Log != nil {
		h.log(r, out)
	}
}

// serve answers a request and says what it was.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) Request {
	c := connOf(r)
	if c != nil {
		c.restoreHops()
		if r.ContentLength != 0 && c.leave != nil { // of our own listener, whose deadlines are ours
			_ = c.SetReadDeadline(time.Now().Add(bodyTime))
		}
	}
	path, ok := requestPath(r)
	site := h.config.Identify(r)
	if h.config.Directories != nil {
		site, path, ok = h.config.Directories.resolve(site, path, ok)
	}
	if strings.HasPrefix(path, reportsRoot+"/") && h.config.Reports != nil {
		return h.report(w, r, site)
	}
	a := answer{handler: h, w: w, r: r, conn: c, done: Request{Site: site, Route: routeDenied}}
	switch {
	case site == nil:
		a.fail(http.StatusNotFound)
	case !site.answers.take(time.Since(site.born), h.config.Limits.Rate, h.config.Limits.Burst):
		a.throttle()
	case !ok:
		a.fail(http.StatusNotFound)
	default:
		a.route(path)
	}
	return a.done
}

// requestPath is the path of a request without its first slash. It is looked up as it is, so that nothing in it can lead
// anywhere; a slash or dot that is spelled as an escape is refused, since whoever filters paths before us may not see it.
func requestPath(r *http.Request) (string, bool) {
	if r.URL.RawPath != "" {
		for i := 0; i+2 < len(r.URL.RawPath); i++ {
			if s := r.URL.RawPath[i:]; s[0] == '%' && s[1] == '2' && (s[2]|0x20 == 'f' || s[2]|0x20 == 'e') {
				return "", false
			}
		}
	}
	return strings.CutPrefix(r.URL.Path, "/")
}

// answer is the answer to one request.
type answer struct {
	handler *Handler
	w       http.ResponseWriter
	r       *http.Request
	conn    *conn
	done    Request
}

// route answers a known machine.
func (a *answer) route(path string) {
	v := a.done.Site.view.Load()
	b, rest := v.find(path)
	if b == nil {
		a.versions(v.tops[strings.TrimSuffix(path, "/")])
		return
	}
	a.done.Route = b.name
	if b.tokens != seed.NoTokens && rest == tokenFile {
		a.token(b)
		return
	}
	if !a.authorised(b) {
		a.fail(http.StatusUnauthorized)
		return
	}
	if b.name == openStack && rest == passwordFile {
		a.password()
		return
	}
	a.read(b.entry(rest))
}

// versions answers above the trees.
func (a *answer) versions(t top) {
	switch {
	case t.listing == nil:
		a.fail(http.StatusNotFound)
	case t.branch != nil && !a.authorised(t.branch):
		a.fail(http.StatusUnauthorized)
	default:
		a.done.Route = routeVersions
		a.read(t.listing)
	}
}

// read answers with an entry, which may be nil.
func (a *answer) read(e *entry) {
	switch {
	case e == nil:
		a.fail(http.StatusNotFound)
	case a.r.Method != http.MethodGet && a.r.Method != http.MethodHead:
		a.refuse("GET, HEAD")
	default:
		a.write(e)
	}
}

// authorised checks the session token of a request, where there are any. One that is given must be good, even where none
// is needed.
func (a *answer) authorised(b *branch) bool {
	given := a.r.Header[tokenHeader]
	if b.tokens == seed.NoTokens || len(given) == 0 {
		return b.tokens != seed.TokensRequired
	}
	return len(given) == 1 && a.handler.tokens.good(a.done.Site, given[0])
}

// token begins a session.
func (a *answer) token(b *branch) {
	a.done.Route = routeToken
	if a.r.Method != http.MethodPut {
		a.refuse(http.MethodPut)
		return
	}
	if forwarded(a.r.Header, a.handler.config.Proxied) {
		a.fail(http.StatusForbidden)
		return
	}
	ttl, life := tokenLife(a.r.Header)
	if life == 0 {
		a.fail(http.StatusBadRequest)
		return
	}
	header := a.w.Header()
	if a.conn != nil && !a.handler.config.Proxied {
		keep, err := a.conn.lowerHops(b.hopLimit)
		if err != nil { // the token would go further than it may
			a.fail(http.StatusInternalServerError)
			return
		}
		if !keep {
			header["Connection"] = closeValue
		}
	}
	e := newEntry([]byte(a.handler.tokens.issue(a.done.Site, life)), "")
	header[ttlHeader] = ttl
	a.write(e)
}

// maxPassword is the longest password that is taken (nova: four pieces of 255 bytes).
const maxPassword = 4 * 255

// password takes and gives the password of a guest's administrator (nova, api/metadata/password.py): it can be posted
// once.
func (a *answer) password() {
	a.done.Route = routePassword
	switch a.r.Method {
	case http.MethodGet, http.MethodHead:
		a.write(newEntry([]byte(a.done.Site.Password().Reveal()), ""))
		return
	case http.MethodPost:
	default:
		a.refuse("GET, HEAD, POST")
		return
	}
	if a.r.Header["Origin"] != nil || a.r.Header["Sec-Fetch-Site"] != nil { // a page in the guest's browser
		a.fail(http.StatusForbidden)
		return
	}
	if a.done.Site.password.Load() != nil {
		a.fail(http.StatusConflict)
		return
	}
	body, err := io.ReadAll(io.LimitReader(a.r.Body, maxPassword+1))
	if err != nil || len(body) == 0 || len(body) > maxPassword {
		a.fail(http.StatusBadRequest)
		return
	}
	first, err := a.done.Site.setPassword(body, a.handler.config.Password)
	switch {
	case err != nil:
		a.fail(http.StatusInternalServerError)
	case !first:
		a.fail(http.StatusConflict)
	default:
		a.write(newEntry(nil, ""))
	}
}

// Values of header fields that many answers share. Nobody changes them.
var (
	textType   = []string{plainText}
	closeValue = []string{"close"}
	noStore    = []string{"no-store"}
	oneSecond  = []string{"1"}
)

// write gives an answer.
func (a *answer) write(e *entry) {
	header := a.w.Header()
	header["Content-Type"] = e.head.contentType
	header["Content-Length"] = e.head.length
	a.end(header, http.StatusOK, e.content)
}

// end sends an answer. A body that nobody has read ends the connection, so that what is in it is not waited for.
func (a *answer) end(header http.Header, status int, content []byte) {
	if a.handler.config.Proxied { // nobody else is between us and the guest
		header["Cache-Control"] = noStore
	}
	if a.r.ContentLength != 0 && a.done.Route != routePassword {
		header["Connection"] = closeValue
	}
	a.done.Status = status
	if status != http.StatusOK {
		a.w.WriteHeader(status)
	}
	if a.r.Method == http.MethodHead {
		return
	}
	n, _ := a.w.Write(content)
	a.done.Bytes = int64(n)
}

// refuse answers a method that the path does not have.
func (a *answer) refuse(allowed string) {
	a.w.Header()["Allow"] = []string{allowed}
	a.fail(http.StatusMethodNotAllowed)
}

// fail gives an answer that is the same for every reason, in the shape of EC2's.
func (a *answer) fail(status int) {
	text := strconv.Itoa(status) + " - " + http.StatusText(status)
	header := a.w.Header()
	header["Content-Type"] = textType
	header["Content-Length"] = []string{strconv.Itoa(len(text))}
	a.end(header, status, []byte(text))
}

// throttleDelay is how long whoever asks too often waits to be told so.
const throttleDelay = 100 * time.Millisecond

// throttle answers a machine that asks too often, as EC2 does. The delay makes asking again cost less than answering
// those who keep within their share.
func (a *answer) throttle() {
	a.done.Route = routeLimited
	t := time.NewTimer(throttleDelay)
	defer t.Stop()
	select {
	case <-t.C:
	case <-a.r.Context().Done():
	}
	a.w.Header()["Retry-After"] = oneSecond
	a.fail(http.StatusServiceUnavailable)
}

// siteKey is where a context has the site.
type siteKey struct{}

// SiteOf is the site that a request to Config.Reports belongs to, or nil.
func SiteOf(ctx context.Context) *Site {
	s, _ := ctx.Value(siteKey{}).(*Site)
	return s
}

// report hands a request to Config.Reports.
func (h *Handler) report(w http.ResponseWriter, r *http.Request, site *Site) Request {
	if site != nil && !site.reports.take(time.Since(site.born), h.config.Limits.Rate, h.config.Limits.Burst) {
		a := answer{handler: h, w: w, r: r, done: Request{Site: site}}
		a.throttle()
		return a.done
	}
	rec := &recorder{ResponseWriter: w, status: http.StatusOK}
	h.config.Reports.ServeHTTP(rec, r.WithContext(context.WithValue(r.Context(), siteKey{}, site)))
	return Request{Site: site, Route: routeReports, Status: rec.status, Bytes: rec.bytes}
}

// recorder keeps what another handler answers.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader keeps the status.
func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Write counts.
func (r *recorder) Write(p []byte) (int, error) {
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

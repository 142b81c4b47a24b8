package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// The paths that the server answers itself, and those of the APIs.
const (
	pathHealth      = "/healthz"
	pathEngine      = "/ovirt-engine"
	pathOVirtHealth = "/ovirt-engine/services/health"
	pathCA          = "/ovirt-engine/services/pki-resource"
	pathLogout      = "/ovirt-engine/services/sso-logout"
	pathToken       = "/ovirt-engine/sso/oauth/token"
	pathTicket      = "/ovirt-engine/sso/oauth/token-http-auth"
	pathOVirt       = "/ovirt-engine/api"
	pathAPI         = "/api"
	pathSession     = pathAPI + "/v1/session"
	pathOpenAPI     = pathAPI + "/v1/openapi.json"
)

// below reports whether a path is a prefix or below it. Two slashes are as good as one, and a parameter may follow: both
// SDKs of oVirt make such paths.
func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == ';')
}

// route finds out who answers a request.
func (s *Server) route(x *exchange, r *http.Request) {
	if x.crowded {
		x.problem(http.StatusServiceUnavailable, "the daemon answers as many requests as it may; try again")
		return
	}
	if !s.knownHost(r.Host) {
		x.problem(http.StatusMisdirectedRequest, "the daemon does not know this host by the name in the request; name it when the daemon is started")
		return
	}
	if err := s.ownSite(r); err != nil {
		x.problem(http.StatusForbidden, "a page of another site must not change anything here")
		return
	}
	switch path := r.URL.Path; {
	case path == pathHealth, path == pathOVirtHealth:
		s.health(x, r)
	case path == pathCA:
		s.authority(x, r)
	case path == pathToken:
		s.token(x, r)
	case path == pathTicket:
		x.Header().Set("WWW-Authenticate", "Negotiate")
		x.sso(http.StatusUnauthorized, ssoError(scopeAPI, "access_denied", "This engine knows no Kerberos: log in with a user name and a password."))
	case path == pathLogout:
		s.logout(x, r)
	case below(path, pathOVirt):
		s.admit(x, r, s.config.OVirt)
	case path == pathSession && r.Method == http.MethodPost, path == pathOpenAPI:
		x.Header().Set("Cache-Control", "no-store")
		serve(x, r, s.config.API)
		x.denied = x.status == http.StatusUnauthorized || x.status == http.StatusTooManyRequests
		if _, err := s.config.Guard.Users().Names(); err != nil && x.status == http.StatusServiceUnavailable {
			s.config.Log.Error("nobody can log in", "id", x.id, "error", err)
		}
	case below(path, pathAPI):
		s.admit(x, r, s.config.API)
	default:
		s.page(x, r)
	}
}

// page serves a page, to whoever asks. It knows who that is when the browser has a cookie that is still good.
func (s *Server) page(x *exchange, r *http.Request) {
	if id, ok, err := s.config.Guard.Cookie(r, s.config.Plain); ok && err == nil {
		s.config.Guard.Use(id)
		r = x.known(r, id)
	}
	serve(x, r, s.config.Pages)
	x.denied = r.Method == http.MethodPost && (x.status == http.StatusForbidden || x.status == http.StatusTooManyRequests)
}

// known notes who makes a request. What is behind the door has no use for the password or the token.
func (x *exchange) known(r *http.Request, id auth.Identity) *http.Request {
	x.user = id.Name
	r = r.WithContext(auth.NewContext(r.Context(), id))
	x.ctx = r.Context()
	r.Header.Del("Authorization")
	r.Header.Del("Cookie")
	return r
}

// ownSite refuses requests that a page of another site has made and that may change something. A connection that is upgraded
// may, whatever its method.
func (s *Server) ownSite(r *http.Request) error {
	if r.Header.Get("Upgrade") != "" {
		changing := *r
		changing.Method = http.MethodPost
		r = &changing
	}
	return s.origin.Check(r)
}

func serve(x *exchange, r *http.Request, h http.Handler) {
	if h == nil {
		x.problem(http.StatusNotFound, "there is nothing at this path")
		return
	}
	h.ServeHTTP(x, r)
}

// knownHost reports whether this host is meant. An address is never the name of another site that was made to lead here.
func (s *Server) knownHost(host string) bool {
	if s.config.AnyHost {
		return true
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return slices.ContainsFunc(s.hosts, func(known string) bool {
		wild, ok := strings.CutPrefix(known, "*.")
		if !ok {
			return known == name
		}
		_, rest, ok := strings.Cut(name, ".")
		return ok && rest == wild
	})
}

// admit lets those in who say who they are.
func (s *Server) admit(x *exchange, r *http.Request, h http.Handler) {
	x.Header().Set("Cache-Control", "no-store")
	id, err := s.identify(x, r)
	var slow *auth.SlowDownError
	switch {
	case err == nil:
		r = x.known(r, id)
		if limit := s.config.Limits.Body; r.ContentLength > limit {
			x.Header().Set("Connection", "close") // rather than read what nobody wants
			x.problem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
			return
		}
		if r.Body != http.NoBody {
			_ = x.control.SetReadDeadline(time.Now().Add(s.config.Limits.BodyTime))
		}
		serve(x, r, h)
	case r.Context().Err() != nil:
	case errors.As(err, &slow):
		x.denied = true
		x.Header().Set("Retry-After", slow.RetryAfter())
		x.problem(http.StatusTooManyRequests, err.Error())
	case errors.Is(err, errOtherOrigin):
		x.problem(http.StatusForbidden, err.Error())
	case errors.Is(err, auth.ErrDenied), errors.Is(err, auth.ErrExpired), errors.Is(err, errNobody):
		x.denied = errors.Is(err, auth.ErrDenied)
		x.challenge(err)
	default:
		s.config.Log.Error("nobody can log in", "id", x.id, "error", err)
		x.problem(http.StatusServiceUnavailable, "the daemon cannot read its users; its log says why")
	}
}

// errNobody means that a request says nothing about who makes it.
var errNobody = errors.New("log in first, and send the token as Authorization: Bearer")

// errOtherOrigin means that a request has the cookie of a page, and that the browser does not say that the page made it.
var errOtherOrigin = errors.New("a cookie lets in only what the daemon's own page asks for")

// identify finds out who makes a request. The cookie of a page is for the API that the page uses. What an open page reads there,
// it mostly reads because something has happened at the daemon, so only a change tells that its user is there.
func (s *Server) identify(x *exchange, r *http.Request) (auth.Identity, error) {
	headers := r.Header.Values("Authorization")
	if len(headers) == 0 && below(x.path, pathAPI) {
		id, ok, err := s.config.Guard.Cookie(r, s.config.Plain)
		switch {
		case !ok:
			return auth.Identity{}, errNobody
		case err == nil && !sameOrigin(r):
			return auth.Identity{}, errOtherOrigin
		case err == nil && r.Method != http.MethodGet && r.Method != http.MethodHead:
			s.config.Guard.Use(id)
		}
		return id, err
	}
	if len(headers) != 1 {
		return auth.Identity{}, errNobody
	}
	scheme, rest, _ := strings.Cut(headers[0], " ")
	switch {
	case strings.EqualFold(scheme, "Bearer"):
		return s.config.Guard.Token(secret.New(strings.TrimSpace(rest)))
	case strings.EqualFold(scheme, "Basic"):
		name, password, ok := r.BasicAuth()
		if !ok {
			return auth.Identity{}, auth.ErrDenied
		}
		return s.config.Guard.Password(r.Context(), name, secret.New(password), x.from)
	}
	return auth.Identity{}, errNobody
}

// sameOrigin reports whether a browser says that a page of this very origin makes a request, or that its user does who has
// typed or followed an address. Only reading does without a word of the browser: old ones say nothing then, and no other site
// reads the answer. Another port of this host is another origin, though it gets the same cookies.
func sameOrigin(r *http.Request) bool {
	reads := (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "same-origin":
		return true
	case site == "none":
		return reads
	case site != "":
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return reads
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

// challenge says how to prove who one is. Browsers ask their users for a password when they see Basic, which is for
// clients of oVirt alone; those get no body, for they would take any for an answer of the API.
func (x *exchange) challenge(err error) {
	oVirt := below(x.path, pathOVirt)
	if oVirt {
		x.Header().Add("WWW-Authenticate", `Basic realm="vmseed", charset="UTF-8"`)
	}
	x.Header().Add("WWW-Authenticate", `Bearer realm="vmseed"`)
	if oVirt {
		x.WriteHeader(http.StatusUnauthorized)
		return
	}
	x.problem(http.StatusUnauthorized, err.Error())
}

package server

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// scopeAPI is the scope that clients of oVirt's API ask for.
const scopeAPI = "ovirt-app-api"

// maxForm bounds the body of a login, in bytes.
const maxForm = 64 << 10

// reads refuses a request that does more than read, and reports whether it was none.
func (x *exchange) reads(r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	x.Header().Set("Allow", "GET, HEAD")
	x.problem(http.StatusMethodNotAllowed, "this is read only")
	return false
}

// health says whether the daemon works. Anybody may ask, so an answer that says no does not say why.
func (s *Server) health(x *exchange, r *http.Request) {
	if !x.reads(r) {
		return
	}
	status, text := http.StatusOK, "ok\n"
	if s.config.Healthy != nil {
		if err := s.config.Healthy(r.Context()); err != nil {
			s.config.Log.Error("the daemon is not healthy", "error", err)
			status, text = http.StatusServiceUnavailable, "the daemon does not work; its log says why\n"
		}
	}
	x.Header().Set("Content-Type", "text/plain; charset=utf-8")
	x.Header().Set("Cache-Control", "no-store")
	x.WriteHeader(status)
	_, _ = io.WriteString(x, text)
}

// authority hands out the certificate that clients have to trust.
func (s *Server) authority(x *exchange, r *http.Request) {
	q := r.URL.Query()
	resource, format := q.Get("resource"), q.Get("format")
	if resource != "" && resource != "ca-certificate" || format != "" && !slices.Contains([]string{"X509-PEM-CA", "X509-PEM"}, format) {
		x.problem(http.StatusNotFound, "there is resource=ca-certificate with format=X509-PEM-CA")
		return
	}
	if !x.reads(r) {
		return
	}
	ca := s.CA()
	if ca == nil {
		x.problem(http.StatusNotFound, "this daemon serves plain HTTP and has no certificate")
		return
	}
	x.Header().Set("Content-Type", "application/x-x509-ca-cert")
	_, _ = x.Write(ca)
}

// form returns the parameters of a login. They come as a form, whatever the client calls it, or in the query.
func form(x *exchange, r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || r.Method == http.MethodGet {
		return q, err
	}
	data, err := io.ReadAll(http.MaxBytesReader(x, r.Body, maxForm))
	if err != nil {
		return nil, err
	}
	values, err := url.ParseQuery(strings.TrimSpace(string(data)))
	for key, more := range values {
		q[key] = append(more, q[key]...)
	}
	return q, err
}

// sso answers as oVirt's single sign-on does.
func (x *exchange) sso(status int, answer map[string]string) {
	x.Header().Set("Content-Type", "application/json")
	x.Header().Set("Cache-Control", "no-store")
	x.Header().Set("Pragma", "no-cache")
	x.WriteHeader(status)
	_ = json.NewEncoder(x).Encode(answer)
}

// ssoError is a refusal. For the scope of the API its members are other ones than in OAuth 2 (RFC 6749 section 5.2).
func ssoError(scope, code, text string) map[string]string {
	if strings.Contains(scope, scopeAPI) {
		return map[string]string{"error_code": code, "error": text}
	}
	return map[string]string{"error": code, "error_description": text}
}

// token is the login of oVirt's clients.
func (s *Server) token(x *exchange, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodGet {
		x.Header().Set("Allow", "GET, POST")
		x.sso(http.StatusMethodNotAllowed, ssoError(scopeAPI, "invalid_request", "Send the login as a form."))
		return
	}
	values, err := form(x, r)
	if err != nil {
		x.sso(http.StatusBadRequest, ssoError(scopeAPI, "invalid_request", "The login cannot be read as a form."))
		return
	}
	scope := values.Get("scope")
	switch {
	case scope != "" && !slices.Contains(strings.Fields(scope), scopeAPI):
		x.sso(http.StatusBadRequest, ssoError(scope, "invalid_scope", "The scope is "+scopeAPI+"."))
		return
	case values.Get("grant_type") != "password":
		x.sso(http.StatusBadRequest, ssoError(scopeAPI, "unsupported_grant_type", "The grant_type is password."))
		return
	case values.Get("username") == "":
		x.sso(http.StatusBadRequest, ssoError(scopeAPI, "invalid_request", "The parameter username is missing."))
		return
	}
	session, err := s.config.Guard.Login(r.Context(), values.Get("username"), secret.New(values.Get("password")), x.from)
	var slow *auth.SlowDownError
	switch {
	case err == nil:
		x.user = session.Identity.Name
		x.sso(http.StatusOK, map[string]string{"access_token": session.Token.Reveal(), "scope": scopeAPI, "token_type": "bearer",
			"exp": strconv.FormatInt(session.Idle.UnixMilli(), 10)})
	case r.Context().Err() != nil:
	case errors.As(err, &slow):
		x.denied = true
		x.Header().Set("Retry-After", slow.RetryAfter())
		x.sso(http.StatusBadRequest, ssoError(scopeAPI, "access_denied", "Cannot authenticate user: "+err.Error()+"."))
	case errors.Is(err, auth.ErrDenied):
		x.denied = true
		x.sso(http.StatusBadRequest, ssoError(scopeAPI, "access_denied", "Cannot authenticate user: "+err.Error()+"."))
	default:
		s.config.Log.Error("nobody can log in", "id", x.id, "error", err)
		x.sso(http.StatusInternalServerError, ssoError(scopeAPI, "server_error", "The engine cannot read its users."))
	}
}

// logout ends a token. go-ovirt sends an empty one, and takes any answer that is no JSON for a failure.
func (s *Server) logout(x *exchange, r *http.Request) {
	values, err := form(x, r)
	if err == nil && values.Get("token") != "" {
		s.config.Guard.Logout(secret.New(values.Get("token")))
	}
	x.sso(http.StatusOK, map[string]string{})
}

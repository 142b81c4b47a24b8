package web

import (
	"errors"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/secret"
)

// maxLogin bounds the form of a log-in, in bytes.
const maxLogin = 16 << 10

// loginView is what the log-in page shows.
type loginView struct {
	// Next is where the user goes afterwards, User the name that was typed.
	Next, User string
	// Ended says that a session came to its end, Error what is wrong with the last attempt.
	Ended bool
	Error string
}

// stranger leads somebody who has not logged in to the log-in page, and from there back. Cookies of the strictest kind do not come with the
// first request of somebody who follows a link on another site, so such a page is loaded once more from here.
func (s *site) stranger(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		s.show(w, r, http.StatusOK, page{template: "again", Title: "product", View: r.URL.RequestURI()})
		return
	}
	http.Redirect(w, r, loginURL(r.URL), http.StatusSeeOther)
}

func loginURL(next *url.URL) string {
	return pathLogin + "?" + url.Values{"next": {next.RequestURI()}}.Encode()
}

// local returns a path of this site that a request has named, or that of the machines.
func local(next string) string {
	u, err := url.Parse(next)
	switch {
	case err != nil, u.IsAbs(), u.Host != "", u.User != nil, u.Opaque != "", !strings.HasPrefix(next, "/"), strings.HasPrefix(next, "//"),
		strings.ContainsAny(next, "\\\x00\t\r\n"), strings.HasPrefix(u.Path, "//"), u.Path == pathLogin, u.Path == pathLogout, strings.HasPrefix(u.Path, "/api/"):
		return pathMachines
	}
	return u.RequestURI()
}

// showLogin asks for a name and a password.
func (s *site) showLogin(w http.ResponseWriter, r *http.Request) {
	next := local(r.URL.Query().Get("next"))
	if _, ok := auth.FromContext(r.Context()); ok {
		http.Redirect(w, r, next, http.StatusSeeOther)
		return
	}
	s.askLogin(w, r, http.StatusOK, loginView{Next: next, Ended: auth.HasCookie(r, s.options.Plain)})
}

func (s *site) askLogin(w http.ResponseWriter, r *http.Request, status int, v loginView) {
	s.show(w, r, status, page{template: "login", Title: "logIn", View: v})
}

// login lets a user in.
func (s *site) login(w http.ResponseWriter, r *http.Request) {
	form, err := loginForm(w, r)
	if err != nil {
		s.refuse(w, r, http.StatusBadRequest)
		return
	}
	v := loginView{Next: local(form.Get("next")), User: form.Get("username")}
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	session, err := s.options.Guard.Login(r.Context(), v.User, secret.New(form.Get("password")), from.Addr())
	var slow *auth.SlowDownError
	switch {
	case err == nil:
		if old, ok := auth.FromContext(r.Context()); ok {
			s.options.Guard.End(old)
		}
		auth.SetCookie(w, r, s.options.Plain, session)
		http.Redirect(w, r, v.Next, http.StatusSeeOther)
	case r.Context().Err() != nil:
	case errors.As(err, &slow):
		seconds := slow.RetryAfter()
		w.Header().Set("Retry-After", seconds)
		v.Error = s.pages.text("tooMany", "seconds", seconds)
		s.askLogin(w, r, http.StatusTooManyRequests, v)
	case errors.Is(err, auth.ErrDenied):
		v.Error = s.pages.text("denied")
		s.askLogin(w, r, http.StatusForbidden, v)
	default:
		s.options.Log.Error("nobody can log in", "error", err)
		v.Error = s.pages.text("noUsers")
		s.askLogin(w, r, http.StatusServiceUnavailable, v)
	}
}

// loginForm reads the form of the log-in page, and of nothing else: no password in an address.
func loginForm(w http.ResponseWriter, r *http.Request) (url.Values, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return nil, errors.New("the log-in is a form")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxLogin)
	err = r.ParseForm()
	return r.PostForm, err
}

// logout ends the session, and has the browser forget what the page has stored there.
func (s *site) logout(w http.ResponseWriter, r *http.Request) {
	if id, ok := auth.FromContext(r.Context()); ok {
		s.options.Guard.End(id)
	}
	auth.DropCookie(w, r, s.options.Plain)
	w.Header().Set("Clear-Site-Data", `"storage"`)
	http.Redirect(w, r, pathLogin, http.StatusSeeOther)
}

package api

import (
	"errors"
	"net/http"
	"net/netip"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
)

// login gives a token for a name and a password.
func (a *api) login(w http.ResponseWriter, r *http.Request) error {
	var q client.LoginRequest
	if err := read(w, r, &q, false); err != nil {
		return err
	}
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	s, err := a.options.Guard.Login(r.Context(), q.Username, q.Password, from.Addr())
	var slow *auth.SlowDownError
	switch {
	case errors.Is(err, auth.ErrDenied), errors.As(err, &slow):
		return err
	case err != nil:
		// What is wrong with the file of users is nothing for strangers.
		return &badRequest{http.StatusServiceUnavailable, "the daemon cannot read its users; its log says why"}
	}
	return answer(w, http.StatusCreated, client.LoginResult{Session: client.Session{User: s.Identity.Name, Idle: s.Idle, Expires: s.Expires}, Token: s.Token})
}

// session says who asks.
func (a *api) session(w http.ResponseWriter, r *http.Request) error {
	id, _ := auth.FromContext(r.Context())
	return answer(w, http.StatusOK, client.Session{User: id.Name})
}

// logout ends the token that the request was made with.
func (a *api) logout(w http.ResponseWriter, r *http.Request) error {
	if id, ok := auth.FromContext(r.Context()); ok {
		a.options.Guard.End(id)
	}
	return done(w)
}

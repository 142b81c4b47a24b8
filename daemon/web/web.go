// Package web serves the page of the daemon: what people click who would not write requests of the API. The server writes every page so that
// it can be read, and the script in dist, which is built from ui, brings it to life as a client of /api/v1.
package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/diag"
)

// Options are what the page shows, and to whom.
type Options struct {
	// API is the handler of /api/v1, which is asked for what stands in the pages. It gets requests that carry who makes them; see
	// auth.FromContext.
	API http.Handler
	// Guard lets users in.
	Guard *auth.Guard
	// LastEvent returns the number of the latest event. The page's script goes on from there.
	LastEvent func() uint64
	// Explanations are those of all diagnostics.
	Explanations []diag.Explanation
	// Plain says that the page is served by HTTP without TLS.
	Plain bool
	// Log gets what goes wrong inside. It may be nil.
	Log *slog.Logger
}

// site is the page of a daemon.
type site struct {
	options Options
	assets  *assets
	pages   *pages
}

// New returns the handler of all pages and of what they are made of. Requests carry who makes them when that is known; all others are led to
// the log-in page.
func New(o Options) (http.Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &site{options: o}
	var err error
	if s.assets, err = openAssets(); err != nil {
		return nil, err
	}
	if s.pages, err = openPages(s.assets); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, pathMachines, http.StatusSeeOther) })
	mux.HandleFunc("GET "+pathLogin, s.showLogin)
	mux.HandleFunc("POST "+pathLogin, s.login)
	mux.HandleFunc("POST "+pathLogout, s.logout)
	mux.Handle("GET "+pathAssets+"{name}", s.assets)
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, s.assets.url(iconFile), http.StatusMovedPermanently)
	})
	mux.HandleFunc("GET /licences", s.licences)
	for pattern, show := range map[string]func(*http.Request) (page, error){
		pathMachines:                s.machines,
		pathMachines + "/new":       s.newMachine,
		pathMachines + "/{id}":      s.machine,
		pathMachines + "/{id}/edit": s.edit,
		pathMachines + "/{id}/run":  s.runOnce,
		"/images":                   s.images,
		"/help/{code}":              s.help,
	} {
		mux.Handle("GET "+pattern, s.forUsers(show))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.refuse(w, r, http.StatusNotFound) })
	return &methods{mux: mux, site: s}, nil
}

// The paths that more than one place needs.
const (
	pathMachines = "/machines"
	pathLogin    = "/login"
	pathLogout   = "/logout"
	pathAssets   = "/assets/"
)

// methods protects all answers, and gives a page of its own to what ServeMux answers by itself: a path that has no such method.
type methods struct {
	mux  *http.ServeMux
	site *site
}

// ServeHTTP answers a request.
func (m *methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if _, pattern := m.mux.Handler(r); pattern == "/" {
		if allowed := m.allowed(r); len(allowed) > 0 {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			m.site.refuse(w, r, http.StatusMethodNotAllowed)
			return
		}
	}
	m.mux.ServeHTTP(w, r)
}

// allowed are the methods that the path of a request has; none means that there is no such path.
func (m *methods) allowed(r *http.Request) (out []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		as := *r
		as.Method = method
		if _, pattern := m.mux.Handler(&as); pattern != "/" {
			out = append(out, method)
		}
	}
	return out
}

// forUsers serves a page to whoever has logged in.
func (s *site) forUsers(show func(*http.Request) (page, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, ok := auth.FromContext(r.Context())
		if !ok {
			s.stranger(w, r)
			return
		}
		p, err := show(r)
		var said *refusal
		switch {
		case r.Context().Err() != nil:
			return // nobody reads it, and the API may have left off
		case errors.As(err, &said):
			s.refuse(w, r, said.status)
		case err == nil:
			err = s.write(w, http.StatusOK, p, id)
		}
		if err != nil && said == nil {
			s.options.Log.Error("a page cannot be shown", "path", r.URL.Path, "error", err)
			s.refuse(w, r, http.StatusInternalServerError)
		}
	})
}

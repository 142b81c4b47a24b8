// Package api serves the daemon's own API, /api/v1: JSON, with problem documents (RFC 9457) for errors and server-sent
// events for what happens. The document openapi.json beside this file describes every route, and a test holds both equal.
package api

import (
	"context"
	_ "embed"
	"net/http"
	"slices"
	"strings"

	"github.com/vmseed/vmseed"
	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/daemon/client"
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

// apiVersion is the version of the interface: the same as in openapi.json.
const apiVersion = "1.0"

//go:embed openapi.json
var openAPI []byte

// api answers requests.
type api struct {
	daemon  *daemon.Daemon
	options Options
}

// route is an operation of the API. Its pattern is that of http.ServeMux, below client.Prefix.
type route struct {
	method, path string
	serve        func(w http.ResponseWriter, r *http.Request) error
}

func (a *api) routes() []route {
	return []route{
		{http.MethodGet, "/openapi.json", a.document},
		{http.MethodGet, "/version", a.version},
		{http.MethodPost, "/session", a.login},
		{http.MethodGet, "/session", a.session},
		{http.MethodDelete, "/session", a.logout},
		{http.MethodGet, "/machines", a.listMachines},
		{http.MethodPost, "/machines", a.createMachines},
		{http.MethodGet, "/machines/{id}", a.getMachine},
		{http.MethodPatch, "/machines/{id}", a.updateMachine},
		{http.MethodDelete, "/machines/{id}", a.removeMachine},
		{http.MethodGet, "/machines/{id}/documents", a.machineDocuments},
		{http.MethodPost, "/machines/{id}/start", a.start},
		{http.MethodPost, "/machines/{id}/stop", a.stop},
		{http.MethodPost, "/machines/{id}/shutdown", a.shutdown},
		{http.MethodPost, "/machines/{id}/reboot", a.reboot},
		{http.MethodPost, "/machines/{id}/reset", a.reset},
		{http.MethodPost, "/machines/{id}/render", a.renderMachine},
		{http.MethodGet, "/machines/{id}/seed", a.given},
		{http.MethodGet, "/machines/{id}/run", a.run},
		{http.MethodGet, "/machines/{id}/boot", a.boot},
		{http.MethodGet, "/machines/{id}/console", a.console},
		{http.MethodGet, "/machines/{id}/log", a.log},
		{http.MethodPost, "/render", a.render},
		{http.MethodPost, "/check", a.check},
		{http.MethodPost, "/convert", a.convert},
		{http.MethodGet, "/events", a.events},
		{http.MethodGet, "/templates", a.listTemplates},
		{http.MethodGet, "/templates/{id}", a.getTemplate},
		{http.MethodDelete, "/templates/{id}", a.removeTemplate},
		{http.MethodGet, "/storagedomains", a.listDomains},
		{http.MethodGet, "/images", a.listImages},
		{http.MethodPost, "/imports", a.importImage},
		{http.MethodGet, "/disks", a.listDisks},
		{http.MethodDelete, "/disks/{id}", a.removeDisk},
		{http.MethodGet, "/jobs", a.listJobs},
		{http.MethodGet, "/jobs/{id}", a.getJob},
	}
}

// New returns the handler of /api/v1 and of all else below /api, where there is nothing. Requests carry who makes them; see auth.FromContext. POST /api/v1/session,
// which is the login, and GET /api/v1/openapi.json need nobody.
func New(d *daemon.Daemon, o Options) http.Handler {
	a := &api{daemon: d, options: o}
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, r := range a.routes() {
		mux.Handle(r.method+" "+client.Prefix+r.path, a.handler(r))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for path, allowed := range methods {
		if slices.Contains(allowed, http.MethodGet) {
			allowed = append(allowed, http.MethodHead)
		}
		slices.Sort(allowed)
		mux.HandleFunc(client.Prefix+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			fail(w, http.StatusMethodNotAllowed, "this path takes "+strings.Join(allowed, ", "))
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, http.StatusNotFound, "there is nothing at this path; "+client.Prefix+"/openapi.json lists what there is")
	})
	return mux
}

// handler serves a route for a known user, in whose name the daemon acts.
func (a *api) handler(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, _ := auth.FromContext(r.Context())
		correlation := r.Header.Get("Correlation-Id")
		if correlation == "" {
			correlation = w.Header().Get("X-Request-Id")
		}
		r = r.WithContext(daemon.WithOrigin(r.Context(), daemon.Origin{Actor: id.Name, Correlation: correlation}))
		if r.Method == http.MethodHead {
			ctx, end := context.WithCancel(r.Context())
			defer end()
			w, r = headOnly{w, end}, r.WithContext(ctx)
		}
		if err := route.serve(w, r); err != nil && r.Context().Err() == nil {
			refuse(w, err)
		}
	})
}

// headOnly is the answer to who asks for the head alone: it is over when the head is there, also that of a stream.
type headOnly struct {
	http.ResponseWriter
	end context.CancelFunc
}

// Unwrap returns the writer that can do more.
func (h headOnly) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Write ends the answer.
func (h headOnly) Write(p []byte) (int, error) {
	h.end()
	return h.ResponseWriter.Write(p)
}

func (a *api) document(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	_, err := w.Write(openAPI)
	return err
}

func (a *api) version(w http.ResponseWriter, _ *http.Request) error {
	e := a.options.Engine
	return answer(w, http.StatusOK, client.Version{Version: a.options.Version, API: apiVersion, Forms: vmseed.Names(e.Frontends),
		Targets: e.Forms(), DataSources: vmseed.Names(e.DataSources), Deliveries: daemon.Deliveries()})
}

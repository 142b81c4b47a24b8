// Package ovirtapi answers oVirt's REST API, version 4, for the clients that people have: the Python and Go SDKs, the
// Ansible collection, Terraform's provider. It translates between their words and the daemon's; what a VM's definition means
// is frontend/ovirt's to say. What it does not offer it says with a fault, never with a success.
//
// The shapes are those of oVirt/ovirt-engine-api-model. Where SDKs are stricter than the model, they decide.
package ovirtapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/vmseed/vmseed/daemon"
	"github.com/vmseed/vmseed/daemon/auth"
	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/element"
)

// API is the handler for everything below Prefix. It expects requests that were authenticated: auth.FromContext tells
// whose they are.
type API struct {
	d       *daemon.Daemon
	log     *slog.Logger
	routes  router
	parsed  definitions
	version string
	// defaults are the members that VMs and templates have in any case.
	defaults []element.Element
}

// Options are what an API needs to know beside its daemon.
type Options struct {
	// Version is vmseed's own, which stands in the product information.
	Version string
	// Log gets errors that are nobody's fault but ours; nil means nowhere.
	Log *slog.Logger
}

// New returns the API of a daemon.
func New(d *daemon.Daemon, o Options) *API {
	a := &API{d: d, log: o.Log, version: o.Version, defaults: vmDefaults()}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.routes = newRouter(a.endpoints())
	return a
}

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if v := recover(); v != nil {
			if v == http.ErrAbortHandler {
				panic(v)
			}
			a.log.Error("oVirt API: a handler failed", "method", r.Method, "path", r.URL.Path, "stack", string(debug.Stack()))
			a.answer(w, r, formatXML, fault500().reply(""))
		}
	}()
	f, acceptable := accepted(r.Header)
	if !acceptable {
		a.answer(w, r, f, (&fault{status: http.StatusNotAcceptable, reason: reasonSyntax, code: CodeSyntax,
			detail: "answers are application/xml or application/json"}).reply(""))
		return
	}
	q := &request{api: a, http: r}
	answer, err := a.serve(w, q)
	if err != nil {
		answer = a.fault(r.Context(), err).reply(q.actionName())
	}
	a.answer(w, r, f, answer)
}

func (a *API) answer(w http.ResponseWriter, r *http.Request, f format, answer reply) {
	if err := write(w, r, f, answer); err != nil {
		a.log.Error("oVirt API: an answer cannot be written", "path", r.URL.Path, "error", err)
		_ = write(w, r, f, fault500().reply(""))
	}
}

func (a *API) serve(w http.ResponseWriter, q *request) (reply, error) {
	address, bad := parseAddress(q.http.URL, q.http.Header)
	if bad != nil {
		return reply{}, bad
	}
	q.address = address
	endpoint, ids, bad := a.routes.find(address.segments)
	if bad != nil {
		return reply{}, bad
	}
	q.ids, q.endpoint = ids, endpoint
	method := q.http.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if method == http.MethodOptions {
		return reply{status: http.StatusOK, allow: endpoint.allow()}, nil
	}
	handle, bad := endpoint.handler(method)
	if bad != nil {
		return reply{}, bad
	}
	if endpoint.body != "" && (method == http.MethodPost || method == http.MethodPut) || method == http.MethodDelete {
		root := endpoint.body
		if method == http.MethodDelete {
			root = "action" // the SDKs of version 3 send one
		}
		if q.body, q.data, bad = readBody(w, q.http, root); bad != nil {
			return reply{}, bad
		}
		if endpoint.body == "action" {
			if bad := knowMembers(q.body); bad != nil {
				return reply{}, bad
			}
		}
	}
	identity, _ := auth.FromContext(q.http.Context())
	q.user = identity.Name
	q.ctx = daemon.WithOrigin(q.http.Context(), daemon.Origin{Actor: q.user, Correlation: q.correlation()})
	answer, err := handle(q)
	if err != nil {
		return reply{}, err
	}
	if method == http.MethodGet {
		answer.body, err = q.followed(answer.body)
	}
	return answer, err
}

// fault turns what went wrong into the answer.
func (a *API) fault(ctx context.Context, err error) *fault {
	var f *fault
	var missing *daemon.NotFoundError
	var conflict *daemon.ConflictError
	var list diag.List
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &missing):
		return notFound()
	case errors.As(err, &conflict):
		return failed(sentence(conflict.What))
	case errors.As(err, &list):
		return refused(list)
	case errors.Is(err, daemon.ErrUnsupported):
		return notOffered(sentence(err.Error()))
	case errors.Is(err, daemon.ErrClosed) || ctx.Err() != nil:
		return &fault{status: http.StatusServiceUnavailable, reason: reasonFailed, detail: "[The server is ending.]"}
	}
	a.log.Error("oVirt API: an operation failed", "error", err)
	return fault500()
}

// sentence begins in upper case and ends in a full stop, as the messages of an engine do.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

func fault500() *fault {
	return &fault{status: http.StatusInternalServerError, reason: reasonFailed, detail: "[Internal error; the server's log says more.]"}
}

// reply is the answer that a fault is. The faults of actions stand inside the action.
func (f *fault) reply(action string) reply {
	r := reply{status: f.status, allow: f.allow}
	switch {
	case f.bare:
	case action != "":
		r.body = element.New("action", f.element(), element.Text("status", "failed"))
	default:
		r.body = f.element()
	}
	return r
}

// request is a request on its way to its answer.
type request struct {
	api      *API
	http     *http.Request
	ctx      context.Context
	address  address
	endpoint *endpoint
	// ids are the variable segments of the path.
	ids []string
	// body is what data, the bytes of the request, say.
	body element.Element
	data []byte
	// user is who asks, as name@profile.
	user string
}

// id is the n-th variable segment of the path.
func (q *request) id(n int) string { return q.ids[n] }

// actionName is the action that is asked for, or empty.
func (q *request) actionName() string {
	if q.endpoint == nil || q.endpoint.body != "action" || q.http.Method != http.MethodPost {
		return ""
	}
	return q.address.segments[len(q.address.segments)-1]
}

// maxCorrelation is the most of a client's name for its request that is kept, in bytes.
const maxCorrelation = 256

// correlation is the client's own name for its request.
func (q *request) correlation() string {
	text := q.address.text("correlation_id")
	if text == "" {
		text = q.http.Header.Get("Correlation-Id")
	}
	return strings.ToValidUTF8(text[:min(len(text), maxCorrelation)], "")
}

// allContent says whether the client asks for the members that are left out of lists and objects otherwise.
func (q *request) allContent() (bool, *fault) {
	if value, known := parseFlag(q.http.Header.Get("All-Content")); known && value && q.http.Header.Get("All-Content") != "" {
		return true, nil
	}
	return q.address.flag("all_content", false)
}

// waits says whether the client wants an answer only when all is done. "Expect: 201-created" asks for it, and so does
// an action that is not asynchronous.
func (q *request) waits() bool {
	if slices.ContainsFunc(q.http.Header.Values("Expect"), func(v string) bool { return strings.EqualFold(v, "201-created") }) {
		return true
	}
	async := q.body.Child("async").Text
	if async == "" {
		async = q.address.text("async")
	}
	return strings.EqualFold(strings.TrimSpace(async), "false")
}

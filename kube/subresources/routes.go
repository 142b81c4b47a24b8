package subresources

import (
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The resources whose subresources are served.
const (
	machines  = "virtualmachines"
	instances = "virtualmachineinstances"
)

// route is one subresource, or one form of its path.
type route struct {
	method   string
	resource string
	// path is what follows the name of the object; elements in braces are parameters.
	path string
	// serve answers; nil refuses with the reason in refuse.
	serve  func(*Server, http.ResponseWriter, *http.Request, target) *apierrors.StatusError
	refuse string
}

// target is what a request is about.
type target struct {
	route
	version, namespace, name string
}

// attribute is the subresource as access rules name it, which is the first element of the path alone.
func (r route) attribute() string {
	first, _, _ := strings.Cut(r.path, "/")
	return first
}

// verb is the request's verb in access rules.
func (r route) verb() string {
	if r.method == http.MethodPut {
		return "update"
	}
	return "get"
}

// routes returns everything that KubeVirt v1.8 has below its two resources. What vmseed cannot do is refused by name, so
// that a client reads why.
func routes() []route {
	const (
		noMigration = "vmseed does not migrate VMs between nodes"
		noVolumes   = "volumes cannot be added to or removed from a VM; change the VirtualMachine and restart it"
		noDump      = "vmseed does not dump the memory of VMs"
		noScreen    = "VMs have a serial console and no screen: use console"
		noFreeze    = "vmseed does not freeze the file systems of guests"
		noSEV       = "vmseed does not run VMs with encrypted memory (SEV)"
		noBackup    = "vmseed does not back up disks"
		noGraph     = "use the owner references and volumes of the object"
		noExpand    = "vmseed has no instance types or preferences to expand"
	)
	return []route{
		{method: http.MethodPut, resource: machines, path: "start", serve: (*Server).startMachine},
		{method: http.MethodPut, resource: machines, path: "stop", serve: (*Server).stopMachine},
		{method: http.MethodPut, resource: machines, path: "restart", serve: (*Server).restartMachine},
		{method: http.MethodGet, resource: machines, path: "portforward/{port}", serve: (*Server).forwardMachine},
		{method: http.MethodGet, resource: machines, path: "portforward/{port}/{protocol}", serve: (*Server).forwardMachine},
		{method: http.MethodGet, resource: instances, path: "console", serve: (*Server).console},
		{method: http.MethodGet, resource: instances, path: "portforward/{port}", serve: (*Server).forwardInstance},
		{method: http.MethodGet, resource: instances, path: "portforward/{port}/{protocol}", serve: (*Server).forwardInstance},
		{method: http.MethodPut, resource: instances, path: "softreboot", serve: (*Server).softReboot},
		{method: http.MethodPut, resource: instances, path: "pause", serve: (*Server).pause},
		{method: http.MethodPut, resource: instances, path: "unpause", serve: (*Server).unpause},
		{method: http.MethodPut, resource: instances, path: "reset", serve: (*Server).reset},
		{method: http.MethodGet, resource: instances, path: "guestosinfo", serve: (*Server).guestInfo},
		{method: http.MethodGet, resource: instances, path: "userlist", serve: (*Server).guestUsers},
		{method: http.MethodGet, resource: instances, path: "filesystemlist", serve: (*Server).guestFileSystems},

		{method: http.MethodPut, resource: machines, path: "migrate", refuse: noMigration},
		{method: http.MethodPut, resource: machines, path: "evacuate/cancel", refuse: noMigration},
		{method: http.MethodGet, resource: machines, path: "expand-spec", refuse: noExpand},
		{method: http.MethodGet, resource: machines, path: "objectgraph", refuse: noGraph},
		{method: http.MethodPut, resource: machines, path: "addvolume", refuse: noVolumes},
		{method: http.MethodPut, resource: machines, path: "removevolume", refuse: noVolumes},
		{method: http.MethodPut, resource: machines, path: "memorydump", refuse: noDump},
		{method: http.MethodPut, resource: machines, path: "removememorydump", refuse: noDump},
		{method: http.MethodPut, resource: instances, path: "freeze", refuse: noFreeze},
		{method: http.MethodPut, resource: instances, path: "unfreeze", refuse: noFreeze},
		{method: http.MethodPut, resource: instances, path: "addvolume", refuse: noVolumes},
		{method: http.MethodPut, resource: instances, path: "removevolume", refuse: noVolumes},
		{method: http.MethodPut, resource: instances, path: "evacuate/cancel", refuse: noMigration},
		{method: http.MethodPut, resource: instances, path: "backup", refuse: noBackup},
		{method: http.MethodPut, resource: instances, path: "redefine-checkpoint", refuse: noBackup},
		{method: http.MethodGet, resource: instances, path: "vnc", refuse: noScreen},
		{method: http.MethodGet, resource: instances, path: "vnc/screenshot", refuse: noScreen},
		{method: http.MethodGet, resource: instances, path: "usbredir", refuse: "vmseed does not lead USB devices of clients to VMs"},
		{method: http.MethodGet, resource: instances, path: "vsock", refuse: "vmseed gives VMs no vsock device"},
		{method: http.MethodGet, resource: instances, path: "objectgraph", refuse: noGraph},
		{method: http.MethodGet, resource: instances, path: "sev/fetchcertchain", refuse: noSEV},
		{method: http.MethodGet, resource: instances, path: "sev/querylaunchmeasurement", refuse: noSEV},
		{method: http.MethodPut, resource: instances, path: "sev/setupsession", refuse: noSEV},
		{method: http.MethodPut, resource: instances, path: "sev/injectlaunchsecret", refuse: noSEV},
	}
}

// handler answers everything the server is asked.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	s.discovery(mux)
	for _, version := range Versions() {
		base := "/apis/" + Group + "/" + version
		for _, r := range routes() {
			path := base + "/namespaces/{namespace}/" + r.resource + "/{name}/" + r.path
			mux.HandleFunc(r.method+" "+path, func(w http.ResponseWriter, q *http.Request) {
				s.answer(w, q, target{route: r, version: version, namespace: q.PathValue("namespace"), name: q.PathValue("name")})
			})
			mux.HandleFunc(path, func(w http.ResponseWriter, q *http.Request) {
				w.Header().Set("Allow", r.method)
				writeStatus(w, apierrors.NewMethodNotSupported(groupResource(r.resource+"/"+r.attribute()), q.Method))
			})
		}
	}
	whole := http.NewServeMux()
	if s.options.Identities != nil {
		whole.HandleFunc("POST "+IdentityPath, s.identities)
	}
	whole.Handle("/", http.MaxBytesHandler(mux, bodyBytes))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeStatus(w, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, groupResource("subresources"), "", "", 0, false))
	})
	return s.logged(whole)
}

// identities leads to the webhook. Whoever the front proxy names may ask: the API server has authorized the request, the answer
// depends on what was sent alone, and nothing is read or changed for it.
func (s *Server) identities(w http.ResponseWriter, r *http.Request) {
	who, failure := s.caller(r)
	if failure != nil {
		writeStatus(w, failure)
		return
	}
	note(r, who.GetName())
	s.options.Identities.ServeHTTP(w, r)
}

// answer lets a request through to its route when its caller may do what it asks.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, t target) {
	who, failure := s.caller(r)
	if failure == nil {
		note(r, who.GetName())
		failure = s.authorize(r.Context(), who, t)
	}
	switch {
	case failure != nil:
	case t.serve == nil:
		failure = notImplemented(t)
	default:
		failure = t.serve(s, w, r, t)
	}
	if failure != nil {
		writeStatus(w, failure)
	}
}

// notImplemented is the answer for what KubeVirt can do and vmseed cannot.
func notImplemented(t target) *apierrors.StatusError {
	return refusal(t, t.refuse)
}

// refusal is a Status with HTTP's code 501 and a reason that a user can act on.
func refusal(t target, why string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotImplemented, Reason: "NotImplemented",
		Message: t.resource + "/" + t.path + ": " + why,
		Details: &metav1.StatusDetails{Group: Group, Kind: t.resource, Name: t.name},
	}}
}

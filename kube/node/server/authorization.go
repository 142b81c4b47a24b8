package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
)

// authorizer asks the API server what somebody may do with the node.
type authorizer struct {
	node    string
	client  kubernetes.Interface
	answers *cache.LRUExpireCache
	turns   chan struct{}
}

func newAuthorizer(node string, client kubernetes.Interface) *authorizer {
	return &authorizer{node: node, client: client, answers: cache.NewLRUExpireCache(remembered), turns: make(chan struct{}, reviews)}
}

// allows reports whether who may use one subresource of the node at least.
func (a *authorizer) allows(ctx context.Context, who *identity, verb string, subresources []string) (bool, error) {
	for _, s := range subresources {
		ok, err := a.review(ctx, who, verb, s)
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (a *authorizer) review(ctx context.Context, who *identity, verb, subresource string) (bool, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{User: who.name, UID: who.uid, Groups: who.groups,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Version: "v1", Resource: "nodes", Subresource: subresource, Name: a.node}}
	for k, v := range who.extra {
		if spec.Extra == nil {
			spec.Extra = map[string]authorizationv1.ExtraValue{}
		}
		spec.Extra[k] = v
	}
	question, err := json.Marshal(spec)
	if err != nil {
		return false, err
	}
	key := sha256.Sum256(question)
	if known, ok := a.answers.Get(key); ok {
		return known == true, nil
	}
	ctx, done, err := turn(ctx, a.turns)
	if err != nil {
		return false, err
	}
	defer done()
	answer, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("the API server could not be asked for permission: %w", err)
	}
	allowed := answer.Status.Allowed && !answer.Status.Denied
	if allowed {
		a.answers.Add(key, true, mayTime)
	} else {
		a.answers.Add(key, false, mayNotTime)
	}
	return allowed, nil
}

// entrance lets requests in.
type entrance struct {
	who    *authenticator
	may    *authorizer
	logger *slog.Logger
}

// guard is the handler of a route behind the question of who asks and whether they may.
func (e *entrance) guard(to route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := e.who.identify(r)
		if errors.Is(err, errNobody) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			e.refuse(w, r, "", http.StatusUnauthorized, "Unauthorized")
			return
		}
		if err != nil {
			e.refuse(w, r, "", http.StatusServiceUnavailable, err.Error())
			return
		}
		verb := to.verb
		if verb == "" {
			verb = verbOf(r.Method)
		}
		ok, err := e.may.allows(r.Context(), who, verb, to.subresources)
		if err != nil {
			e.refuse(w, r, who.name, http.StatusServiceUnavailable, "the API server could not be asked for permission; try again")
			return
		}
		if !ok {
			// The kubelet's words, which operators look for.
			message := fmt.Sprintf("Forbidden (user=%s, verb=%s, resource=nodes, subresource(s)=%v)", who.name, verb, to.subresources)
			e.refuse(w, r, who.name, http.StatusForbidden, message)
			return
		}
		to.handler(w, r)
	}
}

func (e *entrance) refuse(w http.ResponseWriter, r *http.Request, user string, status int, message string) {
	level := slog.LevelWarn
	if status == http.StatusUnauthorized {
		// Anybody can cause this; they shall not fill the log.
		level = slog.LevelDebug
	}
	e.logger.Log(r.Context(), level, "a request to the kubelet server is refused", "from", r.RemoteAddr, "user", user, "method", r.Method, "path", short(r.URL.Path), "status", status)
	http.Error(w, message, status)
}

// short keeps what strangers write into the log within bounds.
func short(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// verbOf is the verb that stands for a method, as in the kubelet.
func verbOf(method string) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

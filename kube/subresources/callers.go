package subresources

import (
	"context"
	"errors"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
)

// The ConfigMap in which every API server with aggregation tells the servers behind it how to know its front proxy
// (kubernetes.io, "Configure the Aggregation Layer"). RoleBinding extension-apiserver-authentication-reader opens it.
const (
	proxyNamespace = "kube-system"
	proxyConfigMap = "extension-apiserver-authentication"
	proxyCAKey     = "requestheader-client-ca-file"
)

// reviewTimeout is how long the API server may take to say whether a caller may do something.
const reviewTimeout = 10 * time.Second

// frontProxy tells who calls. Headers are read only from a client whose certificate the front proxy's authority signed,
// for one of the names that are allowed.
type frontProxy struct {
	authenticator.Request
	authority *dynamiccertificates.ConfigMapCAController
	headers   *headerrequest.RequestHeaderAuthRequestController
}

func newFrontProxy(kube kubernetes.Interface) (*frontProxy, error) {
	authority, err := dynamiccertificates.NewDynamicCAFromConfigMapController("front-proxy", proxyNamespace, proxyConfigMap, proxyCAKey, kube)
	if err != nil {
		return nil, err
	}
	h := headerrequest.NewRequestHeaderAuthRequestController(proxyConfigMap, proxyNamespace, kube,
		"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
		"requestheader-extra-headers-prefix", "requestheader-allowed-names")
	secure := headerrequest.NewDynamicVerifyOptionsSecure(authority.VerifyOptions,
		headerrequest.StringSliceProviderFunc(h.AllowedClientNames),
		headerrequest.StringSliceProviderFunc(h.UsernameHeaders),
		headerrequest.StringSliceProviderFunc(h.UIDHeaders),
		headerrequest.StringSliceProviderFunc(h.GroupHeaders),
		headerrequest.StringSliceProviderFunc(h.ExtraHeaderPrefixes))
	return &frontProxy{Request: secure, authority: authority, headers: h}, nil
}

// run follows the ConfigMap until the context ends.
func (p *frontProxy) run(ctx context.Context) {
	done := make(chan struct{})
	go func() { defer close(done); p.headers.Run(ctx, 1) }()
	p.authority.Run(ctx, 1)
	<-done
}

// known reports whether the front proxy's authority is known, without which every caller is refused.
func (p *frontProxy) known() error {
	if _, ok := p.authority.VerifyOptions(); !ok || len(p.headers.UsernameHeaders()) == 0 {
		return errors.New("the front proxy of the API server is not known: ConfigMap " + proxyNamespace + "/" + proxyConfigMap + " cannot be read or lacks " + proxyCAKey)
	}
	return nil
}

// caller returns who the front proxy says is calling.
func (s *Server) caller(r *http.Request) (user.Info, *apierrors.StatusError) {
	if err := s.callers.known(); err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	answer, ok, err := s.callers.AuthenticateRequest(r)
	if err != nil || !ok {
		// What is wrong with a certificate is for the log: the caller may be anybody.
		if err != nil {
			s.log.Warn("a caller is not the front proxy of the API server", "remote", r.RemoteAddr, "error", err)
		}
		return nil, apierrors.NewUnauthorized("only the API server's front proxy may call: use the API server's own address")
	}
	return answer.User, nil
}

// authorize asks the API server whether a caller may do what a request asks.
func (s *Server) authorize(ctx context.Context, who user.Info, t target) *apierrors.StatusError {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range who.GetExtra() {
		extra[k] = v
	}
	review, err := s.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: who.GetName(), UID: who.GetUID(), Groups: who.GetGroups(), Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: t.namespace, Verb: t.route.verb(), Group: Group, Version: t.version,
				Resource: t.route.resource, Subresource: t.route.attribute(), Name: t.name,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		s.log.Error("no access review", "error", err)
		return apierrors.NewInternalError(errors.New("the API server gave no answer on whether you may do this"))
	}
	if !review.Status.Allowed {
		return apierrors.NewForbidden(schema.GroupResource{Group: Group, Resource: t.route.resource + "/" + t.route.attribute()}, t.name,
			errors.New("you may not "+t.route.verb()+" it in the namespace "+t.namespace))
	}
	return nil
}

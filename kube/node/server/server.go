package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Config is what a server is made of.
type Config struct {
	// NodeName is the node whose subresources the rights are about. Package node fills it in.
	NodeName string
	// Reviews asks the API server who bears a token and who may do what. Give it limits of its own, so that strangers who
	// knock cannot use up the node's.
	Reviews kubernetes.Interface
	// ClientCA is a file of PEM certificates: the authorities of client certificates. It is read again when it changes.
	// Without it, bearer tokens alone are taken.
	ClientCA string
	// Certificate returns the certificate to serve with, as tls.Config.GetCertificate.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)

	// Provider has the powers Logs, Streams and Usage, or some of them. Package node fills it in.
	Provider any
	// Pods are those bound to the node. Package node fills it in.
	Pods Pods
	// Node says how the host fares. Package node fills it in.
	Node func(context.Context) (stats.NodeStats, error)
	// Healthy says whether the node does its work. Package node fills it in.
	Healthy func(context.Context) error

	// Metrics is served as /metrics. Default: a registry with what this package counts, the Go runtime and the process. What
	// a kubelet counts as well has the kubelet's name, so that dashboards and alerts for nodes find it.
	Metrics *prometheus.Registry
	// Logger takes one line for each refused request and each failure. Default: slog.Default.
	Logger *slog.Logger
}

// Limits of a request before anybody is known.
const (
	headerTimeout = 10 * time.Second
	headerBytes   = 64 << 10
	idleTimeout   = 2 * time.Minute
	// farewell is how long answers that are under way may take when the server ends.
	farewell = 2 * time.Second
)

// Server answers the requests of a kubelet's API.
type Server struct {
	config    Config
	authority *authority
	entrance  entrance
	counts    *counts
	handler   http.Handler
}

// New returns a server, or an error when the client CA cannot be read.
func New(c Config) (*Server, error) {
	switch {
	case c.NodeName == "":
		return nil, errors.New("the kubelet server has no node name")
	case c.Reviews == nil:
		return nil, errors.New("the kubelet server has no client for reviews; it lets nobody in unseen")
	case c.Certificate == nil:
		return nil, errors.New("the kubelet server has no certificate")
	case c.Pods == nil:
		return nil, errors.New("the kubelet server knows no pods")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = prometheus.NewRegistry()
	}
	s := &Server{config: c}
	if c.ClientCA != "" {
		s.authority = &authority{path: c.ClientCA, logger: c.Logger}
		if err := s.authority.load(); err != nil {
			return nil, err
		}
	}
	var err error
	if s.counts, err = newCounts(c.Metrics, c.NodeName, c.Pods); err != nil {
		return nil, err
	}
	s.entrance = entrance{who: newAuthenticator(s.authority, c.Reviews), may: newAuthorizer(c.NodeName, c.Reviews), logger: c.Logger}
	s.handler, err = s.routes()
	return s, err
}

// Serve answers requests on l until ctx is done, and closes it. Streams that are open then are cut.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    headerBytes,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(s.config.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, end := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer end()
		if h.Shutdown(grace) != nil {
			h.Close() //nolint:errcheck // The listener is closed already; what is left are connections.
		}
	})
	err := h.Serve(tls.NewListener(l, s.tls()))
	if stop() {
		return err
	}
	<-stopped
	return nil
}

// tls asks clients for a certificate and leaves judging it to each request, where a token may do as well. Streams are
// upgrades of HTTP/1.1, so that is the only protocol.
func (s *Server) tls() *tls.Config {
	base := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: s.config.Certificate,
		ClientAuth:     tls.RequestClientCert,
	}
	if s.authority == nil {
		return base
	}
	base.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		c := base.Clone()
		c.ClientCAs = s.authority.pool()
		return c, nil
	}
	return base
}

// route is a path with the rights that it takes, any of which is enough.
type route struct {
	pattern      string
	subresources []string
	// verb is that of the review. Where it is empty the request's method decides.
	verb    string
	handler http.HandlerFunc
}

// routes are those of the kubelet that make sense for VMs. exec, attach and port-forward take the verb create also when a
// web socket is opened by GET: who may read may not, by another method, run commands.
func (s *Server) routes() (http.Handler, error) {
	metrics, err := s.metrics()
	if err != nil {
		return nil, err
	}
	all := []string{"proxy"}
	table := []route{
		{"GET /healthz", []string{"healthz", "proxy"}, "", s.healthz},
		{"GET /healthz/ping", []string{"healthz", "proxy"}, "", s.healthz},
		{"GET /pods", []string{"pods", "proxy"}, "", s.pods},
		{"GET /pods/", []string{"pods", "proxy"}, "", s.pods},
		{"GET /runningpods", []string{"pods", "proxy"}, "", s.runningPods},
		{"GET /runningpods/", []string{"pods", "proxy"}, "", s.runningPods},
		{"GET /stats/summary", []string{"stats"}, "", s.summary},
		{"GET /metrics", []string{"metrics"}, "", metrics},
		{"GET /metrics/resource", []string{"metrics"}, "", s.resource()},
		{"GET /containerLogs/{namespace}/{pod}/{container}", all, "", s.logs},
		{"/exec/{namespace}/{pod}/{container}", all, "create", s.exec},
		{"/exec/{namespace}/{pod}/{uid}/{container}", all, "create", s.exec},
		{"/attach/{namespace}/{pod}/{container}", all, "create", s.attach},
		{"/attach/{namespace}/{pod}/{uid}/{container}", all, "create", s.attach},
		{"/portForward/{namespace}/{pod}", all, "create", s.portForward},
		{"/portForward/{namespace}/{pod}/{uid}", all, "create", s.portForward},
		{"/", all, "", http.NotFound},
	}
	mux := http.NewServeMux()
	for _, r := range table {
		mux.Handle(r.pattern, s.counts.of(r.pattern, s.entrance.guard(r)))
	}
	return mux, nil
}

// healthz answers as the kubelet's does.
func (s *Server) healthz(w http.ResponseWriter, r *http.Request) {
	if s.config.Healthy != nil {
		if err := s.config.Healthy(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Write([]byte("ok")) //nolint:errcheck // The client has gone.
}

// podOf finds the pod that a request is about; it answers the request when there is none.
func (s *Server) podOf(w http.ResponseWriter, r *http.Request) (*corev1.Pod, bool) {
	namespace, name := r.PathValue("namespace"), r.PathValue("pod")
	pod, ok := s.config.Pods.Get(namespace, name)
	if ok && r.PathValue("uid") != "" && r.PathValue("uid") != string(pod.UID) {
		ok = false
	}
	if !ok {
		http.Error(w, "pod "+namespace+"/"+name+" is not on this node", http.StatusNotFound)
		return nil, false
	}
	container := r.PathValue("container")
	if container == "" {
		return pod, true
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == container {
			return pod, true
		}
	}
	for _, c := range pod.Spec.InitContainers {
		if c.Name == container {
			return pod, true
		}
	}
	http.Error(w, "container "+container+" not found in pod "+namespace+"/"+name, http.StatusNotFound)
	return nil, false
}

// lacks answers a request for a power that the provider does not have.
func lacks(w http.ResponseWriter) {
	http.Error(w, "the provider of this node cannot do that", http.StatusNotImplemented)
}

// Package subresources is the API server behind the aggregated API subresources.kubevirt.io, versions v1 and v1alpha3: it
// starts, stops and restarts VirtualMachines, opens consoles, forwards ports and asks guests about themselves, as virtctl
// and other clients of KubeVirt expect.
//
// It holds nothing of its own. What it changes are VirtualMachines and their instances; streams go through attach,
// portforward and exec of the instance's launcher pod, so that the kubelet's way to authenticate stays the only way to a
// VM. Callers reach it through the API server, whose front proxy says who they are; each request is authorized again by a
// SubjectAccessReview. Paths, verbs, bodies and messages are those of KubeVirt v1.8.
package subresources

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/netutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Group is the API group that is served, in each of Versions.
const Group = kubevirtv1.SubresourceGroupName

// Versions returns the versions of the group, the preferred one first. They do not differ.
func Versions() []string { return []string{"v1", "v1alpha3"} }

// The names that the manifests of an installation use too.
const (
	// DefaultService is the Service in front of the server, which the APIServices name.
	DefaultService = "vmseed-api"
	// DefaultSecret holds the server's certificate and key.
	DefaultSecret = "vmseed-api-tls"
	// IdentityPath is where the API server's webhook asks for what created machines lack. It gets there as any client of the
	// aggregated API does, through the API server itself, so that it needs no authority of its own and the server knows who calls.
	IdentityPath = "/apis/" + Group + "/v1/identities"
	// DefaultListen is where the server listens; the Service leads port 443 there.
	DefaultListen = ":8443"
)

// Bounds of the server.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute // a request may wait for a guest; streams have bounds of their own
	idleTimeout   = 2 * time.Minute
	headerBytes   = 256 << 10 // users may be in many groups
	bodyBytes     = 64 << 10
	drainTimeout  = 10 * time.Second
)

// Options are what a server needs. Config and Namespace have no default.
type Options struct {
	// Config reaches the API server as the controller's ServiceAccount.
	Config *rest.Config
	// Namespace is the installation's: that of the Service and the Secret.
	Namespace string
	// Service and Secret default to DefaultService and DefaultSecret.
	Service, Secret string
	// Listen is an address as net.Listen takes it; empty is DefaultListen. A Listener goes before it, and is closed by the server.
	Listen   string
	Listener net.Listener
	// Version is vmseed's own, which the version documents tell as build metadata.
	Version string
	// Connections is how many there may be at a time (default 512), Streams how many of them may be consoles and forwarded
	// ports (default 256).
	Connections, Streams int
	// Identities answers POST requests for IdentityPath, which come from the API server's front proxy. Nil is nobody.
	Identities http.Handler
	// Log gets a line for each request but probes; nil is slog.Default.
	Log *slog.Logger
}

// Server is the API server. It is a Runnable of controller-runtime's manager, also on replicas that do not lead.
type Server struct {
	options Options
	log     *slog.Logger
	kube    kubernetes.Interface
	objects client.Client
	callers *frontProxy
	serving *certificates
	pods    podStreams
	streams *streamLimit
	// pingEvery is the time between pings of a stream.
	pingEvery time.Duration

	// consoles ends the stream that has an instance's console, by the instance's UID.
	mu       sync.Mutex
	consoles map[string]*consoleSession
}

// New returns a server that does not listen yet.
func New(o Options) (*Server, error) {
	if o.Config == nil || o.Namespace == "" {
		return nil, errors.New("the API server of subresources needs a configuration for the cluster and the namespace of the installation")
	}
	o.Service, o.Secret = cmp.Or(o.Service, DefaultService), cmp.Or(o.Secret, DefaultSecret)
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Connections, o.Streams = cmp.Or(o.Connections, 512), cmp.Or(o.Streams, 256)
	kube, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, err
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	// Not a cache: a decision to start or stop must not rest on what was.
	objects, err := client.New(o.Config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	callers, err := newFrontProxy(kube)
	if err != nil {
		return nil, err
	}
	return newServer(o, kube, objects, callers, &kubeletStreams{config: o.Config, kube: kube}), nil
}

func newServer(o Options, kube kubernetes.Interface, objects client.Client, callers *frontProxy, pods podStreams) *Server {
	s := &Server{options: o, log: o.Log, kube: kube, objects: objects, callers: callers, pods: pods, pingEvery: pingEvery, consoles: map[string]*consoleSession{}}
	if s.log == nil {
		s.log = slog.Default()
	}
	s.streams = newStreamLimit(o.Streams)
	s.serving = &certificates{
		secrets: kube.CoreV1().Secrets(o.Namespace), services: objects, log: s.log,
		name: o.Secret, host: o.Service + "." + o.Namespace + ".svc", now: time.Now,
	}
	return s
}

// newScheme returns the types that the server reads and writes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), kubevirtv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("types of the API: %w", err)
	}
	return scheme, nil
}

// NeedLeaderElection says that every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves until the context ends, then lets requests finish and ends streams. Its error is nil after that.
func (s *Server) Start(ctx context.Context) error {
	listener := s.options.Listener
	if listener == nil {
		var err error
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", s.options.Listen); err != nil {
			return err
		}
	}
	defer listener.Close()
	background, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	if err := s.serving.sync(ctx); err != nil {
		if s.serving.current.Load() == nil {
			return fmt.Errorf("the certificate of the API server of subresources: %w", err)
		}
		s.log.Error("the API server of subresources cannot be reached yet", "error", err)
	}
	running.Go(func() { s.callers.run(background) })
	running.Go(func() { s.serving.run(background) })

	server := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: headerBytes,
		ErrorLog:       slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	tlsListener := tls.NewListener(netutil.LimitListener(listener, s.options.Connections), s.tlsConfig())
	defer s.streams.end()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(tlsListener) }()
	s.log.Info("serving subresources", "group", Group, "address", listener.Addr().String())
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.streams.end()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	err := errors.Join(server.Shutdown(drain), s.streams.wait(drain))
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

// tlsConfig asks for client certificates without demanding one: discovery is open, and the front proxy's certificate is
// verified with the authority of the moment by the authenticator. WebSockets need HTTP/1.1.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		ClientAuth: tls.RequestClientCert, GetCertificate: s.serving.certificate,
	}
}

// Package certs gets a node the certificates that it shows: to the API server by TLS bootstrapping, and to those who ask
// for logs and streams from the cluster's signer, from files, or as a last resort signed by the node itself. Certificates
// are renewed before they expire. Private keys are made on the node, are in files of mode 0600, and never leave it.
package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/certificate"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/klog/v2"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// What a node may ask of the API server, per second and at once. A VM's life is some ten requests; hundreds that start
// together should not wait for each other here. Priority and fairness of the API server guard it.
const (
	requestsPerSecond = 100
	requestsAtOnce    = 200
	// dialTime is how long a connection to the API server may take, and how often one is asked whether it lives.
	dialTime = 30 * time.Second
)

// Tune sets limits fit for a node with hundreds of pods, and the compact encoding of Kubernetes' own objects.
func Tune(c *rest.Config) *rest.Config {
	c.QPS, c.Burst = requestsPerSecond, requestsAtOnce
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	return c
}

// ClientOptions say how a node proves to the API server who it is.
type ClientOptions struct {
	// Node is the name of the node; its user is system:node:NAME.
	Node string
	// Kubeconfig is the file with which the node reaches the API server. Without Bootstrap it must exist and is taken as it
	// is; certificates that it names as files are read again when they change. With Bootstrap it is written
	// (default: kubeconfig in Dir).
	Kubeconfig string
	// Bootstrap is a kubeconfig with a token that may only request a certificate. It is used while there is none that is
	// valid.
	Bootstrap string
	// Dir is where keys and certificates are kept.
	Dir string
	// Logger takes what happens. Default: slog.Default.
	Logger *slog.Logger
}

// Client returns the configuration with which the node reaches the API server. With a bootstrap kubeconfig and no valid
// certificate it requests one (signer kubernetes.io/kube-apiserver-client-kubelet) and waits until the cluster has issued
// it or ctx is done; until ctx is done the certificate is renewed in time.
func Client(ctx context.Context, o ClientOptions) (*rest.Config, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Bootstrap == "" {
		c, err := clientcmd.BuildConfigFromFlags("", o.Kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig of the node: %w", err)
		}
		return c, nil
	}
	if o.Kubeconfig == "" {
		o.Kubeconfig = filepath.Join(o.Dir, "kubeconfig")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	store, err := newStore(o.Dir, "vmseed-node-client", o.Logger)
	if err != nil {
		return nil, err
	}
	config, err := o.issued(store.CurrentPath())
	if err != nil {
		return nil, err
	}
	// A connection stays what it was when it was made: those of a certificate that is replaced must end before that expires.
	dialer := connrotation.NewDialer((&net.Dialer{Timeout: dialTime, KeepAlive: dialTime}).DialContext)
	config.Dial, store.replaced = dialer.DialContext, dialer.CloseAll
	manager, err := certificate.NewManager(&certificate.Config{
		Ctx:         withKlog(ctx, o.Logger),
		ClientsetFn: o.requester(config),
		Template: &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + o.Node,
			Organization: []string{"system:nodes"}}},
		SignerName:       certificatesv1.KubeAPIServerClientKubeletSignerName,
		GetUsages:        certificate.DefaultKubeletClientGetUsages,
		CertificateStore: store,
	})
	if err != nil {
		return nil, fmt.Errorf("the node's certificate: %w", err)
	}
	first := manager.Current() == nil
	if first {
		o.Logger.Info("the node requests a certificate from the cluster", "user", "system:node:"+o.Node)
	}
	manager.Start()
	for first && manager.Current() == nil {
		select {
		case <-store.updated:
		case <-time.After(time.Second): // The manager takes a stored certificate up a moment after it was stored.
		case <-ctx.Done():
			return nil, fmt.Errorf("the cluster has not issued the node's certificate: %w", context.Cause(ctx))
		}
	}
	return config, o.write(config)
}

// issued is the configuration with the certificate at path: the cluster is that of the kubeconfig, or, until there is
// one, that of the bootstrap kubeconfig.
func (o ClientOptions) issued(path string) (*rest.Config, error) {
	from := o.Kubeconfig
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		from = o.Bootstrap
	}
	cluster, err := clientcmd.BuildConfigFromFlags("", from)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig %s: %w", from, err)
	}
	c := rest.AnonymousClientConfig(cluster)
	if err := rest.LoadTLSFiles(c); err != nil {
		return nil, fmt.Errorf("the kubeconfig %s: %w", from, err)
	}
	c.CAFile = ""
	c.CertFile, c.KeyFile = path, path
	return c, nil
}

// requester makes the client that requests certificates: with the certificate there is, or with the bootstrap token.
func (o ClientOptions) requester(issued *rest.Config) certificate.ClientsetFunc {
	return func(current *tls.Certificate) (kubernetes.Interface, error) {
		if current != nil {
			return kubernetes.NewForConfig(issued)
		}
		bootstrap, err := clientcmd.BuildConfigFromFlags("", o.Bootstrap)
		if err != nil {
			return nil, fmt.Errorf("the bootstrap kubeconfig: %w", err)
		}
		return kubernetes.NewForConfig(bootstrap)
	}
}

// write keeps the configuration as a kubeconfig, for the next start and for kubectl.
func (o ClientOptions) write(c *rest.Config) error {
	const name = "vmseed-node"
	file := api.Config{
		Clusters: map[string]*api.Cluster{name: {Server: c.Host, CertificateAuthorityData: c.CAData, TLSServerName: c.ServerName,
			InsecureSkipTLSVerify: c.Insecure}},
		AuthInfos:      map[string]*api.AuthInfo{name: {ClientCertificate: c.CertFile, ClientKey: c.KeyFile}},
		Contexts:       map[string]*api.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	}
	content, err := clientcmd.Write(file)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(o.Kubeconfig, content)
}

// store is a directory of key pairs that says when it has a new one.
type store struct {
	certificate.FileStore
	updated chan struct{}
	// replaced is called after a new pair has taken the place of another.
	replaced func()
}

func newStore(dir, prefix string, logger *slog.Logger) (*store, error) {
	files, err := certificate.NewFileStoreWithLogger(logr.FromSlogHandler(logger.Handler()).V(1), prefix, dir, dir, "", "")
	if err != nil {
		return nil, fmt.Errorf("the certificates in %s: %w", dir, err)
	}
	return &store{FileStore: files, updated: make(chan struct{}, 1)}, nil
}

// Update implements certificate.Store.
func (s *store) Update(cert, key []byte) (*tls.Certificate, error) {
	c, err := s.FileStore.Update(cert, key)
	if err == nil && s.replaced != nil {
		s.replaced()
	}
	select {
	case s.updated <- struct{}{}:
	default:
	}
	return c, err
}

// withKlog is a context from which client-go logs to logger.
func withKlog(ctx context.Context, logger *slog.Logger) *context.Context {
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(logger.Handler()))
	return &ctx
}

package certs

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/certificate"

	"github.com/vmseed/vmseed/internal/atomicfile"
)

// A certificate that the node signs itself is valid for a year and made anew a month before it expires.
const (
	selfSigned = 365 * 24 * time.Hour
	renewal    = 30 * 24 * time.Hour
)

// ServingOptions say where the certificate of the node's HTTPS server comes from: files, else the cluster's signer, else
// the node itself.
type ServingOptions struct {
	// Node and Addresses are what the certificate is for.
	Node      string
	Addresses []corev1.NodeAddress
	// CertFile and KeyFile are PEM files, which are read again when they change.
	CertFile, KeyFile string
	// Client requests the certificate from the cluster (signer kubernetes.io/kubelet-serving) when it is not nil. Somebody
	// has to approve such requests: kubectl certificate approve, or a controller made for that.
	Client kubernetes.Interface
	// Dir is where keys and certificates are kept.
	Dir string
	// Logger takes what happens. Default: slog.Default.
	Logger *slog.Logger
}

// Getter returns the certificate to serve with, as tls.Config.GetCertificate.
type Getter = func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// Serving returns where the certificate is to be had from. It does not wait: until a requested certificate is issued,
// connections are refused. Renewal goes on until ctx is done.
func Serving(ctx context.Context, o ServingOptions) (Getter, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case (o.CertFile == "") != (o.KeyFile == ""):
		return nil, errors.New("a serving certificate is two files, certificate and key; only one is given")
	case o.CertFile != "":
		f := &files{cert: o.CertFile, key: o.KeyFile, logger: o.Logger}
		if _, err := f.get(nil); err != nil {
			return nil, err
		}
		return f.get, nil
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if o.Client != nil {
		return o.requested(ctx)
	}
	o.Logger.Warn("the node signs its serving certificate itself, so nobody can tell it from another's: give it one by files, or have it request one from the cluster",
		"consequence", "an API server with --kubelet-certificate-authority refuses it for logs, exec, attach and port-forward")
	s := &selfSigner{path: filepath.Join(o.Dir, "vmseed-node-self-signed.pem"), options: o, now: time.Now}
	if _, err := s.get(nil); err != nil {
		return nil, err
	}
	return s.get, nil
}

// names are what the certificate must be valid for.
func (o ServingOptions) names() (dns []string, ips []net.IP) {
	for _, a := range o.Addresses {
		ip := net.ParseIP(a.Address)
		switch {
		case ip != nil && !slices.ContainsFunc(ips, ip.Equal):
			ips = append(ips, ip)
		case ip == nil && !slices.Contains(dns, a.Address):
			dns = append(dns, a.Address)
		}
	}
	return dns, ips
}

// requested has the cluster's signer issue the certificate.
func (o ServingOptions) requested(ctx context.Context) (Getter, error) {
	dns, ips := o.names()
	if len(dns)+len(ips) == 0 {
		return nil, errors.New("the node has no address that a serving certificate could be for")
	}
	store, err := newStore(o.Dir, "vmseed-node-serving", o.Logger)
	if err != nil {
		return nil, err
	}
	manager, err := certificate.NewManager(&certificate.Config{
		Ctx:         withKlog(ctx, o.Logger),
		ClientsetFn: func(*tls.Certificate) (kubernetes.Interface, error) { return o.Client, nil },
		GetTemplate: func() *x509.CertificateRequest {
			return &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + o.Node, Organization: []string{"system:nodes"}},
				DNSNames: dns, IPAddresses: ips}
		},
		SignerName:       certificatesv1.KubeletServingSignerName,
		GetUsages:        certificate.DefaultKubeletServingGetUsages,
		CertificateStore: store,
	})
	if err != nil {
		return nil, fmt.Errorf("the serving certificate: %w", err)
	}
	if manager.Current() == nil {
		o.Logger.Warn("the node requests a serving certificate; until somebody approves it there are no logs and streams",
			"approve with", "kubectl get csr; kubectl certificate approve NAME")
	}
	manager.Start()
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		if c := manager.Current(); c != nil {
			return c, nil
		}
		return nil, errors.New("the serving certificate is not issued yet")
	}, nil
}

// files is a certificate in two files.
type files struct {
	cert, key string
	logger    *slog.Logger

	mu      sync.Mutex
	seen    [2]os.FileInfo
	current *tls.Certificate
}

// get reads the files when they have changed. While they cannot be read, or do not belong together yet, the pair of before
// is used.
func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load()
	if f.current == nil {
		return nil, fmt.Errorf("the serving certificate: %w", err)
	}
	if err != nil {
		f.logger.Error("the serving certificate that was read before is used", "error", err)
	}
	return f.current, nil
}

func (f *files) load() error {
	var found [2]os.FileInfo
	same := f.current != nil
	for i, path := range []string{f.cert, f.key} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		found[i] = info
		same = same && os.SameFile(info, f.seen[i]) && info.ModTime().Equal(f.seen[i].ModTime()) && info.Size() == f.seen[i].Size()
	}
	if same {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return err
	}
	f.seen, f.current = found, &pair
	return nil
}

// selfSigner makes certificates that vouch for themselves. The last one is kept, so that clients which pinned it find it
// again.
type selfSigner struct {
	path    string
	options ServingOptions
	now     func() time.Time

	mu      sync.Mutex
	current *tls.Certificate
}

func (s *selfSigner) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fits(s.current) {
		return s.current, nil
	}
	if s.current == nil {
		if pair, err := tls.LoadX509KeyPair(s.path, s.path); err == nil && s.fits(&pair) {
			s.current = &pair
			return s.current, nil
		}
	}
	content, err := s.make()
	if err != nil {
		return nil, fmt.Errorf("signing the serving certificate: %w", err)
	}
	if err := atomicfile.WriteBytes(s.path, content); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(content, content)
	if err != nil {
		return nil, err
	}
	s.current = &pair
	return s.current, nil
}

// fits reports whether a certificate is for the node as it is now, and for a while yet.
func (s *selfSigner) fits(c *tls.Certificate) bool {
	if c == nil || c.Leaf == nil || s.now().Add(renewal).After(c.Leaf.NotAfter) {
		return false
	}
	dns, ips := s.options.names()
	return slices.Equal(c.Leaf.DNSNames, dns) && slices.EqualFunc(c.Leaf.IPAddresses, ips, net.IP.Equal)
}

// make returns certificate and key in PEM.
func (s *selfSigner) make() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	dns, ips := s.options.names()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "system:node:" + s.options.Node},
		NotBefore: s.now().Add(-time.Hour), NotAfter: s.now().Add(selfSigned),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: dns, IPAddresses: ips,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), nil
}

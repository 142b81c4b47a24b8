package certs_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"

	"github.com/vmseed/vmseed/kube/node/certs"
)

func options(t *testing.T, dir string) certs.ServingOptions {
	return certs.ServingOptions{Node: "n1", Dir: dir, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "192.0.2.7"}, {Type: corev1.NodeHostName, Address: "n1"}}}
}

// private fails for every file below dir that others than its owner may read.
func private(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSelfSigned: the certificate is for the node's addresses, is the same after a restart, and is new for a new address.
func TestSelfSigned(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	get := func(o certs.ServingOptions) *tls.Certificate {
		t.Helper()
		from, err := certs.Serving(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		c, err := from(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := get(options(t, dir))
	for _, name := range []string{"n1", "192.0.2.7"} {
		if err := first.Leaf.VerifyHostname(name); err != nil {
			t.Error(err)
		}
	}
	if again := get(options(t, dir)); !again.Leaf.Equal(first.Leaf) {
		t.Error("the certificate is another one after a restart")
	}
	moved := options(t, dir)
	moved.Addresses[0].Address = "192.0.2.8"
	if c := get(moved); c.Leaf.VerifyHostname("192.0.2.8") != nil {
		t.Error("the certificate is not for the new address")
	}
	private(t, dir)
}

// pair writes a new certificate and its key.
func pair(t *testing.T, dir string, serial int64) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "n1"}, NotBefore: time.Now(), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for name, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(time.Duration(serial) * time.Minute)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

// TestFiles: files that are replaced are served from then on, and half a replacement is not.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	o.CertFile, o.KeyFile = pair(t, dir, 1)
	get, err := certs.Serving(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	serial := func() int64 {
		c, err := get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d is served first", n)
	}
	key, err := os.ReadFile(o.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	pair(t, dir, 2)
	newKey, err := os.ReadFile(o.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(o.KeyFile, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d is served with another's key", n)
	}
	if err := os.WriteFile(o.KeyFile, newKey, 0o600); err != nil {
		t.Fatal(err)
	}
	if n := serial(); n != 2 {
		t.Errorf("certificate %d is served after the replacement", n)
	}
	o.KeyFile = ""
	if _, err := certs.Serving(t.Context(), o); err == nil {
		t.Error("a certificate without a key is taken")
	}
}

// issuer is an API server whose signer issues certificates of two seconds, once somebody has approved the first.
type issuer struct {
	*fake.Clientset
	asked    chan *certificatesv1.CertificateSigningRequest
	approved chan struct{}
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{Clientset: fake.NewClientset(), asked: make(chan *certificatesv1.CertificateSigningRequest, 100), approved: make(chan struct{})}
	var serial atomic.Int64
	i.PrependReactor("create", "certificatesigningrequests", func(a core.Action) (bool, runtime.Object, error) {
		request := a.(core.CreateAction).GetObject().(*certificatesv1.CertificateSigningRequest).DeepCopy()
		n := serial.Add(1)
		request.Name = fmt.Sprintf("csr-%d", n)
		request.UID = types.UID(request.Name)
		i.asked <- request.DeepCopy()
		// The fake does not select by name, so there is one request at a time.
		i.Tracker().Delete(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), "", fmt.Sprintf("csr-%d", n-1)) //nolint:errcheck // There may be none.
		if err := i.Tracker().Add(request); err != nil {
			t.Error(err)
		}
		go func() {
			<-i.approved
			signed := request.DeepCopy()
			signed.Status = certificatesv1.CertificateSigningRequestStatus{Certificate: sign(t, request.Spec.Request, n, 2*time.Second),
				Conditions: []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}}
			if err := i.Tracker().Update(certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests"), signed, ""); err != nil {
				t.Error(err)
			}
		}()
		return true, request, nil
	})
	return i
}

// sign issues what is requested, for a time.
func sign(t *testing.T, request []byte, serial int64, life time.Duration) []byte {
	block, _ := pem.Decode(request)
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Error(err)
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Error(err)
		return nil
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: asked.Subject, DNSNames: asked.DNSNames, IPAddresses: asked.IPAddresses,
		NotBefore: time.Now().Add(-time.Second), NotAfter: time.Now().Add(life)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, asked.PublicKey, key)
	if err != nil {
		t.Error(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// TestRequestedServing: the request is for the node's names and the kubelet's signer, nothing is served before it is
// approved, and a certificate is renewed.
func TestRequestedServing(t *testing.T) {
	client := newIssuer(t)
	o := options(t, filepath.Join(t.TempDir(), "pki"))
	o.Client = client
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	get, err := certs.Serving(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	spec := (<-client.asked).Spec
	if _, err := get(nil); err == nil {
		t.Error("a certificate is served that nobody has approved")
	}
	block, _ := pem.Decode(spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if spec.SignerName != certificatesv1.KubeletServingSignerName || request.Subject.String() != "CN=system:node:n1,O=system:nodes" ||
		len(request.DNSNames) != 1 || len(request.IPAddresses) != 1 || request.IPAddresses[0].String() != "192.0.2.7" {
		t.Errorf("%s is asked for %s, %v, %v", spec.SignerName, request.Subject, request.DNSNames, request.IPAddresses)
	}
	close(client.approved)
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	served := map[string]bool{}
	for len(served) < 2 {
		select {
		case <-tick.C:
			if c, err := get(nil); err == nil {
				served[c.Leaf.SerialNumber.String()] = true
			}
		case <-deadline:
			t.Fatalf("the certificates that were served are %v", served)
		}
	}
	private(t, o.Dir)
}

// TestClientWithoutBootstrap takes the kubeconfig as it is, and says what is wrong with it.
func TestClientWithoutBootstrap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if _, err := certs.Client(t.Context(), certs.ClientOptions{Node: "n1", Kubeconfig: path}); err == nil || !strings.Contains(err.Error(), "kubeconfig") {
		t.Errorf("a kubeconfig that is not there: %v", err)
	}
	const content = `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"https://192.0.2.1:6443"}}],` +
		`"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}],"current-context":"x"}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := certs.Client(t.Context(), certs.ClientOptions{Node: "n1", Kubeconfig: path})
	if err != nil || c.Host != "https://192.0.2.1:6443" || c.BearerToken != "t" {
		t.Errorf("%v, %v", c, err)
	}
	if certs.Tune(c).QPS < 50 {
		t.Error("a node with hundreds of pods would wait for its own limit")
	}
}

// clientCertificates has a server take whatever certificate a client shows.
func clientCertificates() *tls.Config { return &tls.Config{ClientAuth: tls.RequestClientCert} }

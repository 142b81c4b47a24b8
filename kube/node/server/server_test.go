package server_test

import (
	"bytes"
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
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	core "k8s.io/client-go/testing"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	utilexec "k8s.io/utils/exec"

	"github.com/vmseed/vmseed/kube/node/server"
)

// signer is an authority of certificates.
type signer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate for a user, or for a server on 127.0.0.1.
func (s *signer) issue(t *testing.T, use x509.ExtKeyUsage, name string, groups ...string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{use}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, s.cert, key.Public(), s.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// provider is one pod that echoes.
type provider struct {
	mu    sync.Mutex
	opts  api.ContainerLogOpts
	ended chan struct{}
	sizes chan api.TermSize
}

func (p *provider) GetContainerLogs(ctx context.Context, _, pod, _ string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	p.mu.Lock()
	p.opts = o
	p.mu.Unlock()
	if o.Previous {
		return nil, errdefs.NotFoundf("pod %s has not run before", pod)
	}
	if !o.Follow {
		return io.NopCloser(strings.NewReader("one\ntwo\n")), nil
	}
	r, w := io.Pipe()
	go func() {
		io.WriteString(w, "live\n") //nolint:errcheck // The reader has gone.
		<-ctx.Done()
		close(p.ended)
	}()
	return r, nil
}

func (p *provider) RunInContainer(_ context.Context, _, _, _ string, command []string, io api.AttachIO) error {
	if command[0] == "false" {
		return fmt.Errorf("in the guest: %w", utilexec.CodeExitError{Err: fmt.Errorf("exit 3"), Code: 3})
	}
	if command[0] == "refused" {
		return errors.New("the guest agent does not answer")
	}
	fmt.Fprintln(io.Stdout(), strings.Join(command, " ")) //nolint:errcheck // Judged by the reader.
	return nil
}

func (p *provider) AttachToContainer(ctx context.Context, _, _, _ string, streams api.AttachIO) error {
	if streams.TTY() {
		for size := range streams.Resize() {
			p.sizes <- size
			break
		}
	}
	_, err := io.Copy(streams.Stdout(), streams.Stdin())
	return err
}

func (p *provider) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	if port == 1 {
		return fmt.Errorf("nothing listens")
	}
	line := make([]byte, 5)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%d %s", port, line)
	return err
}

func (p *provider) PodStats(context.Context) ([]stats.PodStats, error) {
	cpu, memory := uint64(2_500_000_000), uint64(64<<20)
	at := metav1.NewTime(time.Unix(1_700_000_000, 0))
	c, m := &stats.CPUStats{Time: at, UsageCoreNanoSeconds: &cpu}, &stats.MemoryStats{Time: at, WorkingSetBytes: &memory}
	pod := stats.PodStats{PodRef: stats.PodReference{Namespace: "default", Name: "vm", UID: "u"}, StartTime: at, CPU: c, Memory: m,
		Containers: []stats.ContainerStats{{Name: "compute", StartTime: at, CPU: c, Memory: m, Logs: &stats.FsStats{}}}}
	replaced := pod
	replaced.PodRef.UID = "older"
	return []stats.PodStats{replaced, pod}, nil
}

func (p *provider) ResidentPods(context.Context) ([]*corev1.Pod, error) {
	waiting := pod.DeepCopy()
	waiting.Name, waiting.Status.Phase = "waiting", corev1.PodPending
	return []*corev1.Pod{pod, waiting}, nil
}

// pod is what the node has.
var pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vm", UID: "u"},
	Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "compute"}}}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}

type one struct{}

func (one) List() []*corev1.Pod { return []*corev1.Pod{pod} }
func (one) Get(namespace, name string) (*corev1.Pod, bool) {
	return pod, namespace == "default" && name == "vm"
}

// setting is a server with an API server that vouches for the token "good" of user robot, and lets alice do anything,
// robot read metrics, and bob read.
type setting struct {
	url, caFile string
	ca          *signer
	provider    *provider
	log         *bytes.Buffer
	trust       *x509.CertPool

	mu      sync.Mutex
	tokens  int
	reviews []authorizationv1.SubjectAccessReviewSpec
}

func start(t *testing.T) *setting {
	t.Helper()
	s := &setting{ca: newSigner(t), provider: &provider{ended: make(chan struct{}), sizes: make(chan api.TermSize, 1)}, log: &bytes.Buffer{}, trust: x509.NewCertPool()}
	s.caFile = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(s.caFile, s.ca.pem, 0o600); err != nil {
		t.Fatal(err)
	}
	s.trust.AddCert(s.ca.cert)
	serving := s.ca.issue(t, x509.ExtKeyUsageServerAuth, "node")
	srv, err := server.New(server.Config{
		NodeName: "n1", Reviews: s.reviewer(), ClientCA: s.caFile, Provider: s.provider, Pods: one{},
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &serving, nil },
		Node: func(context.Context) (stats.NodeStats, error) {
			busy := uint64(1e9)
			return stats.NodeStats{NodeName: "n1", CPU: &stats.CPUStats{UsageCoreNanoSeconds: &busy}, Fs: &stats.FsStats{}}, nil
		},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.url = "https://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *setting) reviewer() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependReactor("create", "tokenreviews", func(a core.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tokens++
		review := a.(core.CreateAction).GetObject().(*authenticationv1.TokenReview)
		answer := &authenticationv1.TokenReview{}
		if review.Spec.Token == "good" {
			answer.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "robot", UID: "7",
				Groups: []string{"system:authenticated"}, Extra: map[string]authenticationv1.ExtraValue{"pod": {"p"}}}}
		}
		return true, answer, nil
	})
	client.PrependReactor("create", "subjectaccessreviews", func(a core.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		review := a.(core.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		s.reviews = append(s.reviews, review.Spec)
		what := review.Spec.ResourceAttributes
		switch review.Spec.User {
		case "alice":
			review.Status.Allowed = true
		case "robot":
			review.Status.Allowed = what.Verb == "get" && what.Subresource == "metrics"
		case "bob":
			review.Status.Allowed = what.Verb == "get" && what.Subresource == "proxy"
		case "carol":
			review.Status.Allowed = what.Verb == "get" && what.Subresource == "pods"
		case "mallory":
			review.Status.Allowed, review.Status.Denied = true, true
		}
		return true, review, nil
	})
	return client
}

// as is the configuration of a client with a certificate for user.
func (s *setting) as(t *testing.T, user string) *rest.Config {
	t.Helper()
	c := s.ca.issue(t, x509.ExtKeyUsageClientAuth, user, "people")
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return &rest.Config{Host: s.url, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem,
		CertData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]}),
		KeyData:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}}
}

// get asks with a certificate, or without when it is nil, and returns status and body.
func (s *setting) get(t *testing.T, cert *tls.Certificate, method, path, token string) (int, string) {
	t.Helper()
	config := &tls.Config{RootCAs: s.trust}
	if cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // It was only read.
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

package subresources

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// authority signs certificates for tests.
type authority struct {
	template *x509.Certificate
	key      *ecdsa.PrivateKey
	pem      []byte
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	a := &authority{template: template(name, time.Now()), key: key}
	a.template.IsCA, a.template.BasicConstraintsValid, a.template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, a.template, a.template, key.Public(), key)
	check(t, err)
	a.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return a
}

// client signs a certificate for a client.
func (a *authority) client(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	leaf := template(name, time.Now())
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.template, key.Public(), a.key)
	check(t, err)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// proxyConfig is the ConfigMap by which the API server tells of its front proxy.
func proxyConfig(authority []byte) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: proxyNamespace, Name: proxyConfigMap}, Data: map[string]string{
		proxyCAKey:                           string(authority),
		"requestheader-allowed-names":        `["front-proxy"]`,
		"requestheader-username-headers":     `["X-Remote-User"]`,
		"requestheader-group-headers":        `["X-Remote-Group"]`,
		"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}}
}

// harness is a server on fakes: of the API server, and of the nodes.
type harness struct {
	*Server
	kube  *fake.Clientset
	pods  *fakePods
	proxy *authority
	http  *httptest.Server
	log   *lockedBuffer

	mu      sync.Mutex
	reviews []authorizationv1.SubjectAccessReviewSpec
}

// serve starts a server with objects. Everybody but "stranger" may do everything.
func serve(t *testing.T, o Options, hooks interceptor.Funcs, objects ...client.Object) *harness {
	t.Helper()
	scheme, err := newScheme()
	check(t, err)
	h := &harness{proxy: newAuthority(t, "front-proxy-ca"), pods: &fakePods{}, log: &lockedBuffer{}}
	h.kube = fake.NewClientset(proxyConfig(h.proxy.pem))
	h.kube.PrependReactor("create", "subjectaccessreviews", func(a clienttesting.Action) (bool, runtime.Object, error) {
		review := a.(clienttesting.CreateAction).GetObject().(*authorizationv1.SubjectAccessReview).DeepCopy()
		h.mu.Lock()
		defer h.mu.Unlock()
		h.reviews = append(h.reviews, review.Spec)
		review.Status.Allowed = review.Spec.User != "stranger"
		return true, review, nil
	})
	clients := crfake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(hooks).
		WithStatusSubresource(&kubevirtv1.VirtualMachine{}, &kubevirtv1.VirtualMachineInstance{}).Build()
	callers, err := newFrontProxy(h.kube)
	check(t, err)
	ctx, stop := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() { defer close(followed); callers.run(ctx) }()
	t.Cleanup(func() { stop(); <-followed })
	eventually(t, "the front proxy is known", func() bool { return callers.known() == nil })
	o.Namespace, o.Service, o.Secret = "kubevirt", DefaultService, DefaultSecret
	if o.Streams == 0 {
		o.Streams = 8
	}
	o.Log = slog.New(slog.NewTextHandler(h.log, nil))
	h.Server = newServer(o, h.kube, clients, callers, h.pods)
	h.http = httptest.NewUnstartedServer(h.handler())
	h.http.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, NextProtos: []string{"http/1.1"}}
	h.http.StartTLS()
	t.Cleanup(h.http.Close)
	return h
}

// do sends a request as the front proxy for a user, and returns the answer and its body.
func (h *harness) do(t *testing.T, user, method, path, body string) (*http.Response, string) {
	t.Helper()
	return h.as(t, h.proxy.client(t, "front-proxy"), user, method, path, body)
}

func (h *harness) as(t *testing.T, certificate *tls.Certificate, user, method, path, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, h.http.URL+path, bytes.NewBufferString(body))
	check(t, err)
	if user != "" {
		request.Header.Set("X-Remote-User", user)
		request.Header.Add("X-Remote-Group", "people")
		request.Header.Add("X-Remote-Extra-Scopes", "all")
	}
	transport := &http.Transport{TLSClientConfig: h.tls(certificate), DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	check(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	check(t, err)
	return response, string(answer)
}

// tls is the configuration of a client.
func (h *harness) tls(certificate *tls.Certificate) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(h.http.Certificate())
	config := &tls.Config{RootCAs: roots}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	return config
}

// url is the path of a subresource of the machine or instance x.
func url(resource, rest string) string {
	return "/apis/" + Group + "/v1/namespaces/ns/" + resource + "/x/" + rest
}

// machineX is the VirtualMachine x.
func machineX(strategy kubevirtv1.VirtualMachineRunStrategy) *kubevirtv1.VirtualMachine {
	return &kubevirtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "vm"},
		Spec:       kubevirtv1.VirtualMachineSpec{RunStrategy: &strategy},
		Status:     kubevirtv1.VirtualMachineStatus{Created: true},
	}
}

// instanceX is its instance.
func instanceX(phase kubevirtv1.VirtualMachineInstancePhase) *kubevirtv1.VirtualMachineInstance {
	grace := int64(180)
	return &kubevirtv1.VirtualMachineInstance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "vmi", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(machineX(""), kubevirtv1.VirtualMachineGroupVersionKind)}},
		Spec: kubevirtv1.VirtualMachineInstanceSpec{TerminationGracePeriodSeconds: &grace},
		Status: kubevirtv1.VirtualMachineInstanceStatus{Phase: phase, ActivePods: map[types.UID]string{"pod": "node"}, Conditions: []kubevirtv1.VirtualMachineInstanceCondition{
			{Type: kubevirtv1.VirtualMachineInstanceAgentConnected, Status: corev1.ConditionTrue}}},
	}
}

// launcherX is the pod of the instance.
func launcherX(owner types.UID) *corev1.Pod {
	vmi := instanceX("")
	vmi.UID = owner
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "virt-launcher-x", UID: "pod",
			Labels:          map[string]string{kubevirtv1.AppLabel: "virt-launcher", kubevirtv1.CreatedByLabel: "vmi"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(vmi, kubevirtv1.VirtualMachineInstanceGroupVersionKind)}},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "compute"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// fakePods are nodes: each call is a function that a test may give.
type fakePods struct {
	attach  func(ctx context.Context, in io.Reader, out io.Writer) error
	forward func(ctx context.Context, port uint16, in io.Reader, out io.Writer, opened func()) error
	exec    func(command []string) ([]byte, error)
}

func (f *fakePods) Attach(ctx context.Context, _ *corev1.Pod, in io.Reader, out io.Writer) error {
	return f.attach(ctx, in, out)
}

func (f *fakePods) Forward(ctx context.Context, _ *corev1.Pod, port uint16, in io.Reader, out io.Writer, opened func()) error {
	return f.forward(ctx, port, in, out, opened)
}

func (f *fakePods) Exec(_ context.Context, _ *corev1.Pod, command ...string) ([]byte, error) {
	return f.exec(command)
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

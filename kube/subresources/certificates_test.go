package subresources

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func apiService(version, service string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": Group, "version": version, "service": map[string]any{"name": service, "namespace": "kubevirt"}}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	o.SetName(version + "." + Group)
	return o
}

// replica is one of the servers of an installation.
func replica(kube *fake.Clientset, services client.Client, now *time.Time) *certificates {
	return &certificates{secrets: kube.CoreV1().Secrets("kubevirt"), services: services, log: slog.New(slog.DiscardHandler),
		name: DefaultSecret, host: DefaultService + ".kubevirt.svc", now: func() time.Time { return *now }}
}

// bundle returns the authorities that an APIService has.
func bundle(t *testing.T, c client.Client, version string) []byte {
	t.Helper()
	o := apiService(version, "")
	check(t, c.Get(t.Context(), client.ObjectKeyFromObject(o), o))
	text, _, _ := unstructured.NestedString(o.Object, "spec", "caBundle")
	pem, err := base64.StdEncoding.DecodeString(text)
	check(t, err)
	return pem
}

// trusted reports whether the API server, which has a bundle, would talk to a server with a certificate.
func trusted(t *testing.T, c *certificates, bundle []byte, now time.Time) bool {
	t.Helper()
	pair, err := c.certificate(nil)
	check(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{DNSName: "vmseed-api.kubevirt.svc", Roots: roots, CurrentTime: now})
	return err == nil
}

// TestRotation follows two replicas over the life of a certificate: the API server trusts both of them at any time.
func TestRotation(t *testing.T) {
	kube := fake.NewClientset()
	services := crfake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(apiService("v1", DefaultService), apiService("v1alpha3", DefaultService)).Build()
	now := time.Now()
	a, b := replica(kube, services, &now), replica(kube, services, &now)
	if _, err := a.certificate(nil); err == nil {
		t.Error("there is a certificate before one was made")
	}
	check(t, a.sync(t.Context()))
	check(t, b.sync(t.Context()))
	both := func(when string) {
		t.Helper()
		for _, version := range Versions() {
			for name, c := range map[string]*certificates{"a": a, "b": b} {
				if !trusted(t, c, bundle(t, services, version), now) {
					t.Errorf("%s: the API server does not trust replica %s by the APIService of %s", when, name, version)
				}
			}
		}
	}
	both("at first")
	first := leaf(a)
	if !first.Equal(leaf(b)) {
		t.Error("the replicas have different certificates")
	}
	now = now.Add(validity - renewal - time.Minute)
	check(t, a.sync(t.Context()))
	if !leaf(a).Equal(first) {
		t.Error("the certificate is renewed too early")
	}
	now = now.Add(2 * time.Minute)
	check(t, a.sync(t.Context()))
	if leaf(a).Equal(first) {
		t.Fatal("the certificate is not renewed")
	}
	if !leaf(b).Equal(first) {
		t.Fatal("replica b knows already: this test has nothing to look at")
	}
	both("when one replica has renewed")
	check(t, b.sync(t.Context()))
	if !leaf(b).Equal(leaf(a)) {
		t.Error("replica b does not take the renewed certificate")
	}
	both("when both know")
	if n := strings.Count(string(bundle(t, services, "v1")), "BEGIN CERTIFICATE"); n != 2 {
		t.Errorf("%d authorities, want that of now and the one before", n)
	}
	now = now.Add(validity)
	check(t, a.sync(t.Context()))
	if n := strings.Count(string(bundle(t, services, "v1")), "BEGIN CERTIFICATE"); n != 1 {
		t.Errorf("%d authorities, want that of now alone: the one before has ended", n)
	}
}

func leaf(c *certificates) *x509.Certificate { return c.current.Load().Leaf }

// TestSecrets replaces what is no certificate for this server, and keeps the key out of errors.
func TestSecrets(t *testing.T) {
	now := time.Now()
	foreign, err := issue("another.kubevirt.svc", now)
	check(t, err)
	mixed, err := issue("vmseed-api.kubevirt.svc", now)
	check(t, err)
	mixed[corev1.ServiceAccountRootCAKey] = foreign[corev1.ServiceAccountRootCAKey]
	for name, data := range map[string]map[string][]byte{
		"empty": nil, "no certificate": {corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("y")},
		"another name": foreign, "another authority": mixed,
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "kubevirt", Name: DefaultSecret}, Data: data}
		kube := fake.NewClientset(secret)
		c := replica(kube, crfake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), &now)
		if err := c.sync(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := leaf(c).DNSNames[0]; got != "vmseed-api.kubevirt.svc" {
			t.Errorf("%s: a certificate for %s is served", name, got)
		}
	}
	c := replica(fake.NewClientset(), nil, &now)
	_, err = c.parse(&corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: []byte("hunter2"), corev1.TLSPrivateKeyKey: []byte("hunter2")}})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("an error about a broken Secret: %v", err)
	}
}

// TestTogether starts replicas at the same time: one makes the certificate, and all serve it.
func TestTogether(t *testing.T) {
	kube, now := fake.NewClientset(), time.Now()
	services := crfake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	replicas := make([]*certificates, 8)
	var running sync.WaitGroup
	for i := range replicas {
		replicas[i] = replica(kube, services, &now)
		running.Go(func() {
			if err := replicas[i].sync(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, c := range replicas {
		check(t, c.sync(t.Context()))
		if !leaf(c).Equal(leaf(replicas[0])) {
			t.Error("the replicas have different certificates")
		}
	}
}

// TestForeignService leaves the APIService of another server alone, and serves all the same.
func TestForeignService(t *testing.T) {
	kube, now := fake.NewClientset(), time.Now()
	services := crfake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithObjects(apiService("v1", "virt-api")).
		WithInterceptorFuncs(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			t.Error("the APIService is changed")
			return nil
		}}).Build()
	c := replica(kube, services, &now)
	if err := c.sync(t.Context()); err == nil || !strings.Contains(err.Error(), "APIService v1.subresources.kubevirt.io leads to another server, kubevirt/virt-api") {
		t.Errorf("sync says %v", err)
	}
	if _, err := c.certificate(new(tls.ClientHelloInfo)); err != nil {
		t.Error(err)
	}
	first := leaf(c)
	now = now.Add(validity - renewal + time.Minute)
	if err := c.sync(t.Context()); err == nil || leaf(c).Equal(first) {
		t.Errorf("the certificate is not renewed: %v", err)
	}
}

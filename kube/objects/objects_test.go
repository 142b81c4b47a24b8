package objects_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	ktesting "k8s.io/client-go/testing"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/kubeobject"
	"github.com/vmseed/vmseed/frontend"
	"github.com/vmseed/vmseed/kube/objects"
)

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "n", Name: name, UID: "uid", ResourceVersion: "7", Labels: map[string]string{"a": "b"},
		Annotations:   map[string]string{corev1.LastAppliedConfigAnnotation: "canary"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl", FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte("{}")}}}}
}

// TestResolve gets objects as an API server has them.
func TestResolve(t *testing.T) {
	yes, block := true, corev1.PersistentVolumeBlock
	client := fake.NewClientset(
		&corev1.Secret{ObjectMeta: named("s"), Type: corev1.SecretTypeOpaque, Immutable: &yes, Data: map[string][]byte{"k": {0xff, 0}, "text": []byte("canary")}},
		&corev1.ConfigMap{ObjectMeta: named("c"), Data: map[string]string{"k": "one\ntwo\n"}, BinaryData: map[string][]byte{"b": {1}}},
		&corev1.PersistentVolumeClaim{ObjectMeta: named("p"), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv", VolumeMode: &block},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
			Local: &corev1.LocalVolumeSource{Path: "/dev/x"}}}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}})
	r := objects.New(client)
	get := func(kind, name string) kubeobject.Object {
		t.Helper()
		ref := kubeobject.Ref{Kind: kind, Namespace: "n", Name: name}
		if kind == kubeobject.PersistentVolume {
			ref.Namespace = ""
		}
		o, err := r.Resolve(t.Context(), ref)
		if err != nil || o.Ref != ref {
			t.Fatalf("%s: %v, %v", ref, o.Ref, err)
		}
		return o
	}
	for range 2 {
		s := get(kubeobject.Secret, "s")
		if k, _ := s.Item("k"); k.Value.Reveal() != "\xff\x00" || !strings.HasPrefix(k.Origin.At(1, 1).File, "Secret/n/s") {
			t.Errorf("the Secret: %v at %v", len(s.Data), k.Origin.At(1, 1))
		}
		c := get(kubeobject.ConfigMap, "c")
		if k, _ := c.Item("k"); k.Value.Reveal() != "one\ntwo\n" || len(c.Data) != 2 {
			t.Errorf("the ConfigMap: %d values", len(c.Data))
		}
		if v := get(kubeobject.PersistentVolumeClaim, "p").Tree.At("spec", "volumeName").Str(new(diag.List)); v != "pv" {
			t.Errorf("the claim is bound to %q", v)
		}
		if v := get(kubeobject.PersistentVolume, "pv").Tree.At("spec", "local", "path").Str(new(diag.List)); v != "/dev/x" {
			t.Errorf("the volume is at %q", v)
		}
	}
	if n := len(client.Actions()); n != 4 {
		t.Errorf("%d calls for 4 objects", n)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("the call %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestMissing tells what is not there from what may not be read.
func TestMissing(t *testing.T) {
	client := fake.NewClientset()
	client.PrependReactor("get", "secrets", func(ktesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("no relationship found"))
	})
	r := objects.New(client)
	r.Hint = "ask somebody"
	if _, err := r.Resolve(t.Context(), kubeobject.Ref{Kind: kubeobject.ConfigMap, Namespace: "n", Name: "c"}); !errors.Is(err, frontend.ErrNotFound) {
		t.Errorf("a missing object: %v", err)
	}
	_, err := r.Resolve(t.Context(), kubeobject.Ref{Kind: kubeobject.Secret, Namespace: "n", Name: "s"})
	if !errors.Is(err, objects.ErrForbidden) || errors.Is(err, frontend.ErrNotFound) || !strings.HasSuffix(err.Error(), "; ask somebody") {
		t.Errorf("a forbidden object: %v", err)
	}
	if _, err := r.Resolve(t.Context(), kubeobject.Ref{Kind: "DataVolume", Namespace: "n", Name: "d"}); !errors.Is(err, frontend.ErrNotFound) {
		t.Errorf("another kind: %v", err)
	}
}

// TestGivenUp asks again for what a call that was given up did not get.
func TestGivenUp(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{ObjectMeta: named("c")})
	ctx, cancel := context.WithCancel(t.Context())
	client.PrependReactor("get", "configmaps", func(ktesting.Action) (bool, runtime.Object, error) {
		if ctx.Err() != nil {
			return false, nil, nil
		}
		cancel()
		return true, nil, context.Canceled
	})
	r, ref := objects.New(client), kubeobject.Ref{Kind: kubeobject.ConfigMap, Namespace: "n", Name: "c"}
	if _, err := r.Resolve(ctx, ref); err == nil {
		t.Fatal("the first call should fail")
	}
	if _, err := r.Resolve(t.Context(), ref); err != nil {
		t.Errorf("the second call: %v", err)
	}
}

// TestConfig reads a kubeconfig by its contexts.
func TestConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	text := `apiVersion: v1
kind: Config
current-context: one
clusters: [{name: a, cluster: {server: "https://one"}}, {name: b, cluster: {server: "https://two"}}]
users: [{name: u, user: {token: canary}}]
contexts: [{name: one, context: {cluster: a, user: u}}, {name: two, context: {cluster: b, user: u, namespace: other}}]
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ context, host, namespace string }{{"", "https://one", "default"}, {"two", "https://two", "other"}} {
		config, namespace, err := objects.Config(path, c.context)
		if err != nil || config.Host != c.host || namespace != c.namespace || config.BearerToken != "canary" {
			t.Errorf("context %q: %v, %q, %v", c.context, config, namespace, err)
		}
	}
	if _, _, err := objects.Config(path, "three"); err == nil {
		t.Error("a context that is not there is found")
	}
}

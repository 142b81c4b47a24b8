//go:build conformance

package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/kube/controller"
	"github.com/vmseed/vmseed/kube/internal/controlplane"
	"github.com/vmseed/vmseed/kube/internal/controlplane/controlplanetest"
	"github.com/vmseed/vmseed/kube/manifests"
)

// cluster is the control plane of all tests of this package, with the controller at work on it under the rights and policies
// that its installation gives it.
type cluster struct {
	plane *controlplane.ControlPlane
	admin client.WithWatch
}

// running is set once, by TestMain.
var running cluster

func TestMain(m *testing.M) {
	os.Exit(controlplanetest.Main(m, controlplane.Options{}, begin))
}

// begin installs the objects of the installation, and runs controller and nodes.
func begin(work context.Context, plane *controlplane.ControlPlane) (func(), error) {
	ctx, cancel := context.WithTimeout(work, 10*time.Minute)
	defer cancel()
	running.plane = plane
	config, err := running.plane.Config()
	if err != nil {
		return nil, err
	}
	if running.admin, err = client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return nil, err
	}
	objects, err := manifests.Objects(manifests.CRD, manifests.RBAC, manifests.Policy)
	if err != nil {
		return nil, err
	}
	if err := manifests.Apply(ctx, running.admin, objects); err != nil {
		return nil, err
	}
	own, err := running.plane.As("system:serviceaccount:kubevirt:vmseed-controller", "system:serviceaccounts", "system:serviceaccounts:kubevirt", "system:authenticated")
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := controller.Run(work, own, controller.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))}); err != nil {
			fmt.Fprintln(os.Stderr, "controller:", err)
		}
	}()
	for _, name := range []string{"n1", "n2"} {
		if err := startNode(work, name); err != nil {
			return nil, err
		}
	}
	return func() { <-done }, nil
}

// startNode registers a node that says of every pod bound to it that it runs, and of one that is to go that it is gone. It
// has the rights of a node.
func startNode(ctx context.Context, name string) error {
	config, err := running.plane.As("system:node:"+name, "system:nodes", "system:authenticated")
	if err != nil {
		return err
	}
	config.QPS = -1
	n := &node{name: name}
	if n.client, err = client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
		return err
	}
	if err := n.register(ctx); err != nil {
		return err
	}
	go n.run(ctx)
	return nil
}

// start returns a client of the administrator and a namespace of the test's own.
func start(t *testing.T) (context.Context, client.WithWatch, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	if err := running.admin.Create(ctx, namespace); err != nil {
		t.Fatal(err)
	}
	return ctx, running.admin, namespace.Name
}

// await returns an object when it is as it should be. A failure shows how it was last.
func await(ctx context.Context, t *testing.T, c client.WithWatch, kind, namespace, name, what string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	last := &unstructured.Unstructured{}
	for ctx.Err() == nil {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(apiVersion(kind))
		list.SetKind(kind + "List")
		w, err := c.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for e := range w.ResultChan() {
			u, ok := e.Object.(*unstructured.Unstructured)
			if !ok {
				break
			}
			if last = u; e.Type != watch.Deleted && is(u) {
				w.Stop()
				return u
			}
		}
		w.Stop()
	}
	text, _ := last.MarshalJSON()
	t.Fatalf("%s: %v; last seen: %s", what, ctx.Err(), text)
	return nil
}

// gone waits until an object does not exist any more.
func gone(ctx context.Context, t *testing.T, c client.WithWatch, kind, namespace, name string) {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion(kind))
	u.SetKind(kind)
	for ctx.Err() == nil {
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u)
		if apierrors.IsNotFound(err) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		// From here on nothing is missed: the watch begins where the object was read.
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(u.GetAPIVersion())
		list.SetKind(kind + "List")
		w, err := c.Watch(ctx, list, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name},
			&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: u.GetResourceVersion()}})
		if err != nil {
			t.Fatal(err)
		}
		for e := range w.ResultChan() {
			if e.Type == watch.Deleted || e.Type == watch.Error {
				break
			}
		}
		w.Stop()
	}
	t.Fatalf("%s %s should go: %v", kind, name, ctx.Err())
}

// apiVersion is that of a kind.
func apiVersion(kind string) string {
	if strings.HasPrefix(kind, "Virtual") {
		return "kubevirt.io/v1"
	}
	return "v1"
}

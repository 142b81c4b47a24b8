//go:build conformance

package node_test

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/certs"
)

// road is the way from a node to the API server, which can be closed.
type road struct {
	to string
	l  net.Listener

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func newRoad(t *testing.T, to string) *road {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &road{to: strings.TrimPrefix(to, "https://"), l: l}
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // Nobody uses it any more.
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.carry(c)
		}
	}()
	return r
}

func (r *road) carry(near net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		near.Close() //nolint:errcheck // That is the outage.
		return
	}
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		near.Close() //nolint:errcheck // As above.
		return
	}
	r.conns = append(r.conns, near, far)
	for _, pair := range [][2]net.Conn{{near, far}, {far, near}} {
		go func() {
			io.Copy(pair[0], pair[1]) //nolint:errcheck // Either side may end.
			pair[0].Close()           //nolint:errcheck // As above.
		}()
	}
}

// set opens or closes the road; closing it cuts what is under way.
func (r *road) set(open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = !open
	if open {
		return
	}
	for _, c := range r.conns {
		c.Close() //nolint:errcheck // That is the outage.
	}
	r.conns = nil
}

// outage: a node starts before the API server can be reached; later it is cut off, keeps what runs, and does what it has
// missed when the road is open again.
func (w *world) outage(t *testing.T) {
	way := newRoad(t, w.URL)
	way.set(false)
	config, err := w.As("system:node:outage", "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	config = certs.Tune(rest.CopyConfig(config))
	config.Host = "https://" + way.l.Addr().String()
	client := kubernetes.NewForConfigOrDie(config)
	provider := newEcho(client)
	n, err := node.New(node.Config{Name: "outage", Client: client, Provider: provider, Host: node.ThisHost(t.TempDir()), LeastStorage: little, RuntimeVersion: "vmseed://0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	way.set(true)
	select {
	case <-n.Ready():
	case err := <-done:
		t.Fatalf("the node ended, as the API server was away: %v", err)
	case <-time.After(3 * time.Minute):
		t.Fatal("the node did not find the API server")
	}
	w.pod(t, "outage", "stays")
	lost := w.pod(t, "outage", "lost")

	way.set(false)
	none := int64(0)
	if err := w.admin.CoreV1().Pods("default").Delete(ctx, "lost", metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		t.Fatal(err)
	}
	until(t, "the pod is deleted behind the node's back", func() (bool, error) {
		_, err := w.admin.CoreV1().Pods("default").Get(ctx, "lost", metav1.GetOptions{})
		return apierrors.IsNotFound(err), nil
	}, func(gone bool) bool { return gone })
	if _, err := provider.GetPod(ctx, "default", "stays"); err != nil {
		t.Errorf("a node that is cut off has dropped a pod: %v", err)
	}
	way.set(true)
	if key := <-provider.gone; key != "default/"+lost.Name {
		t.Errorf("after the outage %s is ended", key)
	}
	w.pod(t, "outage", "later")
	p, err := w.admin.CoreV1().Pods("default").Get(ctx, "stays", metav1.GetOptions{})
	if _, starts := provider.seen(); err != nil || p.Status.Phase != corev1.PodRunning || starts != 3 {
		t.Errorf("%v: after the outage the pod that stays is %v, and there were %d starts", err, p.Status.Phase, starts)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

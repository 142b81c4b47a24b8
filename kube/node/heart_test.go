package node

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
)

// identified is a host that says which one it is.
type identified struct {
	bench
	id string
}

func (i *identified) Facts() (Facts, error) {
	f, err := i.bench.Facts()
	f.System.MachineID = i.id
	return f, err
}

func beating(t *testing.T, objects ...*corev1.Node) (*heart, *fake.Clientset) {
	t.Helper()
	client := fake.NewClientset()
	for _, o := range objects {
		if err := client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Name: "n", Client: client, Provider: nothing{}, Host: &identified{bench{m: well()}, "this"}, RuntimeVersion: "vmseed://1"}
	if err := c.complete(); err != nil {
		t.Fatal(err)
	}
	return newHeart(&c, 0, nil), client
}

func nodeOf(runtime, machine string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{
		NodeInfo: corev1.NodeSystemInfo{ContainerRuntimeVersion: runtime, MachineID: machine}}}
}

// TestForeignPods: the pods of a Node that another kubelet runs are not even read.
func TestForeignPods(t *testing.T) {
	_, client := beating(t, nodeOf("containerd://2.0.0", "this"))
	n, err := New(Config{Name: "n", Client: client, Provider: nothing{}, Host: &identified{bench{m: well()}, "this"}, RuntimeVersion: "vmseed://1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "containerd") {
		t.Errorf("the Node of another kubelet is taken over: %v", err)
	}
	for _, a := range client.Actions() {
		if a.GetResource().Resource != "nodes" || a.GetVerb() != "get" {
			t.Errorf("of another kubelet's Node: %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestOtherHost: a Node that another host keeps alive is left to it, and taken over when its lease has run out.
func TestOtherHost(t *testing.T) {
	h, client := beating(t, nodeOf("vmseed://1", "that"))
	renewed, seconds := metav1.NewMicroTime(time.Now().Add(-time.Hour)), int32(40)
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: "n"},
		Spec: coordinationv1.LeaseSpec{RenewTime: &renewed, LeaseDurationSeconds: &seconds}}
	if err := client.Tracker().Add(l); err != nil {
		t.Fatal(err)
	}
	if _, err := h.register(t.Context()); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("the Node of another host, whose clock is an hour late, is taken over: %v", err)
	}
	h.other.since = h.other.since.Add(-20 * time.Second)
	if _, err := h.register(t.Context()); err == nil {
		t.Error("the Node of another host is taken over before its lease is over")
	}
	h.other.since = h.other.since.Add(-20 * time.Second)
	if _, err := h.register(t.Context()); err != nil {
		t.Errorf("the Node of a host that is gone: %v", err)
	}
	for _, a := range client.Actions() {
		if a.GetVerb() != "get" {
			t.Errorf("registering does %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	same, _ := beating(t, nodeOf("vmseed://0.9", "THIS"))
	if _, err := same.register(t.Context()); err != nil {
		t.Errorf("the host's own Node: %v", err)
	}
}

// TestLost: a Node that was this host's and is another's now ends this one; one that is taken over does not.
func TestLost(t *testing.T) {
	h, client := beating(t, nodeOf("vmseed://1", "that"))
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	w := watch.NewFake()
	client.PrependWatchReactor("nodes", func(core.Action) (bool, watch.Interface, error) { return true, w, nil })
	go h.watch(ctx, stop)
	for _, machine := range []string{"that", "this", "that"} {
		if ctx.Err() != nil {
			t.Fatalf("a Node that is taken over is lost: %v", context.Cause(ctx))
		}
		w.Modify(nodeOf("vmseed://1", machine))
	}
	select {
	case <-ctx.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("nobody notices that the Node is another's")
	}
	if err := context.Cause(ctx); !strings.Contains(err.Error(), "that") {
		t.Error(err)
	}
}

// TestLags: what the control plane has made of a Node that it did not hear of is written again.
func TestLags(t *testing.T) {
	h, _ := beating(t)
	told := h.state.node(t.Context())
	if h.seen.Store(told.DeepCopy()); h.lags() {
		t.Error("nothing was told yet")
	}
	h.told.Store(told)
	if h.lags() {
		t.Error("what the API server has is what was told")
	}
	for what, spoil := range map[string]func(*corev1.NodeStatus){
		"conditions": func(s *corev1.NodeStatus) { s.Conditions[0].Status = corev1.ConditionUnknown },
		"resources":  func(s *corev1.NodeStatus) { delete(s.Allocatable, corev1.ResourcePods) },
		"port":       func(s *corev1.NodeStatus) { s.DaemonEndpoints.KubeletEndpoint.Port = 1 },
		"addresses": func(s *corev1.NodeStatus) {
			s.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		},
	} {
		seen := told.DeepCopy()
		spoil(&seen.Status)
		if h.seen.Store(seen); !h.lags() {
			t.Errorf("other %s are not noticed", what)
		}
	}
	seen := told.DeepCopy()
	seen.Status.Conditions = append(seen.Status.Conditions, corev1.NodeCondition{Type: "theirs", Status: corev1.ConditionTrue})
	if h.seen.Store(seen); h.lags() {
		t.Error("a condition of others is noticed")
	}
}

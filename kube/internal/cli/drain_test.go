package cli

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/kube/node"
	"github.com/vmseed/vmseed/kube/node/server"
	"github.com/vmseed/vmseed/kube/provider"
)

// oneVM is a runner of one VM, whose guest takes a minute to shut down, and its disks another one to be removed.
type oneVM struct {
	started time.Time
	ended   chan struct{}
	removed chan struct{}
}

func (o *oneVM) Start(context.Context, provider.Start) (provider.Started, diag.List, error) {
	o.started = time.Now()
	return provider.Started{Guest: o, IPs: []netip.Addr{netip.MustParseAddr("10.1.2.3")}}, nil, nil
}

func (o *oneVM) Find(context.Context, provider.Ref) (provider.Started, error) {
	return provider.Started{}, supervisor.ErrNoVM
}

func (o *oneVM) Remove(context.Context, provider.Ref) error {
	time.Sleep(time.Minute)
	close(o.removed)
	return nil
}

func (*oneVM) List(context.Context) ([]provider.Ref, error) { return nil, nil }

func (o *oneVM) State(context.Context) (supervisor.State, error) {
	s := supervisor.State{Status: supervisor.Running, Started: &o.started}
	if isClosed(o.ended) {
		s.Status = supervisor.Stopped
	}
	return s, nil
}

func (o *oneVM) Events(ctx context.Context, _ int, _ func(supervisor.Event) error) error {
	select {
	case <-o.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (o *oneVM) Stop(context.Context, time.Duration) error {
	time.Sleep(time.Minute)
	close(o.ended)
	return nil
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

var _ server.Residents = (*provider.Provider)(nil)

// TestDrainWaitsForGuests drains the provider that a node really has while a guest shuts down: what leaves is still there.
func TestDrainWaitsForGuests(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "vm", UID: "u", Annotations: map[string]string{provider.RuntimeAnnotation: provider.Runtime}},
			Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "guest", Image: "x"}}}}
		client := fake.NewClientset(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod)
		vm := &oneVM{ended: make(chan struct{}), removed: make(chan struct{})}
		pods, err := provider.New(t.Context(), provider.Options{Runner: vm, Pods: client.CoreV1(), Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := pods.Close(); err != nil {
				t.Error(err)
			}
		}()
		made, err := node.New(node.Config{Name: "n", Client: client, Provider: pods, Host: noHost{}})
		if err != nil {
			t.Fatal(err)
		}
		if err := pods.CreatePod(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		grace := int64(300)
		leaving := pod.DeepCopy()
		leaving.DeletionTimestamp, leaving.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, &grace
		if err := pods.DeletePod(t.Context(), leaving); err != nil { // as the pod controller does when it is evicted
			t.Fatal(err)
		}
		synctest.Wait()
		if here, err := pods.ResidentPods(t.Context()); err != nil || len(here) != 1 || here[0].Status.Phase != corev1.PodRunning {
			t.Errorf("while the guest shuts down: %v, %v", here, err)
		}
		if err := made.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !isClosed(vm.ended) || !isClosed(vm.removed) {
			t.Error("the node is said to be drained while its guest shuts down, or its disks are removed")
		}
		if here, err := pods.ResidentPods(t.Context()); err != nil || len(here) != 0 {
			t.Errorf("after it: %v, %v", here, err)
		}
	})
}

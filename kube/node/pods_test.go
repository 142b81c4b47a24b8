package node

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	core "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
)

// TestMissedDeletion: a pod that went while the watch was interrupted for so long that the API server has forgotten is
// noticed when the pods are listed again, also when another one has taken its name.
func TestMissedDeletion(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "p", UID: "1", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}}}
	client := fake.NewClientset(pod)
	watches, selectors := make(chan *watch.FakeWatcher, 10), make(chan string, 10)
	client.PrependWatchReactor("pods", func(a core.Action) (bool, watch.Interface, error) {
		w := watch.NewFake()
		watches <- w
		selectors <- a.(core.WatchActionImpl).WatchRestrictions.Fields.String()
		return true, w, nil
	})
	p := newPods(client, "n1")
	missed := make(chan [2]*corev1.Pod, 1)
	if err := p.whenMissed(func(_ context.Context, gone, successor *corev1.Pod) { missed <- [2]*corev1.Pod{gone, successor} }); err != nil {
		t.Fatal(err)
	}
	written := make(chan *corev1.Pod, 1)
	if err := p.whenWritten(func(pod *corev1.Pod) { written <- pod }); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	owned := make(chan struct{})
	close(owned)
	go func() { done <- p.run(ctx, owned) }()
	w := <-watches
	if s := <-selectors; s != "spec.nodeName=n1" {
		t.Errorf("the node watches %q", s)
	}
	// The list came before the watch.
	if !cache.WaitForCacheSync(ctx.Done(), p.synced) {
		t.Fatal("the pods were not listed")
	}
	if have, ok := p.Get("d", "p"); !ok || have.ManagedFields != nil || len(p.List()) != 1 {
		t.Errorf("the pods are %v", p.List())
	}
	labelled := pod.DeepCopy()
	labelled.Labels = map[string]string{"a": "b"}
	w.Modify(labelled)
	ready := labelled.DeepCopy()
	ready.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
	w.Modify(ready)
	if now := <-written; len(now.Status.Conditions) != 1 {
		t.Errorf("the status that was written is %v", now.Status)
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	again := func(uid string) [2]*corev1.Pod {
		w.Error(&metav1.Status{Status: metav1.StatusFailure, Code: 410, Reason: metav1.StatusReasonExpired})
		select {
		case m := <-missed:
			w = <-watches
			return m
		case <-time.After(2 * time.Minute):
			t.Fatal("the end of pod " + uid + " was not noticed")
		}
		return [2]*corev1.Pod{}
	}
	successor := pod.DeepCopy()
	successor.UID = "2"
	if err := errors.Join(client.Tracker().Delete(pods, "d", "p"), client.Tracker().Add(successor)); err != nil {
		t.Fatal(err)
	}
	if m := again("1"); m[0].UID != "1" || m[1] == nil || m[1].UID != "2" {
		t.Errorf("%v are missed", m)
	}
	if err := client.Tracker().Delete(pods, "d", "p"); err != nil {
		t.Fatal(err)
	}
	if m := again("2"); m[0].UID != "2" || m[1] != nil {
		t.Errorf("%v are missed", m)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

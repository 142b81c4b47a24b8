package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/vmseed/vmseed/kube/launch"
)

// TestBusy leaves transient states and routine events out only while many machines start.
func TestBusy(t *testing.T) {
	w := newWorld(t, always)
	for i := range many {
		w.starting.begin(types.NamespacedName{Name: fmt.Sprint(i)}, begun{at: w.clock})
	}
	w.look(vmReconciler{w.controller}.Reconcile)
	w.look(vmiReconciler{w.controller}.Reconcile)
	if d := cmp.Diff([]string{"patch VirtualMachine", "create VirtualMachineInstance", "create Secret", "create Pod"}, w.writes); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	if wait := w.look(vmReconciler{w.controller}.Reconcile).RequeueAfter; wait != glance || len(w.writes) != 4 {
		t.Errorf("while others start: %v, requests %v", wait, w.writes)
	}
	if said := strings.Join(w.said(), "\n"); strings.Contains(said, "SuccessfulCreate") || !strings.Contains(said, "Warning VS2425") {
		t.Errorf("events %s", said)
	}
	w.clock = w.clock.Add(settling)
	w.settle()
	if vm, vmi := w.status(); vm.PrintableStatus != "Starting" || vmi.Phase != "Scheduling" {
		t.Errorf("later: %s, %s", vm.PrintableStatus, vmi.Phase)
	}
	w.node(running)
	w.settle()
	if _, vmi := w.status(); vmi.Phase != "Running" {
		t.Errorf("phase %s", vmi.Phase)
	}
	if _, ok := w.starting.of(key, ""); ok {
		t.Error("an instance that runs is still on its way")
	}
}

// TestMilestones tells once that a guest runs, and that its first boot is done.
func TestMilestones(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	w.said()
	w.node(running)
	w.settle()
	if d := cmp.Diff([]string{"Normal Started VirtualMachineInstance started."}, w.said()); d != "" {
		t.Errorf("a guest that runs (-want +got):\n%s", d)
	}
	w.node(func(pod *corev1.Pod) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: launch.ConditionFirstBoot, Status: corev1.ConditionTrue, Reason: "FirstBootDone"})
	})
	w.settle()
	if d := cmp.Diff([]string{"Normal FirstBootDone The guest's first boot is done"}, w.said()); d != "" {
		t.Errorf("its first boot is done (-want +got):\n%s", d)
	}
	w.node(func(pod *corev1.Pod) { pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.2"}} })
	w.settle()
	if said := w.said(); len(said) > 0 {
		t.Errorf("another address: %q", said)
	}
}

// TestBusyRequest writes down what was done about a request, however many machines start: it must not be done twice.
func TestBusyRequest(t *testing.T) {
	w := newWorld(t, strings.Replace(always, "Always", "Manual", 1))
	for i := range many {
		w.starting.begin(types.NamespacedName{Name: fmt.Sprint(i)}, begun{at: w.clock})
	}
	w.request(virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StartRequest})
	w.look(vmReconciler{w.controller}.Reconcile)
	if vm, _ := w.status(); len(vm.StateChangeRequests) != 0 || vm.PrintableStatus != "Starting" {
		t.Errorf("%+v", vm)
	}
}

// TestLaunchedOnce takes the pod of an instance away before the instance's status says that there was one.
func TestLaunchedOnce(t *testing.T) {
	w := newWorld(t, always)
	for i := range many {
		w.starting.begin(types.NamespacedName{Name: fmt.Sprint(i)}, begun{at: w.clock})
	}
	w.look(vmReconciler{w.controller}.Reconcile)
	w.look(vmiReconciler{w.controller}.Reconcile)
	if _, vmi := w.status(); vmi.Phase != "" {
		t.Fatalf("phase %s", vmi.Phase)
	}
	w.kill()
	w.look(vmiReconciler{w.controller}.Reconcile)
	if _, vmi := w.status(); vmi.Phase != "Failed" || w.pod() != nil {
		t.Errorf("phase %q, writes %v", vmi.Phase, w.writes)
	}
}

// TestTaken has the name of the launcher pod taken: the instance says so, and can be deleted all the same.
func TestTaken(t *testing.T) {
	w := newWorld(t, always)
	w.look(vmReconciler{w.controller}.Reconcile)
	w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: launch.PodName(w.instance())}})
	if wait := w.look(vmiReconciler{w.controller}.Reconcile).RequeueAfter; wait != refusedAgain {
		t.Errorf("wait %v", wait)
	}
	_, vmi := w.status()
	if c := find(vmi.Conditions, virtv1.VirtualMachineInstanceSynchronized); c.Reason != "FailedCreate" || !strings.Contains(c.Message, "the name is taken") {
		t.Errorf("%+v", c)
	}
	if err := w.client.Delete(context.Background(), w.instance()); err != nil {
		t.Fatal(err)
	}
	w.look(vmiReconciler{w.controller}.Reconcile)
	if w.instance() != nil || w.pod() == nil {
		t.Error("the instance is kept, or the pod of somebody else is gone")
	}
}

// TestBlind has an instance that the cache does not know yet: nothing is said of it, and it is not made twice.
func TestBlind(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	before, _ := w.status()
	seeing := w.client
	w.client = interceptor.NewClient(seeing.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if o.GetObjectKind().GroupVersionKind() == vmiKind {
			return apierrors.NewNotFound(corev1.Resource("x"), k.Name)
		}
		return c.Get(ctx, k, o, opts...)
	}})
	if wait := w.look(vmReconciler{w.controller}.Reconcile).RequeueAfter; wait == 0 {
		t.Error("nobody looks again")
	}
	w.client = seeing
	if after, _ := w.status(); cmp.Diff(before, after) != "" {
		t.Errorf("the status has become %+v", after)
	}
}

// TestOtherObject holds that a status is for the object that it was made of, and not for the next one of its name.
func TestOtherObject(t *testing.T) {
	w := newWorld(t, always)
	var sent client.Object
	w.client = interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{SubResourceUpdate: func(_ context.Context, _ client.Client, _ string, o client.Object, _ ...client.SubResourceUpdateOption) error {
		sent = o
		return nil
	}})
	w.look(vmReconciler{w.controller}.Reconcile)
	if vm := w.machine(); sent == nil || sent.GetUID() != vm.GetUID() || sent.GetResourceVersion() != vm.GetResourceVersion() {
		t.Errorf("%v is not for %s in the version %s", sent, vm.GetUID(), vm.GetResourceVersion())
	}
}

// TestStaleCache has a launcher pod that the cache does not know yet.
func TestStaleCache(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	w.node(running)
	first := w.pod().UID
	blind := interceptor.NewClient(w.client.(client.WithWatch), interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
		if _, ok := o.(*corev1.Pod); ok {
			return apierrors.NewNotFound(corev1.Resource("pods"), k.Name)
		}
		return c.Get(ctx, k, o, opts...)
	}})
	w.live, w.client = w.client, blind
	w.settle()
	if _, vmi := w.status(); vmi.Phase != "Running" || w.pod().UID != first {
		t.Errorf("phase %s", vmi.Phase)
	}
	if name := launch.SecretName(w.pod()); name == "" {
		t.Error("the pod names no Secret")
	}
}

package controller

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	virtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

// world is a cluster in memory, whose time stands still and whose dice always show the same.
type world struct {
	t *testing.T
	*controller
	events *events.FakeRecorder
	// writes are the requests that change something.
	writes []string
	// refuse makes the API server refuse the creation of a kind.
	refuse string
	clock  time.Time
	uids   int
}

var key = types.NamespacedName{Namespace: "default", Name: "m"}

func newWorld(t *testing.T, objects ...string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for kind, list := range map[string]runtime.Object{"VirtualMachine": &unstructured.Unstructured{}, "VirtualMachineInstance": &unstructured.Unstructured{}, "KubeVirt": &unstructured.Unstructured{}} {
		scheme.AddKnownTypeWithName(vmKind.GroupVersion().WithKind(kind), list)
		scheme.AddKnownTypeWithName(vmKind.GroupVersion().WithKind(kind+"List"), &unstructured.UnstructuredList{})
	}
	w := &world{t: t, events: events.NewFakeRecorder(100), clock: epoch}
	c := fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).WithStatusSubresource(empty(vmKind), empty(vmiKind), &corev1.Pod{}).
		WithInterceptorFuncs(w.interceptors()).Build()
	w.controller = &controller{client: c, live: c, recorder: w.events, log: slog.New(slog.DiscardHandler), namespace: Namespace, kubevirts: true,
		now: func() time.Time { return w.clock }, chance: func() float64 { return 0 }, uuid: func() string { return "5d307ca9-b3ef-428c-8861-06e72d69f223" }}
	for _, text := range objects {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
			t.Fatal(err)
		}
		w.create(u)
	}
	w.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}})
	w.writes = nil
	return w
}

// interceptors count what is written, give new objects what an API server gives them, and refuse what is to be refused.
func (w *world) interceptors() interceptor.Funcs {
	wrote := func(what string, o client.Object) {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if kind == "" {
			kind = strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1.")
		}
		w.writes = append(w.writes, what+" "+kind)
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			wrote("create", o)
			if w.refuse != "" && strings.HasSuffix(w.writes[len(w.writes)-1], w.refuse) {
				return apierrors.NewForbidden(vmiKind.GroupVersion().WithResource("x").GroupResource(), o.GetName(), fmt.Errorf("quota"))
			}
			if o.GetUID() == "" {
				w.uids++
				o.SetUID(types.UID(fmt.Sprintf("uid-%d", w.uids)))
			}
			o.SetCreationTimestamp(metav1.NewTime(w.clock))
			o.SetGeneration(1)
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			wrote("patch", o)
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			wrote(sub, o)
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			wrote("delete", o)
			return c.Delete(ctx, o, opts...)
		},
	}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	if err := w.client.Create(context.Background(), o); err != nil {
		w.t.Fatal(err)
	}
}

// settle looks at machine and instance until neither asks for more.
func (w *world) settle() {
	w.t.Helper()
	for range 10 {
		before := len(w.writes)
		w.look(vmReconciler{w.controller}.Reconcile)
		w.look(vmiReconciler{w.controller}.Reconcile)
		if len(w.writes) == before {
			return
		}
	}
	w.t.Fatalf("no end of writing: %v", w.writes)
}

func (w *world) look(reconcile func(context.Context, ctrl.Request) (ctrl.Result, error)) ctrl.Result {
	w.t.Helper()
	result, err := reconcile(context.Background(), ctrl.Request{NamespacedName: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// machine, instance and pod return what there is.
func (w *world) machine() *unstructured.Unstructured { return w.get(empty(vmKind)) }

func (w *world) instance() *unstructured.Unstructured { return w.get(empty(vmiKind)) }

func (w *world) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	w.t.Helper()
	if err := w.client.Get(context.Background(), key, u); err != nil {
		if client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
		return nil
	}
	return u
}

func (w *world) pod() *corev1.Pod {
	w.t.Helper()
	var list corev1.PodList
	if err := w.client.List(context.Background(), &list); err != nil {
		w.t.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// node lets the node of the pod say something.
func (w *world) node(change func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod()
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName = "n1"
		if err := w.client.Update(context.Background(), pod); err != nil {
			w.t.Fatal(err)
		}
	}
	change(pod)
	if err := w.client.Status().Update(context.Background(), pod); err != nil {
		w.t.Fatal(err)
	}
	w.writes = nil
}

func running(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

// kill takes the pod away, as the node or the collector of lost pods does.
func (w *world) kill() {
	w.t.Helper()
	if err := w.client.Delete(context.Background(), w.pod(), client.GracePeriodSeconds(0)); err != nil {
		w.t.Fatal(err)
	}
	w.writes = nil
}

// said drains the events.
func (w *world) said() []string {
	var out []string
	for {
		select {
		case e := <-w.events.Events:
			out = append(out, e)
		default:
			return out
		}
	}
}

func (w *world) status() (vm virtv1.VirtualMachineStatus, vmi virtv1.VirtualMachineInstanceStatus) {
	vm = statusOf[virtv1.VirtualMachineStatus](w.machine())
	if i := w.instance(); i != nil {
		vmi = statusOf[virtv1.VirtualMachineInstanceStatus](i)
	}
	return vm, vmi
}

const always = `
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: m, namespace: default}
spec:
  runStrategy: Always
  template:
    metadata: {labels: {app: x}, annotations: {a: b}}
    spec:
      domain: {memory: {guest: 64Mi}, devices: {}}
      volumes: [{name: root, containerDisk: {image: registry.example/disks/debian}}]
`

// TestStart follows a machine up to the guest that is ready, and counts the requests.
func TestStart(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	want := []string{"patch VirtualMachine", "create VirtualMachineInstance", "status VirtualMachine", "create Secret", "create Pod", "status VirtualMachineInstance", "status VirtualMachine"}
	if d := cmp.Diff(want, w.writes); d != "" {
		t.Errorf("requests (-want +got):\n%s", d)
	}
	vm, vmi := w.status()
	if vm.PrintableStatus != "Starting" || vmi.Phase != "Scheduling" || vm.RunStrategy != "Always" || !vm.Created || vm.Ready {
		t.Errorf("machine %+v, instance %+v", vm, vmi)
	}
	instance := w.instance()
	for name, got := range map[string][2]string{
		"uuid":       {text(instance, "spec", "domain", "firmware", "uuid"), "5d307ca9-b3ef-428c-8861-06e72d69f223"},
		"serial":     {text(instance, "spec", "domain", "firmware", "serial"), "5d307ca9-b3ef-428c-8861-06e72d69f223"},
		"label":      {instance.GetLabels()["app"], "x"},
		"annotation": {instance.GetAnnotations()["a"], "b"},
		"finalizer":  {strings.Join(instance.GetFinalizers(), " "), "foregroundDeleteVirtualMachine"},
		"owner":      {string(metav1.GetControllerOf(instance).UID), string(w.machine().GetUID())},
		"owner pod":  {string(w.pod().OwnerReferences[0].UID), string(instance.GetUID())},
	} {
		if got[0] != got[1] {
			t.Errorf("%s %q, want %q", name, got[0], got[1])
		}
	}
	w.node(running)
	w.settle()
	if d := cmp.Diff([]string{"status VirtualMachineInstance", "status VirtualMachine"}, w.writes); d != "" {
		t.Errorf("requests when it runs (-want +got):\n%s", d)
	}
	vm, vmi = w.status()
	if vm.PrintableStatus != "Running" || !vm.Ready || vmi.Phase != "Running" || vmi.NodeName != "n1" || vmi.Interfaces[0].IP != "10.0.0.1" || len(vmi.ActivePods) != 1 {
		t.Errorf("machine %+v, instance %+v", vm, vmi)
	}
	w.writes = nil
	if w.settle(); len(w.writes) > 0 {
		t.Errorf("nothing has happened, but %v", w.writes)
	}
}

// TestEnd has the guest end in every way, and looks for the instance that follows.
func TestEnd(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	w.node(running)
	w.settle()
	first := w.instance().GetUID()
	w.node(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	w.settle()
	if next := w.instance(); next == nil || next.GetUID() == first {
		t.Error("the guest has shut down, and no other instance was made")
	}
	if pod := w.pod(); pod.OwnerReferences[0].UID == first {
		t.Error("the pod of the first instance is still there")
	}
}

// TestLost has the node of a guest die: nothing starts until the pod is gone, then another instance does.
func TestLost(t *testing.T) {
	w := newWorld(t, always)
	w.settle()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	base := node.DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
	if err := w.client.Status().Patch(context.Background(), node, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	first := w.instance().GetUID()
	w.node(running)
	w.settle()
	vm, vmi := w.status()
	ready := find(vmi.Conditions, virtv1.VirtualMachineInstanceReady)
	if vm.Ready || ready.Reason != "NodeUnreachable" || vmi.Phase != "Running" || w.instance().GetUID() != first {
		t.Errorf("machine %+v, Ready %+v", vm, ready)
	}
	w.said()
	w.kill()
	w.look(vmiReconciler{w.controller}.Reconcile)
	if _, vmi := w.status(); vmi.Phase != "Failed" || !slices.ContainsFunc(w.said(), func(e string) bool { return strings.Contains(e, "PodLost") }) {
		t.Errorf("phase %s after the pod is lost", vmi.Phase)
	}
	w.settle()
	if next := w.instance(); next == nil || next.GetUID() == first {
		t.Error("the pod is gone, and no other instance was made")
	}
}

// TestCrashLoop has a guest fail before it runs, again and again.
func TestCrashLoop(t *testing.T) {
	w := newWorld(t, always)
	for failures, wait := range []time.Duration{10 * time.Second, 40 * time.Second, 90 * time.Second} {
		w.settle()
		w.node(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
		w.settle()
		vm, _ := w.status()
		if vm.PrintableStatus != "CrashLoopBackOff" || vm.StartFailure.ConsecutiveFailCount != failures+1 || w.instance() != nil {
			t.Errorf("after failure %d: %s, %+v, instance %v", failures+1, vm.PrintableStatus, vm.StartFailure, w.instance() != nil)
		}
		if got := w.look(vmReconciler{w.controller}.Reconcile).RequeueAfter; got != wait {
			t.Errorf("after failure %d the wait is %v, want %v", failures+1, got, wait)
		}
		w.clock = w.clock.Add(wait)
	}
}

// TestRerun starts a guest again that has failed, and not one that has shut down.
func TestRerun(t *testing.T) {
	w := newWorld(t, strings.Replace(always, "Always", "RerunOnFailure", 1))
	w.settle()
	w.node(running)
	w.settle()
	first := w.instance().GetUID()
	w.node(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed })
	w.settle()
	vm, _ := w.status()
	if next := w.instance(); next == nil || next.GetUID() == first || len(vm.StateChangeRequests) != 0 {
		t.Errorf("the guest has failed: %+v", vm)
	}
	w.node(running)
	w.settle()
	w.node(func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	w.settle()
	if vm, _ = w.status(); w.instance() != nil || vm.PrintableStatus != "Stopped" {
		t.Errorf("the guest has shut down: %+v", vm)
	}
}

// TestStop deletes an instance: its pod goes first, with the grace that the instance gives.
func TestStop(t *testing.T) {
	w := newWorld(t, strings.Replace(always, "Always", "Manual", 1))
	if w.settle(); w.instance() != nil {
		t.Fatal("nobody asked for a start")
	}
	w.request(virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StartRequest})
	w.settle()
	w.node(running)
	w.settle()
	vm, _ := w.status()
	if vm.PrintableStatus != "Running" || len(vm.StateChangeRequests) != 0 {
		t.Fatalf("after a start: %+v", vm)
	}
	// What a node does takes time: the pod stays until its finalizer is taken away.
	pod := w.pod()
	pod.Finalizers = []string{"example/guest"}
	if err := w.client.Update(context.Background(), pod); err != nil {
		t.Fatal(err)
	}
	uid := w.instance().GetUID()
	w.request(virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StopRequest, UID: &uid})
	w.settle()
	vm, _ = w.status()
	if vm.PrintableStatus != "Stopping" || w.instance() == nil || w.pod().DeletionTimestamp == nil {
		t.Errorf("while it stops: %s", vm.PrintableStatus)
	}
	pod = w.pod()
	pod.Finalizers = nil
	if err := w.client.Update(context.Background(), pod); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if vm, _ = w.status(); vm.PrintableStatus != "Stopped" || w.instance() != nil || len(vm.StateChangeRequests) != 0 {
		t.Errorf("after a stop: %+v", vm)
	}
}

// TestGrace holds how long a guest may take to shut down. Without any time its pod would be gone before its node has stopped it.
func TestGrace(t *testing.T) {
	told := func(seconds int64) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: epoch}, DeletionGracePeriodSeconds: &seconds}}
	}
	for _, c := range []struct {
		stated any
		pod    *corev1.Pod
		want   int64
		again  bool
	}{
		{nil, &corev1.Pod{}, 0, false}, {int64(7), &corev1.Pod{}, 7, false}, {int64(0), &corev1.Pod{}, 1, false}, {int64(-1), &corev1.Pod{}, 0, false},
		{int64(0), told(30), 1, true}, {int64(30), told(30), 30, false}, {int64(0), told(1), 1, false}, {"soon", told(30), 0, false},
	} {
		vmi := empty(vmiKind)
		vmi.Object["spec"] = map[string]any{"terminationGracePeriodSeconds": c.stated}
		if seconds, again := (&vmiPass{vmi: vmi}).grace(c.pod); seconds != c.want || again != c.again {
			t.Errorf("%v: %d %v, want %d %v", c.stated, seconds, again, c.want, c.again)
		}
	}
}

// request does what virtctl start and stop do.
func (w *world) request(r virtv1.VirtualMachineStateChangeRequest) {
	w.t.Helper()
	vm := w.machine()
	old := statusOf[virtv1.VirtualMachineStatus](vm)
	now := old
	now.StateChangeRequests = append(now.StateChangeRequests, r)
	if err := writeStatus(context.Background(), w.client, vm, old, now); err != nil {
		w.t.Fatal(err)
	}
	w.writes = nil
}

// TestGate closes and opens the feature gate in either form.
func TestGate(t *testing.T) {
	gated := strings.Replace(always, "{a: b}", `{kubevirt.io/ignitiondata: '{"ignition": {"version": "3.4.0"}}'}`, 1)
	for name, opener := range map[string]string{
		"ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kubevirt-config, namespace: kubevirt}\ndata: {feature-gates: ExperimentalIgnitionSupport}\n",
		"KubeVirt":  "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt, namespace: kubevirt}\nspec: {configuration: {developerConfiguration: {featureGates: [ExperimentalIgnitionSupport]}}}\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, gated)
			w.settle()
			_, vmi := w.status()
			c := find(vmi.Conditions, virtv1.VirtualMachineInstanceSynchronized)
			if vmi.Phase != "Pending" || c.Reason != "FeatureGateDisabled" || w.pod() != nil {
				t.Errorf("gate closed: %s, %+v", vmi.Phase, c)
			}
			var refusals int
			for _, e := range w.said() {
				if strings.Contains(e, "FailedCreate") {
					refusals++
					if !strings.Contains(e, "VS2421") || strings.Contains(e, "3.4.0") {
						t.Errorf("event %q", e)
					}
				}
			}
			if refusals != 1 {
				t.Errorf("%d events for one refusal", refusals)
			}
			var u unstructured.Unstructured
			if err := yaml.Unmarshal([]byte(opener), &u.Object); err != nil {
				t.Fatal(err)
			}
			w.create(&u)
			if got := w.waiting(context.Background(), nil); len(got) != 1 || got[0].NamespacedName != key {
				t.Errorf("the change asks for %v", got)
			}
			w.settle()
			if w.pod() == nil {
				t.Error("the gate is open, and there is no pod")
			}
		})
	}
}

// TestMalformed has objects that fit no type: each gets its own word, and none stops the reconciler.
func TestMalformed(t *testing.T) {
	for _, c := range []struct{ name, object, reason, message string }{
		{"disks are a text", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: m, namespace: default}\nspec: {domain: {memory: {guest: 1Gi}, devices: {disks: not-a-list}}}\n",
			"FailedCreate", "spec.domain.devices.disks: a list should stand here, not a single value"},
		{"no spec", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: m, namespace: default}\n", "FailedCreate", "the VirtualMachineInstance has no spec"},
		{"status is a text", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: m, namespace: default}\nspec: {}\nstatus: {conditions: 7}\n",
			"FailedCreate", ""},
		{"affinity", "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: m, namespace: default}\nspec: {affinity: 7, domain: {memory: {guest: 1Gi}, devices: {}}}\n",
			"FailedCreate", "spec.affinity does not have the form that it has in a pod"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.object)
			w.look(vmiReconciler{w.controller}.Reconcile)
			vmi := statusOf[virtv1.VirtualMachineInstanceStatus](w.instance())
			got := find(vmi.Conditions, virtv1.VirtualMachineInstanceSynchronized)
			if got.Reason != c.reason || !strings.Contains(got.Message, c.message) || w.pod() != nil {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestRefused has the API server refuse objects, as quotas and policies do.
func TestRefused(t *testing.T) {
	for kind, check := range map[string]func(virtv1.VirtualMachineStatus, virtv1.VirtualMachineInstanceStatus) bool{
		"VirtualMachineInstance": func(vm virtv1.VirtualMachineStatus, _ virtv1.VirtualMachineInstanceStatus) bool {
			return find(vm.Conditions, virtv1.VirtualMachineFailure).Type != "" && vm.PrintableStatus == "Stopped"
		},
		"Pod": func(vm virtv1.VirtualMachineStatus, vmi virtv1.VirtualMachineInstanceStatus) bool {
			c := find(vmi.Conditions, virtv1.VirtualMachineInstanceSynchronized)
			return vm.PrintableStatus == "Starting" && c.Reason == "FailedCreate" && strings.HasPrefix(c.Message, "failed to create virtual machine pod: ") && vmi.Phase == "Pending"
		},
	} {
		w := newWorld(t, always)
		w.refuse = kind
		w.look(vmReconciler{w.controller}.Reconcile)
		w.look(vmiReconciler{w.controller}.Reconcile)
		w.look(vmReconciler{w.controller}.Reconcile)
		w.look(vmiReconciler{w.controller}.Reconcile)
		if vm, vmi := w.status(); !check(vm, vmi) {
			t.Errorf("%s refused: machine %+v, instance %+v", kind, vm, vmi)
		}
		if said := strings.Join(w.said(), "\n"); strings.Contains(said, "VS2425") {
			t.Errorf("%s refused, and warnings of what was not launched: %s", kind, said)
		}
		w.refuse = ""
		if w.settle(); w.pod() == nil {
			t.Errorf("%s is allowed again, and there is no pod", kind)
		}
	}
}

// TestStranger has the name of a machine's instance taken.
func TestStranger(t *testing.T) {
	w := newWorld(t, always, "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: m, namespace: default}\nspec: {domain: {memory: {guest: 64Mi}, devices: {}}}\n")
	w.look(vmReconciler{w.controller}.Reconcile)
	vm, _ := w.status()
	if i := slices.IndexFunc(vm.Conditions, func(c virtv1.VirtualMachineCondition) bool { return c.Type == virtv1.VirtualMachineFailure }); i < 0 || !strings.Contains(vm.Conditions[i].Message, "already exists") || vm.Created {
		t.Errorf("%+v", vm)
	}
}

// TestBeside handles only what is marked.
func TestBeside(t *testing.T) {
	w := newWorld(t, always)
	w.beside = true
	if w.settle(); len(w.writes) > 0 {
		t.Errorf("a machine of another product: %v", w.writes)
	}
	vm := w.machine()
	vm.SetLabels(map[string]string{ManagedKey: "true"})
	if err := w.client.Update(context.Background(), vm); err != nil {
		t.Fatal(err)
	}
	if w.settle(); w.pod() == nil || w.instance().GetAnnotations()[ManagedKey] != "true" {
		t.Error("a marked machine is not handled")
	}
}

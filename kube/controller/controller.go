// Package controller gives the objects of KubeVirt their meaning on a cluster of vmseed nodes: it makes instances of
// VirtualMachines by their run strategies, launcher pods of instances, and says in their status what became of them. It
// runs as one leader among any number of replicas and keeps nothing but what the API server has.
package controller

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/vmseed/vmseed/kube/launch"
	"github.com/vmseed/vmseed/kube/manifests"
)

// ManagedKey with the value true, as a label or an annotation, marks the objects that are vmseed's where Options.Beside is set.
const ManagedKey = "vmseed.dev/managed"

// Namespace is where an installation is, as KubeVirt's.
const Namespace = "kubevirt"

// Lease is the name of the lease by which replicas agree on a leader.
const Lease = "vmseed-controller"

// Options are how a controller runs. The zero value is usable.
type Options struct {
	// Namespace holds the feature gates and the lease; empty stands for the constant of the name.
	Namespace string
	// NoElection leads without asking others. There must be no other replica.
	NoElection bool
	// Beside handles only objects with ManagedKey, and accepts definitions of the kinds that are another product's. That
	// product must not handle those objects.
	Beside bool
	// MetricsAddress and HealthAddress are where metrics (/metrics) and health (/healthz, /readyz) are served, such as
	// 127.0.0.1:8080. Empty means nowhere.
	MetricsAddress, HealthAddress string
	// Workers is how many objects of a kind are looked at at once; 0 stands for 16.
	Workers int
	// Log receives what the controller does; nil discards it.
	Log *slog.Logger
}

// The limits of requests to the API server, which are its own to share out (priority and fairness).
const (
	requestsPerSecond = 1000
	requestsAtOnce    = 2000
)

// nodeField is the index of pods by the node that they are bound to.
const nodeField = "spec.nodeName"

// controller is what both reconcilers share.
type controller struct {
	client client.Client
	// live asks the API server and not the cache.
	live      client.Reader
	recorder  events.EventRecorder
	log       *slog.Logger
	namespace string
	beside    bool
	// kubevirts says that the kind KubeVirt is served.
	kubevirts bool
	starting  starting

	now    func() time.Time
	chance func() float64
	uuid   func() string
}

// New makes a manager that runs the controller when it is started. It asks the API server whether the kinds of KubeVirt are
// there and whose they are. The errors have codes: see Codes.
func New(ctx context.Context, cfg *rest.Config, o Options) (manager.Manager, error) {
	if o.Namespace == "" {
		o.Namespace = Namespace
	}
	if o.Workers == 0 {
		o.Workers = 16
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = requestsPerSecond, requestsAtOnce
	ctrl.SetLogger(logr.FromSlogHandler(o.Log.Handler()))
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, managerOptions(scheme, o))
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	kubevirts, err := installed(ctx, mgr, o)
	if err != nil {
		return nil, err
	}
	c := &controller{client: mgr.GetClient(), live: mgr.GetAPIReader(), recorder: mgr.GetEventRecorder("vmseed-controller"), log: o.Log,
		namespace: o.Namespace, beside: o.Beside, kubevirts: kubevirts, now: time.Now, chance: rand.Float64, uuid: func() string { return string(uuid.NewUUID()) }}
	if err := c.watch(ctx, mgr, o); err != nil {
		return nil, err
	}
	return mgr, nil
}

// Run runs a controller until ctx ends.
func Run(ctx context.Context, cfg *rest.Config, o Options) error {
	mgr, err := New(ctx, cfg, o)
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// managerOptions keep in the cache what the controller looks at: launcher pods, and of configuration what is in the
// namespace of the installation.
func managerOptions(scheme *runtime.Scheme, o Options) manager.Options {
	home := func(f fields.Selector) cache.ByObject {
		return cache.ByObject{Namespaces: map[string]cache.Config{o.Namespace: {FieldSelector: f}}}
	}
	again := true
	return manager.Options{
		Scheme: scheme, Logger: logr.FromSlogHandler(o.Log.Handler()),
		LeaderElection: !o.NoElection, LeaderElectionID: Lease, LeaderElectionNamespace: o.Namespace, LeaderElectionReleaseOnCancel: true,
		Metrics: metricsserver.Options{BindAddress: addressOr(o.MetricsAddress)}, HealthProbeBindAddress: addressOr(o.HealthAddress),
		Controller: config.Controller{SkipNameValidation: &again, MaxConcurrentReconciles: o.Workers},
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject: map[client.Object]cache.ByObject{
				&corev1.Pod{}:       {Label: labels.SelectorFromSet(labels.Set{launch.RoleLabel: launch.Role})},
				&corev1.ConfigMap{}: home(fields.OneTermEqualSelector("metadata.name", configName)),
				empty(kubevirtKind): home(nil),
			},
		},
	}
}

// addressOr returns an address, or what says that nothing is served.
func addressOr(address string) string {
	if address == "" {
		return "0"
	}
	return address
}

// installed reports whether the kind KubeVirt is served. It is an error when machines and instances are not, or are
// another product's.
func installed(ctx context.Context, mgr manager.Manager, o Options) (bool, error) {
	if !o.Beside {
		if err := manifests.CheckOwner(ctx, mgr.GetAPIReader()); err != nil {
			return false, &Error{Code: CodeForeign, Err: err}
		}
	}
	for _, kind := range []schema.GroupVersionKind{vmKind, vmiKind} {
		if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
			return false, &Error{Code: CodeNotInstalled, Err: fmt.Errorf("the API server does not serve the kind %s: %w", kind.Kind, err)}
		}
	}
	_, err := mgr.GetRESTMapper().RESTMapping(kubevirtKind.GroupKind(), kubevirtKind.Version)
	return err == nil, nil
}

// watch says which events make the reconcilers look at which objects.
func (c *controller) watch(ctx context.Context, mgr manager.Manager, o Options) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, nodeField, func(o client.Object) []string {
		if pod, ok := o.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
			return []string{pod.Spec.NodeName}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing pods: %w", err)
	}
	options := ctrlcontroller.Options{MaxConcurrentReconciles: o.Workers}
	changed := builder.WithPredicates(predicate.ResourceVersionChangedPredicate{})
	vms := ctrl.NewControllerManagedBy(mgr).Named("virtualmachine").WithOptions(options).For(empty(vmKind)).
		Watches(empty(vmiKind), handler.EnqueueRequestsFromMapFunc(machinesOf)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(c.failed), changed)
	vmis := ctrl.NewControllerManagedBy(mgr).Named("virtualmachineinstance").WithOptions(options).For(empty(vmiKind)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(instancesOf)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(c.waiting), changed).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(c.onNode), builder.WithPredicates(silence()))
	if c.kubevirts {
		vms = vms.Watches(empty(kubevirtKind), handler.EnqueueRequestsFromMapFunc(c.failed), changed)
		vmis = vmis.Watches(empty(kubevirtKind), handler.EnqueueRequestsFromMapFunc(c.waiting), changed)
	}
	if err := vms.Complete(vmReconciler{c}); err != nil {
		return fmt.Errorf("watching machines: %w", err)
	}
	if err := vmis.Complete(vmiReconciler{c}); err != nil {
		return fmt.Errorf("watching instances: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	return mgr.AddReadyzCheck("ping", healthz.Ping)
}

// silence lets nodes through that have stopped to answer, or begun to again, or are gone. Nodes report often.
func silence() predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			old, a := e.ObjectOld.(*corev1.Node)
			now, b := e.ObjectNew.(*corev1.Node)
			return a && b && silent(old) != silent(now)
		},
	}
}

// handles reports whether an object is the controller's to handle.
func (c *controller) handles(u *unstructured.Unstructured) bool {
	return !c.beside || u.GetLabels()[ManagedKey] == "true" || u.GetAnnotations()[ManagedKey] == "true"
}

// longestNote is how many bytes of text an event may have (events.k8s.io/v1).
const longestNote = 1024

// event tells users about an object. Notes hold no values of Secrets, as diagnostics hold none.
func (c *controller) event(u *unstructured.Unstructured, kind, reason, note string) {
	if len(note) > longestNote {
		note = strings.ToValidUTF8(note[:longestNote-3], "") + "..."
	}
	c.recorder.Eventf(u, nil, kind, reason, "Reconcile", "%s", note)
}

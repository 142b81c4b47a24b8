package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// How often the host is looked at, and how often its status is written though nothing has changed: as a kubelet does.
const (
	lookEvery   = 10 * time.Second
	reportEvery = 5 * time.Minute
	// The delays between attempts to register.
	firstRetry, lastRetry = time.Second, 30 * time.Second
)

// drainedAnnotation is on a Node that Drain has made unschedulable, and whose next start makes it schedulable again.
const drainedAnnotation = "vmseed.dev/drained"

// heart keeps the Node object and the lease alive.
type heart struct {
	config  *Config
	state   *state
	started <-chan struct{}
	// again asks for the status to be written although nothing has changed.
	again chan struct{}
}

func newHeart(c *Config, port int32, started <-chan struct{}) *heart {
	h := &heart{config: c, started: started, again: make(chan struct{}, 1)}
	h.state = newState(c, port, time.Now, func() bool {
		select {
		case <-started:
			return true
		default:
			return false
		}
	})
	return h
}

// pulse is what Virtual Kubelet's node controller knows of a heart (node.NodeProvider): where to send the status.
type pulse chan func(*corev1.Node)

// Ping implements node.NodeProvider: that it is asked shows that this process lives, which is what a lease says. Whether
// it is well is said by the conditions.
func (pulse) Ping(ctx context.Context) error { return ctx.Err() }

// NotifyNodeStatus implements node.NodeProvider.
func (p pulse) NotifyNodeStatus(_ context.Context, tell func(*corev1.Node)) { p <- tell }

// run registers the node and keeps it registered until ctx is done. registered is closed when it is registered and the pod
// controller has started. While the API server does not answer, it tries again.
func (h *heart) run(ctx context.Context, registered chan<- struct{}) error {
	once := sync.OnceFunc(func() { close(registered) })
	delay := firstRetry
	for {
		err := h.beat(ctx, once)
		if ctx.Err() != nil {
			return nil
		}
		if _, ok := errors.AsType[*foreignError](err); ok {
			return err
		}
		h.config.Logger.Warn("the node could not be registered; trying again", "node", h.config.Name, "in", delay, "error", err)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil
		}
		delay = min(2*delay, lastRetry)
	}
}

// beat registers the node and keeps it registered. It returns an error when registering fails.
func (h *heart) beat(ctx context.Context, registered func()) error {
	node, err := h.register(ctx)
	if err != nil {
		return err
	}
	client, provider := h.config.Client, make(pulse, 1)
	controller, err := vk.NewNodeController(provider, node, client.CoreV1().Nodes(),
		vk.WithNodeEnableLeaseV1(client.CoordinationV1().Leases(corev1.NamespaceNodeLease), int32(h.config.Lease/time.Second)),
		vk.WithNodeStatusUpdateInterval(reportEvery),
		vk.WithNodeStatusUpdateErrorHandler(h.restore))
	if err != nil {
		return err
	}
	// An error does not end what the controller has begun.
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go h.watch(ctx)
	go h.look(ctx, provider, node, registered)
	return controller.Run(ctx)
}

// foreignError says that a Node is run by another kubelet.
type foreignError struct{ name, runtime string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("the Node %s is run by another kubelet (its container runtime is %s); give this one a name of its own", e.name, e.runtime)
}

// register makes the Node object, or makes sure that the one which is there is ours.
func (h *heart) register(ctx context.Context) (*corev1.Node, error) {
	nodes := h.config.Client.CoreV1().Nodes()
	old, err := nodes.Get(ctx, h.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		h.state.forget()
		return nodes.Create(ctx, h.state.node(ctx), metav1.CreateOptions{})
	}
	if err != nil {
		return nil, err
	}
	theirs, ours := old.Status.NodeInfo.ContainerRuntimeVersion, h.config.RuntimeVersion
	if kind, _, _ := strings.Cut(theirs, "://"); theirs != "" && !strings.HasPrefix(ours, kind+"://") {
		return nil, &foreignError{h.config.Name, theirs}
	}
	h.state.remember(old.Status.Conditions)
	if old.Annotations[drainedAnnotation] != "" {
		if err := cordon(ctx, h.config.Client, h.config.Name, false); err != nil {
			return nil, err
		}
	}
	node := h.state.node(ctx)
	node.UID = old.UID
	return node, nil
}

// restore registers a Node again that somebody has deleted. Virtual Kubelet calls it when the status could not be written,
// and writes it again when it returns nil.
func (h *heart) restore(ctx context.Context, problem error) error {
	if !apierrors.IsNotFound(problem) {
		return problem
	}
	h.config.Logger.Warn("the Node object was deleted; it is registered again", "node", h.config.Name)
	h.state.forget()
	_, err := h.config.Client.CoreV1().Nodes().Create(ctx, h.state.node(ctx), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// look looks at the host, and has the status written when something has changed.
func (h *heart) look(ctx context.Context, p pulse, last *corev1.Node, registered func()) {
	var tell func(*corev1.Node)
	select {
	case tell = <-p:
	case <-ctx.Done():
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	started := h.started
	for {
		force := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.again:
			force = true
		case <-started:
			started, force = nil, true
			registered()
		}
		node := h.state.node(ctx)
		if force || changed(last, node) {
			last = node
			tell(node.DeepCopy())
		}
	}
}

// changed reports whether more than the time of the look is new.
func changed(a, b *corev1.Node) bool {
	plain := func(n *corev1.Node) corev1.NodeStatus {
		s := *n.Status.DeepCopy()
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return s
	}
	return !equality.Semantic.DeepEqual(plain(a), plain(b)) || !equality.Semantic.DeepEqual(a.Labels, b.Labels)
}

// watch follows the node's own object, so that a Node which somebody deletes is back at once.
func (h *heart) watch(ctx context.Context) {
	factory := informers.NewSharedInformerFactoryWithOptions(h.config.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, h.config.Name).String()
	}))
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
		select {
		case h.again <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		h.config.Logger.Error("the Node object is not watched", "error", err)
		return
	}
	factory.StartWithContext(ctx)
	<-ctx.Done()
	factory.Shutdown()
}

// cordon makes a node unschedulable and marks it as made so by vmseed, or takes both back.
func cordon(ctx context.Context, client kubernetes.Interface, name string, on bool) error {
	var mark any
	if on {
		mark = "true"
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{drainedAnnotation: mark}},
		"spec":     map[string]any{"unschedulable": on},
	})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// owned is closed when the Node object is known to be this process's to keep.
	owned chan struct{}
	// told is what was to be written last, and seen what the API server has.
	told, seen atomic.Pointer[corev1.Node]
	// other is the lease of another host with the same Node, as it was seen last, and since when it has been so.
	other otherLease
}

type otherLease struct{ renewed, since time.Time }

func newHeart(c *Config, port int32, started <-chan struct{}) *heart {
	h := &heart{config: c, started: started, again: make(chan struct{}, 1), owned: make(chan struct{})}
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
// controller has started. While the API server does not answer, or another host keeps the Node, it tries again.
func (h *heart) run(ctx context.Context, registered chan<- struct{}) error {
	once := sync.OnceFunc(func() { close(registered) })
	owned := sync.OnceFunc(func() { close(h.owned) })
	delay := firstRetry
	for {
		err := h.beat(ctx, owned, once)
		if ctx.Err() != nil {
			return nil
		}
		if _, ok := errors.AsType[*foreignError](err); ok {
			return err
		}
		if _, ok := errors.AsType[*strangeError](err); ok {
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

// beat registers the node and keeps it registered. It returns an error when registering fails, or when the Node has become
// another's.
func (h *heart) beat(ctx context.Context, owned, registered func()) error {
	node, err := h.register(ctx)
	if err != nil {
		return err
	}
	owned()
	client, provider := h.config.Heartbeat, make(pulse, 1)
	controller, err := vk.NewNodeController(provider, node, client.CoreV1().Nodes(),
		vk.WithNodeEnableLeaseV1(client.CoordinationV1().Leases(corev1.NamespaceNodeLease), int32(h.config.Lease/time.Second)),
		vk.WithNodeStatusUpdateInterval(reportEvery),
		vk.WithNodeStatusUpdateErrorHandler(h.restore))
	if err != nil {
		return err
	}
	// An error does not end what the controller has begun.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go h.watch(ctx, stop)
	go h.look(ctx, provider, node, registered)
	err = controller.Run(ctx)
	if lost, ok := errors.AsType[*foreignError](context.Cause(ctx)); ok {
		return lost
	}
	return err
}

// foreignError says that a Node is kept by somebody else, and what that shows by.
type foreignError struct{ name, by string }

func (e *foreignError) Error() string {
	return fmt.Sprintf("the Node %s is run by %s; give this one a name of its own", e.name, e.by)
}

// foreign judges whose Node an object is: another kubelet's, by the kind of its runtime, or another host's, by its identity
// (Kubernetes API, NodeSystemInfo). What a side does not know tells nothing.
func (h *heart) foreign(n *corev1.Node) (kubelet, host *foreignError) {
	theirs, ours := n.Status.NodeInfo, h.state.system()
	if kind, _, _ := strings.Cut(theirs.ContainerRuntimeVersion, "://"); kind != "" && !strings.HasPrefix(h.config.RuntimeVersion, kind+"://") {
		return &foreignError{h.config.Name, "another kubelet (its container runtime is " + theirs.ContainerRuntimeVersion + ")"}, nil
	}
	for _, id := range [][2]string{{theirs.MachineID, ours.MachineID}, {theirs.SystemUUID, ours.SystemUUID}} {
		if id[0] != "" && id[1] != "" && !strings.EqualFold(id[0], id[1]) {
			return nil, &foreignError{h.config.Name, "another host (its machine id is " + theirs.MachineID + ")"}
		}
	}
	return nil, nil
}

// lives returns an error for as long as the lease of another host with this Node may hold: until it has not been renewed for
// its time, by this host's clock alone, since clocks of two hosts may differ.
func (h *heart) lives(ctx context.Context) error {
	l, err := h.config.Heartbeat.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, h.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && l.Spec.RenewTime == nil {
		return nil
	}
	if err != nil {
		return err
	}
	duration := h.config.Lease
	if l.Spec.LeaseDurationSeconds != nil {
		duration = time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
	}
	if renewed := l.Spec.RenewTime.Time; !renewed.Equal(h.other.renewed) {
		h.other = otherLease{renewed, time.Now()}
	}
	if time.Since(h.other.since) < duration {
		return errors.New("its lease may still be renewed; when it is not, this host takes the Node over")
	}
	return nil
}

// register makes the Node object, or makes sure that the one which is there is ours.
func (h *heart) register(ctx context.Context) (*corev1.Node, error) {
	nodes := h.config.Heartbeat.CoreV1().Nodes()
	old, err := nodes.Get(ctx, h.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return h.create(ctx)
	}
	if err != nil {
		return nil, err
	}
	kubelet, host := h.foreign(old)
	if kubelet != nil {
		return nil, kubelet
	}
	if host != nil {
		if err := h.lives(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", host.Error(), err)
		}
	}
	if err := h.recognise(ctx, old.UID); err != nil {
		return nil, err
	}
	h.state.remember(old.Status.Conditions)
	if old.Annotations[drainedAnnotation] != "" {
		if err := cordon(ctx, h.config.Heartbeat, h.config.Name, false); err != nil {
			return nil, err
		}
	}
	node := h.state.node(ctx)
	node.UID = old.UID
	return node, nil
}

// create makes the Node object in a cluster that is not a strange one.
func (h *heart) create(ctx context.Context) (*corev1.Node, error) {
	if err := h.recognise(ctx, ""); err != nil {
		return nil, err
	}
	h.state.forget()
	made, err := h.config.Heartbeat.CoreV1().Nodes().Create(ctx, h.state.node(ctx), metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return made, h.recognise(ctx, made.UID)
}

// restore registers a Node again that somebody has deleted. Virtual Kubelet calls it when the status could not be written,
// and writes it again when it returns nil.
func (h *heart) restore(ctx context.Context, problem error) error {
	if !apierrors.IsNotFound(problem) {
		return problem
	}
	h.config.Logger.Warn("the Node object was deleted; it is registered again", "node", h.config.Name)
	_, err := h.create(ctx)
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
	for ctx.Err() == nil {
		force := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			force = h.lags()
		case <-h.again:
			force = true
		case <-started:
			started, force = nil, true
			registered()
		}
		node := h.state.node(ctx)
		if force || changed(last, node) {
			last = node
			h.told.Store(node)
			tell(node.DeepCopy())
		}
	}
}

// lags reports whether the API server has something else than was to be written last: because it could not be written, or
// because somebody has written something else since.
func (h *heart) lags() bool {
	told, seen := h.told.Load(), h.seen.Load()
	if told == nil || seen == nil {
		return false
	}
	same := map[corev1.NodeConditionType]corev1.ConditionStatus{}
	for _, c := range seen.Status.Conditions {
		same[c.Type] = c.Status
	}
	for _, c := range told.Status.Conditions {
		if same[c.Type] != c.Status {
			return true
		}
	}
	for name, q := range told.Status.Allocatable {
		if have, ok := seen.Status.Allocatable[name]; !ok || have.Cmp(q) != 0 {
			return true
		}
	}
	return told.Status.DaemonEndpoints != seen.Status.DaemonEndpoints || !slices.Equal(told.Status.Addresses, seen.Status.Addresses)
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

// watch follows the node's own object. One that somebody deletes, or that says something else than this node did last, is
// written again at once: the control plane makes the conditions of a Node unknown that it has not heard of for a while, and
// puts taints on it until they are known. Of one that has become another's, lost is told.
func (h *heart) watch(ctx context.Context, lost context.CancelCauseFunc) {
	factory := informers.NewSharedInformerFactoryWithOptions(h.config.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, h.config.Name).String()
	}))
	write := func() {
		select {
		case h.again <- struct{}{}:
		default:
		}
	}
	// A Node that was taken over shows its former host until it is written first.
	var written bool
	see := func(object any) {
		n, ok := object.(*corev1.Node)
		if !ok {
			return
		}
		kubelet, host := h.foreign(n)
		switch {
		case kubelet == nil && host == nil:
			written = true
		case kubelet != nil:
			lost(kubelet)
			return
		case written:
			lost(host)
			return
		}
		if h.seen.Store(n); h.lags() {
			write()
		}
	}
	_, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, now any) { see(now) }, DeleteFunc: func(any) { write() }})
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

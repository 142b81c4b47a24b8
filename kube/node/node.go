// Package node makes this process a node of a Kubernetes cluster. Pods that the scheduler binds to it are handed to a
// provider; the Node object, its lease and its status say what the host really is and has.
//
// The wiring is Virtual Kubelet's pod and node controllers and nothing of its nodeutil: a node watches the pods that are
// bound to it and its own Node object, and nothing else. It runs with the rights of system:node:NAME alone, which the Node
// authorizer gives and bounds.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	vk "github.com/virtual-kubelet/virtual-kubelet/node"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/workqueue"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/vmseed/vmseed/kube/node/server"
)

// Provider runs pods. The powers of package server (Logs, Streams, Usage, Residents) and Images are found by type assertion; a
// request that needs one that the provider lacks is answered with 501.
type Provider interface {
	vk.PodLifecycleHandler
	vk.PodNotifier
}

// Images is the power of a provider to say which images the host has.
type Images interface {
	// ContainerImages returns names and sizes in bytes of the images at hand, for the status of the Node.
	ContainerImages(ctx context.Context) ([]corev1.ContainerImage, error)
}

// Health is the power of a provider to say that it cannot run pods. An error makes the Node NotReady, with the error's
// text as the message, until it is nil again.
type Health interface {
	// Healthy is asked every few seconds and must not take long.
	Healthy(ctx context.Context) error
}

// Witness is the power of a provider to learn that somebody has written to the status of a pod, which the pod controller
// does not tell.
type Witness interface {
	// Saw is called with each pod whose status has changed, also by the provider itself, and must not take long.
	Saw(pod *corev1.Pod)
}

// Guard is the power of a provider to keep the object of a pod in the cluster's sight for as long as something of it runs:
// the pod controller would delete it when the grace of its deletion is over, whatever the provider has come to.
type Guard interface {
	// Guard returns the client of pods for the pod controller.
	Guard() corev1client.PodsGetter
}

// Config is what a node is made of.
type Config struct {
	// Name is the name of the Node object. The client's user must be system:node:NAME where the Node authorizer is in use.
	Name string
	// Client reaches the API server. Client settings fit for hundreds of pods are in Tune.
	Client kubernetes.Interface
	// Heartbeat registers the Node and writes its status and lease. With limits and a timeout of its own, a lease is renewed
	// in time whatever else is asked of the API server. Default: Client.
	Heartbeat kubernetes.Interface
	// Provider runs the pods.
	Provider Provider
	// Recorder takes the events of the pod controller. Default: one that writes them with Client.
	Recorder record.EventRecorder

	// Recognise is asked whether a cluster is the one that this host's pods are of, before they are read there; a node that knows
	// none of them would end their VMs. Its error ends the node. It is asked again when the Node object is made anew:
	// its error is logged then, and no Node is made. Nil takes any.
	Recognise func(Cluster) error

	// Addresses are those at which the node is reached, at most one of each type. The API server dials the InternalIP.
	Addresses []corev1.NodeAddress
	// Server is the kubelet's API, which is served on Listener; what it asks of this node is filled in. With a nil Listener
	// there is none, and the Node says so by having no port.
	Server   *server.Config
	Listener net.Listener

	// Labels and Annotations are set beside those of others, which are kept.
	Labels, Annotations map[string]string
	// Taints are set when the Node is registered; whoever changes them later is left alone.
	Taints []corev1.Taint
	// Host is measured for capacity and conditions: ThisHost(directory of the disks).
	Host Host
	// Reserve is withheld from what pods may ask for: cpu, memory, ephemeral-storage.
	Reserve corev1.ResourceList
	// LeastStorage says how many bytes of the disks' file system, which has total bytes, must be free for the node to take
	// pods. Default: a tenth, as of a kubelet.
	LeastStorage func(total int64) int64
	// MaxPods is the number of pods that the node takes. Default: 110.
	MaxPods int64

	// RuntimeVersion ("vmseed://1.2.3") and KubeletVersion ("v1.36.3-vmseed-1.2.3") are shown by kubectl get nodes -o wide.
	RuntimeVersion, KubeletVersion string

	// Workers is how many pods are handled at once. Default: 10.
	Workers int
	// Lease is how long the control plane waits for a sign of life. Default: 40 s, as of a kubelet.
	Lease time.Duration
	// Logger takes the messages of the node and of Virtual Kubelet. Default: slog.Default.
	Logger *slog.Logger
}

func (c *Config) complete() error {
	switch {
	case c.Name == "":
		return errors.New("the node has no name")
	case c.Client == nil:
		return errors.New("the node has no client of the API server")
	case c.Provider == nil:
		return errors.New("the node has no provider of pods")
	case c.Host == nil:
		return errors.New("the node has no host")
	case c.Listener != nil && c.Server == nil:
		return errors.New("there is a listener, but no server for it")
	}
	seen := map[corev1.NodeAddressType]bool{}
	for _, a := range c.Addresses {
		// The status is patched with the address type as the merge key.
		if seen[a.Type] {
			return fmt.Errorf("the node has two addresses of type %s; Kubernetes merges a Node's addresses by their type", a.Type)
		}
		seen[a.Type] = true
	}
	if c.Heartbeat == nil {
		c.Heartbeat = c.Client
	}
	if c.MaxPods == 0 {
		c.MaxPods = 110
	}
	if c.Workers == 0 {
		c.Workers = 10
	}
	if c.Lease == 0 {
		c.Lease = vk.DefaultLeaseDuration * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// Node is this process as a node of a cluster.
type Node struct {
	config Config
	port   int32
	pods   *pods
	ready  chan struct{}
}

// New checks the configuration and returns a node that does not run yet.
func New(c Config) (*Node, error) {
	if err := c.complete(); err != nil {
		return nil, err
	}
	n := &Node{config: c, pods: newPods(c.Client, c.Name), ready: make(chan struct{})}
	if c.Listener != nil {
		address, ok := c.Listener.Addr().(*net.TCPAddr)
		if !ok {
			return nil, errors.New("the kubelet server listens on TCP")
		}
		n.port = int32(address.Port)
	}
	return n, nil
}

// Ready is closed when the node is registered and takes pods.
func (n *Node) Ready() <-chan struct{} { return n.ready }

// Run is a node until ctx is done. Pods go on without it: the Node object and its lease stay as they are, and a node that
// runs again before the lease is over has missed nothing. Run returns an error when it cannot go on; an API server that
// is away is no reason.
func (n *Node) Run(ctx context.Context) error {
	ctx = withLogger(ctx, n.config.Logger)
	recorder := n.config.Recorder
	if recorder == nil {
		broadcaster := record.NewBroadcaster(record.WithContext(ctx))
		defer broadcaster.Shutdown()
		broadcaster.StartRecordingToSink(&typed.EventSinkImpl{Interface: n.config.Client.CoreV1().Events("")})
		recorder = broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "vmseed-node", Host: n.config.Name})
	}
	controller, err := n.podController(recorder)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	if n.config.Listener != nil {
		s, err := n.server()
		if err != nil {
			return err
		}
		group.Go(func() error { return s.Serve(ctx, n.config.Listener) })
	}
	group.Go(func() error {
		// A controller that is ended before it has begun says so.
		if err := controller.Run(ctx, n.config.Workers); ctx.Err() == nil {
			return err
		}
		return nil
	})
	heart := newHeart(&n.config, n.port, controller.Ready())
	group.Go(func() error { return n.pods.run(ctx, heart.owned) })
	group.Go(func() error { return heart.run(ctx, n.ready) })
	return group.Wait()
}

// podController is Virtual Kubelet's, with informers that watch nothing but the pods of the node: it asks for those of
// Secrets, ConfigMaps and Services as well, but reads them only to resolve the environment of containers, which is skipped.
func (n *Node) podController(recorder record.EventRecorder) (*vk.PodController, error) {
	idle := informers.NewSharedInformerFactory(n.config.Client, 0).Core().V1()
	// No bound on all pods together, as the library's default has: a node that starts has hundreds to look at.
	limiter := func() workqueue.TypedRateLimiter[any] {
		return workqueue.NewTypedItemExponentialFailureRateLimiter[any](10*time.Millisecond, time.Minute)
	}
	provider := n.config.Provider
	if err := n.pods.whenMissed(func(ctx context.Context, gone, successor *corev1.Pod) {
		if err := replaceMissed(ctx, provider, gone, successor); err != nil {
			n.config.Logger.Error("what was missed of a pod could not be done", "error", err)
		}
	}); err != nil {
		return nil, err
	}
	if w, ok := provider.(Witness); ok {
		if err := n.pods.whenWritten(w.Saw); err != nil {
			return nil, err
		}
	}
	return vk.NewPodController(vk.PodControllerConfig{
		PodClient:                                n.podClient(),
		PodInformer:                              n.pods.informer,
		EventRecorder:                            quiet{recorder},
		Provider:                                 provider,
		ConfigMapInformer:                        idle.ConfigMaps(),
		SecretInformer:                           idle.Secrets(),
		ServiceInformer:                          idle.Services(),
		SyncPodsFromKubernetesRateLimiter:        limiter(),
		DeletePodsFromKubernetesRateLimiter:      limiter(),
		SyncPodStatusFromProviderRateLimiter:     limiter(),
		SyncPodsFromKubernetesShouldRetryFunc:    retry,
		DeletePodsFromKubernetesShouldRetryFunc:  retry,
		SyncPodStatusFromProviderShouldRetryFunc: retry,
		SkipDownwardAPIResolution:                true,
	})
}

// podClient is what the pod controller writes and deletes pods with.
func (n *Node) podClient() corev1client.PodsGetter {
	if g, ok := n.config.Provider.(Guard); ok {
		return g.Guard()
	}
	return n.config.Client.CoreV1()
}

// retry has every pod tried again for as long as it is there, with the delays of the limiter. The library's default gives
// up after 20 times, which an API server that is away for ten minutes outlasts.
func retry(context.Context, string, int, time.Time, error) (*time.Duration, error) { return nil, nil }

// server is the kubelet's API over what this node knows.
func (n *Node) server() (*server.Server, error) {
	c := *n.config.Server
	c.NodeName, c.Provider, c.Pods = n.config.Name, n.config.Provider, n.pods
	if c.Logger == nil {
		c.Logger = n.config.Logger
	}
	c.Node = func(context.Context) (stats.NodeStats, error) {
		return nodeStats(n.config.Name, n.config.Host, time.Now())
	}
	c.Healthy = func(context.Context) error {
		if !n.pods.synced() {
			return errors.New("the pods of this node are not read yet")
		}
		return nil
	}
	return server.New(c)
}

// quiet leaves out the pod controller's events about each call of the provider that went well: the provider tells what it
// does in the kubelet's own words, and events are calls of the API server.
type quiet struct{ record.EventRecorder }

func success(reason string) bool {
	return reason == "ProviderCreateSuccess" || reason == "ProviderUpdateSuccess" || reason == "ProviderDeleteSuccess"
}

func (q quiet) Event(object runtime.Object, kind, reason, message string) {
	if !success(reason) {
		q.EventRecorder.Event(object, kind, reason, message)
	}
}

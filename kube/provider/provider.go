package provider

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/virtual-kubelet/virtual-kubelet/node"
	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Annotations of pods.
const (
	// RuntimeAnnotation selects the runtime of a pod, and Runtime is its value for VMs.
	RuntimeAnnotation = "kubernetes.io/target-runtime"
	Runtime           = "virtlet.cloud"
	// FailureAnnotation says what a failed first boot means: Fail or Keep.
	FailureAnnotation = "vmseed.dev/first-boot-failure"
	// TimeoutAnnotation is how long a silent guest is waited for, as Go writes durations; 0s does not wait.
	TimeoutAnnotation = "vmseed.dev/first-boot-timeout"
)

// Conditions of pods, beside those that Kubernetes has.
const (
	FirstBootCondition  corev1.PodConditionType = "vmseed.dev/FirstBoot"
	GuestAgentCondition corev1.PodConditionType = "vmseed.dev/GuestAgent"
)

// DefaultFirstBootTimeout is how long a guest may boot in silence before it is taken to be up.
const DefaultFirstBootTimeout = 15 * time.Minute

// Options are what a Provider works with.
type Options struct {
	Runner Runner
	// Pods writes statuses, and deletes pods whose VM has ended.
	Pods corev1client.PodsGetter
	// Events tells users of pods what happens to them. It may be nil.
	Events record.EventRecorder
	// Dir is where the records of pods are kept; it is made if need be.
	Dir string
	// NodeIPs are the addresses of the node, the first one its internal one.
	NodeIPs []netip.Addr
	// FirstBootTimeout is how long a guest may boot in silence before it is taken to be up; 0 means DefaultFirstBootTimeout.
	FirstBootTimeout time.Duration
	// Log is for the node's administrator; nil is silent.
	Log *slog.Logger
}

// Provider is the pods of a node. Its methods may be called by several goroutines.
type Provider struct {
	options Options
}

var (
	_ node.PodLifecycleHandler = (*Provider)(nil)
	_ node.PodNotifier         = (*Provider)(nil)
)

// New reads the records and goes on with the pods that they tell of: it finds their VMs, and follows those that run. It is
// called once, before the node's pod controller starts.
func New(ctx context.Context, o Options) (*Provider, error) { return nil, errors.ErrUnsupported }

// Close stops following VMs, which run on, and returns when nothing of the provider runs any more.
func (p *Provider) Close() error { return nil }

// CreatePod begins to make a VM of a pod and returns at once. A pod that is known is left as it is.
func (p *Provider) CreatePod(ctx context.Context, pod *corev1.Pod) error {
	return errors.ErrUnsupported
}

// UpdatePod takes in what may change of a pod while it runs.
func (p *Provider) UpdatePod(ctx context.Context, pod *corev1.Pod) error {
	return errors.ErrUnsupported
}

// DeletePod begins to end the VM of a pod, with the grace that the deletion gives it, and returns at once. When the VM has
// ended and its disks are gone, the provider deletes the object itself.
func (p *Provider) DeletePod(ctx context.Context, pod *corev1.Pod) error {
	return errors.ErrUnsupported
}

// GetPod returns a copy of a pod with its present status. The error is one of errdefs when there is none.
func (p *Provider) GetPod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return nil, errors.ErrUnsupported
}

// GetPodStatus returns the present status of a pod.
func (p *Provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	return nil, errors.ErrUnsupported
}

// GetPods returns copies of all pods that have a VM or a record here.
func (p *Provider) GetPods(ctx context.Context) ([]*corev1.Pod, error) {
	return nil, errors.ErrUnsupported
}

// NotifyPods keeps Virtual Kubelet from polling. Statuses do not go that way: its updates carry the whole object as the
// provider last saw it, so a label that a user has just set would be undone. The provider patches statuses itself.
func (p *Provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

// GetContainerLogs returns what the guest wrote to its serial console.
func (p *Provider) GetContainerLogs(ctx context.Context, namespace, pod, container string, o api.ContainerLogOpts) (io.ReadCloser, error) {
	return nil, errors.ErrUnsupported
}

// RunInContainer has the guest agent run a program, or connects to the serial console when the command is "console". Its
// error is a k8s.io/utils/exec.ExitError when the program's status is not 0.
func (p *Provider) RunInContainer(ctx context.Context, namespace, pod, container string, command []string, attach api.AttachIO) error {
	return errors.ErrUnsupported
}

// AttachToContainer connects to the guest's serial console, both ways.
func (p *Provider) AttachToContainer(ctx context.Context, namespace, pod, container string, attach api.AttachIO) error {
	return errors.ErrUnsupported
}

// PortForward connects a stream to a TCP port of the guest.
func (p *Provider) PortForward(ctx context.Context, namespace, pod string, port int32, stream io.ReadWriteCloser) error {
	return errors.ErrUnsupported
}

// GetStatsSummary returns the statistics of the pods. Those of the node are left out.
func (p *Provider) GetStatsSummary(ctx context.Context) (*stats.Summary, error) {
	return nil, errors.ErrUnsupported
}

// GetMetricsResource returns the processor time and memory of the pods, as a kubelet's /metrics/resource names them. Those
// of the node are left out.
func (p *Provider) GetMetricsResource(ctx context.Context) ([]*dto.MetricFamily, error) {
	return nil, errors.ErrUnsupported
}

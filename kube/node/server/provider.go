package server

import (
	"context"
	"io"

	"github.com/virtual-kubelet/virtual-kubelet/node/api"
	corev1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Logs is the power to show what a container wrote: for a VM, its serial console.
type Logs interface {
	// GetContainerLogs returns the log of a container from the line on that the options ask for. The server enforces
	// LimitBytes itself. Of Tail, 0 means all lines and a negative number none of those that are there already (kubectl
	// logs --tail=0 -f). With Follow the reader ends when the container has ended or ctx is done. An error that is an
	// errdefs.NotFound or an errdefs.InvalidInput is answered with 404 or 400.
	GetContainerLogs(ctx context.Context, namespace, pod, container string, opts api.ContainerLogOpts) (io.ReadCloser, error)
}

// Streams is the power to connect a client to a running container. The context of each call ends when the client has gone.
type Streams interface {
	// RunInContainer runs a command and returns when it has ended. A command that ended with another status than 0 is an
	// error in whose chain a k8s.io/utils/exec.ExitError is (CodeExitError, say).
	RunInContainer(ctx context.Context, namespace, pod, container string, command []string, io api.AttachIO) error
	// AttachToContainer connects to the container's own input and output until either side ends.
	AttachToContainer(ctx context.Context, namespace, pod, container string, io api.AttachIO) error
	// PortForward connects a stream to a TCP port of the pod, and returns when either side has ended.
	PortForward(ctx context.Context, namespace, pod string, port int32, stream io.ReadWriteCloser) error
}

// Usage is the power to say what pods consume. Fields that are not known are left nil.
type Usage interface {
	// PodStats returns the statistics of all pods that run. CPU.UsageCoreNanoSeconds and Memory.WorkingSetBytes of pod and
	// containers are what `kubectl top` shows, by way of /metrics/resource.
	PodStats(ctx context.Context) ([]stats.PodStats, error)
}

// Residents is the power to say what is really here. GetPods leaves out pods that leave, because the pod controller, which asks
// for them, is to make the next pod of a name meanwhile.
type Residents interface {
	// ResidentPods returns copies of the pods that have not ended, and of those that are leaving, for as long as anything of
	// them is left.
	ResidentPods(ctx context.Context) ([]*corev1.Pod, error)
}

// Pods is what the server knows of the pods that are bound to the node.
type Pods interface {
	// List returns the pods as the API server has them.
	List() []*corev1.Pod
	// Get returns a pod, or false.
	Get(namespace, name string) (*corev1.Pod, bool)
}

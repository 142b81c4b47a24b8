package provider

import (
	"context"
	"io"
	"net"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/internal/supervisor"
)

// Runner starts the VMs of pods on a host, and finds them again. Its methods are called by several goroutines, but for one
// pod by one at a time.
type Runner interface {
	// Start starts the VM of a pod and returns when its guest runs, with what there is to say about the pod's definition. It
	// starts nothing twice: the error wraps supervisor.ErrRunning when the VM runs. One that ran before starts with the disks
	// that it had, unless Fresh says otherwise. With an error, or an error among the diagnostics, nothing runs. A *WaitError is trouble that may pass.
	Start(ctx context.Context, s Start) (Started, diag.List, error)
	// Find returns the VM that was started for a pod, whether it runs or not. The error wraps supervisor.ErrNoVM when there
	// is none.
	Find(ctx context.Context, r Ref) (Started, error)
	// Remove cuts the VM of a pod off if it still runs, and removes its disks and its network. To remove nothing is no error.
	Remove(ctx context.Context, r Ref) error
	// List returns the pods that Remove would find something of.
	List(ctx context.Context) ([]Ref, error)
}

// Releaser is the optional power of a Runner to give back, when a pod has ended for good, what its VM needs no longer: its network
// and its addresses. The console's log stays, and the disks stay, until Remove. To release twice is no error.
type Releaser interface {
	Release(ctx context.Context, r Ref) error
}

// Ref names a pod.
type Ref struct {
	Namespace, Name string
	UID             types.UID
}

// String returns namespace/name.
func (r Ref) String() string { return r.Namespace + "/" + r.Name }

// RefOf returns the name of a pod.
func RefOf(pod *corev1.Pod) Ref { return Ref{pod.Namespace, pod.Name, pod.UID} }

// Start is what a Runner needs to know.
type Start struct {
	// Pod is the object of the API server. It is read only.
	Pod *corev1.Pod
	// Booted means that the guest's first boot is over.
	Booted bool
	// Fresh means that the disks which the VM had are made anew, for another try of its first boot.
	Fresh bool
	// Progress is called with what goes on, in a few words, such as the image that is fetched. It is never nil.
	Progress func(message string)
}

// Started is a VM that runs.
type Started struct {
	Guest Guest
	// IPs are the addresses of the pod, the first one that of its default network. Without one the pod has none, because nothing but
	// the node reaches its guest: with the node's address, Services would lead to the node's own ports.
	IPs []netip.Addr
	// Silent means that the guest has nothing to report with, so its first boot is not waited for.
	Silent bool
	// ImageID is the identity of the root disk's image, where it has one.
	ImageID string
}

// Guest is a VM that was started. A *supervisor.Client has these methods.
type Guest interface {
	// State asks how the VM is.
	State(ctx context.Context) (supervisor.State, error)
	// Events calls f with the events of the run whose numbers are above since, until the VM has ended.
	Events(ctx context.Context, since int, f func(supervisor.Event) error) error
	// Stop asks the guest to shut down and cuts it off after grace; at once when that is 0. It returns when the VM has ended.
	Stop(ctx context.Context, grace time.Duration) error
}

// Consoler is the optional power of a Guest to connect to its serial console: kubectl attach.
type Consoler interface {
	Console(ctx context.Context) (io.ReadWriteCloser, error)
}

// Logger is the optional power of a Guest to say where its serial console is logged: kubectl logs.
type Logger interface {
	// SerialLog returns the path of the log; the older part is at the same path with .1 behind it.
	SerialLog() string
}

// Greeter is the optional power of a Guest to wait for its guest agent.
type Greeter interface {
	AwaitAgent(ctx context.Context) error
}

// Dialer is the optional power of a Guest to be connected to: kubectl port-forward, and probes.
type Dialer interface {
	DialGuest(ctx context.Context, port uint16) (net.Conn, error)
}

// Executor is the optional power of a Guest to run programs: kubectl exec, and probes.
type Executor interface {
	Exec(ctx context.Context, c supervisor.Command) (supervisor.Result, error)
}

// Meter is the optional power of a Guest to say what it uses: kubectl top.
type Meter interface {
	Usage(ctx context.Context) (supervisor.Usage, error)
}

// WaitError is trouble that keeps a VM from being started and that may pass.
type WaitError struct {
	// Reason is that of a container which waits, such as CreateContainerConfigError.
	Reason string
	Err    error
}

// Error says what is the matter.
func (e *WaitError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *WaitError) Unwrap() error { return e.Err }

// The reasons of containers that wait, as kubelets name them.
const (
	ReasonCreating    = "ContainerCreating"
	ReasonConfigError = "CreateContainerConfigError"
	ReasonImagePull   = "ErrImagePull"
	ReasonCreateError = "CreateContainerError"
	ReasonCrashLoop   = "CrashLoopBackOff"
)

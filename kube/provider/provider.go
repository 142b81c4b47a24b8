package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	"github.com/virtual-kubelet/virtual-kubelet/node"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	events "k8s.io/client-go/tools/record"

	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/internal/supervisor"
	"github.com/vmseed/vmseed/report"
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
	// FailOnAnnotation says what makes a first boot a failed one, in the place of Options.FailOn: error, warning or deprecated.
	FailOnAnnotation = "vmseed.dev/fail-on"
)

// Conditions of pods, beside those that Kubernetes has.
const (
	// FirstBootCondition is True when the guest's first boot is done, False while it goes on and when it has failed, and
	// Unknown for a guest that said nothing.
	FirstBootCondition corev1.PodConditionType = "vmseed.dev/FirstBoot"
	// GuestAgentCondition is True when the guest agent has answered in this run.
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
	Events events.EventRecorder
	// Dir is where the records of pods are kept; it is made if need be.
	Dir string
	// NodeIPs are the addresses of the node, the first one its internal one.
	NodeIPs []netip.Addr
	// FirstBootTimeout is how long a guest that boots may be silent before it is taken to be up; 0 means DefaultFirstBootTimeout.
	FirstBootTimeout time.Duration
	// FailOn is what makes a first boot a failed one; empty means report.FailOnError. What is less than that is told, and the
	// pod becomes ready.
	FailOn report.FailOn
	// Log is for the node's administrator; nil is silent.
	Log *slog.Logger
}

// Provider is the pods of a node. Its methods may be called by several goroutines.
type Provider struct {
	options Options
	log     *slog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	lock    *os.File
	working sync.WaitGroup

	mutex  sync.Mutex
	closed bool
	vms    map[types.UID]*vm
}

var (
	_ node.PodLifecycleHandler = (*Provider)(nil)
	_ node.PodNotifier         = (*Provider)(nil)
)

// ErrInUse means that another process has the same pods.
var ErrInUse = errors.New("another node runs with this directory")

// New reads the records and goes on with the pods that they tell of: it finds their VMs, and follows those that run. It is
// called once, before the node's pod controller starts. The error wraps ErrInUse when another process does so already.
func New(ctx context.Context, o Options) (*Provider, error) {
	o.FirstBootTimeout, o.FailOn = cmp.Or(o.FirstBootTimeout, DefaultFirstBootTimeout), cmp.Or(o.FailOn, report.FailOnError)
	if err := os.MkdirAll(o.Dir, atomicfile.DirMode); err != nil {
		return nil, err
	}
	lock, busy, err := atomicfile.Hold(filepath.Join(o.Dir, "lock"))
	if err == nil && busy {
		err = fmt.Errorf("%s: %w", o.Dir, ErrInUse)
	}
	if err != nil {
		return nil, err
	}
	p := &Provider{options: o, log: o.Log, lock: lock, vms: map[types.UID]*vm{}}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.ctx, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	records, err := p.records()
	if err == nil {
		err = p.strangers(ctx, records)
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	for _, rec := range records {
		v := p.newVM(rec)
		p.vms[v.ref.UID] = v
		v.mutex.Lock()
		v.arm()
		v.mutex.Unlock()
		p.begin(v)
	}
	return p, nil
}

// strangers sorts out what the runner has and no record tells of. Of a VM somebody has lost the record, so it is left for
// CreatePod to find; what a network or half of a directory is left of is removed.
func (p *Provider) strangers(ctx context.Context, records []*record) error {
	refs, err := p.options.Runner.List(ctx)
	if err != nil {
		return err
	}
	known := map[types.UID]bool{}
	for _, rec := range records {
		known[rec.Pod.UID] = true
	}
	for _, r := range refs {
		if known[r.UID] {
			continue
		}
		_, err := p.options.Runner.Find(ctx, r)
		if errors.Is(err, supervisor.ErrNoVM) {
			err = p.options.Runner.Remove(ctx, r)
		} else if err == nil {
			err = errors.New("there is a VM that no record tells of; a pod of its UID will take it over")
		}
		if err != nil {
			p.log.Warn("there is something of an unknown pod", "uid", r.UID, "error", err)
		}
	}
	return nil
}

// begin starts the life of a VM.
func (p *Provider) begin(v *vm) {
	p.background(func() { v.write(p.ctx) })
	p.background(func() { v.live(p.ctx) })
}

// background does something that Close waits for.
func (p *Provider) background(f func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if !p.closed {
		p.working.Go(f)
	}
}

// sleep waits, and returns false when ctx or the provider ends before.
func (p *Provider) sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-p.ctx.Done():
	}
	return false
}

// Close stops following VMs, which run on, and returns when nothing of the provider runs any more.
func (p *Provider) Close() error {
	p.mutex.Lock()
	p.closed = true
	for _, v := range p.vms {
		v.mutex.Lock()
		if v.deadline != nil {
			v.deadline.Stop()
		}
		v.mutex.Unlock()
	}
	p.mutex.Unlock()
	p.cancel()
	p.working.Wait()
	return p.lock.Close()
}

// byUID finds a VM.
func (p *Provider) byUID(uid types.UID) *vm {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.vms[uid]
}

// byName finds the VM of a pod that is to stay, or else one that is leaving.
func (p *Provider) byName(namespace, name string) (staying, leaving *vm) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, v := range p.vms {
		if v.ref.Namespace != namespace || v.ref.Name != name {
			continue
		}
		if v.look().Leaving {
			leaving = v
		} else {
			staying = v
		}
	}
	return staying, leaving
}

// drop forgets a VM that is gone.
func (p *Provider) drop(v *vm) {
	v.mutex.Lock()
	if v.deadline != nil {
		v.deadline.Stop()
	}
	v.mutex.Unlock()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.vms, v.ref.UID)
}

// CreatePod begins to make a VM of a pod and returns at once. A pod that is known is only taken in.
func (p *Provider) CreatePod(_ context.Context, pod *corev1.Pod) error {
	if staying, _ := p.byName(pod.Namespace, pod.Name); staying != nil && staying.ref.UID != pod.UID {
		staying.leave(0) // its object is gone
	}
	p.mutex.Lock()
	v := p.vms[pod.UID]
	if v == nil && !p.closed {
		v = p.newVM(&record{Version: recordVersion, Pod: bare(pod), Seen: time.Now()})
		v.pod, v.complete = pod.DeepCopy(), true
		close(v.known)
		p.vms[pod.UID] = v
		p.mutex.Unlock()
		v.mutex.Lock()
		v.arm()
		v.mutex.Unlock()
		p.begin(v)
		signal(v.dirty)
		return nil
	}
	p.mutex.Unlock()
	if v == nil {
		return errors.New("the node stops")
	}
	v.take(pod)
	return nil
}

// UpdatePod takes in what may change of a pod while it runs.
func (p *Provider) UpdatePod(ctx context.Context, pod *corev1.Pod) error {
	return p.CreatePod(ctx, pod)
}

// DeletePod begins to end the VM of a pod and returns at once: with the grace that the deletion gives it, or without any when
// the object is gone already. When the VM has ended and its disks are gone, the provider deletes the object.
func (p *Provider) DeletePod(_ context.Context, pod *corev1.Pod) error {
	v := p.byUID(pod.UID)
	if v == nil {
		return errdefs.NotFoundf("there is no VM of pod %s/%s", pod.Namespace, pod.Name)
	}
	grace := time.Duration(0)
	if pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	v.leave(grace)
	return nil
}

// GetPod returns a copy of a pod with its present status. The error is an errdefs.NotFound when there is none, or when it is
// leaving: its name is free for the next one.
func (p *Provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	v, _ := p.byName(namespace, name)
	if v == nil {
		return nil, errdefs.NotFoundf("there is no VM of pod %s/%s", namespace, name)
	}
	return v.object(), nil
}

// object is a copy of the pod with its present status.
func (v *vm) object() *corev1.Pod {
	now := v.view()
	out := now.pod.DeepCopy()
	out.Status = now.status()
	return out
}

// GetPodStatus returns the present status of a pod.
func (p *Provider) GetPodStatus(ctx context.Context, namespace, name string) (*corev1.PodStatus, error) {
	pod, err := p.GetPod(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	return &pod.Status, nil
}

// GetPods returns copies of all pods that are to stay here.
func (p *Provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, v := range p.all() {
		if !v.look().Leaving {
			out = append(out, v.object())
		}
	}
	return out, nil
}

// ResidentPods returns copies of the pods that have not ended, and of those that leave until their disks and their objects are
// gone.
func (p *Provider) ResidentPods(context.Context) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, v := range p.all() {
		if rec := v.look(); rec.Leaving || rec.Over == nil || !rec.Run.Since.IsZero() && rec.Run.Ended == nil {
			out = append(out, v.object())
		}
	}
	return out, nil
}

// all returns the VMs.
func (p *Provider) all() []*vm {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	out := make([]*vm, 0, len(p.vms))
	for _, v := range p.vms {
		out = append(out, v)
	}
	return out
}

// NotifyPods keeps Virtual Kubelet from polling. Statuses do not go that way: its updates carry the whole object as the
// provider last saw it, so a label that a user has just set would be undone. The provider patches statuses itself.
func (p *Provider) NotifyPods(context.Context, func(*corev1.Pod)) {}

// Healthy says why no VM can be started on this host, if the Runner knows.
func (p *Provider) Healthy(ctx context.Context) error {
	if h, ok := p.options.Runner.(interface{ Healthy(context.Context) error }); ok {
		return h.Healthy(ctx)
	}
	return nil
}

// refuse returns the end of a pod that is for another runtime.
func refuse(pod *corev1.Pod) *over {
	if pod.Annotations[RuntimeAnnotation] == Runtime {
		return nil
	}
	return &over{Phase: corev1.PodFailed, Reason: ReasonRuntime, Message: fmt.Sprintf("this node runs VMs only, of pods with the annotation %s: %s; "+
		"keep other pods away from it by node affinity (extraRuntime NotIn [virtlet]) or a taint of the node", RuntimeAnnotation, Runtime)}
}

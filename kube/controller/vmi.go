package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	virtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/kube/admission"
	"github.com/vmseed/vmseed/kube/launch"
)

// conflictAgain is how long to wait until the cache has what somebody else wrote meanwhile.
const conflictAgain = 100 * time.Millisecond

// vmiReconciler brings instances to nodes, and says of them what their launcher pods say.
type vmiReconciler struct{ *controller }

// vmiPass is one look at an instance.
type vmiPass struct {
	*controller
	vmi  *unstructured.Unstructured
	old  virtv1.VirtualMachineInstanceStatus
	view podView
	wait time.Duration
}

// Reconcile looks at the instance of a request.
func (r vmiReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vmi, err := fetch(ctx, r.client, vmiKind, req.NamespacedName)
	if err != nil || vmi == nil || !r.handles(vmi) {
		if err == nil && vmi == nil {
			r.starting.forget(req.NamespacedName)
		}
		return ctrl.Result{}, err
	}
	p := &vmiPass{controller: r.controller, vmi: vmi, old: statusOf[virtv1.VirtualMachineInstanceStatus](vmi)}
	p.view = podView{vmi: vmi, now: metav1.NewTime(r.now())}
	err = p.act(ctx)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	}
	return ctrl.Result{RequeueAfter: p.wait}, client.IgnoreNotFound(err)
}

// final reports whether the instance has ended. It never runs again.
func (p *vmiPass) final() bool {
	return p.old.Phase == virtv1.Succeeded || p.old.Phase == virtv1.Failed
}

// launched reports whether the instance is known to have had a launcher pod, by its status or because this process made it.
func (p *vmiPass) launched() bool {
	b, _ := p.starting.of(client.ObjectKeyFromObject(p.vmi), p.vmi.GetUID())
	return b.launched || p.old.Phase != "" && p.old.Phase != virtv1.Pending
}

// act decides and does what is to be done.
func (p *vmiPass) act(ctx context.Context) error {
	if p.final() || p.old.Phase == virtv1.Running {
		p.starting.forget(client.ObjectKeyFromObject(p.vmi))
	}
	// What the cache does not have yet may exist. Only when it matters is the API server asked.
	pod, err := p.pod(ctx, p.launched() && !p.final() || p.vmi.GetDeletionTimestamp() != nil)
	if errors.Is(err, errTaken) {
		return p.taken(ctx, err)
	} else if err != nil {
		return err
	}
	p.view.pod, p.view.launched = pod, p.launched()
	switch {
	case p.vmi.GetDeletionTimestamp() != nil:
		return p.end(ctx)
	case pod == nil && !p.launched():
		if err := p.launch(ctx); err != nil {
			return err
		}
	case pod == nil && !p.final():
		p.event(p.vmi, corev1.EventTypeWarning, "PodLost", fmt.Sprintf("the launcher pod %s is gone", launch.PodName(p.vmi)))
	}
	if pod := p.view.pod; pod != nil && pod.Spec.NodeName != "" {
		p.view.nodeLost = p.nodeLost(ctx, pod.Spec.NodeName)
	}
	return p.write(ctx)
}

// errTaken is wrapped by errors about launcher pods whose name another pod has.
var errTaken = errors.New("the name is taken")

// taken says that the instance cannot be launched. Its end does not depend on the pod of somebody else.
func (p *vmiPass) taken(ctx context.Context, err error) error {
	if p.vmi.GetDeletionTimestamp() != nil {
		return p.release(ctx)
	}
	p.view.launched = p.launched()
	p.unlaunched(reasonFailedCreate, "failed to create virtual machine pod: "+err.Error())
	p.wait = refusedAgain
	return p.write(ctx)
}

// pod returns the launcher pod of the instance, or nil. With sure the API server itself says that there is none.
func (p *vmiPass) pod(ctx context.Context, sure bool) (*corev1.Pod, error) {
	key := client.ObjectKey{Namespace: p.vmi.GetNamespace(), Name: launch.PodName(p.vmi)}
	for _, reader := range []client.Reader{p.client, p.live} {
		var pod corev1.Pod
		switch err := reader.Get(ctx, key, &pod); {
		case apierrors.IsNotFound(err) && !sure:
			return nil, nil
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("the launcher pod: %w", err)
		case !slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == p.vmi.GetUID() }):
			return nil, fmt.Errorf("%w: the pod %s does not belong to the instance", errTaken, key)
		}
		return &pod, nil
	}
	return nil, nil
}

// nodeLost reports whether the node of a pod has stopped to answer.
func (p *vmiPass) nodeLost(ctx context.Context, name string) bool {
	var node corev1.Node
	if err := p.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return apierrors.IsNotFound(err)
	}
	return silent(&node)
}

// silent reports whether the control plane has not heard of a node for long.
func silent(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
	})
}

// launch makes the launcher pod, unless the instance is refused.
func (p *vmiPass) launch(ctx context.Context) error {
	cluster, err := p.cluster(ctx, p.vmi)
	if err != nil {
		return err
	}
	review := launch.Check(ctx, p.vmi, cluster)
	if review.Problems.HasErrors() {
		p.refuse(review.Problems, review.Refusal(), review.Closed())
		return nil
	}
	if err := p.settle(ctx); err != nil {
		return p.uncreated(err)
	}
	objects, problems := launch.Build(p.vmi, review, cluster)
	if problems.HasErrors() {
		p.refuse(problems, launch.Review{Problems: problems}.Refusal(), false)
		return nil
	}
	if err := p.client.Create(ctx, objects.Secret); err != nil && !apierrors.IsAlreadyExists(err) {
		return p.uncreated(err)
	}
	switch err := p.client.Create(ctx, objects.Pod); {
	case apierrors.IsAlreadyExists(err):
		// It was made before the cache knew of it, with a Secret that may be another one.
		return p.adopt(ctx, objects)
	case err != nil:
		return p.uncreated(err)
	}
	p.view.pod = objects.Pod
	p.starting.begin(client.ObjectKeyFromObject(p.vmi), begun{uid: p.vmi.GetUID(), at: p.now(), launched: true})
	p.step(p.vmi, reasonSuccessfulCreate, "Created virtual machine pod "+objects.Pod.Name)
	p.warn(append(slices.Clone(review.Problems), problems...))
	return nil
}

// adopt takes the pod that there is, and throws the Secret away that it does not name.
func (p *vmiPass) adopt(ctx context.Context, made launch.Objects) error {
	pod, err := p.pod(ctx, true)
	if errors.Is(err, errTaken) {
		p.unlaunched(reasonFailedCreate, "failed to create virtual machine pod: "+err.Error())
		p.wait = refusedAgain
		return nil
	} else if err != nil {
		return err
	}
	if p.view.pod = pod; pod != nil && launch.SecretName(pod) != made.Secret.Name {
		return client.IgnoreNotFound(p.client.Delete(ctx, made.Secret))
	}
	return nil
}

// settle writes into an instance without a machine what that of a machine has from the beginning: an identity, unless the
// webhook has given it one, and the finalizer.
func (p *vmiPass) settle(ctx context.Context) error {
	identity := admission.Identity(admission.Instance, member(p.vmi, "spec", "domain"), p.uuid)
	if len(identity) == 0 && slices.Contains(p.vmi.GetFinalizers(), finalizer) {
		return nil
	}
	base, change := shell(p.vmi), shell(p.vmi)
	base.SetFinalizers(p.vmi.GetFinalizers())
	change.SetFinalizers(p.vmi.GetFinalizers())
	if !slices.Contains(p.vmi.GetFinalizers(), finalizer) {
		change.SetFinalizers(append(p.vmi.GetFinalizers(), finalizer))
	}
	if len(identity) > 0 {
		change.Object["spec"] = map[string]any{"domain": map[string]any{"firmware": identity}}
	}
	if err := p.client.Patch(ctx, change, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("settling the instance: %w", err)
	}
	p.vmi.Object = change.Object
	return nil
}

// refuse says why the instance is not launched, in the condition with KubeVirt's words, and in events with what to do.
func (p *vmiPass) refuse(problems diag.List, words string, closed bool) {
	reason := reasonFailedCreate
	if closed {
		reason = reasonGate
	}
	p.unlaunched(reason, words)
	if p.said(reason, words) {
		return
	}
	for _, d := range problems {
		if d.Severity == diag.Error {
			p.event(p.vmi, corev1.EventTypeWarning, reasonFailedCreate, d.Error())
		}
	}
}

// unlaunched keeps the instance waiting for a reason.
func (p *vmiPass) unlaunched(reason, message string) {
	p.view.trouble = condition{kind: string(virtv1.VirtualMachineInstanceSynchronized), status: corev1.ConditionFalse, reason: reason, message: message}
}

// said reports whether the status says already why the instance waits.
func (p *vmiPass) said(reason, message string) bool {
	c := find(p.old.Conditions, virtv1.VirtualMachineInstanceSynchronized)
	return c.Status == corev1.ConditionFalse && c.Reason == reason && c.Message == message
}

// uncreated says why the API server did not take an object. What it refuses for good, as a quota does, is tried again later.
func (p *vmiPass) uncreated(err error) error {
	if !refused(err) {
		return fmt.Errorf("launching: %w", err)
	}
	// KubeVirt's words.
	message := "failed to create virtual machine pod: " + err.Error()
	p.unlaunched(reasonFailedCreate, message)
	if !p.said(reasonFailedCreate, message) {
		p.event(p.vmi, corev1.EventTypeWarning, reasonFailedCreate, "Error creating pod: "+err.Error())
	}
	p.wait = refusedAgain
	return nil
}

// warn makes events of warnings. They are made once, as an instance is launched once.
func (p *vmiPass) warn(problems diag.List) {
	for _, d := range problems {
		if d.Severity == diag.Warning {
			p.event(p.vmi, corev1.EventTypeWarning, d.Code.String(), d.Error())
		}
	}
}

// end stops the guest of an instance that is deleted, and lets the instance go when the pod is gone.
func (p *vmiPass) end(ctx context.Context) error {
	pod := p.view.pod
	if pod == nil {
		return p.release(ctx)
	}
	if grace, again := p.grace(pod); pod.DeletionTimestamp == nil || again {
		options := []client.DeleteOption{client.Preconditions{UID: &pod.UID}}
		if grace > 0 {
			options = append(options, client.GracePeriodSeconds(grace))
		}
		if err := client.IgnoreNotFound(p.client.Delete(ctx, pod, options...)); err != nil {
			return fmt.Errorf("deleting the launcher pod: %w", err)
		}
		p.event(p.vmi, corev1.EventTypeNormal, reasonSuccessfulDelete, "Deleted virtual machine pod "+pod.Name)
	}
	if pod.Spec.NodeName != "" {
		p.view.nodeLost = p.nodeLost(ctx, pod.Spec.NodeName)
	}
	return p.write(ctx)
}

// grace returns how many seconds the guest has to shut down by what the instance says now, which whoever stops by force has made
// shorter; 0 means what the pod says. again is true when the pod was told a longer time already. It is never less than a
// second: without any, the pod would be gone before its node has stopped the VM.
func (p *vmiPass) grace(pod *corev1.Pod) (seconds int64, again bool) {
	stated, ok, err := unstructured.NestedInt64(p.vmi.Object, "spec", "terminationGracePeriodSeconds")
	if !ok || err != nil || stated < 0 {
		return 0, false
	}
	stated = max(stated, 1)
	told := pod.DeletionGracePeriodSeconds
	return stated, pod.DeletionTimestamp != nil && told != nil && stated < *told
}

// release takes the finalizer away.
func (p *vmiPass) release(ctx context.Context) error {
	held := p.vmi.GetFinalizers()
	if !slices.Contains(held, finalizer) {
		return nil
	}
	base, change := shell(p.vmi), shell(p.vmi)
	base.SetFinalizers(held)
	change.SetFinalizers(slices.DeleteFunc(slices.Clone(held), func(name string) bool { return name == finalizer }))
	return client.IgnoreNotFound(p.client.Patch(ctx, change, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})))
}

// write brings the status up to date.
func (p *vmiPass) write(ctx context.Context) error {
	now := p.view.status(p.old)
	key := client.ObjectKeyFromObject(p.vmi)
	if wait := p.unsettled(key, string(p.old.Phase), string(now.Phase), string(virtv1.Scheduling), string(virtv1.Scheduled)); wait > 0 &&
		find(now.Conditions, virtv1.VirtualMachineInstanceSynchronized).Status == corev1.ConditionTrue {
		p.wait = wait
		return nil
	}
	if err := writeStatus(ctx, p.client, p.vmi, p.old, now); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	p.milestones(now)
	return nil
}

// milestones tells that the guest runs and that its first boot is done, when the status says so for the first time. The node has told
// nobody: it leaves what its status says to those who read it.
func (p *vmiPass) milestones(now virtv1.VirtualMachineInstanceStatus) {
	if now.Phase == virtv1.Running && p.old.Phase != virtv1.Running {
		p.step(p.vmi, reasonStarted, "VirtualMachineInstance started.") // KubeVirt's words
	}
	done := find(now.Conditions, launch.ConditionFirstBoot)
	if done.Status == corev1.ConditionTrue && find(p.old.Conditions, launch.ConditionFirstBoot).Status != corev1.ConditionTrue {
		p.step(p.vmi, done.Reason, "The guest's first boot is done")
	}
}

// cluster gathers what an instance is read together with.
func (c *controller) cluster(ctx context.Context, vmi *unstructured.Unstructured) (launch.Cluster, error) {
	out, err := c.gates(ctx)
	if err != nil {
		return out, err
	}
	owner := metav1.GetControllerOf(vmi)
	if owner == nil || owner.Kind != vmKind.Kind {
		return out, nil
	}
	out.VirtualMachine = owner.Name
	vm, err := fetch(ctx, c.client, vmKind, client.ObjectKey{Namespace: vmi.GetNamespace(), Name: owner.Name})
	if err == nil && vm != nil && vm.GetUID() == owner.UID {
		out.DataVolumes = items(vm, "spec", "dataVolumeTemplates")
	}
	return out, err
}

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	virtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/vmseed/vmseed/kube/admission"
	"github.com/vmseed/vmseed/kube/launch"
)

// finalizer keeps an instance until its launcher pod is gone, so that nothing starts in its place while it may still
// run. The name is KubeVirt's.
const finalizer = "foregroundDeleteVirtualMachine"

// The reasons of KubeVirt's events and failures.
const (
	reasonFailedCreate     = "FailedCreate"
	reasonFailedDelete     = "FailedDelete"
	reasonSuccessfulCreate = "SuccessfulCreate"
	reasonSuccessfulDelete = "SuccessfulDelete"
	reasonInstancetype     = "FailedFindInstancetype"
)

// refusedAgain is how long to wait before an instance is made again that the API server refused.
const refusedAgain = time.Minute

// vmReconciler brings about what machines ask for: an instance, or none.
type vmReconciler struct{ *controller }

// vmPass is one look at a machine.
type vmPass struct {
	*controller
	state machineState
	old   virtv1.VirtualMachineStatus
	// key is the name of the machine and of its instance.
	key client.ObjectKey
	// startAgain adds a request to start the machine when its instance is gone.
	startAgain bool
	// blind says that the cache lacks the instance that there is, so that nothing can be said of it.
	blind bool
	wait  time.Duration
}

// Reconcile looks at the machine of a request.
func (r vmReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	vm, err := fetch(ctx, r.client, vmKind, req.NamespacedName)
	if err != nil || vm == nil || !r.handles(vm) {
		return ctrl.Result{}, err
	}
	vmi, err := fetch(ctx, r.client, vmiKind, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := &vmPass{controller: r.controller, key: req.NamespacedName, old: statusOf[virtv1.VirtualMachineStatus](vm),
		state: machineState{vm: vm, now: metav1.NewTime(r.now()), chance: r.chance()}}
	if vmi != nil && !controlledBy(vmi, vm) {
		p.stranger(vmi)
	} else {
		p.state.vmi = vmi
		if vmi != nil {
			p.state.instance = statusOf[virtv1.VirtualMachineInstanceStatus](vmi)
		}
		err = p.act(ctx)
	}
	return p.finish(ctx, err)
}

// stranger says that the place of the machine's instance is taken. One that is on its way out, such as that of a machine of
// the same name that was deleted, is waited for without a word.
func (p *vmPass) stranger(vmi *unstructured.Unstructured) {
	p.state.strategy, _ = strategyOf(p.state.vm)
	if vmi.GetDeletionTimestamp() == nil {
		p.fail(reasonFailedCreate, fmt.Sprintf("Error creating virtual machine instance: virtualmachineinstances.kubevirt.io %q already exists", vmi.GetName()))
	}
}

// fail puts a failure into the status, and an event beside it when it is a new one.
func (p *vmPass) fail(reason, message string) {
	p.state.failure = condition{kind: string(virtv1.VirtualMachineFailure), status: corev1.ConditionTrue, reason: reason, message: message}
	for _, c := range p.old.Conditions {
		if c.Type == virtv1.VirtualMachineFailure && c.Reason == reason && c.Message == message {
			return
		}
	}
	p.event(p.state.vm, corev1.EventTypeWarning, reason, message)
}

// act decides and does what is to be done.
func (p *vmPass) act(ctx context.Context) error {
	vm := p.state.vm
	strategy, err := strategyOf(vm)
	if err != nil {
		p.fail(reasonFailedCreate, err.Error())
		return nil
	}
	p.state.strategy = strategy
	if vm.GetDeletionTimestamp() != nil {
		return nil // the garbage collector deletes the instance
	}
	failure := p.state.startFailure(p.old.StartFailure)
	s := situation{strategy: strategy, handled: p.old.RunStrategy, requests: p.old.StateChangeRequests, phase: p.state.instance.Phase,
		backOff: left(failure, p.now())}
	if vmi := p.state.vmi; vmi != nil {
		s.exists, s.uid, s.deleting = true, vmi.GetUID(), vmi.GetDeletionTimestamp() != nil
	}
	d := s.decide()
	p.wait, p.startAgain = d.wait, d.startAgain
	switch {
	case d.do == start:
		return p.start(ctx)
	case d.do == stop:
		if p.startAgain || failure != nil && (p.old.StartFailure == nil || *failure != *p.old.StartFailure) {
			// What follows from the end of the instance must not be lost with it.
			if err := p.write(ctx); err != nil {
				return err
			}
		}
		return p.stop(ctx)
	case d.switchOn:
		field := map[string]any{"runStrategy": string(virtv1.RunStrategyAlways)}
		if _, old := member(vm, "spec")["running"]; old {
			field = map[string]any{"running": true}
		}
		return p.patchSpec(ctx, vm, field)
	}
	return nil
}

// start makes the instance.
func (p *vmPass) start(ctx context.Context) error {
	if name := text(p.state.vm, "spec", "instancetype", "name"); name != "" {
		p.fail(reasonInstancetype, fmt.Sprintf("Error creating virtual machine instance: Failed to apply instancetype: vmseed does not expand instance types; write what %q says into the machine", name))
		return nil
	}
	err := p.firmware(ctx)
	vmi := instanceOf(p.state.vm, p.old.StateChangeRequests)
	if err == nil {
		err = p.client.Create(ctx, vmi)
	}
	switch {
	case apierrors.IsAlreadyExists(err):
		p.blind, p.wait = true, time.Second // the cache will know it then
		return nil
	case refused(err):
		p.fail(reasonFailedCreate, "Error creating virtual machine instance: "+err.Error())
		p.wait = refusedAgain
		return nil
	case err != nil:
		return fmt.Errorf("creating the instance: %w", err)
	}
	p.starting.begin(p.key, begun{uid: vmi.GetUID(), at: p.now()})
	p.state.vmi = vmi
	p.step(p.state.vm, reasonSuccessfulCreate, "Started the virtual machine by creating the new virtual machine instance "+vmi.GetName())
	return nil
}

// refused reports whether the API server will not take an object as it is, and as it, a quota or a policy is now.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// firmware gives the machine an identity that lasts, in its template, if it was created while the webhook did not answer. It is never
// changed.
func (p *vmPass) firmware(ctx context.Context) error {
	vm := p.state.vm
	identity := admission.Identity(admission.Machine, member(vm, "spec", "template", "spec", "domain"), p.uuid)
	if len(identity) == 0 {
		return nil
	}
	return p.patchSpec(ctx, vm, map[string]any{"template": map[string]any{"spec": map[string]any{"domain": map[string]any{"firmware": identity}}}})
}

// patchSpec changes fields below spec, if nobody else has written the object meanwhile. The object is then what it has become.
func (c *controller) patchSpec(ctx context.Context, u *unstructured.Unstructured, fields map[string]any) error {
	change := shell(u)
	change.Object["spec"] = fields
	base := shell(u)
	if err := c.client.Patch(ctx, change, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("changing the %s: %w", u.GetKind(), err)
	}
	u.Object = change.Object
	return nil
}

// stop deletes the instance, which its finalizer keeps until the guest has stopped.
func (p *vmPass) stop(ctx context.Context) error {
	vmi := p.state.vmi
	uid := vmi.GetUID()
	if err := client.IgnoreNotFound(p.client.Delete(ctx, vmi, client.Preconditions{UID: &uid})); apierrors.IsConflict(err) {
		return err // it is gone, and another one is there
	} else if err != nil {
		p.event(p.state.vm, corev1.EventTypeWarning, reasonFailedDelete, fmt.Sprintf("Error deleting virtual machine instance %s: %v", vmi.GetName(), err))
		return fmt.Errorf("deleting the instance: %w", err)
	}
	p.state.stopped = true
	p.event(p.state.vm, corev1.EventTypeNormal, reasonSuccessfulDelete, fmt.Sprintf("Stopped the virtual machine by deleting the virtual machine instance %s", uid))
	return nil
}

// write brings the status up to date.
func (p *vmPass) write(ctx context.Context) error {
	now := p.state.status(p.old)
	if asks := func(r virtv1.VirtualMachineStateChangeRequest) bool { return r.Action == virtv1.StartRequest }; p.startAgain && !slices.ContainsFunc(now.StateChangeRequests, asks) {
		now.StateChangeRequests = append(now.StateChangeRequests, virtv1.VirtualMachineStateChangeRequest{Action: virtv1.StartRequest})
	}
	p.startAgain = false
	answered := len(now.StateChangeRequests) != len(p.old.StateChangeRequests)
	wait := p.unsettled(p.key, string(p.old.PrintableStatus), string(now.PrintableStatus), string(virtv1.VirtualMachineStatusStarting))
	// Other strategies must know what was done for them.
	if wait > 0 && p.state.strategy == virtv1.RunStrategyAlways && !answered && p.state.failure.kind == "" {
		p.wait = wait
		return nil
	}
	if err := writeStatus(ctx, p.client, p.state.vm, p.old, now); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	p.old = now
	return nil
}

// finish writes the status whatever happened, unless what is known is old.
func (p *vmPass) finish(ctx context.Context, err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	case p.blind:
		return ctrl.Result{RequeueAfter: p.wait}, err
	}
	written := client.IgnoreNotFound(p.write(ctx))
	if err = errors.Join(err, written); apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: conflictAgain}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: p.wait}, nil
}

// templateDigest tells templates apart: what the guest is made of, and the Ignition config that an annotation holds.
func templateDigest(vm *unstructured.Unstructured) string {
	ignition := text(vm, "spec", "template", "metadata", "annotations", launch.IgnitionAnnotation)
	return digest(member(vm, "spec", "template", "spec"), ignition)
}

// instanceOf makes the instance of a machine, of its template alone.
func instanceOf(vm *unstructured.Unstructured, requests []virtv1.VirtualMachineStateChangeRequest) *unstructured.Unstructured {
	vmi := empty(vmiKind)
	vmi.SetName(vm.GetName())
	vmi.SetNamespace(vm.GetNamespace())
	vmi.SetFinalizers([]string{finalizer})
	vmi.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(vm, vmKind)})
	labels, _, _ := unstructured.NestedStringMap(vm.Object, "spec", "template", "metadata", "labels")
	notes, _, _ := unstructured.NestedStringMap(vm.Object, "spec", "template", "metadata", "annotations")
	if notes == nil {
		notes = map[string]string{}
	}
	notes[generationAnnotation] = fmt.Sprint(vm.GetGeneration())
	notes[templateAnnotation] = templateDigest(vm)
	for _, from := range []map[string]string{vm.GetLabels(), vm.GetAnnotations()} {
		if from[ManagedKey] == "true" {
			notes[ManagedKey] = "true"
		}
	}
	vmi.SetAnnotations(notes)
	if len(labels) > 0 {
		vmi.SetLabels(maps.Clone(labels))
	}
	spec, _, _ := unstructured.NestedMap(vm.Object, "spec", "template", "spec")
	if len(requests) > 0 && requests[0].Action == virtv1.StartRequest && requests[0].Data[virtv1.StartRequestDataPausedKey] == virtv1.StartRequestDataPausedTrue && spec != nil {
		spec["startStrategy"] = string(virtv1.StartStrategyPaused)
	}
	vmi.Object["spec"] = spec
	return vmi
}

// machinesOf asks for the machine of an instance, which has its name.
func machinesOf(_ context.Context, vmi client.Object) []ctrl.Request {
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: vmi.GetNamespace(), Name: vmi.GetName()}}}
}

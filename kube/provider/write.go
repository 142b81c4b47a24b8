package provider

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// together is how long a change of status waits for others. A request to the API server costs it more than anybody gains by
// seeing a guest run before it is seen to be ready.
const together = 100 * time.Millisecond

// write keeps the status of the pod at the API server up to date. Changes that come soon after each other, or while one is
// written, are written together.
func (v *vm) write(ctx context.Context) {
	for tries := 0; ; {
		select {
		case <-v.dirty:
		case <-v.gone:
			return
		case <-ctx.Done():
			return
		}
		if !v.p.sleep(ctx, together) {
			return
		}
		if err := v.flush(ctx); err == nil {
			tries = 0
			continue
		} else if ctx.Err() == nil {
			v.p.log.Warn("the status of a pod cannot be written", "pod", v.ref, "error", err)
		}
		signal(v.dirty)
		tries++
		if !v.p.sleep(ctx, doubled(retryFirst, retryMost, tries-1)) {
			return
		}
	}
}

// flush writes the status if the API server has another one.
func (v *vm) flush(ctx context.Context) error {
	v.writing.Lock()
	defer v.writing.Unlock()
	now := v.view()
	v.mutex.Lock()
	complete := v.complete
	v.mutex.Unlock()
	if !complete {
		return nil
	}
	next := now.status()
	patch, err := statusPatch(now.pod, next)
	if err != nil || patch == nil {
		return err
	}
	pod, err := v.p.options.Pods.Pods(v.ref.Namespace).Patch(ctx, v.ref.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), ofAnother(err):
		return v.lost(ctx, err)
	case err != nil:
		return err
	}
	v.has(pod)
	return nil
}

// has takes in the status that the API server has.
func (v *vm) has(pod *corev1.Pod) {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if v.pod.UID != pod.UID {
		return
	}
	kept := *v.pod // others may read the old one
	kept.Status, v.version = pod.Status, pod.ResourceVersion
	if v.told.pod == v.pod {
		v.told.pod = &kept
	}
	v.pod = &kept
}

// statusPatch makes the patch that gives a pod a status, or nil when it has it. Conditions of others stay. It is for the
// object of this UID alone.
func statusPatch(pod *corev1.Pod, next corev1.PodStatus) ([]byte, error) {
	old := pod.Status
	for _, c := range old.Conditions {
		if !ours[c.Type] {
			next.Conditions = append(next.Conditions, c)
		}
	}
	if next.QOSClass == "" {
		next.QOSClass = old.QOSClass
	}
	next.NominatedNodeName, next.Resize, next.ResourceClaimStatuses = old.NominatedNodeName, old.Resize, old.ResourceClaimStatuses
	next.ExtendedResourceClaimStatus, next.AllocatedResources, next.Resources = old.ExtendedResourceClaimStatus, old.AllocatedResources, old.Resources
	if equality.Semantic.DeepEqual(old, next) {
		return nil, nil
	}
	before, err := json.Marshal(corev1.Pod{Status: old})
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Status: next})
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Pod{})
}

// ours are the conditions that this node sets. Those of others stay as they are.
var ours = map[corev1.PodConditionType]bool{corev1.PodReadyToStartContainers: true, corev1.PodInitialized: true, corev1.PodReady: true,
	corev1.ContainersReady: true, FirstBootCondition: true, GuestAgentCondition: true}

// lost looks for the object of a pod that the API server says is not there under this UID. When it is really gone, so is its
// VM's right to run; when another pod has its name, that one is begun. Of objects that are not this node's, and of those that are not
// there, the node authorizer tells it nothing; then the cause decides.
func (v *vm) lost(ctx context.Context, cause error) error {
	pod, err := v.p.options.Pods.Pods(v.ref.Namespace).Get(ctx, v.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err) && (apierrors.IsNotFound(cause) || ofAnother(cause)):
	case err != nil:
		return err
	case pod.UID == v.ref.UID:
		return nil // the next change is written
	}
	v.leave(0)
	if err == nil && pod.Spec.NodeName == v.look().Pod.Spec.NodeName && pod.DeletionTimestamp == nil {
		return v.p.CreatePod(ctx, pod)
	}
	return nil
}

// ofAnother reports whether the API server refused a patch or a deletion because the object of the name is another pod: of
// another UID, which is immutable and may be a precondition, or of another node (admission plugin NodeRestriction).
func ofAnother(err error) bool {
	reason := map[metav1.StatusReason]string{metav1.StatusReasonInvalid: "metadata.uid", metav1.StatusReasonConflict: "UID",
		metav1.StatusReasonForbidden: "spec.nodeName set to itself"}[apierrors.ReasonForError(err)]
	return reason != "" && strings.Contains(err.Error(), reason)
}

// remove removes what is left of a VM that has ended, and then the object of the API. It returns false when the provider
// was closed before.
func (v *vm) remove(ctx context.Context) bool {
	if v.look().Over == nil {
		_ = v.remember(func() {
			v.rec.Over = &over{Phase: corev1.PodFailed, Message: "the pod was deleted before its VM ran"}
			if r := v.rec.Run; r.Ended != nil {
				r.Purpose = forDeletion
				v.rec.Over = verdict(v.pod.Spec.RestartPolicy, r)
			}
		})
	}
	steps := []func() error{
		func() error { return v.p.options.Runner.Remove(ctx, v.ref) },
		func() error { return v.withdraw(ctx) },
		v.forget,
	}
	for _, step := range steps {
		for tries := 1; ; tries++ {
			err := step()
			if err == nil {
				break
			}
			// An API server that has just deleted a pod may say once that the node has no business with it.
			if ctx.Err() == nil && tries > 1 {
				v.p.log.Error("what is left of a pod cannot be removed yet", "pod", v.ref, "error", err)
				v.event(corev1.EventTypeWarning, "FailedKillPod", "The VM cannot be removed yet: "+err.Error())
			}
			if !v.p.sleep(ctx, doubled(retryFirst, retryMost, tries-1)) {
				return false
			}
		}
	}
	v.p.drop(v)
	return true
}

// withdraw writes how the VM ended, and deletes the object of the API: a node may delete its own pods, and nothing else would
// before the time of grace is over (Pod v1 core, deletionGracePeriodSeconds).
func (v *vm) withdraw(ctx context.Context) error {
	v.mutex.Lock()
	complete := v.complete
	v.mutex.Unlock()
	if complete {
		if err := v.flush(ctx); err != nil {
			return err
		}
	}
	now := int64(0)
	err := v.p.options.Pods.Pods(v.ref.Namespace).Delete(ctx, v.ref.Name, metav1.DeleteOptions{GracePeriodSeconds: &now,
		Preconditions: &metav1.Preconditions{UID: &v.ref.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || err != nil && ofAnother(err) {
		return nil // gone, or its name is another's
	}
	return err
}

// Guard returns the clients of pods that Virtual Kubelet's pod controller is to be given in the place of Options.Pods. It
// deletes the object of a pod as soon as the grace of the deletion is over; one whose VM is still there it would take from
// the cluster's sight, so that another node could start the VM a second time. The guarded client begins the end of the VM
// instead, after which the provider deletes the object.
func (p *Provider) Guard() corev1client.PodsGetter { return guard{p} }

type guard struct{ p *Provider }

// Pods returns the guarded client of a namespace.
func (g guard) Pods(namespace string) corev1client.PodInterface {
	return guarded{g.p.options.Pods.Pods(namespace), g.p}
}

type guarded struct {
	corev1client.PodInterface
	p *Provider
}

// Delete deletes an object of which there is no VM, and has the provider delete the others.
func (g guarded) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if o.Preconditions != nil && o.Preconditions.UID != nil {
		if v := g.p.byUID(*o.Preconditions.UID); v != nil {
			v.leave(v.grace())
			return nil
		}
	}
	return g.PodInterface.Delete(ctx, name, o)
}

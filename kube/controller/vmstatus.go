package controller

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	virtv1 "kubevirt.io/api/core/v1"
)

// The annotations of an instance that say which state of its machine it was made of. The first is KubeVirt's.
const (
	generationAnnotation = "kubevirt.io/vm-generation"
	templateAnnotation   = "vmseed.dev/template"
)

// restartMessage is what KubeVirt says when the template of a running machine was changed.
const restartMessage = "a non-live-updatable field was changed in the template spec"

// machineState is what the status of a machine is made of.
type machineState struct {
	vm *unstructured.Unstructured
	// vmi is the machine's instance and instance its status; vmi is nil when there is none. stopped says that it has only just
	// been told to go.
	vmi      *unstructured.Unstructured
	instance virtv1.VirtualMachineInstanceStatus
	stopped  bool
	strategy virtv1.VirtualMachineRunStrategy
	// failure is what went wrong, without a kind when nothing did.
	failure condition
	now     metav1.Time
	// chance is from 0 up to 1.
	chance float64
}

func (s machineState) final() bool {
	return s.instance.Phase == virtv1.Succeeded || s.instance.Phase == virtv1.Failed
}

// everRan reports whether the instance has been in the phase Running.
func (s machineState) everRan() bool {
	return slices.ContainsFunc(s.instance.PhaseTransitionTimestamps, func(t virtv1.VirtualMachineInstancePhaseTransitionTimestamp) bool {
		return t.Phase == virtv1.Running
	})
}

// startFailure counts instances that failed before they ran.
func (s machineState) startFailure(old *virtv1.VirtualMachineStartFailure) *virtv1.VirtualMachineStartFailure {
	switch {
	case s.vmi != nil && s.everRan(), !rerun(s.strategy):
		return nil
	case s.vmi == nil || !s.final() || old != nil && old.LastFailedVMIUID == s.vmi.GetUID():
		return old
	}
	count := 1
	if old != nil {
		count = old.ConsecutiveFailCount + 1
	}
	retry := metav1.NewTime(s.now.Add(backOff(count, s.chance)))
	return &virtv1.VirtualMachineStartFailure{LastFailedVMIUID: s.vmi.GetUID(), ConsecutiveFailCount: count, RetryAfterTimestamp: &retry}
}

// left is how long a machine has to wait for its next start.
func left(f *virtv1.VirtualMachineStartFailure, now time.Time) time.Duration {
	if f == nil || f.RetryAfterTimestamp == nil {
		return 0
	}
	return max(f.RetryAfterTimestamp.Sub(now), 0)
}

// status computes the status of a machine from the one it has.
func (s machineState) status(old virtv1.VirtualMachineStatus) virtv1.VirtualMachineStatus {
	out := *old.DeepCopy()
	ready := find(s.instance.Conditions, virtv1.VirtualMachineInstanceReady)
	out.Created = s.vmi != nil
	out.Ready = s.vmi != nil && ready.Status == corev1.ConditionTrue
	// Before the first instance nothing is recorded, so that a start which was asked for can be told from one that was not.
	if s.strategy != "" && (out.RunStrategy != "" || out.Created) {
		out.RunStrategy = s.strategy
	}
	if s.doneWith(out.StateChangeRequests) {
		out.StateChangeRequests = slices.Clone(out.StateChangeRequests[1:])
		if len(out.StateChangeRequests) == 0 {
			out.StateChangeRequests = nil
		}
	}
	out.StartFailure = s.startFailure(out.StartFailure)
	s.generations(&out)
	s.conditions(&out, ready)
	out.PrintableStatus = s.printable(out)
	return out
}

// doneWith reports whether the first request has been carried out, or never can be.
func (s machineState) doneWith(requests []virtv1.VirtualMachineStateChangeRequest) bool {
	if len(requests) == 0 {
		return false
	}
	switch first := requests[0]; first.Action {
	case virtv1.StopRequest:
		return s.vmi == nil || first.UID == nil || *first.UID != s.vmi.GetUID()
	case virtv1.StartRequest:
		return s.vmi != nil && !s.stopped && s.vmi.GetDeletionTimestamp() == nil && !s.final()
	}
	return true
}

// generations says which state of the machine its instance was made of.
func (s machineState) generations(out *virtv1.VirtualMachineStatus) {
	if s.vmi == nil {
		return
	}
	out.DesiredGeneration = s.vm.GetGeneration()
	if s.upToDate() {
		// What was changed since concerns the machine alone, such as its run strategy.
		out.ObservedGeneration = s.vm.GetGeneration()
		return
	}
	if n, err := strconv.ParseInt(s.vmi.GetAnnotations()[generationAnnotation], 10, 64); err == nil {
		out.ObservedGeneration = n
	}
}

// upToDate reports whether the instance is what the machine's template says now. An instance of a later state than the one at
// hand was made after the cache has last heard of the machine.
func (s machineState) upToDate() bool {
	made := s.vmi.GetAnnotations()[templateAnnotation]
	n, err := strconv.ParseInt(s.vmi.GetAnnotations()[generationAnnotation], 10, 64)
	return made == "" || made == templateDigest(s.vm) || err == nil && n > s.vm.GetGeneration()
}

// conditions copies those of the instance and adds the machine's own.
func (s machineState) conditions(out *virtv1.VirtualMachineStatus, ready virtv1.VirtualMachineInstanceCondition) {
	c := condition{kind: string(virtv1.VirtualMachineReady), status: ready.Status, reason: ready.Reason, message: ready.Message}
	switch {
	case s.vmi == nil:
		c.status, c.reason, c.message = corev1.ConditionFalse, "VMINotExists", "VMI does not exist"
	case ready.Type == "":
		c.status, c.reason, c.message = corev1.ConditionFalse, "VMIConditionMissing", "VMI is missing the Ready condition"
	}
	out.Conditions = set(out.Conditions, c, s.now)
	if s.failure.kind == "" {
		out.Conditions = drop(out.Conditions, virtv1.VirtualMachineFailure)
	} else {
		out.Conditions = set(out.Conditions, s.failure, s.now)
	}
	if s.vmi != nil && !s.final() && !s.upToDate() {
		out.Conditions = set(out.Conditions, condition{kind: string(virtv1.VirtualMachineRestartRequired), status: corev1.ConditionTrue, message: restartMessage}, s.now)
	} else {
		out.Conditions = drop(out.Conditions, virtv1.VirtualMachineRestartRequired)
	}
	own := []virtv1.VirtualMachineConditionType{virtv1.VirtualMachineReady, virtv1.VirtualMachineFailure, virtv1.VirtualMachineRestartRequired}
	out.Conditions = slices.DeleteFunc(out.Conditions, func(c virtv1.VirtualMachineCondition) bool {
		return s.vmi != nil && !slices.Contains(own, c.Type) && find(s.instance.Conditions, virtv1.VirtualMachineInstanceConditionType(c.Type)).Type == ""
	})
	for _, c := range s.instance.Conditions {
		if kind := virtv1.VirtualMachineConditionType(c.Type); s.vmi != nil && !slices.Contains(own, kind) {
			out.Conditions = set(out.Conditions, condition{kind: string(kind), status: c.Status, reason: c.Reason, message: c.Message}, c.LastTransitionTime)
		}
	}
}

// printable is the first of KubeVirt's words that is true, in KubeVirt's order. Those for migrations, importers and
// receivers never are.
func (s machineState) printable(out virtv1.VirtualMachineStatus) virtv1.VirtualMachinePrintableStatus {
	paused := find(s.instance.Conditions, virtv1.VirtualMachineInstancePaused).Status == corev1.ConditionTrue
	scheduled := find(s.instance.Conditions, virtv1.VirtualMachineInstanceConditionType(corev1.PodScheduled))
	synchronized := find(s.instance.Conditions, virtv1.VirtualMachineInstanceSynchronized)
	waits := func(reason string) bool {
		return synchronized.Status == corev1.ConditionFalse && synchronized.Reason == reason
	}
	exists, phase := s.vmi != nil, s.instance.Phase
	deleting := exists && (s.stopped || s.vmi.GetDeletionTimestamp() != nil)
	for _, c := range []struct {
		is   bool
		word virtv1.VirtualMachinePrintableStatus
	}{
		{s.vm.GetDeletionTimestamp() != nil, virtv1.VirtualMachineStatusTerminating},
		{deleting && !s.final(), virtv1.VirtualMachineStatusStopping},
		{phase == virtv1.Running && paused, virtv1.VirtualMachineStatusPaused},
		{phase == virtv1.Running, virtv1.VirtualMachineStatusRunning},
		{waits(reasonNoClaim), virtv1.VirtualMachineStatusPvcNotFound},
		{scheduled.Status == corev1.ConditionFalse && scheduled.Reason == corev1.PodReasonUnschedulable, virtv1.VirtualMachineStatusUnschedulable},
		{waits("ErrImagePull"), virtv1.VirtualMachineStatusErrImagePull},
		{waits("ImagePullBackOff"), virtv1.VirtualMachineStatusImagePullBackOff},
		{exists && slices.Contains([]virtv1.VirtualMachineInstancePhase{"", virtv1.Pending, virtv1.Scheduling, virtv1.Scheduled}, phase), virtv1.VirtualMachineStatusStarting},
		{(!exists || s.final()) && rerun(s.strategy) && out.StartFailure != nil && out.StartFailure.ConsecutiveFailCount > 0, virtv1.VirtualMachineStatusCrashLoopBackOff},
		{!exists || s.final(), virtv1.VirtualMachineStatusStopped},
	} {
		if c.is {
			return c.word
		}
	}
	return virtv1.VirtualMachineStatusUnknown
}

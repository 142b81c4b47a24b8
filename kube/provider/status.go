package provider

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// view is all that the status of a pod depends on.
type view struct {
	pod *corev1.Pod
	rec record
	now state
	// node are the addresses of the node.
	node []netip.Addr
	// time is when the status is made, for the conditions that change.
	time time.Time
}

// state is how a pod is at this moment, as far as it is not remembered.
type state struct {
	// reason and message say what a pod whose VM does not run waits for.
	reason, message string
	// paused says why the guest's processors stand still; empty means that they run. byUser is for those of a guest that a user
	// has paused.
	paused string
	byUser bool
	// resumed is when they last went on.
	resumed time.Time
	// unsure says why nobody knows whether the guest runs; empty means that it is known.
	unsure string
	// booting says how far the guest's first boot has come, as far as that was told.
	booting string
	// agent means that the guest agent has answered in this run; system is what it says that runs there.
	agent  bool
	system string
	// started and ready are the results of the startup and the readiness probe; nil is for a container without one.
	started, ready *probeVerdict
}

// probeVerdict is the present result of a probe that a container has.
type probeVerdict struct {
	ok      bool
	message string
}

// passed reports whether a probe, if there is one, has succeeded.
func (p *probeVerdict) passed() bool { return p == nil || p.ok }

// running reports whether the guest is there.
func (v view) running() bool { return !v.rec.Run.Since.IsZero() && v.rec.Run.Ended == nil }

// status is the status of a pod.
func (v view) status() corev1.PodStatus {
	seen := metav1.NewTime(v.rec.Seen.Truncate(time.Second))
	out := corev1.PodStatus{Phase: v.phase(), StartTime: &seen, ObservedGeneration: v.pod.Generation}
	for _, a := range v.node {
		out.HostIPs = append(out.HostIPs, corev1.HostIP{IP: a.String()})
	}
	if len(v.node) > 0 {
		out.HostIP = v.node[0].String()
	}
	for _, ip := range v.rec.Run.IPs {
		out.PodIPs = append(out.PodIPs, corev1.PodIP{IP: ip})
	}
	if len(out.PodIPs) > 0 {
		out.PodIP = out.PodIPs[0].IP
	}
	if o := v.rec.Over; o != nil {
		out.Reason, out.Message = o.Reason, o.Message
	} else if v.unready() == reasonBooting {
		out.Message = v.now.booting // what kubectl describe shows of a pod
	}
	out.QOSClass = v.pod.Status.QOSClass
	if c, ok := v.container(); ok {
		out.ContainerStatuses = []corev1.ContainerStatus{c}
	}
	out.Conditions = v.conditions()
	return out
}

// phase is the summary that a pod's life has.
func (v view) phase() corev1.PodPhase {
	switch {
	case v.rec.Over != nil:
		return v.rec.Over.Phase
	case v.running(), v.rec.Restarts > 0, v.rec.Run.Ended != nil:
		return corev1.PodRunning
	}
	return corev1.PodPending
}

// container is the status of the pod's only container. A pod that was refused has none, as those that a kubelet refuses.
func (v view) container() (corev1.ContainerStatus, bool) {
	if len(v.pod.Spec.Containers) == 0 || v.rec.Over != nil && v.rec.Over.Reason == ReasonRuntime {
		return corev1.ContainerStatus{}, false
	}
	c := v.pod.Spec.Containers[0]
	started := v.running() && v.now.started.passed()
	out := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: v.rec.Run.ImageID, RestartCount: v.rec.Restarts,
		Started: &started, Ready: v.unready() == ""}
	if v.rec.Last != nil {
		out.LastTerminationState.Terminated = v.rec.Last
	}
	if v.running() || v.rec.Run.Ended != nil {
		out.ContainerID = v.rec.containerID()
	}
	switch {
	case v.running():
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(v.rec.Run.Since.Truncate(time.Second))}
	case v.rec.Run.Ended != nil && (v.rec.Over != nil || v.rec.Leaving || v.now.reason == ""):
		out.State.Terminated = v.rec.Run.Ended
	case v.rec.Over != nil:
		end := metav1.NewTime(v.time.Truncate(time.Second))
		for _, old := range v.pod.Status.ContainerStatuses {
			if old.State.Terminated != nil {
				end = old.State.Terminated.FinishedAt
			}
		}
		out.State.Terminated = &corev1.ContainerStateTerminated{Reason: v.rec.Over.Reason, Message: v.rec.Over.Message, ExitCode: exitCannotRun, FinishedAt: end}
	default:
		reason := v.now.reason
		if reason == "" {
			reason = ReasonCreating
		}
		out.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason, Message: clip(v.now.message, maxMessage)}
		if v.rec.Run.Ended != nil {
			out.LastTerminationState.Terminated = v.rec.Run.Ended
		}
	}
	return out, true
}

// containerID is different for each run.
func (r record) containerID() string { return fmt.Sprintf("vmseed://%s-%d", r.Pod.UID, r.Restarts) }

// The reasons of conditions that are not met.
const (
	reasonNotRunning   = "ContainersNotReady"
	reasonBooting      = "Booting"
	reasonPaused       = "Paused"
	reasonPausedByUser = "PausedByUser" // KubeVirt's
	reasonResumed      = "Resumed"
	reasonProbe        = "ProbeNotReady"
	reasonGates        = "ReadinessGatesNotReady"
	reasonDone         = "FirstBootDone"
	reasonWarned       = "FirstBootWarnings"
	reasonSilent       = "NotReported"
	reasonAgentAnswers = "Answers"
	reasonAgentSilent  = "NoAnswer"
)

// unready is the reason why the guest is not ready, or nothing.
func (v view) unready() string {
	switch {
	case !v.running():
		return reasonNotRunning
	case v.now.byUser && v.now.unsure == "":
		return reasonPausedByUser
	case v.now.paused != "", v.now.unsure != "":
		return reasonPaused
	case v.rec.FirstBoot.Stage == bootFailed:
		return ReasonFirstBoot
	case !v.rec.Run.Up:
		return reasonBooting
	case !v.now.started.passed(), !v.now.ready.passed():
		return reasonProbe
	}
	return ""
}

// why says more about the reason.
func (v view) why(reason string) string {
	switch reason {
	case reasonNotRunning:
		return v.now.message
	case reasonPaused, reasonPausedByUser:
		return cmp.Or(v.now.unsure, v.now.paused)
	case ReasonFirstBoot:
		return v.rec.FirstBoot.Message
	case reasonBooting:
		return cmp.Or(v.now.booting, "the guest has not reported yet that it has booted")
	case reasonProbe:
		if !v.now.started.passed() {
			return v.now.started.message
		}
		return v.now.ready.message
	}
	return ""
}

// conditions are those that a kubelet sets, and our own. A condition that is as it was keeps its time.
func (v view) conditions() []corev1.PodCondition {
	reason := v.unready()
	message := v.why(reason)
	if v.rec.Over != nil && v.rec.Over.Phase == corev1.PodSucceeded {
		reason, message = "PodCompleted", ""
	}
	ready, gate := reason, message
	if missing := v.gates(); ready == "" && len(missing) > 0 {
		ready, gate = reasonGates, "these readiness gates are not met: "+strings.Join(missing, ", ")
	}
	up := v.running() || v.rec.Run.Ended != nil && v.rec.Over == nil
	out := []corev1.PodCondition{
		v.condition(corev1.PodReadyToStartContainers, truth(up), "", ""),
		v.condition(corev1.PodInitialized, corev1.ConditionTrue, "", ""),
		v.condition(corev1.PodReady, truth(ready == ""), ready, gate),
		v.condition(corev1.ContainersReady, truth(reason == ""), reason, message),
	}
	if v.rec.Over != nil && v.rec.Over.Reason == ReasonRuntime {
		return out[2:3]
	}
	if f := v.rec.FirstBoot; f.Stage != "" || v.running() {
		out = append(out, v.firstBoot(f))
	}
	if v.now.agent && v.running() {
		out = append(out, v.condition(GuestAgentCondition, corev1.ConditionTrue, reasonAgentAnswers, v.now.system))
	} else if v.had(GuestAgentCondition) {
		out = append(out, v.condition(GuestAgentCondition, corev1.ConditionFalse, reasonAgentSilent, ""))
	}
	return out
}

// firstBoot is the condition that tells of the guest's first boot.
func (v view) firstBoot(f firstBoot) corev1.PodCondition {
	status, reason, message := corev1.ConditionFalse, reasonBooting, cmp.Or(f.Message, v.now.booting)
	switch f.Stage {
	case bootDone:
		status, reason, message = corev1.ConditionTrue, reasonDone, f.Message
	case bootFailed:
		reason = ReasonFirstBoot
	case bootSilent:
		status, reason = corev1.ConditionUnknown, reasonSilent
	}
	return v.condition(FirstBootCondition, status, reason, message)
}

// gates are the pod's readiness gates that are not met, as far as the API server has told.
func (v view) gates() (missing []string) {
	for _, g := range v.pod.Spec.ReadinessGates {
		met := func(c corev1.PodCondition) bool { return c.Type == g.ConditionType && c.Status == corev1.ConditionTrue }
		if !slices.ContainsFunc(v.pod.Status.Conditions, met) {
			missing = append(missing, string(g.ConditionType))
		}
	}
	return missing
}

func truth(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// maxCondition bounds the messages of conditions, in bytes: they are in every list of pods.
const maxCondition = 1024

// condition makes a condition that changed at the time of the view, unless the pod has it in that status.
func (v view) condition(t corev1.PodConditionType, s corev1.ConditionStatus, reason, message string) corev1.PodCondition {
	at := metav1.NewTime(v.time.Truncate(time.Second))
	for _, c := range v.pod.Status.Conditions {
		if c.Type == t && c.Status == s {
			at = c.LastTransitionTime
		}
	}
	return corev1.PodCondition{Type: t, Status: s, Reason: reason, Message: clip(message, maxCondition), LastTransitionTime: at,
		ObservedGeneration: v.pod.Generation}
}

// had reports whether the pod has a condition.
func (v view) had(t corev1.PodConditionType) bool {
	return slices.ContainsFunc(v.pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
}
